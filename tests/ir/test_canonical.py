"""The text that keys are made of: equal for equal functions, and for no others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tdsl.entries import program_hash
from tdsl.ir.affine import constant, name
from tdsl.ir.canonical import canonical_text
from tdsl.ir.dtypes import f32, f64
from tdsl.ir.nodes import (
    Binary,
    Block,
    Cast,
    Const,
    Dim,
    Expr,
    Function,
    Instance,
    Load,
    Param,
    Reduce,
    ReduceOp,
    Role,
    Span,
    Stmt,
    Store,
    Tensor,
)
from tdsl.ir.printer import print_function

C = Tensor("C", f32, (constant(1),))
ZERO = (constant(0),)


def function(statement: Stmt, returned: bool = False) -> Function:
    params = (Param(C, Role.OUTPUT, returned),)
    return Function("f", params, (Dim("M"),), Block((statement,)))


def store(value: Expr) -> Stmt:
    return Store("C", ZERO, value, Instance("S0", ()))


def rounded(third: Expr) -> Stmt:
    return store(Cast(Binary("mul", third, third, third.dtype), f32))


LOAD = Load("C", ZERO, f32)
ONE = Const(1.0, f32)
PAIRS: dict[str, tuple[Function, Function]] = {
    "the type of a constant": (
        function(rounded(Const(0.1, f32))),
        function(rounded(Const(0.1, f64))),
    ),
    "an update and a store": (
        function(Reduce(ReduceOp.MAX, "C", ZERO, ONE, Instance("S0", ()))),
        function(store(Binary("max", LOAD, ONE, f32))),
    ),
    "who allocates the result": (function(store(ONE)), function(store(ONE), True)),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_programs_that_print_alike_differ(pair: str) -> None:
    one, other = PAIRS[pair]
    assert print_function(one) == print_function(other)
    assert program_hash(one) != program_hash(other)


@pytest.mark.parametrize(
    "change",
    [
        lambda f: replace(f, dims=(Dim("M", multiple=2),)),
        lambda f: replace(f, name="g"),
        lambda f: function(store(Const(-0.0, f32))),
        lambda f: function(Store("C", ZERO, Const(0.0, f32), Instance("S1", ()))),
        lambda f: function(Store("C", (name("M"),), Const(0.0, f32), None)),
        lambda f: function(Store("C", (name("M") // 2,), Const(0.0, f32), None)),
    ],
)
def test_every_field_counts(change: Callable[[Function], Function]) -> None:
    one = function(store(Const(0.0, f32)))
    assert canonical_text(one) != canonical_text(change(one))


def test_places_in_the_source_do_not_count() -> None:
    one = function(store(ONE))
    there = function(replace(store(ONE), span=Span("k.py", 1, 0, 1, 9)))
    assert canonical_text(one) == canonical_text(there)
