"""What stays behind of a statement that moves into the first iteration of loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    *scope* are the loops around the old place.
    """
    copies: list[Stmt] = []
    not_empty: list[Affine] = []
    inside: Loops = dict(scope)
    for loop in moved_into:
        for stop in loop.stops:
            length = stop - loop.starts[0]
            if is_nonnegative(length - 1, inside, dims):
                continue
            copy = copy_block(Block((root,)), "_empty", taken)
            copies.append(If((*not_empty, -length), copy))
            not_empty.append(length - 1)
        inside[loop.axis] = loop
    return Block(tuple(copies))
