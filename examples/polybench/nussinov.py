"""nussinov: the most base pairs that an RNA sequence can form by folding.

Bases are 0 to 3, and two that sum to 3 pair unless they are neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import i32

N = tdsl.dim("N")

SIZES = {
    "mini": {"N": 60},
    "primes": {"N": 47},
    "small": {"N": 180},
    "medium": {"N": 500},
    "large": {"N": 2500},
    "bench": {"N": 1000},
}


@tdsl.kernel
def nussinov(seq: i32[N]) -> i32[N, N]:
    """Fill the table of all sections, from those that begin last."""
    table = tdsl.zeros((N, N), i32)
    for last in range(N):
        i = N - 1 - last
        for j in range(i + 1, N):
            table[i, j] = max(table[i, j - 1], table[i + 1, j])
            if j > i + 1:
                pairs = i32(1 if seq[i] + seq[j] == 3 else 0)
                table[i, j] = max(table[i, j], table[i + 1, j - 1] + pairs)
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


kernel = nussinov


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data."""
    return {"seq": ((np.arange(dims["N"]) + 1) % 4).astype(np.int32)}


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"nussinov": initialize}


def reference(seq: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy, by the length of the sections."""
    n = len(seq)
    table = np.zeros((n, n), np.int32)
    for length in range(1, n):
        i = np.arange(n - length)
        j = i + length
        best = np.maximum(table[i, j - 1], table[i + 1, j])
        if length > 1:
            best = np.maximum(best, table[i + 1, j - 1] + (seq[i] + seq[j] == 3))
        for first in range(1, length):
            best = np.maximum(best, table[i, i + first] + table[i + first + 1, j])
        table[i, j] = best
    return {"table": table}
