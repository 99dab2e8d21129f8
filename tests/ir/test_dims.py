"""Dims carry their assumptions, and expressions over them become affine forms."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from tdsl.errors import ArgumentError, KernelTypeError
from tdsl.ir.affine import name
from tdsl.ir.dims import DimSymbol, dim, dims, dims_of, to_affine, to_dim
from tdsl.ir.nodes import Dim

H, W = dims("H W")
h, w = name("H"), name("W")


def test_a_dim_is_an_integer_symbol() -> None:
    symbol = dim("M", min=1, max=64, multiple=4)
    assert isinstance(symbol, DimSymbol)
    assert symbol.is_integer and symbol.is_nonnegative
    assert str(symbol + 1) == "M + 1"
    assert to_dim(symbol) == Dim("M", 1, 64, 4)
    assert to_dim(dim("M")) == Dim("M")


def test_dims_are_equal_if_name_and_assumptions_are() -> None:
    assert dim("M") == dim("M")
    assert hash(dim("M", min=1)) == hash(dim("M", min=1))
    different = {dim("M"), dim("M", min=1), dim("M", max=9), dim("M", multiple=2)}
    assert len(different) == 4
    assert dim("M") - dim("M") == 0


def test_dims_survive_pickle_and_copy() -> None:
    symbol = dim("M", min=1, max=64, multiple=4)
    for other in (pickle.loads(pickle.dumps(symbol)), copy.deepcopy(symbol)):
        assert other == symbol
        assert to_dim(other) == to_dim(symbol)


def test_several_dims() -> None:
    assert dims("M N") == dims("M, N") == (dim("M"), dim("N"))
    assert dims("M N", min=1) == (dim("M", min=1), dim("N", min=1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "a b"}, "dim('a b'): write a name such as dim('M')"),
        ({"name": "M", "min": 1.5}, "dim('M'): min must be an integer: 1.5"),
        ({"name": "M", "max": True}, "dim('M'): max must be an integer: True"),
        ({"name": "M", "min": -1}, "dim('M'): min is -1, but a size is at least 0"),
        ({"name": "M", "multiple": 0}, "dim('M'): multiple is 0; use 1 or more"),
        ({"name": "M", "min": 2, "max": 1}, "dim('M'): max 1 is less than min 2"),
    ],
)
def test_wrong_dims(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        dim(**arguments)
    assert str(caught.value) == message


def test_a_dim_twice() -> None:
    with pytest.raises(ArgumentError) as caught:
        dims("M N, M")
    assert str(caught.value) == (
        "dims('M N, M'): M is there twice, and equal names are one dim: write each "
        "name once"
    )


def test_no_dims() -> None:
    with pytest.raises(ArgumentError) as caught:
        dims(" ")
    assert str(caught.value) == ("dims(): write names with spaces between: dims('M N')")


@pytest.mark.parametrize(
    ("expression", "form"),
    [
        (3, name("H") * 0 + 3),
        (H, h),
        (2 * H - W + 1, h * 2 - w + 1),
        ((H - 3) // 2 + 1, (h - 3) // 2 + 1),
        (2 * ((H + W) // 4), (h + w) // 4 * 2),
        (-(H // 3), -(h // 3)),
        (sympy.ceiling(H / 4), (h + 3) // 4),
        (H % 4, h % 4),
        ((H + 2) % 4, (h + 2) % 4),
        ((H // 2 + 1) // 3, (h // 2 + 1) // 3),
        (H - H, h - h),
    ],
    ids=str,
)
def test_affine_expressions(expression: Any, form: Any) -> None:
    assert to_affine(expression) == form


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            H * W,
            "`H*W` is not affine in the dims: use sums, multiples, and // and % by "
            "constants",
        ),
        (
            H % W,
            "`Mod(H, W)` is not affine in the dims: use sums, multiples, and // and % "
            "by constants",
        ),
        (
            sympy.sqrt(H),
            "`sqrt(H)` is not affine in the dims: use sums, multiples, and // and % by "
            "constants",
        ),
        (H / 2, "`H/2` is not always an integer: write a floor division `//`"),
        (
            sympy.Symbol("x"),
            '`x` is a sympy symbol but no dim: create it with tdsl.dim("x")',
        ),
    ],
    ids=str,
)
def test_other_expressions(expression: Any, message: str) -> None:
    with pytest.raises(KernelTypeError) as caught:
        to_affine(expression)
    assert caught.value.msg == message


def test_the_dims_of_an_expression() -> None:
    assert dims_of((H + W) // 2) == (H, W)
    assert dims_of(3) == ()


EXPRESSIONS = st.recursive(
    st.integers(-6, 6) | st.sampled_from([H, W]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
        st.tuples(st.integers(-3, 3), inner).map(lambda p: p[0] * p[1]),
        st.tuples(inner, st.integers(1, 5)).map(lambda p: p[0] // p[1]),
        st.tuples(inner, st.integers(1, 5)).map(lambda p: p[0] % p[1]),
    ),
    max_leaves=6,
)


@given(EXPRESSIONS, st.integers(0, 40), st.integers(0, 40))
def test_forms_have_the_values_of_expressions(
    expression: Any, height: int, width: int
) -> None:
    value = sympy.sympify(expression).subs({H: height, W: width})
    assert to_affine(expression).evaluate({"H": height, "W": width}) == value


@pytest.mark.parametrize("word", ["lambda", "None", "in"])
def test_keywords_are_no_names(word: str) -> None:
    with pytest.raises(ArgumentError, match=f"{word} is a keyword of Python"):
        dim(word)
