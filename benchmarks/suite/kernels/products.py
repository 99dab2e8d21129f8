"""Products of matrices and vectors."""

# mypy: ignore-errors
# Annotations of kernels are shapes, not types of Python.

from __future__ import annotations

import math

import tdsl
from tdsl import bf16, f16, f32, f64, i8, i32, u8

B, M, N, K = tdsl.dims("B M N K")


@tdsl.kernel
def matmul(X: f32[M, K], Y: f32[K, N]) -> f32[M, N]:
    """Multiply two matrices."""
    Z = tdsl.zeros((M, N), f32)
    for i, j, k in tdsl.grid(M, N, K):
        Z[i, j] += X[i, k] * Y[k, j]
    return Z


@tdsl.kernel
def matmul_f64(X: f64[M, K], Y: f64[K, N]) -> f64[M, N]:
    """Multiply two matrices in double precision."""
    Z = tdsl.zeros((M, N), f64)
    for i, j, k in tdsl.grid(M, N, K):
        Z[i, j] += X[i, k] * Y[k, j]
    return Z


@tdsl.kernel
def matmul_tn(X: f32[K, M], Y: f32[K, N]) -> f32[M, N]:
    """Multiply the transpose of a matrix with a matrix."""
    Z = tdsl.zeros((M, N), f32)
    for i, j, k in tdsl.grid(M, N, K):
        Z[i, j] += X[k, i] * Y[k, j]
    return Z


@tdsl.kernel
def matmul_nt(X: f32[M, K], Y: f32[N, K]) -> f32[M, N]:
    """Multiply a matrix with the transpose of a matrix."""
    Z = tdsl.zeros((M, N), f32)
    for i, j, k in tdsl.grid(M, N, K):
        Z[i, j] += X[i, k] * Y[j, k]
    return Z


@tdsl.kernel
def batched_matmul(X: f32[B, M, K], Y: f32[B, K, N]) -> f32[B, M, N]:
    """Multiply B pairs of matrices."""
    Z = tdsl.zeros((B, M, N), f32)
    for b, i, j, k in tdsl.grid(B, M, N, K):
        Z[b, i, j] += X[b, i, k] * Y[b, k, j]
    return Z


@tdsl.kernel
def batched_matmul_f64(X: f64[B, M, K], Y: f64[B, K, N]) -> f64[B, M, N]:
    """Multiply B pairs of matrices in double precision."""
    Z = tdsl.zeros((B, M, N), f64)
    for b, i, j, k in tdsl.grid(B, M, N, K):
        Z[b, i, j] += X[b, i, k] * Y[b, k, j]
    return Z


@tdsl.kernel
def matmul_bias_gelu(X: f32[M, K], Y: f32[K, N], bias: f32[N]) -> f32[M, N]:
    """Multiply two matrices, add a row and apply the exact GELU."""
    Z = tdsl.zeros((M, N), f32)
    for i, j, k in tdsl.grid(M, N, K):
        Z[i, j] += X[i, k] * Y[k, j]
    for i, j in tdsl.grid(M, N):
        z = Z[i, j] + bias[j]
        Z[i, j] = 0.5 * z * (1.0 + tdsl.erf(z * math.sqrt(0.5)))
    return Z


@tdsl.kernel
def matmul_i8(X: i8[M, K], Y: i8[K, N]) -> i32[M, N]:
    """Multiply two matrices of bytes into exact integers."""
    Z = tdsl.zeros((M, N), i32)
    for i, j, k in tdsl.grid(M, N, K):
        Z[i, j] += i32(X[i, k]) * i32(Y[k, j])
    return Z


@tdsl.kernel
def matmul_bf16(X: bf16[M, K], Y: bf16[K, N]) -> f32[M, N]:
    """Multiply two matrices of bf16, adding up in f32."""
    Z = tdsl.zeros((M, N), f32)
    for i, j, k in tdsl.grid(M, N, K):
        Z[i, j] += X[i, k] * Y[k, j]
    return Z


@tdsl.kernel
def matvec(X: f32[M, K], y: f32[K]) -> f32[M]:
    """Multiply a matrix with a vector."""
    z = tdsl.zeros((M,), f32)
    for i, k in tdsl.grid(M, K):
        z[i] += X[i, k] * y[k]
    return z


@tdsl.kernel
def matvec_f64(X: f64[M, K], y: f64[K]) -> f64[M]:
    """Multiply a matrix with a vector in double precision."""
    z = tdsl.zeros((M,), f64)
    for i, k in tdsl.grid(M, K):
        z[i] += X[i, k] * y[k]
    return z


@tdsl.kernel
def vecmat(x: f32[K], Y: f32[K, N]) -> f32[N]:
    """Multiply a vector with a matrix."""
    z = tdsl.zeros((N,), f32)
    for k, j in tdsl.grid(K, N):
        z[j] += x[k] * Y[k, j]
    return z


@tdsl.kernel
def q4_matvec(scales: f16[M, B], nibbles: u8[M, B, 16], y: f32[B, 32]) -> f32[M]:
    """Multiply a matrix of 4-bit weights with a vector.

    Blocks of 32 weights are those of GGUF's Q4_0: a scale, then 16 bytes, whose low
    halves are the first 16 weights and whose high halves the others, all plus 8.
    """
    z = tdsl.zeros((M,), f32)
    for i, b in tdsl.grid(M, B):
        for t in range(16):
            low = f32(nibbles[i, b, t] % 16) - 8.0
            high = f32(nibbles[i, b, t] // 16) - 8.0
            z[i] += scales[i, b] * (low * y[b, t] + high * y[b, t + 16])
    return z
