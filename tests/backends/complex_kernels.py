"""Kernels on complex numbers, for a dtype that the caller chooses."""

from __future__ import annotations

from functools import cache

import tdsl
from tdsl.ir.dtypes import DType
from tdsl.kernel import Kernel

M, N, K = tdsl.dims("M N K")
bool_ = tdsl.bool_


@cache
def arithmetic(T: DType) -> Kernel:
    """Return the kernel of the operations that give *T*, as rows of its result."""

    @tdsl.kernel(numerics="bitwise")
    def operations(A: T[M], B: T[M], z: T) -> T[9, M]:
        R = tdsl.empty((9, M), T)
        for i in range(M):
            R[0, i] = A[i] + B[i]
            R[1, i] = A[i] - B[i]
            R[2, i] = A[i] * B[i]
            R[3, i] = A[i] / B[i]
            R[4, i] = -A[i]
            R[5, i] = tdsl.conj(A[i])
            R[6, i] = A[i] if A[i] == B[i] else B[i]
            R[7, i] = z * (A[i] + 2j) / (z - B[i])
            R[8, i] = tdsl.imag(A[i]) - 1
        return R

    return operations


@cache
def parts(T: DType) -> Kernel:
    """Return the kernel of the operations that give real numbers and bools."""
    P = T.part

    @tdsl.kernel(numerics="bitwise")
    def measures(A: T[M], B: T[M], E: tdsl.out(bool_[2, M])) -> P[3, M]:
        R = tdsl.empty((3, M), P)
        for i in range(M):
            R[0, i] = tdsl.real(A[i] * B[i])
            R[1, i] = tdsl.imag(A[i])
            R[2, i] = abs(A[i])
            E[0, i] = A[i] == B[i]
            E[1, i] = A[i] != B[i]
        return R

    return measures


@cache
def matmul(T: DType) -> Kernel:
    """Return the matrix product."""

    @tdsl.kernel
    def product(A: T[M, K], B: T[K, N]) -> T[M, N]:
        C = tdsl.zeros((M, N), T)
        for i, j, k in tdsl.grid(M, N, K):
            C[i, j] += A[i, k] * B[k, j]
        return C

    return product


@cache
def reductions(T: DType) -> Kernel:
    """Return sums, products and differences of rows, through temporaries."""

    @tdsl.kernel
    def rows(A: T[M, N], C: tdsl.inout(T[M])) -> tuple[T[M], T[M]]:
        S = tdsl.zeros((M,), T)
        Q = tdsl.empty((M,), T)
        for i in range(M):
            E = tdsl.empty((N,), T)
            total: T = 1
            for j in range(N):
                E[j] = A[i, j] * A[i, j]
                total *= A[i, j]
            Q[i] = total
            for j in range(N):
                S[i] += E[j] if abs(A[i, j]) < 2 else 1
            C[i] = C[i] * C[i] - C[i]
        return S, Q

    return rows
