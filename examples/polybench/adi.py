"""adi: the heat equation in the plane by alternating direction implicit steps.

Each half step solves a tridiagonal system for every column, then for every row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

TSTEPS = tdsl.dim("TSTEPS", min=1)
N = tdsl.dim("N", min=2)

SIZES = {
    "mini": {"TSTEPS": 20, "N": 20},
    "primes": {"TSTEPS": 7, "N": 23},
    "small": {"TSTEPS": 40, "N": 60},
    "medium": {"TSTEPS": 100, "N": 200},
    "large": {"TSTEPS": 500, "N": 1000},
    "bench": {"TSTEPS": 50, "N": 1000},
}

# Where the arrays are too large for the derived bound to follow each error: elimination
# damps errors, which otherwise grow at each point in the bound.
TOLERANCE = 1e-12


@tdsl.kernel
def adi(u: tdsl.inout(f64[N, N])):
    """Eliminate forwards into p and q, substitute backwards."""
    v = tdsl.empty((N, N), f64)
    ratio_v = 2.0 * (f64(N) * f64(N) / f64(TSTEPS))
    ratio_u = f64(N) * f64(N) / f64(TSTEPS)
    a = -ratio_v / 2.0
    b = 1.0 + ratio_v
    d = -ratio_u / 2.0
    e = 1.0 + ratio_u
    for _t in range(TSTEPS):
        for i in range(1, N - 1):
            p = tdsl.empty((N,), f64)
            q = tdsl.empty((N,), f64)
            v[0, i] = 1.0
            p[0] = 0.0
            q[0] = 1.0
            for j in range(1, N - 1):
                p[j] = -a / (a * p[j - 1] + b)
                q[j] = (
                    -d * u[j, i - 1]
                    + (1.0 + 2.0 * d) * u[j, i]
                    - d * u[j, i + 1]
                    - a * q[j - 1]
                ) / (a * p[j - 1] + b)
            v[N - 1, i] = 1.0
            for back in range(1, N - 1):
                j = N - 1 - back
                v[j, i] = p[j] * v[j + 1, i] + q[j]
        for i in range(1, N - 1):
            p = tdsl.empty((N,), f64)
            q = tdsl.empty((N,), f64)
            u[i, 0] = 1.0
            p[0] = 0.0
            q[0] = 1.0
            for j in range(1, N - 1):
                p[j] = -d / (d * p[j - 1] + e)
                q[j] = (
                    -a * v[i - 1, j]
                    + (1.0 + 2.0 * a) * v[i, j]
                    - a * v[i + 1, j]
                    - d * q[j - 1]
                ) / (d * p[j - 1] + e)
            u[i, N - 1] = 1.0
            for back in range(1, N - 1):
                j = N - 1 - back
                u[i, j] = p[j] * u[i, j + 1] + q[j]


kernel = adi


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    n = dims["N"]
    return {"u": np.fromfunction(lambda i, j: (i + n - j) / n, (n, n))}


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"adi": initialize}


def reference(TSTEPS: int, u: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy: solve all tridiagonal systems of a half step at once."""
    u = u.copy()
    n = len(u)
    ratio = n * n / TSTEPS
    v = np.zeros_like(u)
    for _ in range(TSTEPS):
        v[[0, -1], 1:-1] = 1
        v[1:-1, 1:-1] = _half_step(u[1:-1], 2 * ratio, ratio)
        u[1:-1, [0, -1]] = 1
        u[1:-1, 1:-1] = _half_step(v[:, 1:-1].T, ratio, 2 * ratio).T
    return {"u": u}


def _half_step(known: np.ndarray, implicit: float, explicit: float) -> np.ndarray:
    """Return the new inner points between borders of ones.

    Rows are the implicit direction; *known* has the borders of the other one too.
    """
    size = len(known)
    system = (1 + implicit) * np.eye(size) - implicit / 2 * (
        np.eye(size, k=1) + np.eye(size, k=-1)
    )
    inner = known[:, 1:-1]
    right = inner + explicit / 2 * (known[:, :-2] - 2 * inner + known[:, 2:])
    right[[0, -1]] += implicit / 2
    return np.linalg.solve(system, right)
