"""Calls, searches and assumptions: compared with Python and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tdsl
from tdsl import f32, f64, i32, i64
from tdsl.errors import ArgumentError, KernelFaultError
from tdsl.executable import ReferenceBackend
from tdsl.kernel import Kernel

from .as_python import check

M, N, K = tdsl.dims("M N K")
P = tdsl.dim("P", min=1)


@tdsl.kernel
def matmul(A: f32[M, K], B: f32[K, N]) -> f32[M, N]:
    C = tdsl.zeros((M, N), f32)
    for i, j, k in tdsl.grid(M, N, K):
        C[i, j] += A[i, k] * B[k, j]
    return C


@tdsl.kernel
def add_scaled(a: f32, x: f32[N], y: tdsl.inout(f32[N])):
    for i in range(N):
        y[i] += a * x[i]


@tdsl.kernel
def scale(a: f32, y: tdsl.inout(f32[N])):
    for i in range(N):
        y[i] *= a


@tdsl.inline
def blend(a, b, t):
    step = b - a
    return a + step * t


@tdsl.kernel
def layers(A: f32[M, K], B: f32[K, P], C: f32[P, P], v: f32[P]) -> f32[M, P]:
    T = matmul(A, B)
    U = matmul(T, C)
    for i in range(M):
        row = tdsl.empty((P,), f32)
        for j in range(P):
            row[j] = U[i, j]
        add_scaled(T[i, 0] if i % 2 == 0 else 2.0, v, row)
        for j in range(P):
            U[i, j] = row[j]
    return U


def blended(x: f32[M], y: tdsl.inout(f32[M])):
    for i in range(M):
        y[i] = blend(x[i], y[i], 2) + blend(0, i, x[i])


def searches(x: f32[M, P], k: tdsl.out(i64[M]), m: tdsl.inout(i64[M])):
    for i in range(M):
        k[i] = tdsl.argmax(x[i, j] for j in range(P))
        n = tdsl.argmin(m[j] * m[j] for j in range(M))
        if n > i:
            m[i] = n


def exchanges(x: tdsl.inout(f32[M]), y: tdsl.inout(f32[M])):
    low, high = 1, M - 1
    for i in range(low, high):
        x[i], y[i] = y[i], x[i]
        a, b = x[i], y[i]
        a, b = b, a + b
        x[i] = a - b


def saturated(x: f32[M], n: i64[M], y: tdsl.out(i32[M]), z: tdsl.out(i32[M])):
    for i in range(M):
        y[i] = tdsl.saturate(x[i] * 1e9, i32)
        z[i] = tdsl.saturate(n[i] * 10**9, i32)


def scaled_by_its_first(x: tdsl.inout(f32[P])):
    x[0] = 2.0
    scale(x[0], x)


SIZES: dict[Callable[..., Any], list[dict[str, int]]] = {
    blended: [{"M": 0}, {"M": 1}, {"M": 33}],
    exchanges: [{"M": 0}, {"M": 3}, {"M": 33}],
    saturated: [{"M": 1}, {"M": 33}],
    scaled_by_its_first: [{"P": 1}, {"P": 33}],
    searches: [{"M": 1, "P": 1}, {"M": 9, "P": 30}],
}


@pytest.mark.parametrize("function", SIZES, ids=lambda each: each.__name__)
def test_a_kernel_is_also_the_python_that_it_looks_like(
    function: Callable[..., Any],
) -> None:
    check(function, SIZES[function])


@pytest.mark.parametrize("backend", [None, ReferenceBackend()])
def test_kernels_call_kernels(backend: Any) -> None:
    random = np.random.default_rng(0)
    shapes = ((5, 4), (4, 7), (7, 7), (7,))
    A, B, C, v = (random.integers(-3, 4, shape).astype("f4") for shape in shapes)
    T = A @ B
    factor = np.where(np.arange(5) % 2 == 0, T[:, 0], 2)
    found = Kernel(layers.function, backend=backend)(A, B, C, v)
    np.testing.assert_array_equal(found, T @ C + factor[:, None] * v)


@pytest.mark.parametrize("dtype", [f32, f64])
@pytest.mark.parametrize("backend", [None, ReferenceBackend()])
def test_the_first_nan_wins_a_search(dtype: Any, backend: Any) -> None:
    def search(x: dtype[M, P], k: tdsl.out(i64[M, 4])):
        for i in range(M):
            k[i, 0] = tdsl.argmax(x[i, j] for j in range(P))
            k[i, 1] = tdsl.argmin(x[i, j] for j in range(P))
            k[i, 2] = tdsl.argmax(-x[i, j] for j in range(P))
            k[i, 3] = tdsl.argmin(-x[i, j] for j in range(P))

    x = np.random.default_rng(1).integers(-2, 3, (7, 40)).astype(dtype.numpy)
    x[1, [30, 9, 31]] = np.nan
    x[2], x[3], x[4], x[5] = np.inf, -np.inf, np.nan, -0.0
    x[5, 20] = 0.0
    k = np.empty((7, 4), np.int64)
    kernel = tdsl.kernel(search)
    Kernel(kernel.function, backend=backend)(x, k)
    expected = [np.argmax(x, 1), np.argmin(x, 1), np.argmax(-x, 1), np.argmin(-x, 1)]
    np.testing.assert_array_equal(k, np.stack(expected, 1))


@pytest.mark.parametrize("backend", [None, ReferenceBackend()])
def test_a_saturating_cast_stops_at_the_ends(backend: Any) -> None:
    @tdsl.kernel
    def ends(x: f32[M], y: f64[M]) -> tuple[i32[M], i32[M], i64[M]]:
        a = tdsl.empty((M,), i32)
        b = tdsl.empty((M,), i32)
        c = tdsl.empty((M,), i64)
        for i in range(M):
            a[i] = tdsl.saturate(x[i], i32)
            b[i] = tdsl.saturate(y[i], i32)
            c[i] = tdsl.saturate(x[i], i64)
        return a, b, c

    values = [np.nan, np.inf, -np.inf, 2.0**31, -(2.0**31), 2.0**31 - 128, 1e20]
    values += [-1e20, 2.7, -2.7, -0.0, 0.0, 2.0**63, -(2.0**63), 2.0**62]
    y = np.array(values)
    a, b, c = Kernel(ends.function, backend=backend)(y.astype("f4"), y)
    assert a.tolist() == b.tolist() == [_clamped(each, 31) for each in values]
    assert c.tolist() == [_clamped(each, 63) for each in values]


def _clamped(value: float, bits: int) -> int:
    if value != value:
        return 0
    return int(min(max(value, -(2**bits)), 2**bits - 1))


@tdsl.kernel
def windows(x: f32[M], p: i32[N], y: tdsl.out(f32[N])):
    tdsl.assume(M > N and N % 2 == 0)
    tdsl.assume(0 <= p < M)
    for i in range(N):
        y[i] = x[i + 1]


@tdsl.kernel
def around(x: f32[M], p: i32[N], y: tdsl.out(f32[N])):
    tdsl.assume(M >= 2 * N + 1 and N % 4 == 0)
    tdsl.assume(1 <= p < M)
    windows(x, p, y)


def test_an_assumption_is_part_of_the_proof_and_of_each_call() -> None:
    windows.prove()
    around.prove()
    x, y = np.arange(9, dtype=np.float32), np.zeros(4, np.float32)
    p = np.zeros(4, np.int32)
    for kernel in (windows, around):
        kernel(x, p, y)
        assert y.tolist() == [1, 2, 3, 4]
    for _ in range(2):  # the fast path refuses too
        with pytest.raises(ArgumentError) as caught:
            windows(x[:4], p, y)
        assert str(caught.value) == (
            "windows assumes M >= N + 1, but M is 4 (from x[M]) and N is 4 (from p[N])"
        )
    with pytest.raises(ArgumentError) as caught:
        windows(x, p[:3], y[:3])
    assert str(caught.value) == "windows assumes N % 2 == 0, but N is 3 (from p[N])"


@tdsl.kernel
def shift(x: f32[N], y: tdsl.out(f32[N])):
    for i in range(N):
        y[i] = x[i + 1]


def test_a_fault_in_a_called_kernel_says_where_it_is_called() -> None:
    @tdsl.kernel
    def outer(x: f32[N]) -> f32[N]:
        y = tdsl.empty((N,), f32)
        shift(x, y)
        return y

    with pytest.raises(KernelFaultError) as caught:
        outer.prove()
    error = caught.value
    line = outer.function.span.line + 2
    assert error.msg == (
        "outer: the kernel reads x[1] outside x[N] for N=1: change the subscript, the "
        f"range of its loop, or the shape (in `shift`, called in line {line})"
    )
    assert error.text is not None and error.text.strip() == "y[i] = x[i + 1]"
