"""heat-3d: explicit steps of the heat equation in space."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

TSTEPS, N = tdsl.dims("TSTEPS N")

SIZES = {
    "mini": {"TSTEPS": 20, "N": 10},
    "primes": {"TSTEPS": 7, "N": 13},
    "small": {"TSTEPS": 40, "N": 20},
    "medium": {"TSTEPS": 100, "N": 40},
    "large": {"TSTEPS": 500, "N": 120},
    "bench": {"TSTEPS": 100, "N": 120},
}


@tdsl.kernel
def heat_3d(A: tdsl.inout(f64[N, N, N]), B: tdsl.inout(f64[N, N, N])):
    """Go from A to B and back in each step."""
    for _t in range(TSTEPS):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                for k in range(1, N - 1):
                    B[i, j, k] = (
                        0.125 * (A[i + 1, j, k] - 2.0 * A[i, j, k] + A[i - 1, j, k])
                        + 0.125 * (A[i, j + 1, k] - 2.0 * A[i, j, k] + A[i, j - 1, k])
                        + 0.125 * (A[i, j, k + 1] - 2.0 * A[i, j, k] + A[i, j, k - 1])
                        + A[i, j, k]
                    )
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                for k in range(1, N - 1):
                    A[i, j, k] = (
                        0.125 * (B[i + 1, j, k] - 2.0 * B[i, j, k] + B[i - 1, j, k])
                        + 0.125 * (B[i, j + 1, k] - 2.0 * B[i, j, k] + B[i, j - 1, k])
                        + 0.125 * (B[i, j, k + 1] - 2.0 * B[i, j, k] + B[i, j, k - 1])
                        + B[i, j, k]
                    )


kernel = heat_3d


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data with a ripple: without, they are a steady state."""
    n = dims["N"]

    def heat(i: np.ndarray, j: np.ndarray, k: np.ndarray) -> np.ndarray:
        return (i + j + (n - k)) * 10 / n + i * j * k % n / n

    start = np.fromfunction(heat, (n, n, n))
    return {"A": start, "B": start.copy()}


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"heat_3d": initialize}


def reference(TSTEPS: int, A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy: add an eighth of the Laplacian of the whole space."""
    A, B = A.copy(), B.copy()
    inside = (slice(1, -1),) * 3
    for _ in range(TSTEPS):
        B[inside] = A[inside] + _laplacian(A) / 8
        A[inside] = B[inside] + _laplacian(B) / 8
    return {"A": A, "B": B}


def _laplacian(space: np.ndarray) -> np.ndarray:
    """Return the sum of second differences at each inner point."""
    total = np.zeros([size - 2 for size in space.shape])
    for axis in range(3):
        inner = [slice(1, -1)] * 3
        inner[axis] = slice(None)
        total += np.diff(space[tuple(inner)], 2, axis=axis)
    return total
