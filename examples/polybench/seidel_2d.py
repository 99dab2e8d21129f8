"""seidel-2d: repeated means of nine neighbours in the plane, in place."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

TSTEPS, N = tdsl.dims("TSTEPS N")

SIZES = {
    "mini": {"TSTEPS": 20, "N": 40},
    "primes": {"TSTEPS": 7, "N": 37},
    "small": {"TSTEPS": 40, "N": 120},
    "medium": {"TSTEPS": 100, "N": 400},
    "large": {"TSTEPS": 500, "N": 2000},
    "bench": {"TSTEPS": 20, "N": 2000},
}


@tdsl.kernel
def seidel_2d(A: tdsl.inout(f64[N, N])):
    """Use the new values of the row above and of the left neighbour."""
    for _t in range(TSTEPS):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                above = A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1]
                below = A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                others = above + below + A[i, j] + A[i, j + 1]
                A[i, j] = (others + A[i, j - 1]) / 9.0


kernel = seidel_2d


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data with a ripple: without, they are a steady state."""
    n = dims["N"]

    def plane(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return (i * (j + 2) + 2) / n + i * j % n / n

    return {"A": np.fromfunction(plane, (n, n))}


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"seidel_2d": initialize}


def reference(TSTEPS: int, A: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy: a row is the solution of `9 a[j] - a[j - 1] = ...`."""
    A = A.copy()
    inner = len(A) - 2
    solve = np.linalg.inv(9 * np.eye(inner) - np.eye(inner, k=-1))
    for _ in range(TSTEPS):
        for i in range(1, len(A) - 1):
            known = A[i - 1] + A[i + 1]
            right = known[:-2] + known[1:-1] + known[2:] + A[i, 1:-1] + A[i, 2:]
            right[0] += A[i, 0]
            A[i, 1:-1] = solve @ right
    return {"A": A}
