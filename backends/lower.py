"""The passes between a scheduled function and emission, in order."""

from __future__ import annotations

from dataclasses import replace

from ..ir.affine import name
from ..ir.nodes import Block, For, Function, LoopKind, Stmt
from ..ir.walk import loops, rewrite
from .plan import tile_loop
from .registers import unroll_register_loops


def lower(function: Function) -> Function:
    """Return *function* in the form that the emitter takes."""
    function = unroll_register_loops(function)
    return split_odd_vectors(function)


def split_odd_vectors(function: Function) -> Function:
    """Cut vectorized loops so that the number of lanes is a power of two.

    48 lanes become three vectors of 16: LLVM handles other counts badly.

        for j in range(s, min(s + 48, N)):              # vectorized
    ->  for j_v in range(s, min(s + 48, N), 16):        # unrolled
            for j in range(j_v, min(j_v + 16, N)):      # vectorized
    """
    taken = set(loops(function))

    def split(statement: Stmt) -> Stmt:
        if not isinstance(statement, For) or statement.kind is not LoopKind.VECTORIZED:
            return statement
        tile = tile_loop(statement)
        lanes = tile.extent & -tile.extent
        if lanes == tile.extent or tile.extent == 0:
            return statement
        if lanes == 1:
            return replace(statement, kind=LoopKind.UNROLLED)
        outer = f"{statement.axis}_v"
        while outer in taken:
            outer += "v"
        taken.add(outer)
        start = name(outer)
        end = tile.start + tile.extent
        others = tuple(stop for stop in statement.stops if stop != end)
        inner = replace(
            statement,
            starts=(start,),
            stops=(start + lanes, *others),
            body=statement.body,
        )
        return replace(
            statement,
            axis=outer,
            step=lanes,
            kind=LoopKind.UNROLLED,
            body=Block((inner,)),
        )

    return rewrite(function, split)
