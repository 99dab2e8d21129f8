"""cholesky: a positive definite matrix as `L L'`, in place of its lower triangle."""

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
    "bench": {"N": 1600},
}

# Where the matrix is too large for the derived bound to follow each error: otherwise it
# lets all errors of the recursion add up.
TOLERANCE = 1e-12


@tdsl.kernel
def cholesky(A: tdsl.inout(f64[N, N])):
    """Finish one row of L after the other."""
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] = A[i, j] / A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = tdsl.sqrt(A[i, i])


kernel = cholesky


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data: a lower triangle times its transpose."""
    n = dims["N"]
    lower = np.tril(np.fromfunction(lambda i, j: 1 - j % n / n, (n, n)))
    np.fill_diagonal(lower, 1.0)
    return {"A": lower @ lower.T}


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"cholesky": initialize}


def reference(A: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy."""
    return {"A": np.linalg.cholesky(A) + np.triu(A, 1)}
