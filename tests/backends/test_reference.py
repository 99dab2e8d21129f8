"""The interpreter: operators bit for bit, memory checks, orders, recording."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tdsl.backends.reference import interpret
from tdsl.backends.semantics import apply_binary, apply_call, apply_cast, apply_unary
from tdsl.errors import ArgumentError, CheckError
from tdsl.ir.affine import affine, name
from tdsl.ir.dtypes import DTYPES, DType, f32, f64, i32, i64
from tdsl.ir.nodes import (
    Block,
    Dim,
    For,
    Function,
    Index,
    Load,
    LoopKind,
    Param,
    Role,
    Span,
    Store,
    Tensor,
)

from ..ir_text import read_function
from .programs import PROGRAMS, random_arrays


def run(text: str, dims: dict[str, int], **arrays: Any) -> None:
    interpret(read_function(text), arrays, dims)


def test_matmul_adds_in_source_order_and_rounds_each_step() -> None:
    function = PROGRAMS["matmul"].function
    arrays = random_arrays(function, {"M": 3, "N": 4, "K": 50}, 0)
    interpret(function, arrays, {"M": 3, "N": 4, "K": 50})
    expected = np.zeros((3, 4), np.float32)
    for k in range(50):
        expected += arrays["A"][:, k : k + 1] * arrays["B"][k]
    assert (arrays["C"] == expected).all()
    assert (arrays["C"] != (arrays["A"].astype(float) @ arrays["B"])).any()


@pytest.mark.parametrize(
    ("op", "left", "right", "dtype", "expected"),
    [
        ("add", 2**31 - 1, 1, i32, -(2**31)),
        ("mul", 2**40, 2**40, i64, 0),
        ("floordiv", -7, 2, i32, -4),
        ("mod", -7, 2, i32, 1),
        ("floordiv", 7, 0, i32, 0),
        ("mod", 7, 0, i32, 0),
        ("floordiv", -7.0, 2.0, f32, -4.0),
        ("mod", -7.5, 2.0, f32, 0.5),
        ("pow", 3, 4, i32, 81),
        ("pow", 2, -1, i32, 0),
        ("pow", -1, -3, i32, -1),
        ("pow", 2.0, 0.5, f32, np.float32(2**0.5)),
        ("div", 1.0, 0.0, f32, np.inf),
        ("max", np.nan, 1.0, f32, np.nan),
        ("min", 1.0, np.nan, f64, np.nan),
        ("add", 2.0**24, 1.0, f32, 2.0**24),
        ("add", 2.0**24, 1.0, f64, 2.0**24 + 1),
    ],
)
def test_operators(op: str, left: Any, right: Any, dtype: DType, expected: Any) -> None:
    kind = dtype.numpy.type
    with np.errstate(all="ignore"):
        result = apply_binary(op, kind(left), kind(right), dtype)
    assert result.dtype == dtype.numpy
    assert result == expected or (np.isnan(result) and np.isnan(expected))


def test_functions_of_float32_are_those_of_float64_rounded() -> None:
    x = np.float32(1.37)
    for function in ("exp", "log", "tanh", "sin"):
        exact = getattr(np, function)(np.float64(x))
        assert apply_call(function, x, f32) == np.float32(exact)
    assert apply_call("sigmoid", np.float32(-80), f32) > 0
    assert apply_call("erf", np.float64(0.5), f64) == pytest.approx(0.5204998778130465)


def test_casts_and_unary_operators() -> None:
    assert apply_cast(np.float32(-2.9), i32) == -2
    assert apply_cast(np.int64(2**32 + 5), i32) == 5
    assert apply_cast(np.float64(0.1), f32) == np.float32(0.1)
    assert apply_cast(np.float32(0.5), DTYPES["bool"]) == np.True_
    assert np.signbit(apply_unary("neg", np.float32(0), f32))
    assert apply_unary("not", np.True_, DTYPES["bool"]) == np.False_


def test_reading_an_output_before_it_is_written_names_element_and_line() -> None:
    i = name("i")
    span = Span("kernel.py", 12, 4, 12, 20)
    load = Load("y", (i,), f32, span=span)
    loop = For(
        "i",
        (affine(1),),
        (name("N"),),
        1,
        LoopKind.SERIAL,
        Block((Store("y", (i - 1,), load, None),)),
    )
    params = (Param(Tensor("y", f32, (name("N"),)), Role.OUTPUT),)
    function = Function("f", params, (Dim("N"),), Block((loop,)))
    with pytest.raises(CheckError) as error:
        interpret(function, {"y": np.zeros(4, np.float32)}, {"N": 4})
    expected = "y[1] is read before it is written at i=1 (kernel.py:12)"
    assert str(error.value) == expected


def test_locals_are_fresh_in_each_iteration() -> None:
    text = """
