"""ludcmp: solve `A x = b` by a factorisation `L U` and two substitutions."""

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
def ludcmp(A: tdsl.inout(f64[N, N]), b: f64[N]) -> (f64[N], f64[N]):
    """Factor A in place; return the solution x and y of `L y = b`."""
    x = tdsl.empty((N,), f64)
    y = tdsl.empty((N,), f64)
    for i in range(N):
        for j in range(i):
            below = A[i, j]
            for k in range(j):
                below -= A[i, k] * A[k, j]
            A[i, j] = below / A[j, j]
        for j in range(i, N):
            above = A[i, j]
            for k in range(i):
                above -= A[i, k] * A[k, j]
            A[i, j] = above
    for i in range(N):
        y[i] = b[i]
        for j in range(i):
            y[i] -= A[i, j] * y[j]
    for back in range(N):
        i = N - 1 - back
        x[i] = y[i]
        for j in range(i + 1, N):
            x[i] -= A[i, j] * x[j]
        x[i] = x[i] / A[i, i]
    return x, y


kernel = ludcmp


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data: a positive definite matrix."""
    n = dims["N"]
    lower = np.tril(np.fromfunction(lambda i, j: 1 - j % n / n, (n, n)))
    np.fill_diagonal(lower, 1.0)
    return {"A": lower @ lower.T, "b": (np.arange(n) + 1) / n / 2 + 4}


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"ludcmp": initialize}


def reference(A: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy: A is symmetric, so `L L'` gives both factors."""
    root = np.linalg.cholesky(A)
    scale = np.diag(root)
    unit = root / scale
    return {
        "A": np.tril(unit, -1) + scale[:, None] * root.T,
        "x": np.linalg.solve(A, b),
        "y": np.linalg.solve(unit, b),
    }
