"""Loops cut where their iterations meet what all others read.

In `P[i, j] = min(P[i, j], P[i, k] + P[k, j])` row k and column k are read by every
iteration of i and j and written by one. Cut before and after it, the loops on both
sides share nothing.
"""

from __future__ import annotations

from ..analysis.access import perfect_nest, statement_loads
from ..analysis.legality import Legality
from ..errors import ScheduleError
from ..ir.affine import name
from ..ir.nodes import For
from ..ir.walk import loops
from .checks import scope_of
from .schedule import Schedule


def without_crossings(schedule: Schedule) -> Schedule:
    """Return *schedule* with loops cut where that makes them concurrent."""
    waiting = list(loops(schedule.function))
    while waiting:
        axis = waiting.pop(0)
        known = loops(schedule.function)
        for meeting in _meetings(schedule, known[axis]):
            found = _cut_around(schedule, axis, meeting)
            if found is not None:
                waiting += [a for a in loops(found.function) if a not in known]
                schedule = found
                break
    return schedule


def _meetings(schedule: Schedule, loop: For) -> list[str]:
    """Return the outer axes whose row, in the dimension of *loop*, all of it reads."""
    nest = perfect_nest(loop)
    if nest is None or loop.step != 1:
        return []
    own = nest.statement
    rows = [
        load.index[position]
        for load in statement_loads(own)
        if load.tensor == own.tensor
        for position, form in enumerate(own.index)
        if form == name(loop.axis)
    ]
    if not rows:
        return []
    outer = scope_of(schedule.function, loop.axis)
    return [each for each in outer if each != loop.axis and name(each) in rows]


def _cut_around(schedule: Schedule, axis: str, meeting: str) -> Schedule | None:
    if Legality(schedule.function).is_concurrent(axis):
        return None
    before = loops(schedule.function)
    try:
        once = schedule.cut(axis, meeting)
        (rest,) = _copies(once, before, axis)
        twice = once.cut(rest, f"{meeting} + 1")
    except (ScheduleError, ValueError):
        return None
    return twice if Legality(twice.function).is_concurrent(axis) else None


def _copies(schedule: Schedule, before: dict[str, For], axis: str) -> list[str]:
    """Return the copy of *axis* among the loops that are new."""
    new = [a for a in loops(schedule.function) if a not in before]
    return [a for a in new if a.startswith(f"{axis}_2")][:1]
