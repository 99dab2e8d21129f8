"""gemm: a general matrix product, `C = alpha A B + beta C`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

NI, NJ, NK = tdsl.dims("NI NJ NK")

SIZES = {
    "mini": {"NI": 20, "NJ": 25, "NK": 30},
    "primes": {"NI": 13, "NJ": 37, "NK": 19},
    "small": {"NI": 60, "NJ": 70, "NK": 80},
    "medium": {"NI": 200, "NJ": 220, "NK": 240},
    "large": {"NI": 1000, "NJ": 1100, "NK": 1200},
    "bench": {"NI": 1000, "NJ": 1100, "NK": 1200},
}


@tdsl.kernel
def gemm(
    alpha: f64,
    beta: f64,
    A: f64[NI, NK],
    B: f64[NK, NJ],
    C: tdsl.inout(f64[NI, NJ]),
):
    """Scale C, then add the product row by row."""
    for i in range(NI):
        for j in range(NJ):
            C[i, j] *= beta
        for k in range(NK):
            for j in range(NJ):
                C[i, j] += alpha * A[i, k] * B[k, j]


kernel = gemm


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    ni, nj, nk = dims["NI"], dims["NJ"], dims["NK"]
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "A": np.fromfunction(lambda i, k: i * (k + 1) % nk / nk, (ni, nk)),
        "B": np.fromfunction(lambda k, j: k * (j + 2) % nj / nj, (nk, nj)),
        "C": np.fromfunction(lambda i, j: (i * j + 1) % ni / ni, (ni, nj)),
    }


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"gemm": initialize}


def reference(
    alpha: float, beta: float, A: np.ndarray, B: np.ndarray, C: np.ndarray
) -> dict[str, np.ndarray]:
    """State the same in NumPy."""
    return {"C": alpha * (A @ B) + beta * C}
