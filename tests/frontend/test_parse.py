"""Kernels give the IR that they mean, as text."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import exp
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import tdsl
from tdsl import f32, f64, i32, i64
from tdsl.frontend.parser import parse
from tdsl.ir.printer import print_function

M, N, K = tdsl.dims("M N K")
H = tdsl.dim("H", min=3, max=4096)
W = tdsl.dim("W", min=8, multiple=8)
WINDOW = 3
SCALE = 0.5
HALF = (H - WINDOW) // 2 + 1
LIMIT = np.float32(6.0)


def matmul(A: f32[M, K], B: f32[K, N]) -> f32[M, N]:
    """Multiply two matrices."""
    C = tdsl.zeros((M, N), f32)
    for i, j, k in tdsl.grid(M, N, K):
        C[i, j] += A[i, k] * B[k, j]
    return C


MATMUL = """\
def matmul(A: f32[M, K], B: f32[K, N], C: output f32[M, N]) for M, K, N:
    for C_i in range(M):
        for C_j in range(N):
            C[C_i, C_j] = 0.0  # S0[C_i, C_j]
    for i in range(M):
        for j in range(N):
            for k in range(K):
                C[i, j] += (A[i, k] * B[k, j])  # S1[i, j, k]
"""


def softmax(X: f32[M, N], Y: tdsl.out(f32[M, N])):
    for i in range(M):
        m = -math.inf
        for j in range(N):
            m = max(m, X[i, j])
        s = 0.0
        for j in range(N):
            s = s + exp(X[i, j] - m)
        for j in range(N):
            Y[i, j] = np.exp(X[i, j] - m) / s


SOFTMAX = """\
def softmax(X: f32[M, N], Y: output f32[M, N]) for M, N:
    for i in range(M):
        m = local f32 in registers
        m = -inf  # S0[i]
        for j in range(N):
            m = max(m, X[i, j])  # S1[i, j]
        s = local f32 in registers
        s = 0.0  # S2[i]
        for j_1 in range(N):
            s += exp((X[i, j_1] - m))  # S3[i, j_1]
        for j_2 in range(N):
            Y[i, j_2] = (exp((X[i, j_2] - m)) / s)  # S4[i, j_2]
