"""What is assumed of arguments is part of a function."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tdsl
from tdsl import f32, i32
from tdsl.analysis.validate import validate
from tdsl.frontend.parser import parse
from tdsl.ir.affine import Affine, constant, name
from tdsl.ir.canonical import canonical_text
from tdsl.ir.nodes import Assumptions, Function
from tdsl.ir.printer import print_condition
from tdsl.ir.verify import verify

from ..specialize import specialize

M, N = tdsl.dims("M N")


def taken(x: f32[M], p: i32[N], y: tdsl.out(f32[N])):
    tdsl.assume(M > N)
    tdsl.assume(0 <= p < M)
    tdsl.assume(tdsl.injective(p))
    for i in range(N):
        y[i] = x[i + 1]


def without(function: Function) -> Function:
    return replace(function, assumptions=Assumptions())


def test_it_is_data() -> None:
    function = parse(taken)
    assert function.assumptions == Assumptions(
        (name("M") - name("N") - 1,), (("p", constant(0), name("M")),), ("p",)
    )
    assert canonical_text(function) != canonical_text(without(function))
    assert function != without(function)


def test_sizes_are_put_in_and_what_holds_is_left_out() -> None:
    known = specialize(parse(taken), {"M": 8}).assumptions
    assert known == Assumptions(
        (-name("N") + 7,), (("p", constant(0), constant(8)),), ("p",)
    )
    known = specialize(parse(taken), {"M": 8, "N": 7}).assumptions
    assert known.conditions == ()
    known = specialize(parse(taken), {"M": 8, "N": 8}).assumptions
    assert known.conditions == (constant(-1),)


def test_the_proof_uses_it_and_no_schedule_may_change_it() -> None:
    function = parse(taken)
    assert validate(function, function).verdict == "proved"
    assert validate(without(function), without(function)).verdict == "refuted"
    assert validate(without(function), function).verdict == "refuted"
    assert validate(function, without(function)).verdict == "refuted"


@pytest.mark.parametrize(
    "known",
    [
        Assumptions(conditions=(name("i"),)),
        Assumptions(in_range=(("p", name("i"), name("M")),)),
        Assumptions(in_range=(("x", constant(0), name("M")),)),
        Assumptions(injective=("y",)),
        Assumptions(injective=("z",)),
    ],
)
def test_it_is_about_dims_and_integer_inputs(known: Assumptions) -> None:
    with pytest.raises(AssertionError):
        verify(replace(parse(taken), assumptions=known))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (name("M") - name("N") * 2 - 1, "M >= 2*N + 1"),
        (-name("M") + 8, "M <= 8"),
        (name("M") - 3, "M >= 3"),
        (name("N") - name("M") + 2, "N + 2 >= M"),
        (-(name("M") % 4), "M % 4 == 0"),
        (-((name("M") + 1) % 4), "(M + 1) % 4 == 0"),
        (constant(-1), "1 <= 0"),
    ],
)
def test_it_is_printed_as_people_write_it(form: Affine, text: str) -> None:
    assert print_condition(form) == text
