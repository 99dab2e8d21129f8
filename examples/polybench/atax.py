"""atax: a matrix and then its transpose times a vector, `y = A' (A x)`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

M, N = tdsl.dims("M N")

SIZES = {
    "mini": {"M": 38, "N": 42},
    "primes": {"M": 41, "N": 23},
    "small": {"M": 116, "N": 124},
    "medium": {"M": 390, "N": 410},
    "large": {"M": 1900, "N": 2100},
    "bench": {"M": 8000, "N": 8000},
}


@tdsl.kernel
def atax(A: f64[M, N], x: f64[N]) -> f64[N]:
    """Use each row twice: for its product with x, then scaled by that."""
    y = tdsl.zeros((N,), f64)
    for i in range(M):
        product = f64(0.0)
        for j in range(N):
            product += A[i, j] * x[j]
        for j in range(N):
            y[j] += A[i, j] * product
    return y


kernel = atax


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    m, n = dims["M"], dims["N"]
    return {
        "A": np.fromfunction(lambda i, j: (i + j) % n / (5 * m), (m, n)),
        "x": 1 + np.arange(n) / n,
    }


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"atax": initialize}


def reference(A: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy."""
    return {"y": A.T @ (A @ x)}
