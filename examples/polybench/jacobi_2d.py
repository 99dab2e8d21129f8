"""jacobi-2d: repeated means of five neighbours in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

TSTEPS, N = tdsl.dims("TSTEPS N")

SIZES = {
    "mini": {"TSTEPS": 20, "N": 30},
    "primes": {"TSTEPS": 7, "N": 37},
    "small": {"TSTEPS": 40, "N": 90},
    "medium": {"TSTEPS": 100, "N": 250},
    "large": {"TSTEPS": 500, "N": 1300},
    "bench": {"TSTEPS": 100, "N": 1300},
}


@tdsl.kernel
def jacobi_2d(A: tdsl.inout(f64[N, N]), B: tdsl.inout(f64[N, N])):
    """Go from A to B and back in each step."""
    for _t in range(TSTEPS):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                B[i, j] = 0.2 * (
                    A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j]
                )
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                A[i, j] = 0.2 * (
                    B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j]
                )


kernel = jacobi_2d


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    n = dims["N"]
    return {
        "A": np.fromfunction(lambda i, j: (i * (j + 2) + 2) / n, (n, n)),
        "B": np.fromfunction(lambda i, j: (i * (j + 3) + 3) / n, (n, n)),
    }


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"jacobi_2d": initialize}


def reference(TSTEPS: int, A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy, a whole plane at a time."""
    A, B = A.copy(), B.copy()
    for _ in range(TSTEPS):
        B[1:-1, 1:-1] = _mean(A)
        A[1:-1, 1:-1] = _mean(B)
    return {"A": A, "B": B}


def _mean(plane: np.ndarray) -> np.ndarray:
    """Return the mean of each inner point and its four neighbours."""
    across = plane[1:-1, :-2] + plane[1:-1, 1:-1] + plane[1:-1, 2:]
    return 0.2 * (across + plane[:-2, 1:-1] + plane[2:, 1:-1])
