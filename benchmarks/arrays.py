"""The same inputs in every process, and the error of a result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

UNIT_ROUNDOFF = 2.0**-24  # of float32, round to nearest


def normal_arrays(shapes: Sequence[Sequence[int]]) -> list[np.ndarray]:
    """Return one float32 array of standard normal numbers for each shape."""
    return [
        np.random.default_rng(number)
        .standard_normal(tuple(shape), dtype=np.float32)
        .astype(np.float32, copy=False)
        for number, shape in enumerate(shapes)
    ]


def contraction_error(
    result: np.ndarray, exact: np.ndarray, magnitude: np.ndarray
) -> float:
    """Return the largest error of a sum of products.

    *exact* is the float64 result and *magnitude* the float64 result with absolute
    values of all inputs; the unit is their product with float32's unit roundoff, in
    which a naive sum of K products may reach K + 1.
    """
    if not result.size:
        return 0.0
    scale = np.maximum(magnitude * UNIT_ROUNDOFF, np.finfo(np.float64).tiny)
    return float(np.max(np.abs(result.astype(np.float64) - exact) / scale))
