"""Where the emitter stands, and what restricts a statement there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..ir.affine import Affine


@dataclass(frozen=True, slots=True)
class Point:
    """Where in the tile loops the writer stands.

    *exact* gives each tile axis over integer variables and the lane number; *limits*
    the last coordinate that exists for unrolled axes that may run past it. The full
    conditions in *assumed* are known to hold, and so are the guards in *satisfied*;
    *decided* means that this is the code for partial tiles. *branches* counts the
    choices between full and partial tiles around, of which one branch always runs.
    """

    exact: Mapping[str, Affine]
    limits: Mapping[str, tuple[str, ...]]
    lanes: int = 0
    assumed: frozenset[Affine] = frozenset()
    satisfied: frozenset[Affine] = frozenset()
    decided: bool = False
    branches: int = 0
    parallel: bool = False

    def at(self, form: Affine) -> Affine:
        """Return *form* with the tile axes replaced."""
        return form.substitute(self.exact)


@dataclass(frozen=True, slots=True)
class Masks:
    """What restricts a statement in a vectorized loop, as forms that are >= 0.

    *lanes* differ between lanes, *scalars* do not; *kept* are the lane forms that a
    write to a register tensor has to respect.
    """

    lanes: tuple[Affine, ...]
    scalars: tuple[Affine, ...]
    kept: tuple[Affine, ...]


NO_MASKS = Masks((), (), ())


def is_nonnegative(form: Affine) -> bool:
    """Return whether *form* is a constant that is at least 0."""
    return form.is_constant and form.constant >= 0
