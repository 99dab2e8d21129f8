"""gemver: two rank-one updates, then `x = beta A' y + z` and `w = alpha A x`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

N = tdsl.dim("N")

SIZES = {
    "mini": {"N": 40},
    "primes": {"N": 31},
    "small": {"N": 120},
    "medium": {"N": 400},
    "large": {"N": 2000},
    "bench": {"N": 6000},
}


@tdsl.kernel
def gemver(
    alpha: f64,
    beta: f64,
    A: tdsl.inout(f64[N, N]),
    u1: f64[N],
    v1: f64[N],
    u2: f64[N],
    v2: f64[N],
    y: f64[N],
    z: f64[N],
) -> (f64[N], f64[N]):
    """Update A in place and return x and w."""
    x = tdsl.zeros((N,), f64)
    w = tdsl.zeros((N,), f64)
    for i in range(N):
        for j in range(N):
            A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    for i in range(N):
        for j in range(N):
            x[i] += beta * A[j, i] * y[j]
    for i in range(N):
        x[i] += z[i]
    for i in range(N):
        for j in range(N):
            w[i] += alpha * A[i, j] * x[j]
    return x, w


kernel = gemver


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    n = dims["N"]
    i = np.arange(n, dtype=np.float64)
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "A": np.fromfunction(lambda i, j: i * j % n / n, (n, n)),
        "u1": i.copy(),
        "v1": (i + 1) / n / 4,
        "u2": (i + 1) / n / 2,
        "v2": (i + 1) / n / 6,
        "y": (i + 1) / n / 8,
        "z": (i + 1) / n / 9,
    }


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"gemver": initialize}


def reference(
    alpha: float,
    beta: float,
    A: np.ndarray,
    u1: np.ndarray,
    v1: np.ndarray,
    u2: np.ndarray,
    v2: np.ndarray,
    y: np.ndarray,
    z: np.ndarray,
) -> dict[str, np.ndarray]:
    """State the same in NumPy."""
    updated = A + np.outer(u1, v1) + np.outer(u2, v2)
    x = beta * (y @ updated) + z
    return {"A": updated, "x": x, "w": alpha * (updated @ x)}
