"""Subscripts that a kernel assumes to be in range are not checked."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tdsl
from tdsl import f32, i32, i64
from tdsl.backends.source import emit_source
from tdsl.frontend.subscripts import trusted
from tdsl.ir.affine import Affine, constant, name
from tdsl.ir.nodes import Assumptions, Function
from tdsl.ir.walk import chosen_accesses

N, V, W = tdsl.dims("N V W")


@tdsl.kernel
def take(x: f32[V], idx: i32[N]) -> f32[N]:
    y = tdsl.empty(N, f32)
    for i in range(N):
        y[i] = x[idx[i]]
    return y


@tdsl.kernel
def put(idx: i64[N], x: f32[N], y: tdsl.inout(f32[V])):
    for i in range(N):
        y[idx[i]] += x[i]


@tdsl.kernel
def shifted(x: f32[V], idx: i64[N]) -> f32[N]:
    y = tdsl.empty(N, f32)
    for i in range(N):
        y[i] = x[idx[i] + 1]
    return y


@tdsl.kernel
def pair(x: f32[V, V], idx: i64[N], other: i64[N]) -> f32[N]:
    y = tdsl.empty(N, f32)
    for i in range(N):
        y[i] = x[idx[i], other[i]]
    return y


def assuming(function: Function, low: Affine, high: Affine) -> Function:
    assumptions = Assumptions(in_range=(("idx", low, high),))
    return trusted(replace(function, assumptions=assumptions))


ZERO = constant(0)


@pytest.mark.parametrize(
    ("kernel", "low", "high", "checked"),
    [
        (take, ZERO, name("V"), False),
        (take, ZERO, name("V") - 2, False),
        (put, ZERO, name("V"), False),
        (take, ZERO, name("V") + 1, True),
        (take, constant(-1), name("V"), True),
        (take, ZERO, name("N"), True),
        (shifted, ZERO, name("V"), True),
        (pair, ZERO, name("V"), True),
    ],
)
def test_trust(kernel: tdsl.Kernel, low: Affine, high: Affine, checked: bool) -> None:
    (access,) = chosen_accesses(assuming(kernel.function, low, high))
    assert access.checked is checked


def test_what_is_trusted_is_not_checked() -> None:
    text = emit_source(assuming(put.function, ZERO, name("V"))).text
    assert "report_fault" not in text and "within" not in text
    assert emit_source(assuming(put.function, ZERO, name("V"))).sites == ()
    assert len(emit_source(put.function).sites) == 1


def test_without_assumptions_nothing_changes() -> None:
    assert trusted(take.function) is take.function
