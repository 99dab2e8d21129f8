"""Calls of kernels and of inline functions, assumptions and searches, as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tdsl
from tdsl import f32, f64, i32, i64
from tdsl.frontend.parser import parse
from tdsl.ir.printer import print_function

M, N, K = tdsl.dims("M N K")
P = tdsl.dim("P", min=1)
HALF = 0.5


@tdsl.kernel
def matmul(A: f32[M, K], B: f32[K, N]) -> f32[M, N]:
    C = tdsl.zeros((M, N), f32)
    for i, j, k in tdsl.grid(M, N, K):
        C[i, j] += A[i, k] * B[k, j]
    return C


@tdsl.kernel
def scale(a: f32, x: f32[N], y: tdsl.inout(f32[N])):
    for i in range(N):
        if i > 0:
            t = a * x[i]
            y[i] += t


@tdsl.kernel
def ends(x: f32[2 * P]) -> tuple[f32[P], f32[1]]:
    low = tdsl.empty((P,), f32)
    last = tdsl.empty((1,), f32)
    for i in range(P):
        low[i] = x[2 * i]
    last[0] = x[2 * P - 1]
    return low, last


@tdsl.inline
def blend(a, b, t: f32):
    """Go from *a* to *b*."""
    step = (b - a) * HALF
    return a + step * t


@tdsl.inline
def square_blend(a):
    return blend(a, a * a, 1)


def two_products(A: f32[M, K], B: f32[K, M]) -> f32[M, M]:
    T = matmul(A, B)
    U = matmul(T, B=T)
    return U


TWO_PRODUCTS = """\
def two_products(A: f32[M, K], B: f32[K, M], U: output f32[M, M]) for M, K:
    T = local f32[M, M]
    for C_i in range(M):
        for C_j in range(M):
            T[C_i, C_j] = 0.0  # S0[C_i, C_j]
    for i in range(M):
        for j in range(M):
            for k in range(K):
                T[i, j] += (A[i, k] * B[k, j])  # S1[i, j, k]
    for C_i_1 in range(M):
        for C_j_1 in range(M):
            U[C_i_1, C_j_1] = 0.0  # S2[C_i_1, C_j_1]
    for i_1 in range(M):
        for j_1 in range(M):
            for k_1 in range(M):
                U[i_1, j_1] += (T[i_1, k_1] * T[k_1, j_1])  # S3[i_1, j_1, k_1]
"""


def inside_a_loop(x: f32[4 * P], n: f32, y: tdsl.inout(f32[2 * P])):
    for i in range(P):
        low, last = ends(x)
        if n > i:
            scale(n * 2, low, y)
        y[i] += last[0]


INSIDE_A_LOOP = """\
def inside_a_loop(x: f32[4*P], n: f32, y: inout f32[2*P]) for 1<=P:
    for i in range(P):
        low = local f32[2*P]
        last = local f32[1]
        for i_1 in range(2*P):
            low[i_1] = x[2*i_1]  # S0[i, i_1]
        last[0] = x[4*P - 1]  # S1[i]
        condition = local bool in registers
        condition = (n > f32(i))  # S2[i]
        a = local f32 in registers
        a = (n * 2.0)  # S3[i]
        for i_2 in range(2*P):
            if i_2 - 1 >= 0:
                t = local f32 in registers
                t = (a * low[i_2])  # S4[i, i_2]
                y[i_2] += (t if condition else -0.0)  # S5[i, i_2]
        y[i] += last[0]  # S6[i]
"""


def helpers(x: f32[M], y: tdsl.out(f32[M])):
    for i in range(M):
        y[i] = square_blend(x[i]) + blend(x[i], 0, i)


HELPERS = """\
def helpers(x: f32[M], y: output f32[M]) for M:
    for i in range(M):
        y[i] = ((x[i] + ((((x[i] * x[i]) - x[i]) * 0.5) * 1.0)) + \
(x[i] + (((0.0 - x[i]) * 0.5) * f32(i))))  # S0[i]
"""


def assumptions(x: f32[M], p: i32[N], q: i64[N], y: tdsl.out(f32[N])):
    """State all that can be stated."""
    tdsl.assume(M >= 2 * N + 1 and N % 4 == 0 and N >= 0)
    tdsl.assume(0 <= p < M)
    tdsl.assume(N >= q > 0)
    tdsl.assume(tdsl.injective(p))
    for i in range(N):
        if i < M:
            y[i] = x[i]


ASSUMPTIONS = """\
def assumptions(x: f32[M], p: i32[N], q: i64[N], y: output f32[N]) for M, N:
    assume M >= 2*N + 1
    assume N % 4 == 0
    assume 0 <= p < M
    assume 1 <= q < N + 1
    assume injective(p)
    for i in range(N):
        y[i] = x[i]  # S0[i]
