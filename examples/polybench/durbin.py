"""durbin: solve the Yule-Walker equations `T y = -r` by Levinson's recursion.

T is the symmetric Toeplitz matrix of `1, r[0], r[1], ...`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

N = tdsl.dim("N", min=1)

SIZES = {
    "mini": {"N": 40},
    "primes": {"N": 37},
    "small": {"N": 120},
    "medium": {"N": 400},
    "large": {"N": 2000},
    "bench": {"N": 22000},
}

# Where the steps are too many for the derived bound to follow each error: otherwise the
# recursion divides by what may be 0 for all that the bound knows.
TOLERANCE = 1e-11


@tdsl.kernel
def durbin(r: f64[N]) -> f64[N]:
    """Extend the solution by one element at a time."""
    y = tdsl.empty((N,), f64)
    z = tdsl.empty((N,), f64)
    y[0] = -r[0]
    beta = f64(1.0)
    alpha = -r[0]
    for k in range(1, N):
        beta = (1.0 - alpha * alpha) * beta
        total = f64(0.0)
        for i in range(k):
            total += r[k - i - 1] * y[i]
        alpha = -(r[k] + total) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha
    return y


kernel = durbin


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data over 2 N, which makes them an autocorrelation."""
    n = dims["N"]
    return {"r": (n + 1 - np.arange(n, dtype=np.float64)) / (2 * n)}


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"durbin": initialize}


def reference(r: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy."""
    distance = np.abs(np.subtract.outer(np.arange(len(r)), np.arange(len(r))))
    toeplitz = np.concatenate([[1.0], r])[distance]
    return {"y": np.linalg.solve(toeplitz, -r)}
