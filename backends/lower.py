"""The passes between a scheduled function and emission, in order."""

from __future__ import annotations

from dataclasses import replace

from ..errors import BackendError
from ..ir.affine import Affine, name
from ..ir.nodes import Block, For, Function, If, Load, LoopKind, Memory, Stmt, Store
from ..ir.verify import verify
from ..ir.walk import allocations, loops, rewrite, scatters
from ..ir.written import statements
from ..limits import MOST_STATEMENTS
from .registers import unroll_register_loops
from .tile_loops import TILE_KINDS, tile_loop

_VECTOR_BYTES = 64


def lower(function: Function) -> Function:
    """Return *function* in the form that the emitter takes."""
    _check(function)
    function = replace(function, body=without_sharing(function.body))
    function = unroll_scatters(function)
    function = unroll_register_loops(function)
    _check_size(function)
    function = vectorize_transpositions(function)
    return split_odd_vectors(function)


def _check(function: Function) -> None:
    """Refuse a function that is not well-formed, before it becomes wrong code."""
    for loop in loops(function).values():
        if loop.kind in TILE_KINDS:
            tile_loop(loop)
    try:
        verify(function)
    except AssertionError as problem:
        raise BackendError(
            f"{function.name!r} is not well-formed: {problem}; a schedule made of "
            "primitives is, so write what this step did as primitives"
        ) from problem


def _check_size(function: Function) -> None:
    """Refuse a function that would compile for minutes."""
    count = statements(function.body)
    if count > MOST_STATEMENTS:
        raise BackendError(
            f"{function.name!r} is {count} statements with its unrolled loops written "
            f"out, and more than {MOST_STATEMENTS} would compile for minutes: unroll "
            "and vectorize loops of fewer iterations"
        )


def without_sharing(block: Block) -> Block:
    """Return *block* with an object of its own for every statement.

    Rewrites may put one object in two places; plans are kept by the identity of a
    statement, since its guards depend on the place.
    """
    result: list[Stmt] = []
    for statement in block.statements:
        if isinstance(statement, For | If):
            body = without_sharing(statement.body)
            result.append(replace(statement, body=body))
        else:
            result.append(replace(statement))
    return Block(tuple(result))


def unroll_scatters(function: Function) -> Function:
    """Write out the lanes of vectorized loops that scatter: two may meet."""

    def unrolled(statement: Stmt) -> Stmt:
        if not isinstance(statement, For) or statement.kind is not LoopKind.VECTORIZED:
            return statement
        if not any(scatters(statement)):
            return statement
        return replace(statement, kind=LoopKind.UNROLLED)

    return rewrite(function, unrolled)


def vectorize_transpositions(function: Function) -> Function:
    """Copy rows into columns a vector at a time.

    Before, and after, where `T` is a local array:

        for k in range(s, t):                  for k_v in range(s, t, 16):
            for i in ...:  # unrolled              for i in ...:  # unrolled
                T[k, i] = X[i, k]                      for k in ...:  # vectorized
                                                           T[k, i] = X[i, k]

    The copies write different elements of a tensor that they do not read, so that any
    order is right. The emitter transposes the vectors in registers.
    """
    taken = set(loops(function))
    arrays = {
        each
        for each, alloc in allocations(function).items()
        if alloc.memory is Memory.ARRAY
    }

    def vectorize(statement: Stmt) -> Stmt:
        leaf = _transposing_copy(statement, arrays)
        if leaf is None:
            return statement
        assert isinstance(statement, For)
        (rows,) = statement.body.statements
        assert isinstance(rows, For)
        outer = fresh_axis(f"{statement.axis}_v", taken)
        lanes = _VECTOR_BYTES // leaf.value.dtype.bytes
        column = replace(
            statement,
            starts=(name(outer),),
            stops=(name(outer) + lanes, *statement.stops),
            kind=LoopKind.VECTORIZED,
            body=rows.body,
        )
        inside = replace(rows, body=Block((column,)))
        return replace(statement, axis=outer, step=lanes, body=Block((inside,)))

    return rewrite(function, vectorize)


def _transposing_copy(statement: Stmt, arrays: set[str]) -> Store | None:
    """Return the copy in a serial loop over columns and an unrolled one over rows."""
    if not isinstance(statement, For) or statement.kind is not LoopKind.SERIAL:
        return None
    if statement.step != 1 or len(statement.body.statements) != 1:
        return None
    rows = statement.body.statements[0]
    if not isinstance(rows, For) or rows.kind is not LoopKind.UNROLLED:
        return None
    bounds = (*rows.starts, *rows.stops)
    if rows.step != 1 or any(statement.axis in form.names() for form in bounds):
        return None
    leaf = rows.body.statements[0]
    if len(rows.body.statements) != 1 or not isinstance(leaf, Store):
        return None
    if leaf.tensor not in arrays or not isinstance(leaf.value, Load):
        return None
    load = leaf.value
    if load.tensor == leaf.tensor or not load.index or len(leaf.index) < 2:
        return None
    along, across = statement.axis, rows.axis
    fits = (
        _only_in(leaf.index, across, len(leaf.index) - 1)
        and any(_only_in(leaf.index, along, d) for d in range(len(leaf.index) - 1))
        and _only_in(load.index, along, len(load.index) - 1)
        and across not in load.index[-1].names()
    )
    return leaf if fits else None


def _only_in(index: tuple[Affine, ...], axis: str, dimension: int) -> bool:
    """Return whether *axis* occurs only in one subscript, by itself."""
    return all(
        form.coefficient(axis) == 1 and axis not in (form - name(axis)).names()
        if position == dimension
        else axis not in form.names()
        for position, form in enumerate(index)
    )


def fresh_axis(stem: str, taken: set[str]) -> str:
    """Return a new axis name like *stem* and take it."""
    while stem in taken:
        stem += "v"
    taken.add(stem)
    return stem


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
        outer = fresh_axis(f"{statement.axis}_v", taken)
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
