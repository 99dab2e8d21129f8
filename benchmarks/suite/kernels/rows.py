"""What is done to each row of a matrix: normalisation and attention."""

# mypy: ignore-errors
# Annotations of kernels are shapes, not types of Python.

from __future__ import annotations

import math

import tdsl
from tdsl import f32

M, N = tdsl.dims("M N")
H, L, D = tdsl.dims("H L D")
EPSILON = 1e-5


@tdsl.kernel
def softmax(X: f32[M, N]) -> f32[M, N]:
    """Return exp(x) of each element over the sum of its row."""
    Y = tdsl.empty((M, N), f32)
    for i in range(M):
        top = -math.inf
        for j in range(N):
            top = max(top, X[i, j])
        total = 0.0
        for j in range(N):
            Y[i, j] = tdsl.exp(X[i, j] - top)
            total += Y[i, j]
        for j in range(N):
            Y[i, j] = Y[i, j] / total
    return Y


@tdsl.kernel
def log_softmax(X: f32[M, N]) -> f32[M, N]:
    """Return the logarithm of the softmax of each row."""
    Y = tdsl.empty((M, N), f32)
    for i in range(M):
        top = -math.inf
        for j in range(N):
            top = max(top, X[i, j])
        total = 0.0
        for j in range(N):
            total += tdsl.exp(X[i, j] - top)
        shift = top + tdsl.log(total)
        for j in range(N):
            Y[i, j] = X[i, j] - shift
    return Y


@tdsl.kernel
def layer_norm(X: f32[M, N], scale: f32[N], shift: f32[N]) -> f32[M, N]:
    """Bring each row to mean 0 and variance 1, then scale and shift its elements."""
    Y = tdsl.empty((M, N), f32)
    for i in range(M):
        total = 0.0
        for j in range(N):
            total += X[i, j]
        mean = total / N
        squares = 0.0
        for j in range(N):
            squares += (X[i, j] - mean) * (X[i, j] - mean)
        factor = tdsl.rsqrt(squares / N + EPSILON)
        for j in range(N):
            Y[i, j] = (X[i, j] - mean) * factor * scale[j] + shift[j]
    return Y


@tdsl.kernel
def rms_norm(X: f32[M, N], scale: f32[N]) -> f32[M, N]:
    """Divide each row by the root of its mean square, then scale its elements."""
    Y = tdsl.empty((M, N), f32)
    for i in range(M):
        squares = 0.0
        for j in range(N):
            squares += X[i, j] * X[i, j]
        factor = tdsl.rsqrt(squares / N + EPSILON)
        for j in range(N):
            Y[i, j] = X[i, j] * factor * scale[j]
    return Y


@tdsl.kernel
def attention(
    Q: f32[H, L, D], K: f32[H, L, D], V: f32[H, L, D], scale: f32
) -> f32[H, L, D]:
    """Return the mean of V's rows, weighted by the softmax of scaled products Q K."""
    R = tdsl.empty((H, L, D), f32)
    for h, i in tdsl.grid(H, L):
        S = tdsl.zeros((L,), f32)
        for j, d in tdsl.grid(L, D):
            S[j] += Q[h, i, d] * K[h, j, d]
        top = -math.inf
        for j in range(L):
            top = max(top, S[j] * scale)
        total = 0.0
        for j in range(L):
            S[j] = tdsl.exp(S[j] * scale - top)
            total += S[j]
        A = tdsl.zeros((D,), f32)
        for j, d in tdsl.grid(L, D):
            A[d] += S[j] * V[h, j, d]
        for d in range(D):
            R[h, i, d] = A[d] / total
    return R


@tdsl.kernel
def causal_attention(
    Q: f32[H, L, D], K: f32[H, L, D], V: f32[H, L, D], scale: f32
) -> f32[H, L, D]:
    """Return attention in which row i looks at rows 0 to i alone."""
    R = tdsl.empty((H, L, D), f32)
    for h, i in tdsl.grid(H, L):
        S = tdsl.zeros((L,), f32)
        for j in range(i + 1):
            for d in range(D):
                S[j] += Q[h, i, d] * K[h, j, d]
        top = -math.inf
        for j in range(i + 1):
            top = max(top, S[j] * scale)
        total = 0.0
        for j in range(i + 1):
            S[j] = tdsl.exp(S[j] * scale - top)
            total += S[j]
        A = tdsl.zeros((D,), f32)
        for j in range(i + 1):
            for d in range(D):
                A[d] += S[j] * V[h, j, d]
        for d in range(D):
            R[h, i, d] = A[d] / total
    return R
