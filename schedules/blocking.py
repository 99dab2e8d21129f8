"""Loops that have to run in order, run in blocks, most of whose work has no order.

Row i of a triangular solve needs all rows before. In blocks of rows, what a row takes
from rows before the block is ready when the block begins: all rows of the block can
take it at once, as a product. Only what they take from one another keeps its order.
"""

from __future__ import annotations

from ..analysis.access import perfect_nest
from ..analysis.legality import Legality
from ..errors import ScheduleError
from ..ir.affine import name
from ..ir.nodes import For
from ..ir.walk import loops, walk
from .bounds import is_nonnegative
from .checks import scope_of
from .distribution import alone, isolated
from .schedule import Schedule

_MOST_CUTS = 16


def in_blocks(
    schedule: Schedule, axis: str, size: int, *, rows: bool | None = None
) -> Schedule | None:
    """Return *schedule* with *axis* in blocks of *size*, None where that is no use.

    Loops inside that run over the same range are cut where the block begins and ends.
    *rows* says whether sums along a row will do, None whether there is nothing else.
    """
    loop = loops(schedule.function)[axis]
    if perfect_nest(loop) or Legality(schedule.function).is_concurrent(axis):
        return None
    try:
        tiled = schedule.split(axis, size)
    except ScheduleError:
        return None
    whole = tiled
    tiled = _cut_at_blocks(tiled, axis, size)
    if tiled is whole:
        return None
    for along in (False, True) if rows is None else (rows,):
        apart = isolated(tiled, f"{axis}_i", rows=along)
        if _parts(apart, f"{axis}_o") > 1:
            return _with_inner_blocks(apart, f"{axis}_o", size)
    return None


def _with_inner_blocks(schedule: Schedule, block: str, size: int) -> Schedule:
    """Return *schedule* with the ordered loops in concurrent ones in blocks as well."""
    for loop in loops(schedule.function)[block].body.statements:
        if not isinstance(loop, For):
            continue
        for inner in loop.body.statements:
            if isinstance(inner, For) and perfect_nest(inner) is None:
                found = _with_blocks_outside(schedule, loop.axis, inner.axis, size)
                schedule = found or schedule
    return schedule


def _with_blocks_outside(
    schedule: Schedule, rows: str, axis: str, size: int
) -> Schedule | None:
    """Return *schedule* with blocks of *axis* around the loop *rows* that holds it."""
    legality = Legality(schedule.function)
    if legality.is_concurrent(axis) or not legality.is_concurrent(rows):
        return None
    apart = alone(schedule, rows, axis)
    if apart is None:
        return None
    schedule, rows = apart
    try:
        tiled = schedule.split(axis, size).reorder(f"{axis}_o", rows, f"{axis}_i")
    except ScheduleError:
        return None
    tiled = isolated(_cut_at_blocks(tiled, axis, size), rows)
    return tiled if _parts(tiled, f"{axis}_o") > 1 else None


def _parts(schedule: Schedule, axis: str) -> int:
    body = loops(schedule.function)[axis].body
    return sum(isinstance(each, For) for each in body.statements)


def _cut_at_blocks(schedule: Schedule, axis: str, size: int) -> Schedule:
    block = f"{axis}_o"
    for _ in range(_MOST_CUTS):
        step = _next_cut(schedule, f"{axis}_i", (block, f"{block} + {size}"))
        if step is None:
            break
        schedule = schedule.cut(*step)
    return schedule


def _next_cut(
    schedule: Schedule, point: str, ends: tuple[str, str]
) -> tuple[str, str] | None:
    """Return a loop and where to cut it, so that it lies on one side of an end."""
    function = schedule.function
    dims = {dim.name: dim for dim in function.dims}
    related = {point}
    size = int(ends[1].rpartition(" ")[2])
    block = name(ends[0])
    for loop in walk(loops(function)[point].body):
        if not isinstance(loop, For):
            continue
        bounds = (*loop.starts, *loop.stops)
        if not any(form.coefficient(each) == 1 for form in bounds for each in related):
            continue
        related.add(loop.axis)
        if loop.step != 1:
            continue
        scope = scope_of(function, loop.axis)
        del scope[loop.axis]
        for end, text in ((block, ends[0]), (block + size, ends[1])):
            begins_after = any(
                is_nonnegative(start - end, scope, dims) for start in loop.starts
            )
            stops_before = any(
                is_nonnegative(end - stop, scope, dims) for stop in loop.stops
            )
            if not begins_after and not stops_before:
                return loop.axis, text
    return None
