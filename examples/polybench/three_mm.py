"""3mm: the product of two matrix products, `G = (A B) (C D)`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

NI, NJ, NK, NL, NM = tdsl.dims("NI NJ NK NL NM")

SIZES = {
    "mini": {"NI": 16, "NJ": 18, "NK": 20, "NL": 22, "NM": 24},
    "primes": {"NI": 11, "NJ": 23, "NK": 13, "NL": 19, "NM": 29},
    "small": {"NI": 40, "NJ": 50, "NK": 60, "NL": 70, "NM": 80},
    "medium": {"NI": 180, "NJ": 190, "NK": 200, "NL": 210, "NM": 220},
    "large": {"NI": 800, "NJ": 900, "NK": 1000, "NL": 1100, "NM": 1200},
    "bench": {"NI": 500, "NJ": 550, "NK": 600, "NL": 650, "NM": 700},
}


@tdsl.kernel
def three_mm(
    A: f64[NI, NK], B: f64[NK, NJ], C: f64[NJ, NM], D: f64[NM, NL]
) -> f64[NI, NL]:
    """Compute `E = A B` and `F = C D`, then `G = E F`."""
    E = tdsl.zeros((NI, NJ), f64)
    for i, j, k in tdsl.grid(NI, NJ, NK):
        E[i, j] += A[i, k] * B[k, j]
    F = tdsl.zeros((NJ, NL), f64)
    for i, j, k in tdsl.grid(NJ, NL, NM):
        F[i, j] += C[i, k] * D[k, j]
    G = tdsl.zeros((NI, NL), f64)
    for i, j, k in tdsl.grid(NI, NL, NJ):
        G[i, j] += E[i, k] * F[k, j]
    return G


kernel = three_mm


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    ni, nj, nk, nl, nm = (dims[name] for name in ("NI", "NJ", "NK", "NL", "NM"))

    def a(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return (i * j + 1) % ni / (5 * ni)

    def b(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return (i * (j + 1) + 2) % nj / (5 * nj)

    def c(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return i * (j + 3) % nl / (5 * nl)

    def d(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return (i * (j + 2) + 2) % nk / (5 * nk)

    return {
        "A": np.fromfunction(a, (ni, nk)),
        "B": np.fromfunction(b, (nk, nj)),
        "C": np.fromfunction(c, (nj, nm)),
        "D": np.fromfunction(d, (nm, nl)),
    }


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"three_mm": initialize}


def reference(
    A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray
) -> dict[str, np.ndarray]:
    """State the same in NumPy."""
    return {"G": np.linalg.multi_dot([A, B, C, D])}
