"""syrk: a symmetric rank-M update of a lower triangle, `C = alpha A A' + beta C`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

M, N = tdsl.dims("M N")

SIZES = {
    "mini": {"M": 20, "N": 30},
    "primes": {"M": 29, "N": 19},
    "small": {"M": 60, "N": 80},
    "medium": {"M": 200, "N": 240},
    "large": {"M": 1000, "N": 1200},
    "bench": {"M": 1000, "N": 1200},
}


@tdsl.kernel
def syrk(alpha: f64, beta: f64, A: f64[N, M], C: tdsl.inout(f64[N, N])):
    """Update the lower triangle row by row."""
    for i in range(N):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(M):
            for j in range(i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]


kernel = syrk


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    m, n = dims["M"], dims["N"]
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "A": np.fromfunction(lambda i, j: (i * j + 1) % n / n, (n, m)),
        "C": np.fromfunction(lambda i, j: (i * j + 2) % m / m, (n, n)),
    }


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"syrk": initialize}


def reference(
    alpha: float, beta: float, A: np.ndarray, C: np.ndarray
) -> dict[str, np.ndarray]:
    """State the same in NumPy."""
    updated = alpha * (A @ A.T) + beta * C
    return {"C": np.tril(updated) + np.triu(C, 1)}
