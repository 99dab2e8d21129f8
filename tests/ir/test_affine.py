"""Affine forms are canonical, divide exactly, and print as Python."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdsl.ir.affine import Affine, affine, constant, name

numbers = st.integers(-9, 9)
values = st.fixed_dictionaries({"x": st.integers(-30, 30), "y": st.integers(-30, 30)})


@st.composite
def forms(draw: st.DrawFn) -> Affine:
    form = name("x") * draw(numbers) + name("y") * draw(numbers) + draw(numbers)
    if draw(st.booleans()):
        form = form // draw(st.integers(1, 12)) * draw(numbers) + name("y")
    return form


@given(forms(), forms(), values)
def test_arithmetic_is_that_of_integers(
    a: Affine, b: Affine, at: dict[str, int]
) -> None:
    assert (a + b).evaluate(at) == a.evaluate(at) + b.evaluate(at)
    assert (a - b).evaluate(at) == a.evaluate(at) - b.evaluate(at)
    assert (-a * 3).evaluate(at) == -3 * a.evaluate(at)
    assert a + b == b + a
    assert a - a == constant(0)


@given(forms(), st.integers(1, 12), values)
def test_floor_division_and_remainder(a: Affine, d: int, at: dict[str, int]) -> None:
    assert (a // d).evaluate(at) == a.evaluate(at) // d
    assert (a % d).evaluate(at) == a.evaluate(at) % d


@given(forms(), values)
def test_text_is_python_of_the_same_meaning(a: Affine, at: dict[str, int]) -> None:
    assert eval(str(a), {}, dict(at)) == a.evaluate(at)


@given(forms(), forms(), values)
def test_substitution_agrees_with_evaluation(
    a: Affine, b: Affine, at: dict[str, int]
) -> None:
    moved = {**at, "x": b.evaluate(at)}
    assert a.substitute({"x": b}).evaluate(at) == a.evaluate(moved)


def test_equal_sizes_look_equal() -> None:
    assert (name("H") * 2 + 2) // 4 == (name("H") + 1) // 2
    assert (name("M") * 8 + 3) // 4 == name("M") * 2
    assert str(name("M") // 4 * -4) == "-4*(M//4)"


def test_unchanged_means_identical() -> None:
    form = name("i") + name("M") // 4
    assert form.substitute({"j": constant(1)}) is form


def test_a_divisor_must_be_positive() -> None:
    with pytest.raises(ValueError, match="floor division by 0"):
        affine("M") // 0
