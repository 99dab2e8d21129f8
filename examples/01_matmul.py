"""Lesson 1: a kernel is the loops one would write on a whiteboard.

What you learn: how to write a kernel, call it on NumPy arrays of any size, and see
what tdsl makes of it. Run it:

    python examples/01_matmul.py

then let the tuner look for a better schedule on your machine, and look at any stage
on the way to machine code:

    tdsl tune examples/01_matmul.py:matmul M=512 N=512 K=512 --budget 45s
    tdsl show examples/01_matmul.py:matmul M=512 N=512 K=512 --stage scheduled

The text below means exactly these loops, run one after the other:

    for i in range(M):
        for j in range(N):
            C[i, j] = 0
    for i in range(M):
        for j in range(N):
            for k in range(K):
                C[i, j] += A[i, k] * B[k, j]

How they are run (in which order, in which tiles, in which registers, by how many
threads) is the schedule's business, and no schedule runs before it is proved to
compute the same.
"""

from __future__ import annotations

import numpy as np

import tdsl
from tdsl import f32

M, N, K = tdsl.dims("M N K")


@tdsl.kernel
def matmul(A: f32[M, K], B: f32[K, N]) -> f32[M, N]:
    """Multiply two matrices."""
    C = tdsl.zeros((M, N), f32)
    for i, j, k in tdsl.grid(M, N, K):
        C[i, j] += A[i, k] * B[k, j]
    return C


# `tdsl tune` times this beside the kernel of the same name, for comparison.
tdsl_numpy = {"matmul": np.matmul}


def main() -> float:
    """Multiply matrices of odd sizes; return the largest difference from NumPy."""
    random = np.random.default_rng(0)
    worst = 0.0
    for m, n, k in ((1, 1, 1), (37, 129, 41), (100, 200, 300)):
        a = random.standard_normal((m, k), dtype=np.float32)
        b = random.standard_normal((k, n), dtype=np.float32)
        difference = np.abs(matmul(a, b) - a @ b).max()
        print(f"{m} x {k} times {k} x {n}: largest difference {difference:.1e}")
        worst = max(worst, float(difference))
    return worst


if __name__ == "__main__":
    main()
