"""lu: a matrix as `L U` without pivoting, in its place; L has a unit diagonal."""

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
    "bench": {"N": 1000},
}

# Where the matrix is too large for the derived bound to follow each error: otherwise it
# lets all errors of the recursion add up.
TOLERANCE = 1e-12


@tdsl.kernel
def lu(A: tdsl.inout(f64[N, N])):
    """Finish one row of L and of U after the other."""
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] = A[i, j] / A[j, j]
        for j in range(i, N):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]


kernel = lu


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data: a positive definite matrix."""
    n = dims["N"]
    lower = np.tril(np.fromfunction(lambda i, j: 1 - j % n / n, (n, n)))
    np.fill_diagonal(lower, 1.0)
    return {"A": lower @ lower.T}


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"lu": initialize}


def reference(A: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy: A is symmetric, so `L L'` gives both factors."""
    root = np.linalg.cholesky(A)
    scale = np.diag(root)
    return {"A": np.tril(root / scale, -1) + scale[:, None] * root.T}
