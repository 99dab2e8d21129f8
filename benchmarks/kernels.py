"""Contractions other than the matrix product, written as plain loops.

They show that nothing in tdsl knows a matrix product: the same generic primitives
find register tiles for these.
"""

# mypy: ignore-errors
# Annotations of kernels are shapes, not types of Python.

from __future__ import annotations

import tdsl
from tdsl import f32

B, M, N, K = tdsl.dims("B M N K")
H, W, C, F = tdsl.dims("H W C F")


@tdsl.kernel
def batched_matmul(X: f32[B, M, K], Y: f32[B, K, N]) -> f32[B, M, N]:
    """Multiply B pairs of matrices."""
    Z = tdsl.zeros((B, M, N), f32)
    for b, i, j, k in tdsl.grid(B, M, N, K):
        Z[b, i, j] += X[b, i, k] * Y[b, k, j]
    return Z


@tdsl.kernel
def conv3x3(X: f32[H + 2, W + 2, C], K3: f32[3, 3, C, F]) -> f32[H, W, F]:
    """Correlate an image of C channels with F filters of 3 by 3, channels last."""
    Y = tdsl.zeros((H, W, F), f32)
    for y, x, f, dy, dx, c in tdsl.grid(H, W, F, 3, 3, C):
        Y[y, x, f] += X[y + dy, x + dx, c] * K3[dy, dx, c, f]
    return Y
