"""doitgen: multiresolution analysis, `A[r, q, :] = A[r, q, :] C4`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f64

NR, NQ, NP = tdsl.dims("NR NQ NP")

SIZES = {
    "mini": {"NQ": 8, "NR": 10, "NP": 12},
    "primes": {"NQ": 7, "NR": 11, "NP": 17},
    "small": {"NQ": 20, "NR": 25, "NP": 30},
    "medium": {"NQ": 40, "NR": 50, "NP": 60},
    "large": {"NQ": 140, "NR": 150, "NP": 160},
    "bench": {"NQ": 140, "NR": 150, "NP": 160},
}


@tdsl.kernel
def doitgen(A: tdsl.inout(f64[NR, NQ, NP]), C4: f64[NP, NP]):
    """Replace each fibre by its product with C4, by way of a copy."""
    for r in range(NR):
        for q in range(NQ):
            fibre = tdsl.empty((NP,), f64)
            for p in range(NP):
                fibre[p] = 0.0
                for s in range(NP):
                    fibre[p] += A[r, q, s] * C4[s, p]
            for p in range(NP):
                A[r, q, p] = fibre[p]


kernel = doitgen


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    nr, nq, np_ = dims["NR"], dims["NQ"], dims["NP"]
    shape = (nr, nq, np_)
    return {
        "A": np.fromfunction(lambda i, j, k: (i * j + k) % np_ / np_, shape),
        "C4": np.fromfunction(lambda i, j: i * j % np_ / np_, (np_, np_)),
    }


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"doitgen": initialize}


def reference(A: np.ndarray, C4: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy."""
    return {"A": A @ C4}
