"""trmm: a product with a triangular matrix, `B = alpha A' B`.

A is lower triangular with ones on its diagonal, which are not read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

M, N = tdsl.dims("M N")

SIZES = {
    "mini": {"M": 20, "N": 30},
    "primes": {"M": 29, "N": 17},
    "small": {"M": 60, "N": 80},
    "medium": {"M": 200, "N": 240},
    "large": {"M": 1000, "N": 1200},
    "bench": {"M": 600, "N": 800},
}


@tdsl.kernel
def trmm(alpha: f64, A: f64[M, M], B: tdsl.inout(f64[M, N])):
    """Row i takes the rows below it, which still hold their old values."""
    for i in range(M):
        for j in range(N):
            for k in range(i + 1, M):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] *= alpha


kernel = trmm


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    m, n = dims["M"], dims["N"]
    lower = np.tril(np.fromfunction(lambda i, j: (i + j) % m / m, (m, m)), -1)
    return {
        "alpha": 1.5,
        "A": lower + np.eye(m),
        "B": np.fromfunction(lambda i, j: (n + i - j) % n / n, (m, n)),
    }


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"trmm": initialize}


def reference(alpha: float, A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy."""
    unit = np.tril(A, -1) + np.eye(len(A))
    return {"B": alpha * (unit.T @ B)}
