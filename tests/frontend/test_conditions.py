"""`if`, `break` and `continue` become guards and choices, as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tdsl
from tdsl import f32
from tdsl.frontend.parser import parse
from tdsl.ir.printer import print_function

M, N = tdsl.dims("M N")
FLAG = True
WINDOW = 3


def shifted(x: f32[M], y: tdsl.out(f32[M])):
    for i in range(M):
        if i > 0:
            y[i] = x[i - 1]
        else:
            y[i] = 0.0


SHIFTED = """\
def shifted(x: f32[M], y: output f32[M]) for M:
    for i in range(M):
        if i - 1 >= 0:
            y[i] = x[i - 1]  # S0[i]
        if -i >= 0:
            y[i] = 0.0  # S1[i]
"""


def clipped(x: f32[M], y: tdsl.out(f32[M])):
    for i in range(M):
        if x[i] > 0:
            y[i] = x[i]
        elif x[i] < -1:
            y[i] = -1.0
        else:
            y[i] = 0.0


CLIPPED = """\
def clipped(x: f32[M], y: output f32[M]) for M:
    for i in range(M):
        y[i] = (x[i] if (x[i] > 0.0) else (-1.0 if (x[i] < -1.0) else 0.0))  # S0[i]
"""


def off_diagonal(x: f32[M, N], y: tdsl.out(f32[M])):
    for i in range(M):
        s = 0.0
        for j in range(N):
            if i != j and x[i, j] > 0:
                s += x[i, j]
        y[i] = s


OFF_DIAGONAL = """\
def off_diagonal(x: f32[M, N], y: output f32[M]) for M, N:
    for i in range(M):
        s = local f32 in registers
        s = 0.0  # S0[i]
        for j in range(N):
            if -i + j - 1 >= 0:
                s += (x[i, j] if (x[i, j] > 0.0) else -0.0)  # S1[i, j]
            if i - j - 1 >= 0:
                s += (x[i, j] if (x[i, j] > 0.0) else -0.0)  # S2[i, j]
        y[i] = s  # S3[i]
"""


def joined(x: f32[M], y: tdsl.out(f32[M])):
    for i in range(M):
        if i % 2 == 0:  # noqa: SIM108
            t = x[i]
        else:
            t = 2.0
        if FLAG:
            t = t + 1
        if x[i] > 1 and t > 2:
            t = t * 2
            u = t
        else:
            u = 0.0
        y[i] = t + u


JOINED = """\
def joined(x: f32[M], y: output f32[M]) for M:
    for i in range(M):
        t = local f32 in registers
        if -i + 2*(i//2) >= 0:
            t = x[i]  # S0[i]
        if i - 2*(i//2) - 1 >= 0:
            t = 2.0  # S1[i]
        t += 1.0  # S2[i]
        u = local f32 in registers
        condition = local bool in registers
        condition = ((x[i] > 1.0) and (t > 2.0))  # S3[i]
        t *= (2.0 if condition else 1.0)  # S4[i]
        u = (t if condition else 0.0)  # S5[i]
        y[i] = (t + u)  # S6[i]
"""


def break_and_continue(x: f32[M, N], y: tdsl.out(f32[M])):
    for i in range(M):
        s = 0.0
        for j in range(N):
            if x[i, j] < 0:
                continue
            if s > 10:
                break
            s += x[i, j]
        y[i] = s


BREAK_AND_CONTINUE = """\
def break_and_continue(x: f32[M, N], y: output f32[M]) for M, N:
    for i in range(M):
        s = local f32 in registers
        s = 0.0  # S0[i]
        running = local bool in registers
        running = True  # S1[i]
        for j in range(N):
            condition_1 = local bool in registers
            condition_1 = (x[i, j] < 0.0)  # S2[i, j]
            condition = local bool in registers
            condition = (s > 10.0)  # S3[i, j]
            running = (False if ((not condition_1) and condition) \
else running)  # S4[i, j]
            s += (x[i, j] if (running and ((not condition_1) and (not condition))) \
else -0.0)  # S5[i, j]
        y[i] = s  # S6[i]
"""


def several_cases(x: f32[M], y: tdsl.inout(f32[M])):
    m = x[0]
    k = 0
    for i in range(1, M):
        if x[i] > m:
            m = x[i]
            k = i
    for i in range(M):
        if not (i == k or i > 3):
            y[i] = y[i] + m
        if 0 < i <= 5 or x[i] == 7:
            y[i] += 1.0


SEVERAL_CASES = """\
def several_cases(x: f32[M], y: inout f32[M]) for M:
    m = local f32 in registers
    m = x[0]  # S0[]
    k = local i64 in registers
    k = 0  # S1[]
    for i in range(1, M):
        condition = local bool in registers
        condition = (x[i] > m)  # S2[i]
        m = (x[i] if condition else m)  # S3[i]
        k = (i64(i) if condition else k)  # S4[i]
    for i_1 in range(M):
        if -i_1 + 3 >= 0:
            y[i_1] += (m if (not (i64(i_1) == k)) else -0.0)  # S5[i_1]
        if i_1 - 1 >= 0 and -i_1 + 5 >= 0:
            y[i_1] += 1.0  # S6[i_1]
        if i_1 - 6 >= 0:
            y[i_1] += (1.0 if (x[i_1] == 7.0) else -0.0)  # S7[i_1]
        if -i_1 >= 0:
            y[i_1] += (1.0 if (x[i_1] == 7.0) else -0.0)  # S8[i_1]
"""


def known(x: f32[M], y: tdsl.inout(f32[M])):
    for i in range(M):
        if WINDOW > 4:
            y[i] = z  # noqa: F821
        if i >= 0:
            y[i] = 1.0
        if i < M and x[i] > 0:
            pass
        else:
            for j in range(i):
                y[j] += x[i]


KNOWN = """\
def known(x: f32[M], y: inout f32[M]) for M:
    for i in range(M):
        y[i] = 1.0  # S0[i]
        condition = local bool in registers
        condition = (x[i] > 0.0)  # S1[i]
        for j in range(i):
            y[j] += (x[i] if (not condition) else -0.0)  # S2[i, j]
"""


GOLDEN = [
    (shifted, SHIFTED),
    (clipped, CLIPPED),
    (off_diagonal, OFF_DIAGONAL),
    (joined, JOINED),
    (break_and_continue, BREAK_AND_CONTINUE),
    (several_cases, SEVERAL_CASES),
    (known, KNOWN),
]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case[0].__name__)
def test_the_ir_of_a_kernel(case: tuple[Callable[..., Any], str]) -> None:
    function, text = case
    assert print_function(parse(function)) == text
