"""Several rows at once: what all rows read is loaded once for a group of them.

In `s[i] += A[i, j] * x[j]` each row reads all of x, which a cache may hold but no
register. Rows that run together share each vector of x; a sum over rows, as in
`y[j] += A[i, j] * t[i]`, is loaded and stored once for the group. The loop over rows is
distributed, and what is left of it moves inside the vectors and is unrolled there.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.access import leaves, statement_loads, subscript_names
from ..ir.nodes import Alloc, For, Reduce, Store
from ..ir.walk import loops
from .checks import scope_of
from .schedule import Schedule

GROUPS = (1, 2, 4, 8)


def shares(statements: Sequence[Store | Reduce], rows: str, lanes: str) -> bool:
    """Whether iterations of *rows* touch the same elements along *lanes*."""
    return any(
        lanes in subscript_names(access) and rows not in subscript_names(access)
        for leaf in statements
        for access in (leaf, *statement_loads(leaf))
    )


def grouped_lanes(loop: For, lanes: Sequence[str]) -> tuple[str, ...]:
    """Return the loops of *lanes* in *loop* that a group of its iterations can share.

    There are none where an iteration of *loop* has arrays of its own.
    """
    if loop.step != 1:
        return ()
    found = []
    for statement in loop.body.statements:
        if isinstance(statement, Alloc) and statement.tensor.shape:
            return ()
        if not isinstance(statement, For) or statement.axis not in lanes:
            continue
        bounds = (*statement.starts, *statement.stops)
        fixed = all(loop.axis not in form.names() for form in bounds)
        innermost = all(
            isinstance(each, Store | Reduce) for each in statement.body.statements
        )
        points = leaves(statement.body)
        if fixed and innermost and shares(points, loop.axis, statement.axis):
            found.append(statement.axis)
    return tuple(found)


def in_groups(
    schedule: Schedule, axis: str, size: int, lanes: Sequence[str]
) -> Schedule:
    """Return *schedule* with the rows *axis* in groups, a loop around each of *lanes*.

    The loop over groups is called `_b`; those inside are known by what they hold.
    """
    inner = f"{axis}_u"
    schedule = schedule.split(axis, size, names=(f"{axis}_b", inner))
    for statement in loops(schedule.function)[inner].body.statements:
        if isinstance(statement, Alloc):
            schedule = schedule.expand(statement.tensor.name, inner)
    statements = loops(schedule.function)[inner].body.statements
    cuts = set()
    for position, statement in enumerate(statements):
        if isinstance(statement, For) and statement.axis in lanes:
            cuts |= {position, position + 1}
    for cut in sorted(cuts - {0, len(statements)}, reverse=True):
        schedule = schedule.fission(inner, after=cut)
    return schedule


def run_together(schedule: Schedule, outer: str, inner: str, rows: str) -> Schedule:
    """Return *schedule* with the vector loop *inner* in lanes, for all of *rows*.

    *outer* goes over the vectors; the loop *rows* is the one around it.
    """
    updates = {
        leaf.tensor: subscript_names(leaf)
        for leaf in leaves(loops(schedule.function)[inner].body)
        if isinstance(leaf, Reduce)
    }
    sums = [tensor for tensor, names in updates.items() if inner not in names]
    shared = [tensor for tensor, names in updates.items() if rows not in names]
    # Unrolled first: so are the loops over partial results, which stay in registers.
    schedule = schedule.reorder(outer, rows, inner).unroll(rows)
    for tensor in sums:
        named = tensor if len(sums) > 1 else None
        schedule = schedule.rfactor(inner, tensor=named, memory="register")
    schedule = schedule.vectorize(inner)
    for tensor in shared:
        schedule = schedule.cache_write(tensor, outer)
    return schedule


def rows_around(schedule: Schedule, axis: str) -> str:
    """Return the loop directly around *axis*."""
    return list(scope_of(schedule.function, axis))[-2]
