"""What a kernel captures, and how its variables get their dtypes."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import tdsl
from tdsl import f32, i32
from tdsl.errors import KernelTypeError
from tdsl.frontend.parser import parse
from tdsl.ir.printer import print_function

M, N = tdsl.dims("M N")
later: int


class Settings:
    width = 4
    scale = 0.5


def lines(function: object) -> list[str]:
    text = print_function(parse(function))  # type: ignore[arg-type]
    return [line.partition("  #")[0].strip() for line in text.split("\n")]


def message(function: object) -> str:
    with pytest.raises(KernelTypeError) as caught:
        parse(function)  # type: ignore[arg-type]
    return str(caught.value.msg)


def test_attributes_are_captured() -> None:
    def f(C: tdsl.out(f32[M])):
        for i in range(Settings.width):
            C[i] = Settings.scale

    assert lines(f)[1:3] == ["for i in range(4):", "C[i] = 0.5"]


def test_closure_wins_over_globals() -> None:
    M = tdsl.dim("inner")

    def f(C: tdsl.out(f32[M])):
        for i in range(M):
            C[i] = 0

    assert lines(f)[0] == "def f(C: output f32[inner]) for inner:"


def test_python_names_and_dim_names_may_differ() -> None:
    rows = tdsl.dim("m")

    def f(C: tdsl.out(f32[rows])):
        for i in range(rows):
            C[i] = rows - i

    assert lines(f)[1:3] == ["for i in range(m):", "C[i] = f32(-i + m)"]


def test_arrays_and_lists_are_not_captured() -> None:
    weights, sizes, x = np.ones(3), [1, 2], sympy.Symbol("x")

    def first(C: tdsl.out(f32[M])):
        for i in range(M):
            C[i] = weights[i]

    def second(C: tdsl.out(f32[M])):
        for i in range(M):
            C[i] = sizes

    def third(C: tdsl.out(f32[M])):
        for i in range(M):
            C[i] = x

    assert message(first) == "`weights` is a NumPy array: pass it as a parameter"
    assert message(second) == (
        "`sizes` is a list: only numbers and dims can be captured"
    )
    assert message(third) == (
        '`x` is a sympy symbol but no dim: create it with tdsl.dim("x")'
    )


def test_a_loop_variable_may_be_used_again() -> None:
    def f(C: tdsl.out(f32[M]), i_1: f32):
        for i in range(M):
            C[i] = i_1
        for i in range(M):
            C[i] += i

    assert lines(f)[1:5] == [
        "for i in range(M):",
        "C[i] = i_1",
        "for i_2 in range(M):",
        "C[i_2] += f32(i_2)",
    ]


def test_a_dim_that_is_also_a_variable() -> None:
    t = tdsl.dim("i")

    def f(C: tdsl.out(f32[M])):
        for i in range(M):
            C[i] = t

    assert message(f) == "`i` is a dim and also a variable: rename the variable"


def test_each_block_has_variables_of_its_own() -> None:
    def f(A: f32[M], C: tdsl.out(f32[M])):
        for i in range(M):
            t = A[i] * 2
            C[i] = t
        for i in range(M):
            t = A[i] > 0
            C[i] += f32(t)

    assert [line for line in lines(f) if "local" in line] == [
        "t = local f32 in registers",
        "t_1 = local bool in registers",
    ]


def test_a_variable_takes_the_dtype_it_meets_later() -> None:
    def f(A: i32[M], B: f32[M], C: tdsl.out(f32[M])):
        count = 0
        total = 0
        copied = 0
        half = 0.5
        for i in range(M):
            count += A[i]
            total = total + B[i]
            copied = total
            half = half * A[i]
            C[i] = f32(count) + copied + f32(half)

    assert [line for line in lines(f) if "local" in line] == [
        "count = local i32 in registers",
        "total = local f32 in registers",
        "copied = local f32 in registers",
        "half = local f64 in registers",
    ]


def test_a_dtype_that_was_guessed_is_explained() -> None:
    def f(n: i32, C: tdsl.out(f32[M])):
        t = 0
        for i in range(M):
            t = t * 2 + 1
            C[i] = t

    first = f.__code__.co_firstlineno
    assert message(f) == (
        "cannot store a value of i64 in `C[i]`, which is f32: write `f32(t)`; or start "
        f"`t` as `f32(...)` in line {first + 1}, as a plain number makes it i64"
    )


def test_affine_variables_are_subscripts() -> None:
    def f(A: f32[2 * M + 2], C: tdsl.out(f32[M])):
        for i in range(M):
            y = 2 * i
            for d in range(3):
                x = y + d
                C[i] = A[x]

    assert "C[i] = A[d + 2*i]" in lines(f)


def test_a_scalar_parameter_is_no_bound() -> None:
    def f(n: i32, C: tdsl.out(f32[M])):
        for i in range(n):
            C[i] = 0

    assert message(f) == (
        "a loop bound must be affine in loop variables and dims, and `n` is not, as "
        "`n` is known only when the kernel runs: use loop variables, and dims in place "
        "of scalar parameters"
    )


def test_an_updated_variable_is_no_bound() -> None:
    def f(C: tdsl.out(f32[M])):
        for i in range(M):
            last = i
            last += 1
            for _ in range(last):
                C[i] = 0

    assert message(f) == (
        "a loop bound must be affine in loop variables and dims, and `last` is not, as "
        "the value of `last` is known only when the kernel runs: use loop variables, "
        "dims, and variables that are set once, to a form"
    )


def test_a_variable_assigned_after_the_kernel_is_unknown() -> None:
    def f(C: tdsl.out(f32[M])):
        for i in range(M):
            C[i] = defined_later

    assert message(f) == "unknown name `defined_later`"
    defined_later = 1
    assert "C[i] = 1.0" in lines(f)
