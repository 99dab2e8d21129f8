"""gramschmidt: a matrix as `Q R` by the modified Gram-Schmidt process.

The benchmark's own data have fewer rows than columns and repeat columns, so that all
but the first few columns of Q are rounding errors divided by rounding errors. Here the
columns are independent: there are at least as many rows, and a diagonal is added.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

M, N = tdsl.dims("M N")

SIZES = {
    "mini": {"M": 30, "N": 20},
    "primes": {"M": 31, "N": 23},
    "small": {"M": 80, "N": 60},
    "medium": {"M": 240, "N": 200},
    "large": {"M": 1200, "N": 1000},
    "bench": {"M": 700, "N": 600},
}


@tdsl.kernel
def gramschmidt(A: tdsl.inout(f64[M, N])) -> (f64[M, N], f64[N, N]):
    """Take each finished column of Q out of the columns to its right."""
    Q = tdsl.empty((M, N), f64)
    R = tdsl.zeros((N, N), f64)
    for k in range(N):
        square = f64(0.0)
        for i in range(M):
            square += A[i, k] * A[i, k]
        R[k, k] = tdsl.sqrt(square)
        for i in range(M):
            Q[i, k] = A[i, k] / R[k, k]
        for j in range(k + 1, N):
            for i in range(M):
                R[k, j] += Q[i, k] * A[i, j]
            for i in range(M):
                A[i, j] -= Q[i, k] * R[k, j]
    return Q, R


kernel = gramschmidt


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return columns that are independent, otherwise as in the benchmark."""
    m, n = dims["M"], dims["N"]
    matrix = np.fromfunction(lambda i, j: i * j % m / m * 100 + 10, (m, n))
    return {"A": matrix + 100 * m * np.eye(m, n)}


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"gramschmidt": initialize}


def reference(A: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy; A ends as the columns' remainders, `Q diag(R)`."""
    q, r = np.linalg.qr(A)
    sign = np.sign(np.diag(r))
    q, r = q * sign, sign[:, None] * r
    return {"A": q * np.diag(r), "Q": q, "R": r}
