"""mvt: two matrix-vector products, `x1 += A y1` and `x2 += A' y2`."""

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
    "bench": {"N": 6000},
}


@tdsl.kernel
def mvt(
    x1: tdsl.inout(f64[N]),
    x2: tdsl.inout(f64[N]),
    y1: f64[N],
    y2: f64[N],
    A: f64[N, N],
):
    """Read A by rows, then by columns."""
    for i in range(N):
        for j in range(N):
            x1[i] += A[i, j] * y1[j]
    for i in range(N):
        for j in range(N):
            x2[i] += A[j, i] * y2[j]


kernel = mvt


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    n = dims["N"]
    i = np.arange(n)
    return {
        "x1": i % n / n,
        "x2": (i + 1) % n / n,
        "y1": (i + 3) % n / n,
        "y2": (i + 4) % n / n,
        "A": np.fromfunction(lambda i, j: i * j % n / n, (n, n)),
    }


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"mvt": initialize}


def reference(
    x1: np.ndarray, x2: np.ndarray, y1: np.ndarray, y2: np.ndarray, A: np.ndarray
) -> dict[str, np.ndarray]:
    """State the same in NumPy."""
    return {"x1": x1 + A @ y1, "x2": x2 + A.T @ y2}
