"""Sums and what is like them: along rows, along columns, and running."""

# mypy: ignore-errors
# Annotations of kernels are shapes, not types of Python.

from __future__ import annotations

import tdsl
from tdsl import f32, i64

M = tdsl.dim("M")
N = tdsl.dim("N", min=1)


@tdsl.kernel
def total(X: f32[N]) -> f32[1]:
    """Add up all elements."""
    s = tdsl.zeros((1,), f32)
    for i in range(N):
        s[0] += X[i]
    return s


@tdsl.kernel
def row_means(X: f32[M, N]) -> f32[M]:
    """Return the mean of each row."""
    m = tdsl.empty((M,), f32)
    for i in range(M):
        s = 0.0
        for j in range(N):
            s += X[i, j]
        m[i] = s / N
    return m


@tdsl.kernel
def column_variances(X: f32[M, N]) -> f32[N]:
    """Return the variance of each column, the mean of squared deviations."""
    mean = tdsl.zeros((N,), f32)
    for i, j in tdsl.grid(M, N):
        mean[j] += X[i, j]
    for j in range(N):
        mean[j] = mean[j] / M
    v = tdsl.zeros((N,), f32)
    for i, j in tdsl.grid(M, N):
        v[j] += (X[i, j] - mean[j]) * (X[i, j] - mean[j])
    for j in range(N):
        v[j] = v[j] / M
    return v


@tdsl.kernel
def row_argmax(X: f32[M, N]) -> i64[M]:
    """Return where the largest element of each row is, the first of equals."""
    k = tdsl.empty((M,), i64)
    for i in range(M):
        k[i] = tdsl.argmax(X[i, j] for j in range(N))
    return k


@tdsl.kernel
def row_cumsum(X: f32[M, N]) -> f32[M, N]:
    """Return the running sum of each row."""
    Y = tdsl.empty((M, N), f32)
    for i in range(M):
        s = 0.0
        for j in range(N):
            s += X[i, j]
            Y[i, j] = s
    return Y
