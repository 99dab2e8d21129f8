"""Elements that data chooses, in the evaluation with bounds.

Subscripts are exact, or nothing is known of what they choose. One that is out of range
reads a number with an infinite bound, which does no harm where a conditional does not
take it; nothing is written there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..ir.nodes import Expr, Gather, Scatter
from .accumulate import Cells
from .grid import Array, Elements, Grid
from .uncertain import Uncertain

Evaluate = Callable[[Expr], Uncertain]


@dataclass(frozen=True, slots=True)
class Choice:
    """Subscripts over a grid, in range; *known* is where they are what data says."""

    subscripts: tuple[Array, ...]
    inside: Array
    exact: Array

    @property
    def known(self) -> Array:
        """Where the element is inside the tensor and certain."""
        return self.inside & self.exact


def choose(
    access: Gather | Scatter, grid: Grid, cells: Cells, value: Evaluate
) -> Choice | None:
    """Return which elements *access* chooses; None where the tensor has none."""
    private = cells.private_subscripts(grid)
    shape = cells.shape
    if 0 in shape:
        return None
    subscripts = list(private)
    inside, exact = grid.full(True), grid.full(True)
    for part, extent in zip(access.index, shape[len(private) :], strict=True):
        found = value(part)
        inside = inside & (found.value >= 0) & (found.value < extent)
        if not found.is_exact:
            exact = exact & (found.error == 0)
        subscripts.append(np.clip(found.value, 0, extent - 1))
    return Choice(tuple(subscripts), inside, exact)


def gathered(gather: Gather, grid: Grid, cells: Cells, value: Evaluate) -> Uncertain:
    """Return the elements that *gather* reads over *grid*."""
    choice = choose(gather, grid, cells, value)
    if choice is None:
        zero = np.zeros((), cells.parts[0].dtype)
        return Uncertain(grid.full(zero), grid.full(np.inf))
    found = cells.read(Elements(choice.subscripts, grid))
    known = choice.known
    if known.all():
        return found
    return Uncertain(found.value, np.where(known, found.error, np.inf))
