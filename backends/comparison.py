"""Comparison of a run's results with the reference, in units of the derived bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CheckError


@dataclass(frozen=True, slots=True)
class Comparison:
    """The worst element of a comparison, and how far it may be off.

    *max_error_over_bound* is at most 1 for every right program; it is infinite where
    an exact element differs. *void* counts elements of which the bound claims nothing.
    *refused* is what a call says that has a subscript out of range: it has no results.
    """

    max_error_over_bound: float
    tensor: str
    index: tuple[int, ...]
    actual: float | complex
    expected: float | complex
    error: float
    bound: float
    elements: int
    void: int
    refused: str = ""

    @property
    def passed(self) -> bool:
        """Whether every element is within its bound."""
        return self.max_error_over_bound <= 1

    def __str__(self) -> str:
        """Return error, bound and worst index as a sentence."""
        if self.refused:
            return f"refused, as it ought to be: {self.refused}"
        if not self.elements:
            return "nothing to compare"
        place = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        text = (
            f"{self.tensor}{place} is {self.actual:.9g}, expected {self.expected:.9g}: "
            f"error {self.error:.3g}, bound {self.bound:.3g} "
            f"({self.max_error_over_bound:.3g} of the bound)"
        )
        return text + no_bound(self.void)


def no_bound(void: int) -> str:
    """Return the end of a sentence on elements that the comparison had to skip."""
    if not void:
        return ""
    elements = "1 element was" if void == 1 else f"{void} elements were"
    return (
        f"; {elements} not compared, because no error bound exists there (numbers "
        "overflow, are infinite or NaN, or a divisor may be 0)"
    )


def compare(
    actual: Mapping[str, NDArray[Any]],
    expected: Mapping[str, tuple[NDArray[Any], NDArray[Any]]],
) -> Comparison:
    """Compare *actual* arrays with (value, bound) pairs by name; NaN matches NaN."""
    elements = void = 0
    worst: Comparison | None = None
    for name, (value, bound) in expected.items():
        result = np.asarray(actual[name])
        if result.shape != value.shape:
            raise CheckError(
                f"{name} has shape {result.shape}, but the kernel's is {value.shape}"
            )
        elements += value.size
        void += int(np.count_nonzero(np.isinf(bound)))
        if value.size:
            found = _worst(name, result, value, bound)
            if worst is None or found.max_error_over_bound > worst.max_error_over_bound:
                worst = found
    if worst is None:
        return Comparison(0.0, "", (), 0.0, 0.0, 0.0, 0.0, elements, void)
    place = (worst.tensor, worst.index, worst.actual, worst.expected)
    return Comparison(
        worst.max_error_over_bound, *place, worst.error, worst.bound, elements, void
    )


def error_over_bound(
    actual: NDArray[Any], value: NDArray[Any], bound: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the error of each element as a multiple of its bound."""
    with np.errstate(all="ignore"):
        error = _error(actual, value)
        ratio = np.where(error == 0, 0.0, error / bound)
        return np.where(np.isinf(bound), 0.0, np.where(np.isnan(ratio), np.inf, ratio))


def _error(actual: NDArray[Any], value: NDArray[Any]) -> NDArray[np.float64]:
    if value.dtype.kind == "c":
        difference = np.abs(actual.astype(np.complex128) - value)
        pairs = ((actual.real, value.real), (actual.imag, value.imag))
        same = [(a == b) | (np.isnan(a) & np.isnan(b)) for a, b in pairs]
        return np.where(same[0] & same[1], 0.0, difference)
    if value.dtype.kind == "f":
        difference = np.abs(actual.astype(np.float64) - value)
        both_nan = np.isnan(actual) & np.isnan(value)
        return np.where((actual == value) | both_nan, 0.0, difference)
    distance = np.abs(actual.astype(np.float64) - value.astype(np.float64))
    return np.where(actual == value, 0.0, np.maximum(distance, 1.0))


def _number(value: Any) -> float | complex:
    return complex(value) if np.iscomplexobj(value) else float(value)


def _worst(
    name: str, actual: NDArray[Any], value: NDArray[Any], bound: NDArray[Any]
) -> Comparison:
    with np.errstate(all="ignore"):
        ratios = error_over_bound(actual, value, bound)
        errors = _error(actual, value)
    flat = int(np.argmax(ratios))
    index = tuple(int(i) for i in np.unravel_index(flat, value.shape))
    return Comparison(
        float(ratios[index]),
        name,
        index,
        _number(actual[index]),
        _number(value[index]),
        float(errors[index]),
        float(bound[index]),
        value.size,
        0,
    )