def f(x: f32[N], y: output f32[N]) for N:
    for i in range(N):
        t = local f32[2]
        if -i >= 0:
            t[1] = x[i]
        y[i] = t[1]
"""
    x = np.ones(3, np.float32)
    with pytest.raises(CheckError, match=r"t\[1\] is read before it is written at i=1"):
        run(text, {"N": 3}, x=x, y=x.copy())


def test_subscripts_outside_are_reported_also_negative_ones() -> None:
    text = """
def f(x: f32[N], y: output f32[N]) for N:
    for i in range(N):
        y[i] = x[i - 1]
"""
    x = np.ones(3, np.float32)
    message = r"x\[-1\] is outside x, whose shape is \[3\] at i=0"
    with pytest.raises(CheckError, match=message):
        run(text, {"N": 3}, x=x, y=x.copy())


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("forward", [0, 1, 2, 3, 4]),
        ("reverse", [4, 3, 2, 1, 0]),
        ("interleaved", [0, 2, 4, 1, 3]),
    ],
)
def test_parallel_iterations_run_in_the_asked_order(order: Any, expected: Any) -> None:
    text = """
def f(x: f32[N], y: output f32[N]) for N:
    for i in range(N):  # parallel
        y[i] = x[i]
"""
    seen = []
    x = np.ones(5, np.float32)
    interpret(
        read_function(text),
        {"x": x, "y": np.zeros(5, np.float32)},
        {"N": 5},
        order=order,
        record=lambda statement, element, names: seen.append((element, names["i"])),
    )
    assert seen == [((i,), i) for i in expected]


def test_steps_guards_and_several_bounds() -> None:
    text = """
def f(y: inout f32[N]) for N:
    for o in range(0, N, 4):
        for i in range(max(o, 2), min(o + 4, N)):
            if i - 3 >= 0 and -i + 8 >= 0:
                y[i] += 1.0
"""
    y = np.zeros(11, np.float32)
    run(text, {"N": 11}, y=y)
    assert y.tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0]


def test_index_values_have_the_asked_dtype() -> None:
    i = name("i")
    body = Store("y", (i,), Index(i * 3 + 1, f32), None)
    loop = For("i", (affine(0),), (affine(2),), 1, LoopKind.SERIAL, Block((body,)))
    params = (Param(Tensor("y", f32, (affine(2),)), Role.OUTPUT),)
    y = np.zeros(2, np.float32)
    interpret(Function("f", params, (), Block((loop,))), {"y": y}, {})
    assert y.tolist() == [1, 4]


def test_arguments_that_do_not_fit_are_refused() -> None:
    text = """
def f(x: f32[N], y: output f32[N]) for N:
    for i in range(N):
        y[i] = x[i]
"""
    x = np.ones(3, np.float32)
    message = r"y is float64\[3\]: pass float32\[3\]"
    with pytest.raises(ArgumentError, match=message):
        run(text, {"N": 3}, x=x, y=np.zeros(3))
    with pytest.raises(ArgumentError, match="output y is a list"):
        run(text, {"N": 3}, x=x, y=[0, 0, 0])


def test_a_local_tensor_of_negative_extent_is_empty() -> None:
    text = """
def f(A: inout f32[M]) for M:
    T = local f32[M - 4]
    for i in range(M - 4):
        T[i] = A[i]
    for j in range(M - 4):
        A[j] = T[j] + 1.0
"""
    few, many = np.zeros(2, np.float32), np.zeros(6, np.float32)
    run(text, {"M": 2}, A=few)
    run(text, {"M": 6}, A=many)
    assert few.tolist() == [0, 0]
    assert many.tolist() == [1, 1, 0, 0, 0, 0]
