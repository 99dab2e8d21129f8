"""The same values in other places of memory: orders of axes, steps, directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from .case import Layout

_MIXED: tuple[Layout, ...] = ("fortran", "contiguous", "reversed", "stepped")
_GAP = 0xA5


@dataclass(frozen=True, slots=True)
class Placed:
    """An argument in its layout, with the memory around its elements."""

    value: Any
    around: NDArray[Any] | None = None

    def is_intact(self) -> bool:
        """Whether nothing between the elements was written."""
        if self.around is None:
            return True
        gaps = np.ones(self.around.shape, np.bool_)
        gaps[_every_other(gaps.ndim)] = False
        return bool((_bytes(self.around)[gaps.reshape(-1)] == _GAP).all())


def placed(value: Any, layout: Layout, number: int = 0) -> Placed:
    """Return a copy of *value* in *layout*; scalars are unchanged.

    contiguous: C order. fortran: Fortran order. stepped: every other element of a
    larger array. reversed: negative strides. mixed: one of these by *number*, the
    position of the argument.
    """
    if not isinstance(value, np.ndarray) or not value.ndim:
        return Placed(value)
    match layout:
        case "contiguous":
            return Placed(value)
        case "fortran":
            return Placed(np.asfortranarray(value))
        case "stepped":
            extents = [2 * extent for extent in value.shape]
            larger = np.empty(extents, value.dtype)
            _bytes(larger)[...] = _GAP
            view = larger[_every_other(value.ndim)]
            view[...] = value
            return Placed(view, larger)
        case "reversed":
            backwards = (slice(None, None, -1),) * value.ndim
            return Placed(value[backwards].copy()[backwards])
        case "mixed":
            return placed(value, _MIXED[number % len(_MIXED)])
        case _:
            assert_never(layout)


def _every_other(rank: int) -> tuple[slice, ...]:
    return (slice(None, None, 2),) * rank


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of a contiguous *array*, one row for each element."""
    return array.reshape(-1).view(np.uint8).reshape(array.size, array.itemsize)
