"""bicg: the two products of the BiCG method, `s = A' r` and `q = A p`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

M, N = tdsl.dims("M N")

SIZES = {
    "mini": {"M": 38, "N": 42},
    "primes": {"M": 23, "N": 37},
    "small": {"M": 116, "N": 124},
    "medium": {"M": 390, "N": 410},
    "large": {"M": 1900, "N": 2100},
    "bench": {"M": 8000, "N": 8000},
}


@tdsl.kernel
def bicg(A: f64[N, M], p: f64[M], r: f64[N]) -> (f64[M], f64[N]):
    """Compute both in one pass over A."""
    s = tdsl.zeros((M,), f64)
    q = tdsl.zeros((N,), f64)
    for i in range(N):
        for j in range(M):
            s[j] += r[i] * A[i, j]
            q[i] += A[i, j] * p[j]
    return s, q


kernel = bicg


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    m, n = dims["M"], dims["N"]
    return {
        "A": np.fromfunction(lambda i, j: i * (j + 1) % n / n, (n, m)),
        "p": np.arange(m) % m / m,
        "r": np.arange(n) % n / n,
    }


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"bicg": initialize}


def reference(A: np.ndarray, p: np.ndarray, r: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy."""
    return {"s": A.T @ r, "q": A @ p}
