"""floyd-warshall: the length of the shortest path between any two nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import i32

N = tdsl.dim("N")

SIZES = {
    "mini": {"N": 60},
    "primes": {"N": 53},
    "small": {"N": 180},
    "medium": {"N": 500},
    "large": {"N": 2800},
    "bench": {"N": 1100},
}


@tdsl.kernel
def floyd_warshall(path: tdsl.inout(i32[N, N])):
    """Allow one more node to be passed on the way at a time.

    The lengths before the step are kept, as the definition has it. Where no node has a
    shorter way to itself than none, the step leaves them alone, but that is about the
    data.
    """
    for k in range(N):
        to_node = tdsl.empty((N,), i32)
        from_node = tdsl.empty((N,), i32)
        for i in range(N):
            to_node[i] = path[i, k]
            from_node[i] = path[k, i]
        for i in range(N):
            for j in range(N):
                path[i, j] = min(path[i, j], to_node[i] + from_node[j])


kernel = floyd_warshall


def initialize(dims: dict[str, int]) -> dict[str, Any]:
    """Return the benchmark's data: 999 stands for no edge."""
    n = dims["N"]
    i, j = np.ogrid[:n, :n]
    total = i + j
    missing = (total % 13 == 0) | (total % 7 == 0) | (total % 11 == 0)
    return {"path": np.where(missing, 999, i * j % 7 + 1).astype(np.int32)}


# `tdsl tune` measures with these data in place of random numbers.
tdsl_inputs = {"floyd_warshall": initialize}


def reference(path: np.ndarray) -> dict[str, np.ndarray]:
    """State the same in NumPy: paths of one, two, four, ... edges."""
    shortest = path
    edges = 1
    while edges < len(path):
        joined = (shortest[:, :, None] + shortest[None, :, :]).min(axis=1)
        shortest = np.minimum(shortest, joined)
        edges *= 2
    return {"path": shortest}
