"""Loops distributed such that what accumulates stands in a perfect nest of its own.

A register tile needs a perfect nest. Statements around the accumulation, such as the
start of a sum and the use of its result, move into nests before and after it, level by
level from the inside out, as far as the dependences allow. A scalar that they share
becomes an array.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ..analysis.access import Nest
from ..analysis.legality import Legality
from ..analysis.validate import validate
from ..errors import ScheduleError
from ..ir.nodes import Alloc, Block, For, If, Reduce, Stmt
from ..ir.walk import allocations, loops, walk, walk_nest
from .checks import perfect_child, scope_of
from .copies import labels, tensor_names
from .regions import accesses
from .roles import find_roles
from .schedule import Schedule


@dataclass(frozen=True, slots=True)
class _Leaf:
    """An update: its label, and the innermost loop around it."""

    label: str
    axis: str


def isolated(schedule: Schedule, outermost: str, *, rows: bool = False) -> Schedule:
    """Return *schedule* with every accumulation in *outermost* in a nest of its own.

    Where a level cannot be distributed, the levels inside stay distributed. With *rows*
    sums along a row count as well, so that rows can be shared out.
    """
    for leaf, depth in _accumulations(loops(schedule.function)[outermost], rows):
        for level in range(depth):
            path = _path(schedule, leaf)
            apart = _alone(schedule, path[-1 - level], leaf)
            if apart is None:
                break
            schedule, leaf = apart
    return schedule


def alone(schedule: Schedule, axis: str, inner: str) -> tuple[Schedule, str] | None:
    """Return *schedule* with the loop *inner* alone in *axis*, and what *axis* is then.

    None where other statements of *axis* have to stay with it.
    """
    found = _alone(schedule, axis, _Leaf("", inner))
    if found is None:
        return None
    path = scope_of(found[0].function, inner)
    return found[0], list(path)[-2]


def _accumulations(loop: For, rows: bool) -> list[tuple[_Leaf, int]]:
    """Return the updates in *loop* that a register tile would suit, and their depth."""
    found = []
    for leaf, path in walk_nest(Block((loop,))):
        if not isinstance(leaf, Reduce) or leaf.instance is None:
            continue
        nested = tuple(node for node in path if isinstance(node, For))
        if len(nested) < len(path) or _is_perfect(loop):
            continue
        nest = Nest(nested, leaf)
        if _accumulates(nest, _declared(loop)) or (rows and _sums_rows(nest)):
            found.append((_Leaf(leaf.instance.label, nested[-1].axis), len(nested)))
    return found


def _accumulates(nest: Nest, scalars: set[str]) -> bool:
    """Whether *nest* updates elements, or a scalar that can become an array."""
    leaf = nest.statement
    if leaf.tensor in scalars and not leaf.index and len(nest.loops) > 2:
        return True
    roles = find_roles(nest, {}) if nest.reduction else None
    if roles is None:
        return False
    # Without rows, lanes in place are as good.
    return roles.rows is not None or roles.columns != nest.axes[-1]


def _sums_rows(nest: Nest) -> bool:
    return bool(nest.reduction) and nest.axes[0] in nest.spatial


def _declared(loop: For) -> set[str]:
    return {node.tensor.name for node in walk(loop) if isinstance(node, Alloc)}


def _is_perfect(loop: For | None) -> bool:
    while loop is not None and len(loop.body.statements) == 1:
        if not isinstance(loop.body.statements[0], For | If):
            return True
        loop = perfect_child(loop)
    return False


def _path(schedule: Schedule, leaf: _Leaf) -> list[str]:
    """Return the axes around *leaf*, outermost first."""
    for node, path in walk_nest(schedule.function.body):
        axes = [each.axis for each in path if isinstance(each, For)]
        instance = None if isinstance(node, Alloc) else node.instance
        if instance and instance.label == leaf.label and axes[-1:] == [leaf.axis]:
            return axes
    raise AssertionError(leaf)


def _alone(schedule: Schedule, axis: str, leaf: _Leaf) -> tuple[Schedule, _Leaf] | None:
    """Return *schedule* with *leaf* alone in *axis*, None if it cannot be.

    The part before keeps the name *axis*; the loop around *leaf* may get a new one.
    """
    loop = loops(schedule.function)[axis]
    if len(loop.body.statements) == 1:
        return schedule, leaf
    try:
        for tensor in _shared(loop):
            schedule = schedule.expand(tensor, axis, memory="array")
    except ScheduleError:
        return None
    loop = loops(schedule.function)[axis]
    statements = loop.body.statements
    (at,) = (i for i, each in enumerate(statements) if _holds(each, leaf, axis))
    later = Legality(schedule.function).must_follow(loop, at)
    if at in later:
        private = _with_private_rows(schedule, loop)
        return None if private is None else _alone(private, axis, leaf)
    others = [i for i in range(len(statements)) if i != at]
    before, after = ([i for i in others if (i in later) == late] for late in (0, 1))
    order = _with_declarations([*before, at, *after], statements)
    known = {*loops(schedule.function)}
    if order != sorted(order):
        schedule = schedule.rearrange(axis, *order)
    begin = order.index(at)
    while begin and isinstance(statements[order[begin - 1]], Alloc):
        begin -= 1
    for cut in (order.index(at) + 1, begin):
        if 0 < cut < len(order):
            schedule = schedule.fission(axis, after=cut)
    return schedule, _renamed(schedule, axis, leaf, known)


def _renamed(schedule: Schedule, axis: str, leaf: _Leaf, known: set[str]) -> _Leaf:
    """Return *leaf* after cuts of the loop *axis*, which may have been its own."""
    if leaf.axis != axis:
        return leaf
    found = loops(schedule.function)
    (own,) = (
        name
        for name, loop in found.items()
        if (name == axis or name not in known) and leaf.label in labels(loop)
    )
    return _Leaf(leaf.label, own)


def _holds(statement: Stmt, leaf: _Leaf, axis: str) -> bool:
    """Whether *statement*, in the loop *axis*, is or contains *leaf*."""
    if leaf.axis == axis:
        return not isinstance(statement, For | If) and leaf.label in labels(statement)
    inside = {node.axis for node in walk(statement) if isinstance(node, For)}
    return leaf.axis in inside


def _with_private_rows(schedule: Schedule, loop: For) -> Schedule | None:
    """Return *schedule* with a row for each iteration of what each uses as scratch.

    That is a local tensor which only *loop* uses, with subscripts that do not depend on
    it. None where there is none, or where iterations pass values to one another.
    """
    found = schedule
    inside = {id(node) for node in walk(loop)}
    for tensor, declared in allocations(schedule.function).items():
        every = list(accesses(schedule.function.body, tensor))
        uses = [use for use in every if loop in use.path]
        if id(declared) in inside or not uses or len(uses) < len(every):
            continue
        if any(loop.axis in form.names() for use in uses for form in use.index):
            continue
        with suppress(ScheduleError):
            found = found.expand(tensor, loop.axis, memory="array")
    if found is schedule:
        return None
    certificate = validate(schedule.original, found.function)
    return found if certificate.verdict == "proved" else None


def _with_declarations(order: list[int], statements: Sequence[Stmt]) -> list[int]:
    """Return *order* with each declaration right before its first use."""
    result: list[int] = []
    for number in order:
        statement = statements[number]
        if isinstance(statement, Alloc):
            continue
        used = set(tensor_names(statement))
        result += [
            i
            for i, each in enumerate(statements)
            if isinstance(each, Alloc) and each.tensor.name in used and i not in result
        ]
        result.append(number)
    return result


def _shared(loop: For) -> Iterator[str]:
    """Yield the local tensors of an iteration of *loop* that statements share."""
    statements = loop.body.statements
    for each in statements:
        if isinstance(each, Alloc):
            tensor = each.tensor.name
            if sum(tensor in tensor_names(s) for s in statements) > 1:
                yield tensor
