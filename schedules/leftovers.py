"""What stays behind of a statement that moves into the first iteration of loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import ScheduleError
from ..ir.affine import Affine
from ..ir.nodes import Block, Dim, For, If, Stmt
from .bounds import Loops, is_nonnegative
from .copies import copy_block


def leftover(
    root: Stmt,
    moved_into: Sequence[For],
    scope: Loops,
    dims: Mapping[str, Dim],
    taken: set[str],
) -> Block:
    """Return the copies of *root* that run where a loop of *moved_into* is empty.

    An empty loop has no first iteration, so the statement must then run in its old
    place, once: the guard of each copy says that its loop is the first empty one.
    *scope* are the loops around the old place. Raises `ScheduleError` where emptiness
    depends on a loop that the old place is not in.
    """
    copies: list[Stmt] = []
    not_empty: list[Affine] = []
    inside: Loops = dict(scope)
    for loop in moved_into:
        for stop in loop.stops:
            length = stop - loop.starts[0]
            if is_nonnegative(length - 1, inside, dims):
                continue
            _check_in_scope(length, loop, {*scope, *dims})
            copy = copy_block(Block((root,)), "_empty", taken)
            copies.append(If((*not_empty, -length), copy))
            not_empty.append(length - 1)
        inside[loop.axis] = loop
    return Block(tuple(copies))


def _check_in_scope(length: Affine, loop: For, known: set[str]) -> None:
    outside = sorted(length.names() - known)
    if outside:
        raise ScheduleError(
            f'compute_at: whether loop "{loop.axis}" is empty depends on '
            f"{', '.join(outside)}, so where the statement must stay behind has no "
            "guard; choose a loop further out"
        )
