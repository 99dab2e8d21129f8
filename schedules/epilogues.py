"""What follows an accumulation, done as soon as some of its rows are complete.

A bias and an activation after a product read each result once. In a nest of their own
they read it from far away, in the loop over blocks of rows from the nearest cache.
"""

from __future__ import annotations

from ..analysis.access import perfect_nest, subscript_names
from ..analysis.validate import validate
from ..errors import ScheduleError
from ..ir.nodes import Alloc, For, Function, Load, Reduce
from ..ir.walk import loops, reads
from .roles import Roles, find_roles
from .schedule import Schedule


def with_epilogue(
    schedule: Schedule, axis: str, size: int
) -> tuple[Schedule, str] | None:
    """Return *schedule* with the accumulation *axis* and the nest after it in one loop.

    The loop, which is named too, is one over blocks of *size* rows where *axis* runs
    over the rows of register tiles, else *axis*, each iteration of which has tiles of
    its own. None where *axis* is no accumulation, or nothing uses its rows one by one.
    """
    roles = _accumulation(loops(schedule.function)[axis])
    if roles is None:
        return None
    second = _user(schedule.function, axis, roles)
    if second is None:
        return None
    names = axis, second
    try:
        if axis == roles.rows:
            for rows in names:
                schedule = schedule.split(rows, size)
            names = f"{axis}_o", f"{second}_o"
        schedule = schedule.merge(*names)
    except ScheduleError:
        return None
    certificate = validate(schedule.original, schedule.function)
    return (schedule, names[0]) if certificate.verdict == "proved" else None


def _accumulation(loop: For) -> Roles | None:
    """Return the roles in *loop* if it accumulates, and goes over rows of results."""
    nest = perfect_nest(loop)
    if nest is None or not isinstance(nest.statement, Reduce) or not nest.reduction:
        return None
    roles = find_roles(nest, {})
    if roles is None or not nest.is_rectangular:
        return None
    return roles if loop.axis in (roles.rows, *roles.outer[:1]) else None


def _user(function: Function, axis: str, roles: Roles) -> str | None:
    """Return the loop after *axis* if it uses the results of as many rows."""
    statements = [s for s in function.body.statements if not isinstance(s, Alloc)]
    (at,) = (n for n, s in enumerate(statements) if s is loops(function)[axis])
    match statements[at + 1 : at + 2]:
        case [For() as second] if _accumulation(second) is None:
            pass
        case _:
            return None
    first, target = statements[at], roles.nest.statement.tensor
    assert isinstance(first, For)
    if (first.starts, first.stops, first.step) != (
        second.starts,
        second.stops,
        second.step,
    ):
        return None
    used = [read for read in reads(second) if read.tensor == target]
    by_rows = all(
        isinstance(read, Load) and second.axis in subscript_names(read) for read in used
    )
    return second.axis if used and by_rows else None
