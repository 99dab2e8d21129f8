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
    """Return *schedule* with *axis* cut in three, if that makes both ends concurrent.

    So each cut leaves fewer loops to look at, and their search ends.
    """
    if Legality(schedule.function).is_concurrent(axis):
        return None
    try:
        once = schedule.cut(axis, meeting)
        rest = _copy(schedule, once)
        twice = once.cut(rest, f"{meeting} + 1")
        ends = axis, _copy(once, twice)
    except (ScheduleError, ValueError):
        return None
    legality = Legality(twice.function)
    return twice if all(map(legality.is_concurrent, ends)) else None


def _copy(before: Schedule, after: Schedule) -> str:
    """Return the loop that a cut made: the first of those that are new."""
    known = loops(before.function)
    copy, *_ = (axis for axis in loops(after.function) if axis not in known)
    return copy
