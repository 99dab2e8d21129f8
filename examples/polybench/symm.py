"""symm: a product with a symmetric matrix, `C = alpha A B + beta C`.

Only the lower triangle of A is read; the upper one holds -999.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

M, N = tdsl.dims("M N")

SIZES = {
    "mini": {"M": 20, "N": 30},
    "primes": {"M": 23, "N": 17},
    "small": {"M": 60, "N": 80},
    "medium": {"M": 200, "N": 240},
    "large": {"M": 1000, "N": 1200},
    "bench": {"M": 550, "N": 660},
}


@tdsl.kernel
def symm(
    alpha: f64,
    beta: f64,
    A: f64[M, M],
    B: f64[M, N],
    C: tdsl.inout(f64[M, N]),
):
    """Let each element of the triangle serve its row and, mirrored, its column."""
    for i in range(M):
        for j in range(N):
            mirrored = 0.0
            for k in range(i):
                C[k, j] += alpha * B[i, j] * A[i, k]
                mirrored += B[k, j] * A[i, k]
            C[i, j] = beta * C[i, j] + alpha * B[i, j] * A[i, i] + alpha * mirrored


kernel = symm


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    m, n = dims["M"], dims["N"]
    full = np.fromfunction(lambda i, j: (i + j) % 100 / m, (m, m))
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "A": np.where(np.tri(m, dtype=bool), full, -999.0),
        "B": np.fromfunction(lambda i, j: (n + i - j) % 100 / m, (m, n)),
        "C": np.fromfunction(lambda i, j: (i + j) % 100 / m, (m, n)),
    }


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"symm": initialize}


def reference(
    alpha: float, beta: float, A: np.ndarray, B: np.ndarray, C: np.ndarray
) -> dict[str, np.ndarray]:
    """State the same in NumPy."""
    full = np.tril(A) + np.tril(A, -1).T
    return {"C": alpha * (full @ B) + beta * C}
