"""Faults of the kernel itself are errors at the user's line, with what to write."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tdsl
from tdsl import f32
from tdsl.errors import KernelFaultError, KernelSyntaxError
from tdsl.executable import ReferenceBackend
from tdsl.kernel import Kernel

M, N = tdsl.dims("M N")
FULL = tdsl.dim("FULL", max=8)


@tdsl.kernel
def largest(x: f32[M, N]) -> f32[M]:
    y = tdsl.empty(M, f32)
    for i in range(M):
        m = x[i, 0]
        for j in range(N):
            m = max(m, x[i, j])
        y[i] = m
    return y


@tdsl.kernel
def neighbours(x: f32[M]) -> f32[M]:
    y = tdsl.empty(M, f32)
    for i in range(M):
        y[i] = x[i] + x[i + 1]
    return y


@tdsl.kernel
def overrun(x: f32[M], y: tdsl.out(f32[M])):
    for i in range(M + 1):
        y[i] = 1.0


@tdsl.kernel
def partly(x: f32[FULL]) -> f32[FULL]:
    y = tdsl.empty(FULL, f32)
    for i in range(1, FULL):
        y[i] = x[i]
    return y


@tdsl.kernel
def early(x: f32[M]) -> f32[M]:
    t = tdsl.empty(M, f32)
    y = tdsl.empty(M, f32)
    for i in range(1, M):
        t[i] = x[i]
    for j in range(M):
        y[j] = t[j]
    return y


@tdsl.kernel
def shifted(x: f32[M]) -> f32[M]:
    y = tdsl.empty(M, f32)
    for i in range(M):
        y[i] = x[i - 1] if i > 0 else 0.0
    return y


@tdsl.kernel
def sometimes(x: f32[M]) -> f32[M]:
    y = tdsl.empty(M, f32)
    for i in range(M):
        if x[i] > 0:
            y[i] = x[i]
    return y


@tdsl.kernel
def first_one(x: f32[M]) -> f32[M]:
    y = tdsl.empty(M, f32)
    for i in range(M):
        if i == 0:
            y[i] = x[i]
    return y


@tdsl.kernel
def too_far(x: f32[M]) -> f32[M]:
    y = tdsl.zeros(M, f32)
    for i in range(M):
        if (2**61 * i + 3) // 5 <= 2**61:
            y[i] = x[i]
    return y


FAULTS: dict[str, tuple[Any, str, str]] = {
    "a read where a dim is 0": (
        largest,
        "x[i, 0]",
        "largest: the kernel reads x[0, 0] outside x[M, N] for M=1, N=0: if N is "
        'always at least 1, declare it so: tdsl.dim("N", min=1)',
    ),
    "a read at any size": (
        neighbours,
        "x[i + 1]",
        "neighbours: the kernel reads x[1] outside x[M] for M=1: change the "
        "subscript, the range of its loop, or the shape",
    ),
    "a read under a condition": (
        shifted,
        "x[i - 1]",
        "shifted: the kernel reads x[-1] outside x[M] for M=1: both sides of a "
        "conditional are evaluated, except where the condition of an `if` statement "
        "has only loop variables and dims; or split the range: `for i in range(1, M)`",
    ),
    "a write under a condition": (
        sometimes,
        "y[i] = x[i]",
        "sometimes: the kernel reads y[0] before anything writes it for M=1: it is "
        "written only where the condition of line 77 holds; write `y[i]` before, or in "
        "every branch",
    ),
    "a write in some iterations": (
        first_one,
        "y[i] = x[i]",
        "first_one: the kernel never writes y[1] for M=2: write every element first, "
        "for instance with tdsl.zeros",
    ),
    "a write": (
        overrun,
        "y[i] = 1.0",
        "overrun: the kernel writes y[0] outside y[M] for M=0: change the subscript, "
        "the range of its loop, or the shape",
    ),
    "an unwritten result": (
        partly,
        "y[i] = x[i]",
        "partly: the kernel never writes y[0] for FULL=1: write every element first, "
        "for instance with tdsl.zeros",
    ),
    "a read before the write": (
        early,
        "t[j]",
        "early: the kernel reads t[0] before anything writes it for M=1: write every "
        "element first, for instance with tdsl.zeros",
    ),
    "a form that machine code cannot compute": (
        too_far,
        "(2**61 * i + 3) // 5 <= 2**61",
        "too_far: the kernel computes `-((2305843009213693952*i + 3)//5) + "
        "2305843009213693952`, which may not fit in i64: give the dims a max, or write "
        "a number that may wrap around as `i64(i) * 3`",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_kernel_is_shown_in_its_text(name: str) -> None:
    faulty, marked, message = FAULTS[name]
    kernel = Kernel(faulty.function, backend=ReferenceBackend())
    with pytest.raises(KernelFaultError) as caught:
        kernel.prove(kernel.schedule())
    error = caught.value
    assert error.msg == message
    assert error.filename == __file__
    assert error.text is not None and error.offset and error.end_offset
    assert error.text[error.offset - 1 : error.end_offset - 1] == marked


def test_a_call_raises_it_and_the_advice_mends_it() -> None:
    with pytest.raises(KernelSyntaxError, match="reads x"):
        Kernel(largest.function, backend=ReferenceBackend())(np.ones((2, 3), "f4"))
    m, n = largest.function.dims
    mended = replace(largest.function, dims=(m, replace(n, min=1)))
    found = Kernel(mended, backend=ReferenceBackend())(np.ones((2, 3), "f4"))
    assert found.tolist() == [1, 1]
