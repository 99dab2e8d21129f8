"""Elements that change their place."""

# mypy: ignore-errors
# Annotations of kernels are shapes, not types of Python.

from __future__ import annotations

import tdsl
from tdsl import f32, i64, u8

C, H, W = tdsl.dims("C H W")
M, N, V = tdsl.dims("M N V")


@tdsl.kernel
def transpose(X: f32[M, N]) -> f32[N, M]:
    """Exchange rows and columns."""
    Y = tdsl.empty((N, M), f32)
    for i, j in tdsl.grid(M, N):
        Y[j, i] = X[i, j]
    return Y


@tdsl.kernel
def channels_last(X: f32[C, H, W]) -> f32[H, W, C]:
    """Bring the channels of an image together, pixel by pixel."""
    Y = tdsl.empty((H, W, C), f32)
    for c, y, x in tdsl.grid(C, H, W):
        Y[y, x, c] = X[c, y, x]
    return Y


@tdsl.kernel
def embedding(table: f32[V, N], words: i64[M]) -> f32[M, N]:
    """Look up a row of the table for each word."""
    Y = tdsl.empty((M, N), f32)
    for i, j in tdsl.grid(M, N):
        Y[i, j] = table[words[i], j]
    return Y


@tdsl.kernel
def histogram(X: u8[N]) -> i64[256]:
    """Count how often each byte occurs."""
    found = tdsl.zeros((256,), i64)
    for i in range(N):
        found[X[i]] += 1
    return found
