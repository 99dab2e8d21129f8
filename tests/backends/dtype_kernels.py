"""Kernels that do every operation of a dtype that the caller chooses."""

from __future__ import annotations

from functools import cache

import tdsl
from tdsl.ir.dtypes import DTYPES, DType
from tdsl.kernel import Kernel

M = tdsl.dim("M")
bool_ = tdsl.bool_
f16, bf16, f32, f64, c64, c128 = (
    DTYPES[name] for name in ("f16", "bf16", "f32", "f64", "c64", "c128")
)
i8, i16, i32, i64 = (DTYPES[name] for name in ("i8", "i16", "i32", "i64"))
u8, u16, u32, u64 = (DTYPES[name] for name in ("u8", "u16", "u32", "u64"))


@cache
def arithmetic(T: DType) -> Kernel:
    """Return the kernel of the operations that give *T*, as rows of its result."""

    @tdsl.kernel(numerics="bitwise")
    def operations(A: T[M], B: T[M]) -> T[11, M]:
        R = tdsl.empty((11, M), T)
        for i in range(M):
            R[0, i] = T(A[i] + B[i])
            R[1, i] = T(A[i] - B[i])
            R[2, i] = T(A[i] * B[i])
            R[3, i] = T(A[i] // B[i])
            R[4, i] = T(A[i] % B[i])
            R[5, i] = T(min(A[i], B[i]))
            R[6, i] = T(max(A[i], B[i]))
            R[7, i] = T(-A[i])
            R[8, i] = T(abs(A[i]))
            R[9, i] = A[i] if A[i] < B[i] else B[i]
            R[10, i] = T(A[i] + 3)
        return R

    return operations


@cache
def comparisons(T: DType) -> Kernel:
    """Return the kernel of the operations that give a bool."""

    @tdsl.kernel(numerics="bitwise")
    def orders(A: T[M], B: T[M]) -> bool_[6, M]:
        R = tdsl.empty((6, M), bool_)
        for i in range(M):
            R[0, i] = A[i] < B[i]
            R[1, i] = A[i] <= B[i]
            R[2, i] = A[i] > B[i]
            R[3, i] = A[i] >= B[i]
            R[4, i] = A[i] == B[i]
            R[5, i] = A[i] != B[i]
        return R

    return orders


@cache
def casts(T: DType) -> Kernel:
    """Return the kernel that casts *T* to every real dtype."""

    @tdsl.kernel(numerics="bitwise")
    def conversions(
        A: T[M],
        F16: tdsl.out(f16[M]),
        BF16: tdsl.out(bf16[M]),
        F32: tdsl.out(f32[M]),
        F64: tdsl.out(f64[M]),
        I8: tdsl.out(i8[M]),
        I16: tdsl.out(i16[M]),
        I32: tdsl.out(i32[M]),
        I64: tdsl.out(i64[M]),
        U8: tdsl.out(u8[M]),
        U16: tdsl.out(u16[M]),
        U32: tdsl.out(u32[M]),
        U64: tdsl.out(u64[M]),
    ):
        for i in range(M):
            F16[i] = f16(A[i])
            BF16[i] = bf16(A[i])
            F32[i] = f32(A[i])
            F64[i] = f64(A[i])
            I8[i] = i8(A[i])
            I16[i] = i16(A[i])
            I32[i] = i32(A[i])
            I64[i] = i64(A[i])
            U8[i] = u8(A[i])
            U16[i] = u16(A[i])
            U32[i] = u32(A[i])
            U64[i] = u64(A[i])

    return conversions


@cache
def vectorized(kernel: Kernel) -> Kernel:
    """Return *kernel* with 16 lanes and a tail."""
    schedule = kernel.schedule().split("i", 16).vectorize("i_i")
    return kernel.with_schedule(schedule)


@cache
def as_written(kernel: Kernel) -> Kernel:
    """Return *kernel* one element after another."""
    return kernel.with_schedule(kernel.schedule())
