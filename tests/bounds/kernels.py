"""Kernels as they are stated, each with a program that means something else."""

# mypy: ignore-errors
# Annotations of kernels are shapes, not types of Python.

from __future__ import annotations

from dataclasses import dataclass

import tdsl
from tdsl import f32, f64

M, N, K = tdsl.dims("M N K")


@dataclass(frozen=True, slots=True)
class Planted:
    """A kernel, a wrong program in its place, and sizes to run both at."""

    stated: tdsl.Kernel
    wrong: tdsl.Kernel
    dims: dict[str, int]


@tdsl.kernel
def matmul(A: f32[N, K], B: f32[K, K]) -> f32[N, K]:
    C = tdsl.zeros((N, K), f32)
    for i, j, k in tdsl.grid(N, K, K):
        C[i, j] += A[i, k] * B[k, j]
    return C


@tdsl.kernel
def without_a_term(A: f32[N, K], B: f32[K, K]) -> f32[N, K]:
    C = tdsl.zeros((N, K), f32)
    for i, j, k in tdsl.grid(N, K, K - 1):
        C[i, j] += A[i, k] * B[k, j]
    return C


@tdsl.kernel
def with_swapped_subscripts(A: f32[N, K], B: f32[K, K]) -> f32[N, K]:
    C = tdsl.zeros((N, K), f32)
    for i, j, k in tdsl.grid(N, K, K):
        C[i, j] += A[i, k] * B[j, k]
    return C


@tdsl.kernel
def in_double(A: f32[N, K], B: f32[N, K]) -> f32[N]:
    c = tdsl.empty((N,), f32)
    for i in range(N):
        total = f64(0.0)
        for k in range(K):
            total += f64(A[i, k]) * f64(B[i, k])
        c[i] = f32(total)
    return c


@tdsl.kernel
def in_single(A: f32[N, K], B: f32[N, K]) -> f32[N]:
    c = tdsl.empty((N,), f32)
    for i in range(N):
        total = f32(0.0)
        for k in range(K):
            total += A[i, k] * B[i, k]
        c[i] = total
    return c


@tdsl.kernel
def lu(A: tdsl.inout(f32[N, N])):
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] = A[i, j] / A[j, j]
        for j in range(i, N):
            for k in range(i):
                A[i, j] -= A[i, k] * A[k, j]


@tdsl.kernel
def difference_of_data(a: f64[N], b: f64[N]) -> f64[N]:
    y = tdsl.empty((N,), f64)
    for i in range(N):
        y[i] = (a[i] - b[i]) * (a[i] + b[i])
    return y


@tdsl.kernel
def difference_of_squares(a: f64[N], b: f64[N]) -> f64[N]:
    y = tdsl.empty((N,), f64)
    for i in range(N):
        y[i] = a[i] * a[i] - b[i] * b[i]
    return y


@tdsl.kernel
def variance(X: f32[N, K]) -> f32[N]:
    y = tdsl.empty((N,), f32)
    for i in range(N):
        mean = f32(0.0)
        for k in range(K):
            mean += X[i, k] / f32(K)
        total = f32(0.0)
        for k in range(K):
            total += (X[i, k] - mean) * (X[i, k] - mean)
        y[i] = total / f32(K)
    return y


@tdsl.kernel
def variance_in_one_pass(X: f32[N, K]) -> f32[N]:
    y = tdsl.empty((N,), f32)
    for i in range(N):
        mean = f32(0.0)
        squares = f32(0.0)
        for k in range(K):
            mean += X[i, k] / f32(K)
            squares += X[i, k] * X[i, k] / f32(K)
        y[i] = squares - mean * mean
    return y


PLANTED = {
    "a dropped term": Planted(matmul, without_a_term, {"N": 8, "K": 16}),
    "a swapped index": Planted(matmul, with_swapped_subscripts, {"N": 8, "K": 16}),
    "f32 sums where f64 is stated": Planted(in_double, in_single, {"N": 32, "K": 64}),
    "a difference squared first": Planted(
        difference_of_data, difference_of_squares, {"N": 64}
    ),
    "cancellation at the end": Planted(
        variance, variance_in_one_pass, {"N": 8, "K": 32}
    ),
}
