"""2mm: two matrix products in a row, `D = alpha A B C + beta D`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

NI, NJ, NK, NL = tdsl.dims("NI NJ NK NL")

SIZES = {
    "mini": {"NI": 16, "NJ": 18, "NK": 22, "NL": 24},
    "primes": {"NI": 13, "NJ": 19, "NK": 29, "NL": 17},
    "small": {"NI": 40, "NJ": 50, "NK": 70, "NL": 80},
    "medium": {"NI": 180, "NJ": 190, "NK": 210, "NL": 220},
    "large": {"NI": 800, "NJ": 900, "NK": 1100, "NL": 1200},
    "bench": {"NI": 500, "NJ": 600, "NK": 700, "NL": 800},
}


@tdsl.kernel
def two_mm(
    alpha: f64,
    beta: f64,
    A: f64[NI, NK],
    B: f64[NK, NJ],
    C: f64[NJ, NL],
    D: tdsl.inout(f64[NI, NL]),
):
    """Compute `alpha A B` first, then its product with C."""
    tmp = tdsl.empty((NI, NJ), f64)
    for i in range(NI):
        for j in range(NJ):
            tmp[i, j] = 0.0
            for k in range(NK):
                tmp[i, j] += alpha * A[i, k] * B[k, j]
    for i in range(NI):
        for j in range(NL):
            D[i, j] *= beta
            for k in range(NJ):
                D[i, j] += tmp[i, k] * C[k, j]


kernel = two_mm


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    ni, nj, nk, nl = (dims[name] for name in ("NI", "NJ", "NK", "NL"))
    return {
        "alpha": 1.5,
        "beta": 1.2,
        "A": np.fromfunction(lambda i, j: (i * j + 1) % ni / ni, (ni, nk)),
        "B": np.fromfunction(lambda i, j: i * (j + 1) % nj / nj, (nk, nj)),
        "C": np.fromfunction(lambda i, j: (i * (j + 3) + 1) % nl / nl, (nj, nl)),
        "D": np.fromfunction(lambda i, j: i * (j + 2) % nk / nk, (ni, nl)),
    }


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"two_mm": initialize}


def reference(
    alpha: float,
    beta: float,
    A: np.ndarray,
    B: np.ndarray,
    C: np.ndarray,
    D: np.ndarray,
) -> dict[str, np.ndarray]:
    """State the same in NumPy."""
    return {"D": alpha * (A @ B @ C) + beta * D}
