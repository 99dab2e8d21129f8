"""correlation: the correlation matrix of the columns of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

M = tdsl.dim("M", min=1)
N = tdsl.dim("N", min=1)

SIZES = {
    "mini": {"M": 28, "N": 32},
    "primes": {"M": 19, "N": 37},
    "small": {"M": 80, "N": 100},
    "medium": {"M": 240, "N": 260},
    "large": {"M": 1200, "N": 1400},
    "bench": {"M": 700, "N": 800},
}


@tdsl.kernel
def correlation(data: tdsl.inout(f64[N, M])) -> f64[M, M]:
    """Standardise the table in place, then multiply its columns pairwise.

    A column that is nearly constant is not divided by its deviation.
    """
    corr = tdsl.empty((M, M), f64)
    mean = tdsl.zeros((M,), f64)
    stddev = tdsl.zeros((M,), f64)
    for j in range(M):
        for i in range(N):
            mean[j] += data[i, j]
        mean[j] = mean[j] / N
    for j in range(M):
        for i in range(N):
            stddev[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        deviation = tdsl.sqrt(stddev[j] / N)
        stddev[j] = 1.0 if deviation <= 0.1 else deviation
    for i in range(N):
        for j in range(M):
            data[i, j] = (data[i, j] - mean[j]) / (tdsl.sqrt(f64(N)) * stddev[j])
    for i in range(M - 1):
        corr[i, i] = 1.0
        for j in range(i + 1, M):
            corr[i, j] = 0.0
            for k in range(N):
                corr[i, j] += data[k, i] * data[k, j]
            corr[j, i] = corr[i, j]
    corr[M - 1, M - 1] = 1.0
    return corr


kernel = correlation


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return data like the benchmark's, whose columns are all proportional."""
    m, n = dims["M"], dims["N"]
    return {"data": np.fromfunction(lambda i, j: i * j % n / m + i, (n, m))}


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"correlation": initialize}


def reference(data: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy."""
    standard = (data - data.mean(axis=0)) / (np.sqrt(len(data)) * data.std(axis=0))
    return {"data": standard, "corr": np.corrcoef(data, rowvar=False)}
