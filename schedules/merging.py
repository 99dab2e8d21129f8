"""The primitive that makes one loop of two neighbours: merge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..errors import ScheduleError
from ..ir.affine import Affine, name
from ..ir.nodes import Alloc, Block, Dim, For, Function, If, LoopKind, Stmt
from ..ir.walk import substitute
from .bounds import Loops, is_nonnegative, prune_starts, prune_stops
from .checks import check_serial, describe, find_loop, path_to, scope_of
from .index_sets import simplified
from .lattices import remainder_of
from .reasons import kept_order


def merge(function: Function, first: str, second: str) -> Function:
    """Make one loop of the neighbours *first* and *second*, in which both bodies run.

    Before, and after `merge("i", "j")`:

        for i in range(M):              for i in range(M):
            X[i] = 0.0                      X[i] = 0.0
        for j in range(1, M):               if i - 1 >= 0:
            Y[j] = X[j]                         Y[i] = X[i]

    Iterations of the same coordinate run together, the first body first; `shift`
    before to let others do. The loop is called *first* and runs over both ranges, and
    guards keep each body to its own. Guards around *first* or *second* alone move
    inside, and local tensors declared between the two move before.
    """
    one = _side(function, first)
    other = _side(function, second)
    block, at, end = _neighbours(function, one, other)
    _check_steps(function, one.loop, other.loop)
    scope = scope_of(function, first)
    del scope[first]
    dims = {dim.name: dim for dim in function.dims}
    merged = simplified(Block((_merged(one, other, scope, dims),)), scope, dims)
    statements = block.statements
    between = statements[at + 1 : end]
    new = Block(
        (*statements[:at], *between, *merged.statements, *statements[end + 1 :])
    )
    return replace(function, body=_replaced(function.body, block, new))


@dataclass(frozen=True, slots=True)
class _Side:
    """A loop, and the guards that it is all of the body of, as one *root*."""

    loop: For
    guards: tuple[Affine, ...]
    root: Stmt


def _side(function: Function, axis: str) -> _Side:
    loop = find_loop(function, axis, "merge")
    check_serial(loop, "merge")
    match loop.body.statements:
        case (For(kind=LoopKind.FUSED) as child,):
            raise ScheduleError(
                f'merge: loop "{axis}" shares its counter with "{child.axis}"; '
                "merge before fuse"
            )
    root: Stmt = loop
    guards: tuple[Affine, ...] = ()
    for node in reversed(path_to(function, loop)):
        if not isinstance(node, If) or node.body.statements != (root,):
            break
        root, guards = node, (*node.conditions, *guards)
    return _Side(loop, guards, root)


def _neighbours(function: Function, one: _Side, other: _Side) -> tuple[Block, int, int]:
    """Return the block with both sides, and their positions."""
    path = path_to(function, one.root)
    block = path[-1].body if path else function.body
    positions = {id(each): at for at, each in enumerate(block.statements)}
    at, end = positions[id(one.root)], positions.get(id(other.root))
    first, second = one.loop.axis, other.loop.axis
    if end is None or end <= at:
        raise ScheduleError(
            f'merge: loop "{second}" does not follow loop "{first}" in the same body; '
            "merge, or fission, the loops around them first"
        )
    between = [s for s in block.statements[at + 1 : end] if not isinstance(s, Alloc)]
    if between:
        reason = kept_order(function, [one.root], between)
        reason = reason if reason.found else kept_order(function, between, [other.root])
        raise ScheduleError(
            f'merge: other statements stand between loop "{first}" and loop '
            f'"{second}"{reason.because}; merge neighbours one after the other'
            f"{reason.witness}"
        )
    return block, at, end


def _check_steps(function: Function, one: For, other: For) -> None:
    if one.step == other.step == 1:
        return
    dims = {dim.name: dim for dim in function.dims}
    scope = scope_of(function, one.axis)
    del scope[one.axis]
    found = [remainder_of(loop, scope, dims) for loop in (one, other)]
    if one.step != other.step or found[0] is None or found[0] != found[1]:
        raise ScheduleError(
            f"merge: {describe(one)} and {describe(other)} take different steps; "
            "merge before the splits"
        )


def _merged(one: _Side, other: _Side, scope: Loops, dims: dict[str, Dim]) -> For:
    loop, axis = one.loop, one.loop.axis
    starts = _hull(one.loop.starts, other.loop.starts, scope, dims)
    stops = tuple(
        -form
        for form in _hull(
            [-stop for stop in one.loop.stops],
            [-stop for stop in other.loop.stops],
            scope,
            dims,
        )
    )
    for what, forms, kind in (("start", starts, "least"), ("stop", stops, "greatest")):
        if not forms:
            raise ScheduleError(
                f"merge: which {what} of {describe(one.loop)} and "
                f"{describe(other.loop)} is the {kind} is not known; shift or cut "
                "one of them first"
            )
    moved = substitute(other.loop.body, {other.loop.axis: name(axis)})
    return replace(
        loop,
        starts=prune_starts(starts, scope, dims),
        stops=prune_stops(stops, scope, dims),
        body=Block(
            (
                *_within(one, loop.body, name(axis)),
                *_within(other, moved, name(axis)),
            )
        ),
    )


def _hull(
    one: Sequence[Affine], other: Sequence[Affine], scope: Loops, dims: dict[str, Dim]
) -> tuple[Affine, ...]:
    """Return bounds of both, of which the largest of *one* and of *other* are two."""

    def below(form: Affine, forms: Sequence[Affine]) -> bool:
        return any(is_nonnegative(each - form, scope, dims) for each in forms)

    both = dict.fromkeys((*one, *other))
    return tuple(form for form in both if below(form, one) and below(form, other))


def _within(side: _Side, body: Block, at: Affine) -> tuple[Stmt, ...]:
    """Return *body* under guards that keep it to the iterations of its *side*."""
    conditions = (
        *side.guards,
        *(at - start for start in side.loop.starts),
        *(stop - at - 1 for stop in side.loop.stops),
    )
    match body.statements:
        case (If() as inner,):
            return (If((*conditions, *inner.conditions), inner.body),)
    return (If(conditions, body),)


def _replaced(block: Block, old: Block, new: Block) -> Block:
    if block is old:
        return new
    return Block(
        tuple(
            replace(each, body=_replaced(each.body, old, new))
            if isinstance(each, For | If)
            else each
            for each in block.statements
        )
    )
