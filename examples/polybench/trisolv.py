"""trisolv: solve `L x = b` for a lower triangular L."""

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
    "bench": {"N": 12000},
}

# The derived bound of this recursion holds, but assumes that errors always add up.
TOLERANCE = 1e-12


@tdsl.kernel
def trisolv(L: f64[N, N], b: f64[N]) -> f64[N]:
    """Substitute forwards."""
    x = tdsl.empty((N,), f64)
    for i in range(N):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]
    return x


kernel = trisolv


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    n = dims["N"]
    return {
        "L": np.tril(np.fromfunction(lambda i, j: (i + n - j + 1) * 2 / n, (n, n))),
        "b": np.arange(n, dtype=np.float64),
    }


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"trisolv": initialize}


def reference(L: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy."""
    return {"x": np.linalg.solve(L, b)}
