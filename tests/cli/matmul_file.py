"""A user's file: kernels, a table for NumPy, and no `__main__` guard."""

import numpy as np

import tdsl
from tdsl import f32

M, N, K = tdsl.dims("M N K", min=1, max=4096)


@tdsl.kernel
def matmul(A: f32[M, K], B: f32[K, N]) -> f32[M, N]:
    C = tdsl.zeros((M, N), f32)
    for i, j, k in tdsl.grid(M, N, K):
        C[i, j] += A[i, k] * B[k, j]
    return C


@tdsl.kernel
def double(x: f32[N]) -> f32[N]:
    y = tdsl.empty((N,), f32)
    for i in range(N):
        y[i] = 2.0 * x[i]
    return y


tdsl_numpy = {"matmul": lambda A, B: np.matmul(A, B)}
print("loaded")
