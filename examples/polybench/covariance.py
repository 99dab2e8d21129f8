"""covariance: the covariance matrix of the columns of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

M = tdsl.dim("M")
N = tdsl.dim("N", min=2)

SIZES = {
    "mini": {"M": 28, "N": 32},
    "primes": {"M": 23, "N": 29},
    "small": {"M": 80, "N": 100},
    "medium": {"M": 240, "N": 260},
    "large": {"M": 1200, "N": 1400},
    "bench": {"M": 700, "N": 800},
}


@tdsl.kernel
def covariance(data: tdsl.inout(f64[N, M])) -> f64[M, M]:
    """Centre the table in place, then multiply its columns pairwise."""
    cov = tdsl.empty((M, M), f64)
    mean = tdsl.zeros((M,), f64)
    for j in range(M):
        for i in range(N):
            mean[j] += data[i, j]
        mean[j] = mean[j] / N
    for i in range(N):
        for j in range(M):
            data[i, j] -= mean[j]
    for i in range(M):
        for j in range(i, M):
            cov[i, j] = 0.0
            for k in range(N):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] = cov[i, j] / (N - 1)
            cov[j, i] = cov[i, j]
    return cov


kernel = covariance


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    m, n = dims["M"], dims["N"]
    return {"data": np.fromfunction(lambda i, j: i * j / m, (n, m))}


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"covariance": initialize}


def reference(data: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy."""
    return {"data": data - data.mean(axis=0), "cov": np.cov(data, rowvar=False)}
