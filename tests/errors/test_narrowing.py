"""Weak integers that may not fit where they go are refused; those that fit are not."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import tdsl
from tdsl import i32
from tdsl.errors import KernelTypeError
from tdsl.frontend.parser import parse
from tdsl.ir.affine import Affine, constant, name
from tdsl.ir.ranges import Range, range_of_form

from .misuse import Misuse, check, define

KERNEL = """\
S = tdsl.dim("S", min=2, max=1000)
def f(P: i32[M], Q: i32[S], C: tdsl.inout(i32[M])):
    for i in range(M):
        {statement}
"""


def refused(statement: str, marked: str, form: str, far: int) -> Misuse:
    message = (
        f"`{form}` may be {far}, which does not fit in i32: give the dims a max, as in "
        f'tdsl.dim("M", max=1000), or write `i32({form})`, which wraps around'
    )
    text = KERNEL.format(statement=statement)
    return Misuse(statement, text, KernelTypeError, marked, message)


def stored(value: str, far: int) -> Misuse:
    return refused(f"C[i] = {value}", value, value, far)


REFUSED = (
    stored("i * 1000000000", 2147483646 * 10**9),
    stored("2 * i", 4294967292),
    stored("-i - i - 9", -4294967301),
    stored("i + M", 4294967293),
    stored("i * M", 2147483646 * 2147483647),
    stored("max(i * M, 3)", 2147483646 * 2147483647),
    stored("abs(-i - i)", 4294967292),
    stored("2 * i if i < 3 else 4", 4294967292),
    stored("S * 3000000", 3000000000),
    # An i64 may wrap on the way, so nothing is known of the smaller one.
    stored("min(i * i * i, 5)", -(2**63)),
    refused("C[i] = P[i] + 2 * i", "P[i] + 2 * i", "2 * i", 4294967292),
    refused("C[i] = max(P[i], 2 * i)", "max(P[i], 2 * i)", "2 * i", 4294967292),
    refused("C[i] += 3 * i", "3 * i", "3 * i", 6442450938),
    refused("t = i32(0); t += 3 * i; C[i] = t", "3 * i", "3 * i", 6442450938),
    refused("t: i32 = 2 * i; C[i] = t", "2 * i", "2 * i", 4294967292),
    refused(
        "L = tdsl.full((2,), i32, 2 * M); C[i] = L[0]", "2 * M", "2 * M", 4294967294
    ),
)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_may_not_fit_is_refused(case: Misuse) -> None:
    check(case)


def test_a_constant_that_fills_a_tensor_is_refused_in_its_place() -> None:
    statement = "L = tdsl.full((2,), i32, 3000000000); C[i] = L[0]"
    text, message = KERNEL.format(statement=statement), "3000000000 does not fit in i32"
    check(Misuse("fill", text, KernelTypeError, "3000000000", message))


@pytest.mark.parametrize(
    "value",
    [
        *("i", "i + 1", "M - i", "M - 5", "i % 7 + 3", "2 * i % 6", "i // 2 * 2"),
        *("S * 3000", "1000 * i % S", "P[i] + i", "min(i * M, 3)", "i * M % 7"),
        *("-i", "i if i > 3 else -i", "abs(i - M)", "i32(2 * i)", "P[i] * (S + 5)"),
    ],
)
def test_what_fits_is_stored(value: str) -> None:
    parse(define(KERNEL.format(statement=f"C[i] = {value}")))


def test_wider_and_floating_types_take_any() -> None:
    text = """\
    def f(C: tdsl.out(i64[M]), D: tdsl.out(f32[M])):
        for i in range(M):
            C[i] = 1000000000 * i
            D[i] = 1000000000 * i
    """
    parse(define(text))


def test_comparisons_are_exact() -> None:
    """A weak integer that may not fit is compared as i64, as NumPy 2 compares."""
    M = tdsl.dim("M")

    @tdsl.kernel
    def compare(P: i32[M]) -> i32[M]:
        C = tdsl.empty((M,), i32)
        for i in range(M):
            C[i] = 1 if P[i] < 3000000000 * i else 0
            C[i] += 2 if P[i] < 3000000000 else 0
        return C

    assert compare(np.full(3, 2**31 - 1, np.int32)).tolist() == [2, 3, 3]


def test_a_cast_wraps() -> None:
    M = tdsl.dim("M")

    @tdsl.kernel
    def cast(P: i32[M]) -> i32[M]:
        C = tdsl.empty((M,), i32)
        for i in range(M):
            C[i] = i32(3000000000 * i) + P[i]
        return C

    expected = (3000000000 * np.arange(3)).astype(np.int32)
    assert cast(np.zeros(3, np.int32)).tolist() == expected.tolist()


def test_ranges_contain_every_value() -> None:
    draw = random.Random(5)

    def form(depth: int) -> Affine:
        result = constant(draw.randint(-9, 9))
        for axis in "ij":
            result = result + name(axis) * draw.randint(-3, 3)
        for _ in range(draw.randint(0, 2) if depth else 0):
            inner, divisor = form(depth - 1), draw.randint(1, 5)
            part = draw.choice((inner // divisor, inner % divisor))
            result = result + part * draw.randint(-6, 6)
        return result

    for _ in range(300):
        low, width = draw.randint(-6, 6), draw.randint(0, 7)
        ranges = {"i": Range(low, low + width), "j": Range(-3, 4)}
        values = [range(each.low, each.high + 1) for each in ranges.values()]
        drawn = form(2)
        found = range_of_form(drawn, ranges)
        for i, j in itertools.product(*values):
            assert found.low <= drawn.evaluate({"i": i, "j": j}) <= found.high, drawn
