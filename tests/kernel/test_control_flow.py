"""`if`, `break` and `continue` do what Python does, interpreted and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tdsl
from tdsl import f32, i32, i64

from .as_python import check

M, N = tdsl.dims("M N")
P = tdsl.dim("P", min=1)
SHIFTED = True
WIDTH = 3
TENTH = np.float32(0.1)


def shifted(x: f32[M], y: tdsl.out(f32[M])):
    for i in range(M):
        if i > 0:
            y[i] = x[i - 1]
        else:
            y[i] = 0.0


def clipped(x: f32[M], y: tdsl.out(f32[M])):
    for i in range(M):
        if x[i] > 1:
            y[i] = 1.0
        elif x[i] < -1:
            y[i] = -1.0
        else:
            y[i] = x[i]


def off_diagonal(x: f32[M, N], y: tdsl.out(f32[M])):
    for i in range(M):
        s = 0.0
        for j in range(N):
            if i != j and x[i, j] > 0:
                s += x[i, j]
        y[i] = s


def joined(x: f32[M], y: tdsl.out(f32[M])):
    for i in range(M):
        if i % 2 == 0:  # noqa: SIM108
            t = x[i]
        else:
            t = 2.0
        if SHIFTED:
            t = t + 1
        if x[i] > 1 and t > 2:
            t = t * 2
            u = t
        else:
            u = 0.0
        y[i] = t + u


def nested_joined(x: f32[M], y: tdsl.out(f32[M])):
    for i in range(M):
        if x[i] > 0:
            if i < 2:  # noqa: SIM108
                t = 1
            else:
                t = 2
        elif x[i] == 0:
            t = 3
        else:
            t = i
            t = t * t
        y[i] = f32(t)


def positive_prefix(x: f32[M, N], y: tdsl.out(f32[M])):
    for i in range(M):
        s = 0.0
        for j in range(N):
            if x[i, j] < 0:
                continue
            if s > 4:
                break
            s += x[i, j]
        y[i] = s


def largest(x: f32[P], y: tdsl.out(f32[1]), where: tdsl.out(i64[1])):
    m = x[0]
    k = 0
    for i in range(1, P):
        if x[i] > m:
            m = x[i]
            k = i
    y[0] = m
    where[0] = k


def many_conditions(x: f32[M], y: tdsl.inout(f32[M])):
    for i in range(M):
        if not (x[i] == 0 or i > 3):
            y[i] = y[i] + 2
        if 0 < i <= 5 or x[i] == 2:
            y[i] += 1.0
        if i == 0 or i == M - 1 or not i % 3 != 0:  # noqa: SIM202
            y[i] *= 2


def known(x: f32[M], y: tdsl.inout(f32[M])):
    for i in range(M):
        if WIDTH > 4:
            y[i] = unknown  # noqa: F821
        elif WIDTH == 3 and i >= 0:
            y[i] = 1.0
        if i < M and x[i] > 0:
            pass
        else:
            for j in range(i):
                y[j] += x[i]


def loops_inside(x: f32[M, N], y: tdsl.inout(f32[M, N]), z: tdsl.inout(f32[M])):
    for i in range(M):
        if z[i] > 0:
            z[i] = 0.0
            for j in range(N):
                z[i] += x[i, j]
                y[i, j] = z[i]
        else:
            row = tdsl.empty(N, f32)
            for j in range(N):
                row[j] = x[i, j] * 2
            for j in range(N):
                y[i, j] = row[N - 1 - j]


def two_loops_left(x: f32[M, N], y: tdsl.inout(f32[M, N]), n: tdsl.out(i32[1])):
    count: i32 = 0
    for i in range(M):
        for j in range(N):
            if x[i, j] == 1:
                break
            y[i, j] = x[i, j] + 10
        if count > 2:
            break
        count += 1
    n[0] = count


def left_at_once(x: f32[M], y: tdsl.inout(f32[M])):
    for i in range(M):
        y[i] = x[i] + 1
        if i == 2:
            y[i] = 5
            break


def rest_of_the_iteration(x: f32[M], y: tdsl.inout(f32[M])):
    for i in range(M):
        if x[i] > 0:
            if x[i] > 1:
                continue
            y[i] = 1.0
        elif i == 3:
            continue
        y[i] += 2.0


def flag_as_condition(x: f32[M], y: tdsl.out(f32[M]), n: i32):
    seen = False
    for i in range(M):
        if seen:
            y[i] = x[i]
        else:
            y[i] = 1.0
            seen = x[i] > 1 and n > -2
            if not seen and n > 0:
                seen = i > n


def minus_zero(x: f32[M], y: tdsl.inout(f32[M])):
    for i in range(M):
        y[i] = -0.0
        if x[i] > 100:
            y[i] += x[i]


def extremes(x: f32[M], n: i32[M], y: tdsl.inout(f32[M]), m: tdsl.inout(i32[M])):
    for i in range(M):
        if x[i] > 0:
            y[i] = max(y[i], x[i])
            m[i] = min(m[i], n[i])
        else:
            y[i] = min(y[i], x[i])
            m[i] = max(m[i], n[i])
            m[i] *= 2


def rounded(x: f32[M], y: tdsl.out(f32[M])):
    for i in range(M):
        if TENTH == 0.1:
            y[i] = x[i]
        else:
            y[i] = 0.0 if TENTH == 0.1 else -x[i]


VECTORS = (
    *(shifted, clipped, joined, nested_joined, many_conditions, known, rounded),
    *(left_at_once, rest_of_the_iteration, flag_as_condition, minus_zero, extremes),
)
MATRICES = (off_diagonal, positive_prefix, loops_inside, two_loops_left)
SIZES: dict[Callable[..., Any], list[dict[str, int]]] = {
    largest: [{"P": 1}, {"P": 2}, {"P": 30}]
}
SIZES |= {each: [{"M": size} for size in (0, 1, 9, 37)] for each in VECTORS}
SIZES |= {
    each: [{"M": 1, "N": 1}, {"M": 7, "N": 19}, {"M": 4, "N": 0}] for each in MATRICES
}


@pytest.mark.parametrize("function", SIZES, ids=lambda each: each.__name__)
def test_a_kernel_is_also_the_python_that_it_looks_like(
    function: Callable[..., Any],
) -> None:
    check(function, SIZES[function])