"""


def pool(A: f32[H], P: tdsl.out(f32[(H - 3) // 2 + 1])):
    for i in range(HALF):
        start = 2 * i
        best = A[start]
        for d in range(1, WINDOW):
            best = max(A[start + d], best)
        P[i] = best * SCALE


POOL = """\
def pool(A: f32[H], P: output f32[(H + 1)//2 - 1]) for 3<=H<=4096:
    for i in range((H + 1)//2 - 1):
        best = local f32 in registers
        best = A[2*i]  # S0[i]
        for d in range(1, 3):
            best = max(best, A[d + 2*i])  # S1[i, d]
        P[i] = (best * 0.5)  # S2[i]
"""


def triangle(L: tdsl.inout(f64[N, N])):
    for i in range(N):
        for j in range(i):
            L[i, j] = L[i, j] - L[j, i]
        for j in range(max(0, i - 2), min(i + 3, N), 2):
            L[i, j] -= i * SCALE


TRIANGLE = """\
def triangle(L: inout f64[N, N]) for N:
    for i in range(N):
        for j in range(i):
            L[i, j] += (-L[j, i])  # S0[i, j]
        for j_1 in range(max(0, i - 2), min(i + 3, N), 2):
            L[i, j_1] += (-(f64(i) * 0.5))  # S1[i, j_1]
"""


def weak(A: f32[M], n: i32, alpha: f32, R: tdsl.out(f32[M]), S: tdsl.out(i64[M])):
    for i in range(M):
        R[i] = 2 * A[i] + i * alpha + M - LIMIT
        S[i] = n // 2 + (i + 1) // 3


WEAK = """\
def weak(A: f32[M], n: i32, alpha: f32, R: output f32[M], S: output i64[M]) for M:
    for i in range(M):
        R[i] = ((((2.0 * A[i]) + (f32(i) * alpha)) + f32(M)) - 6.0)  # S0[i]
        S[i] = i64(((n // 2) + i32((i + 1)//3)))  # S1[i]
"""


def logic(A: f32[M], R: tdsl.out(tdsl.bool_[M])):
    for i in range(M):
        big = A[i] > 1
        R[i] = not (0 < i <= 5 or big) and (A[i] == 0 if big else True)


LOGIC = """\
def logic(A: f32[M], R: output bool[M]) for M:
    for i in range(M):
        big = local bool in registers
        big = (A[i] > 1.0)  # S0[i]
        R[i] = ((not (((0 < i64(i)) and (i64(i) <= 5)) or big)) and \
((A[i] == 0.0) if big else True))  # S1[i]
"""


def casts(A: f32[M], R: tdsl.out(i32[M]), S: tdsl.out(f64[M])):
    for i in range(M):
        R[i] = i32(A[i]) + i32(i)
        S[i] = f64(A[i]) / i64(3) + f32(1)


CASTS = """\
def casts(A: f32[M], R: output i32[M], S: output f64[M]) for M:
    for i in range(M):
        R[i] = (i32(A[i]) + i32(i))  # S0[i]
        S[i] = ((f64(A[i]) / f64(3)) + f64(1.0))  # S1[i]
"""


def locals_(A: f32[M, W]) -> tuple[f32[M], f64[4]]:
    total = tdsl.empty(M, f32)
    ones = tdsl.full(shape=(4,), dtype=f64, value=1)
    for i in range(M):
        row = tdsl.empty((W,), f32)
        for j in range(W):
            row[j] = A[i, j] ** 2
        acc: f64 = 0
        for j in range(W):
            acc += row[j]
        total[i] = f32(acc)
    return total, ones


LOCALS = """\
def locals_(A: f32[M, W], total: output f32[M], ones: output f64[4]) \
for M, 8<=W%8==0:
    for ones_i in range(4):
        ones[ones_i] = 1.0  # S0[ones_i]
    for i in range(M):
        row = local f32[W]
        for j in range(W):
            row[j] = (A[i, j] ** 2.0)  # S1[i, j]
        acc = local f64 in registers
        acc = 0.0  # S2[i]
        for j_1 in range(W):
            acc += f64(row[j_1])  # S3[i, j_1]
        total[i] = f32(acc)  # S4[i]
"""


def functions(A: f64[M], R: tdsl.out(f64[M])):
    for i in range(M):
        R[i] = min(abs(A[i]), math.floor(A[i]), 3) + tdsl.pow(A[i], 3)
        R[i] *= tdsl.rsqrt(A[i]) + tdsl.sigmoid(-A[i]) + tdsl.sqrt(i)
        R[i] = min(R[i], tdsl.maximum(A[i], 0))


FUNCTIONS = """\
def functions(A: f64[M], R: output f64[M]) for M:
    for i in range(M):
        R[i] = (min(min(abs(A[i]), floor(A[i])), 3.0) + (A[i] ** 3.0))  # S0[i]
        R[i] *= ((rsqrt(A[i]) + sigmoid((-A[i]))) + sqrt(f64(i)))  # S1[i]
        R[i] = min(R[i], max(A[i], 0.0))  # S2[i]
"""


def updates(A: tdsl.inout(f32[M])):
    for i in range(1, M):
        A[i] = A[i] * 2
        A[i] = 3 + A[i]
        A[i] = A[i] + A[i - 1]
        A[i] += A[i - 1]
        A[i] = A[i] + 1 + 2
        A[i] = 1 - A[i]


UPDATES = """\
def updates(A: inout f32[M]) for M:
    for i in range(1, M):
        A[i] *= 2.0  # S0[i]
        A[i] += 3.0  # S1[i]
        A[i] += A[i - 1]  # S2[i]
        A[i] += A[i - 1]  # S3[i]
        A[i] = ((A[i] + 1.0) + 2.0)  # S4[i]
        A[i] = (1.0 - A[i])  # S5[i]
"""


def temporaries(A: f32[M], R: tdsl.out(f32[M])):
    previous = f32(0)
    last = 0
    for i in range(M):
        half = SCALE
        half = half + A[i]
        count = 0
        for _ in range(3):
            count += 1
        R[i] = previous + half + f32(count)
        previous = A[i]
        y = i + 1
        y = y * 2
        last = y
        last = A[i] - last


TEMPORARIES = """\
def temporaries(A: f32[M], R: output f32[M]) for M:
    previous = local f32 in registers
    previous = 0.0  # S0[]
    last = local f32 in registers
    last = 0.0  # S1[]
    for i in range(M):
        half = local f32 in registers
        half = (0.5 + A[i])  # S2[i]
        count = local i64 in registers
        count = 0  # S3[i]
        for _ in range(3):
            count += 1  # S4[i, _]
        R[i] = ((previous + half) + f32(count))  # S5[i]
        previous = A[i]  # S6[i]
        last = f32(2*i + 2)  # S7[i]
        last = (A[i] - last)  # S8[i]
"""


GOLDEN = [
    (matmul, MATMUL),
    (softmax, SOFTMAX),
    (pool, POOL),
    (triangle, TRIANGLE),
    (weak, WEAK),
    (logic, LOGIC),
    (casts, CASTS),
    (locals_, LOCALS),
    (functions, FUNCTIONS),
    (updates, UPDATES),
    (temporaries, TEMPORARIES),
]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case[0].__name__)
def test_the_ir_of_a_kernel(case: tuple[Callable[..., Any], str]) -> None:
    function, text = case
    assert print_function(parse(function)) == dedent(text)