"""


def searches(x: f32[M, P], k: tdsl.out(i64[M]), m: tdsl.inout(i32[M])):
    for i in range(M):
        k[i] = tdsl.argmax(x[i, j] for j in range(P))
        n = tdsl.argmin(m[j] + 1 for j in range(i, M))
        m[i] = i32(n)


SEARCHES = """\
def searches(x: f32[M, P], k: output i64[M], m: inout i32[M]) for M, 1<=P:
    for i in range(M):
        best = local f32 in registers
        position = local i64 in registers
        best = -inf  # S0[i]
        for j in range(P):
            best = max(best, x[i, j])  # S1[i, j]
        position = i64(P - 1)  # S2[i]
        for j_1 in range(P):
            position = min(position, (i64(j_1) if ((x[i, j_1] == best) or \
(x[i, j_1] != x[i, j_1])) else 9223372036854775807))  # S3[i, j_1]
        k[i] = position  # S4[i]
        best_1 = local i32 in registers
        n = local i64 in registers
        best_1 = 2147483647  # S5[i]
        n = i64(i)  # S6[i]
        for j_2 in range(i, M):
            element = local i32 in registers
            element = (m[j_2] + 1)  # S7[i, j_2]
            better = local bool in registers
            better = (element < best_1)  # S8[i, j_2]
            best_1 = (element if better else best_1)  # S9[i, j_2]
            n = (i64(j_2) if better else n)  # S10[i, j_2]
        m[i] = i32(n)  # S11[i]
"""


def exchanges(x: tdsl.inout(f32[M]), y: tdsl.inout(f32[M])):
    low, high = 1, M - 1
    for i in range(low, high):
        x[i], y[i] = y[i], x[i]
        a, b = x[i], y[i]
        a, b = b, a + b
        x[i] = a - b


EXCHANGES = """\
def exchanges(x: inout f32[M], y: inout f32[M]) for M:
    for i in range(1, M - 1):
        value = local f32 in registers
        value = x[i]  # S0[i]
        x[i] = y[i]  # S1[i]
        y[i] = value  # S2[i]
        a = local f32 in registers
        a = x[i]  # S3[i]
        b = local f32 in registers
        b = y[i]  # S4[i]
        value_1 = local f32 in registers
        value_1 = (a + b)  # S5[i]
        a = b  # S6[i]
        b = value_1  # S7[i]
        x[i] = (a - b)  # S8[i]
"""


def saturated(x: f64[M], n: i64[M], y: tdsl.out(i32[M]), z: tdsl.out(i64[M])):
    for i in range(M):
        y[i] = tdsl.saturate(x[i], i32)
        z[i] = tdsl.saturate(n[i], i32)


SATURATED = """\
def saturated(x: f64[M], n: i64[M], y: output i32[M], z: output i64[M]) for M:
    for i in range(M):
        y[i] = i32(min(max((x[i] if (x[i] == x[i]) else 0.0), -2147483648.0), \
2147483647.0))  # S0[i]
        z[i] = i64(i32(min(max(n[i], -2147483648), 2147483647)))  # S1[i]
"""

GOLDEN = [
    (two_products, TWO_PRODUCTS),
    (inside_a_loop, INSIDE_A_LOOP),
    (helpers, HELPERS),
    (assumptions, ASSUMPTIONS),
    (searches, SEARCHES),
    (exchanges, EXCHANGES),
    (saturated, SATURATED),
]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case[0].__name__)
def test_the_ir_of_a_kernel(case: tuple[Callable[..., Any], str]) -> None:
    function, text = case
    assert print_function(parse(function)) == text


def test_copied_statements_know_where_they_are_called() -> None:
    function = parse(two_products)
    first = two_products.__code__.co_firstlineno
    loop = function.body.statements[1]
    assert loop.span is not None and loop.span.caller is not None
    assert loop.span.calls == f" (in `matmul`, called in line {first + 1})"
    assert loop.span.file == __file__
