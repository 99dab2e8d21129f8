"""Which part of a tensor the statements of a loop body touch, and nests over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..errors import ScheduleError
from ..ir.affine import Affine, name
from ..ir.extents import fixed_extent
from ..ir.nodes import (
    Alloc,
    Block,
    Expr,
    For,
    Gather,
    If,
    Load,
    LoopKind,
    Reduce,
    Scatter,
    Stmt,
    Store,
)
from ..ir.printer import print_chosen
from ..ir.walk import chosen_accesses, loads, map_exprs, rewrite_block, walk
from .bounds import Loops
from .boxes import Index
from .checks import Path, is_around


@dataclass(frozen=True, slots=True)
class Access:
    """One read or write of a tensor, with the loops and guards around it."""

    kind: Literal["load", "store", "reduce"]
    index: Index
    path: Path
    load: Load | None = None

    @property
    def loops(self) -> Loops:
        """The loops of the path by axis, outermost first."""
        return {node.axis: node for node in self.path if isinstance(node, For)}


def accesses(block: Block, tensor: str, outer: Path = ()) -> Iterator[Access]:
    """Yield the accesses to *tensor* in *block*, in the order of execution.

    Refuse a tensor of which data chooses elements: no part holds what is used.
    """
    check_affine(block, tensor)
    yield from _accesses(block, tensor, outer)


def _accesses(block: Block, tensor: str, outer: Path) -> Iterator[Access]:
    for statement in block.statements:
        match statement:
            case For() | If():
                yield from _accesses(statement.body, tensor, (*outer, statement))
            case Store() | Reduce() | Scatter():
                for load in loads(statement):
                    if load.tensor == tensor:
                        yield Access("load", load.index, outer, load)
                if statement.tensor == tensor:
                    assert not isinstance(statement, Scatter), statement
                    kind: Literal["store", "reduce"] = (
                        "store" if isinstance(statement, Store) else "reduce"
                    )
                    yield Access(kind, statement.index, outer)
            case Alloc():
                pass


def check_affine(block: Block, tensor: str, primitive: str = "") -> None:
    """Refuse a tensor of which gathers or scatters in *block* choose elements."""
    for access in chosen_accesses(block):
        if access.tensor == tensor:
            prefix = f"{primitive}: " if primitive else ""
            raise ScheduleError(
                f'{prefix}data chooses which elements of "{tensor}" are used, as in '
                f"{print_chosen(access)}, so no part of it can be staged or moved; "
                "stage the other tensors, or name a loop without that access"
            )


def touches(statement: Stmt, tensor: str) -> bool:
    """Return whether *statement* reads or writes *tensor*."""
    return any(
        isinstance(node, Load | Gather | Store | Reduce | Scatter)
        and node.tensor == tensor
        for node in walk(statement)
    )


def relevant(access: Access) -> Loops:
    """Return the loops of the path that the subscripts need, directly or by bounds."""
    needed = {axis for form in access.index for axis in form.names()}
    around = access.loops
    for axis in reversed(around):
        if axis in needed:
            loop = around[axis]
            for form in (*loop.starts, *loop.stops):
                needed |= form.names()
    return {axis: loop for axis, loop in around.items() if axis in needed}


def signature(access: Access) -> tuple[object, ...]:
    """Return what decides the set of touched elements, with canonical axis names."""
    loops = relevant(access)
    names = {axis: name(f"@{number}") for number, axis in enumerate(loops)}

    def forms(values: Sequence[Affine]) -> Index:
        return tuple(value.substitute(names) for value in values)

    bounds = tuple(
        (forms(loop.starts), forms(loop.stops), loop.step) for loop in loops.values()
    )
    return forms(access.index), bounds


def redirect(
    block: Block, tensor: str, buffer: str, reindex: Callable[[Index], Index | None]
) -> Block:
    """Return *block* with the accesses to *tensor* going to *buffer*.

    Those that *reindex* has no subscripts for stay.
    """

    def leaf(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.tensor == tensor:
            index = reindex(expr.index)
            if index is not None:
                return replace(expr, tensor=buffer, index=index)
        return expr

    def rule(statement: Stmt) -> Stmt:
        if not isinstance(statement, Store | Reduce | Scatter):
            return statement
        changed = map_exprs(statement, leaf)
        if isinstance(changed, Scatter) or changed.tensor != tensor:
            return changed
        index = reindex(changed.index)
        if index is None:
            return changed
        return replace(changed, tensor=buffer, index=index)

    return rewrite_block(block, rule)


def mirror(
    loops: Loops,
    names: Mapping[str, str],
    kinds: Mapping[str, LoopKind],
    leaf: Callable[[Mapping[str, Affine]], Stmt],
) -> Stmt:
    """Return a nest like *loops*, renamed, around what *leaf* makes of the renaming.

    A fused loop becomes a serial one: the loop it is fused with may not be mirrored.
    """
    values = {axis: name(names[axis]) for axis in loops}
    result = leaf(values)
    for axis, loop in reversed(loops.items()):
        result = For(
            names[axis],
            tuple(form.substitute(values) for form in loop.starts),
            tuple(form.substitute(values) for form in loop.stops),
            loop.step,
            LoopKind.SERIAL if kinds[axis] is LoopKind.FUSED else kinds[axis],
            Block((result,)),
        )
    return result


def writes(block: Block, tensor: str) -> bool:
    """Return whether *block* writes *tensor*."""
    return any(
        isinstance(node, Store | Reduce | Scatter) and node.tensor == tensor
        for node in walk(block)
    )


def plain_axis(form: Affine, loops: Mapping[str, object] | None = None) -> str | None:
    """Return the axis of *form* if there is one, with coefficient one."""
    axes = [axis for axis in form.names() if loops is None or axis in loops]
    if len(axes) == 1 and form.coefficient(axes[0]) == 1:
        return axes[0]
    return None


def is_one_to_one(access: Access) -> bool:
    """Return whether its loops touch each element once.

    Each subscript has one axis at most, all different, and every other loop that is
    needed steps over the tiles of one of them.
    """
    loops = relevant(access)
    axes: list[str] = []
    for form in access.index:
        inner = [axis for axis in loops if axis in form.names()]
        if len(inner) > 1 or any(abs(form.coefficient(axis)) != 1 for axis in inner):
            return False
        axes += inner
    if len(set(axes)) != len(axes):
        return False
    return all(axis in axes or _is_tile_loop(loops, axis) for axis in loops)


def _is_tile_loop(loops: Loops, axis: str) -> bool:
    inner = [loop for loop in loops.values() if is_around(axis, loop)]
    if len(inner) != 1 or inner[0].starts != (name(axis),):
        return False
    extent = fixed_extent(inner[0])
    return extent is not None and extent <= loops[axis].step
