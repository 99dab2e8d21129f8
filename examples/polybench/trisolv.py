"""trisolv: solve `L x = b` for a lower triangular L."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

N = tdsl.dim("N")

SIZES = {
    "mini": {"N": 40},
    "primes": {"N": 37},
    "small": {"N": 120},
    "medium": {"N": 400},
    "large": {"N": 2000},
    "bench": {"N": 12000},
}


@tdsl.kernel
def trisolv(L: f64[N, N], b: f64[N]) -> f64[N]:
    """Substitute forwards."""
    x = tdsl.empty((N,), f64)
    for i in range(N):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]
    return x


kernel = trisolv


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    n = dims["N"]
    return {
        "L": np.tril(np.fromfunction(lambda i, j: (i + n - j + 1) * 2 / n, (n, n))),
        "b": np.arange(n, dtype=np.float64),
    }


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"trisolv": initialize}


def tolerance(dims: dict[str, int]) -> float:
    """Return how far two substitutions may differ, as a share of the largest element.

    For N above 1800: below, the bound that tdsl derives says enough.

    In any order, substitution solves `(L + D) x = b` exactly for some D of at most
    gamma(N) |L| (Higham, Accuracy and Stability, theorem 8.5), so that x is off by at
    most gamma(N) |inverse(L)| |L| |x|. These L and x are positive: |L| |x| is b, below
    N. The rows of |inverse(L)| add up to less than 1: the Toeplitz matrix L is
    2/N times ((N+1) - N z) / (1 - z)**2 as a series, so its inverse has the
    coefficients of N/2 (1 - z)**2 / ((N+1) - N z), N (N+2) / (N+1)**2 in sum. The
    largest element of x is N/2 / (N+1). The kernel and NumPy may each be off by that.
    """
    n = dims["N"]
    unit = 2.0**-53
    gamma = n * unit / (1 - n * unit)
    return 2 * gamma * n / (n / 2 / (n + 1))


def reference(L: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy; backwards L is upper triangular, so no rows swap."""
    return {"x": np.linalg.solve(L[::-1, ::-1], b[::-1])[::-1]}
