"""gesummv: the sum of two matrix-vector products, `y = alpha A x + beta B x`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

N = tdsl.dim("N")

SIZES = {
    "mini": {"N": 30},
    "primes": {"N": 37},
    "small": {"N": 90},
    "medium": {"N": 250},
    "large": {"N": 1300},
    "bench": {"N": 7000},
}


@tdsl.kernel
def gesummv(alpha: f64, beta: f64, A: f64[N, N], B: f64[N, N], x: f64[N]) -> f64[N]:
    """Multiply both matrices in one pass over x."""
    y = tdsl.empty((N,), f64)
    for i in range(N):
        in_a = f64(0.0)
        in_b = f64(0.0)
        for j in range(N):
            in_a += A[i, j] * x[j]
            in_b += B[i, j] * x[j]
        y[i] = alpha * in_a + beta * in_b
    return y


kernel = gesummv


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    n = dims["N"]
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "A": np.fromfunction(lambda i, j: (i * j + 1) % n / n, (n, n)),
        "B": np.fromfunction(lambda i, j: (i * j + 2) % n / n, (n, n)),
        "x": np.arange(n) % n / n,
    }


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"gesummv": initialize}


def reference(
    alpha: float, beta: float, A: np.ndarray, B: np.ndarray, x: np.ndarray
) -> dict[str, np.ndarray]:
    """State the same in NumPy."""
    return {"y": alpha * (A @ x) + beta * (B @ x)}
