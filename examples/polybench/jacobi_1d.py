"""jacobi-1d: repeated means of three neighbours on a line."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

TSTEPS, N = tdsl.dims("TSTEPS N")

SIZES = {
    "mini": {"TSTEPS": 20, "N": 30},
    "primes": {"TSTEPS": 7, "N": 37},
    "small": {"TSTEPS": 40, "N": 120},
    "medium": {"TSTEPS": 100, "N": 400},
    "large": {"TSTEPS": 500, "N": 2000},
    "bench": {"TSTEPS": 1000, "N": 400000},
}


@tdsl.kernel
def jacobi_1d(A: tdsl.inout(f64[N]), B: tdsl.inout(f64[N])):
    """Go from A to B and back in each step."""
    for _t in range(TSTEPS):
        for i in range(1, N - 1):
            B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1])
        for i in range(1, N - 1):
            A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1])


kernel = jacobi_1d


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    n = dims["N"]
    i = np.arange(n)
    return {"A": (i + 2) / n, "B": (i + 3) / n}


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"jacobi_1d": initialize}


def reference(TSTEPS: int, A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy: a step is a product with a banded matrix."""
    n = len(A)
    inside = (np.arange(n) > 0) & (np.arange(n) < n - 1)
    mean = 0.33333 * (np.eye(n, k=-1) + np.eye(n) + np.eye(n, k=1))
    for _ in range(TSTEPS):
        B = np.where(inside, mean @ A, B)
        A = np.where(inside, mean @ B, A)
    return {"A": A, "B": B}
