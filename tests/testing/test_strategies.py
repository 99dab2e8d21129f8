"""The Hypothesis strategies give legal, varied examples, and shrink to plain ones."""

from __future__ import annotations

import importlib
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from tdsl.analysis.validate import validate
from tdsl.errors import MissingPackageError
from tdsl.executable import ReferenceBackend
from tdsl.ir.affine import constant, name
from tdsl.ir.nodes import Assumptions
from tdsl.kernel import Kernel
from tdsl.schedules.schedule import Schedule
from tdsl.schedules.trace import PRIMITIVES
from tdsl.testing import (
    Case,
    arrays,
    assert_within_bound,
    cases,
    dims,
    inputs,
    moves,
    run_case,
    schedules,
    strategies,
)
from tdsl.testing.choices import Choices, random_choices

from ..ir_text import read_function
from ..schedules.kernels import TEXTS, kernel
from .altered import NEGATE, RIGHT, SCALE, WRONG_IF_UNROLLED

pytestmark = pytest.mark.usefixtures("small_sizes")
NEGATION = Kernel(NEGATE, backend=ReferenceBackend())
FEW = settings(max_examples=40)


def samples(strategy: st.SearchStrategy[Any], count: int = 150) -> list[Any]:
    found: list[Any] = []

    @settings(max_examples=count)
    @given(strategy)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found


# --- sizes and arguments ----------------------------------------------------------


def test_sizes_satisfy_the_assumptions_and_are_tiny_odd_and_around_tiles() -> None:
    found = samples(dims(RIGHT))
    assert all(each["M"] >= 1 and each["N"] % 4 == 0 for each in found)
    assert all(each["M"] * each["N"] <= 256 for each in found)
    assert {1, 2, 3, 7, 16, 17} <= {each["M"] for each in found}
    assert {0, 4} <= {each["N"] for each in found}


def test_sizes_shrink_to_the_smallest() -> None:
    assert find(dims(RIGHT), lambda _: True) == {"M": 1, "N": 0}
    assert find(dims(RIGHT), lambda each: each["M"] * each["N"] > 30)["M"] <= 16


def test_a_limit_on_the_product_holds() -> None:
    assert all(s["M"] * s["N"] <= 8 for s in samples(dims(RIGHT, largest=8), 60))


def test_arrays_have_special_values_and_all_layouts() -> None:
    found = samples(arrays(RIGHT, {"M": 5, "N": 8}))
    values = [each["X"] for each in found]
    assert all(v.shape == (5, 8) and v.dtype == np.float32 for v in values)
    assert any(np.isnan(v).any() for v in values)
    assert any(np.isinf(v).any() for v in values)
    smallest_normal = np.finfo(np.float32).tiny
    assert any(((v != 0) & (np.abs(v) < smallest_normal)).any() for v in values)
    assert any((np.abs(v) > 1e37).any() and np.isfinite(v).all() for v in values)
    assert any(v.flags.f_contiguous for v in values)
    assert any(v.strides[0] < 0 and v.strides[1] < 0 for v in values)
    assert any(v.strides == (2 * 16 * 4, 2 * 4) for v in values)
    assert all(np.ndim(each["a"]) == 0 for each in found)


@FEW
@given(inputs(NEGATION))
def test_inputs_are_the_keywords_of_a_call(given_inputs: dict[str, Any]) -> None:
    before = {name: np.copy(value) for name, value in given_inputs.items()}
    sizes = {name: given_inputs[name] for name in ("M", "N")}
    NEGATION(**given_inputs)
    comparison = assert_within_bound(given_inputs["Y"], NEGATION, {**before, **sizes})
    assert comparison.elements == given_inputs["Y"].size


@FEW
@given(cases(RIGHT))
def test_cases_can_be_run(case: Case) -> None:
    assert run_case(RIGHT, case).passed


def test_fast_kernels_get_no_infinities() -> None:
    found = samples(cases(RIGHT.with_numerics("fast")), 80)
    assert {each.data for each in found} == {
        "normal",
        "integers",
        "magnitudes",
        "tiny",
    }


# --- schedules --------------------------------------------------------------------


@settings(max_examples=15)
@given(schedules(RIGHT))
def test_schedules_are_proved_and_can_be_replayed(schedule: Schedule) -> None:
    assert validate(SCALE, schedule.function, "reassoc").verdict == "proved"
    assert Schedule.from_json(SCALE, schedule.to_json()) == schedule


def test_schedules_shrink_to_the_shortest_trace_that_fails() -> None:
    def fails(schedule: Schedule) -> bool:
        try:
            run_case(WRONG_IF_UNROLLED, Case({"M": 2, "N": 8}, 0), schedule=schedule)
        except AssertionError:
            return True
        return False

    least = find(schedules(RIGHT), fails, settings=settings(max_examples=500))
    assert [each.primitive for each in least.steps] == ["split", "unroll"]


def test_every_primitive_is_drawn_and_accepted_somewhere() -> None:
    """A new primitive needs choosers for its arguments, in `moves.ARGUMENTS`."""
    drawn: set[str] = set()
    for seed in range(30):
        for text in TEXTS:
            choices, start = random_choices(seed), Schedule(kernel(text))
            made = moves.random_schedule(start, [choices] * 20, "reassoc", 6)
            drawn |= {each.primitive for each in made.steps}
        if drawn == set(PRIMITIVES):
            return
    assert drawn == set(PRIMITIVES)


def test_a_move_that_cannot_be_made_changes_nothing() -> None:
    start = RIGHT.schedule()
    nothing = [(name, False) for name in PRIMITIVES].index(("inline", False))
    assert moves.extended(start, Choices([nothing])) is start


# --- without Hypothesis -----------------------------------------------------------


def test_the_strategies_say_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(MissingPackageError) as caught:
        importlib.reload(strategies)
    assert str(caught.value) == (
        "the strategies of tdsl.testing need Hypothesis, which is not installed: run "
        "`pip install hypothesis`; tdsl.testing.check works without it"
    )
    assert isinstance(caught.value, ImportError)


def test_checking_needs_neither_hypothesis_nor_pytest() -> None:
    program = (
        "import sys, tdsl.testing\n"
        "print('numba' in sys.modules)\n"
        "tdsl.testing.check\n"
        "print('hypothesis' in sys.modules, 'pytest' in sys.modules)"
    )
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "False", "False"]


# --- what a kernel assumes --------------------------------------------------------


def assuming(assumptions: Assumptions) -> Kernel:
    function = replace(INDEXED, assumptions=assumptions)
    return Kernel(function, backend=ReferenceBackend())


INDEXED = read_function(
    """
def indexed(P: i32[M], Y: output i32[M]) for M, N:
    for i in range(M):
        Y[i] = P[i]  # S0[i]
"""
)


def test_assumptions_on_sizes_hold() -> None:
    kernel = assuming(Assumptions((name("N") - name("M") * 2,)))
    found = samples(dims(kernel), 60)
    assert all(each["N"] >= 2 * each["M"] for each in found)
    assert any(each["M"] > 2 for each in found)


def test_assumptions_on_subscripts_hold() -> None:
    kernel = assuming(Assumptions(in_range=(("P", constant(2), name("N")),)))
    found = samples(inputs(kernel), 60)
    assert all((each["P"] >= 2).all() for each in found)
    assert all((each["P"] < each["N"]).all() for each in found)
    assert any(each["P"].size > 3 and len(set(each["P"])) > 1 for each in found)


def test_injective_subscripts_are_all_different() -> None:
    bounds = (("P", constant(0), name("N")),)
    kernel = assuming(Assumptions(in_range=bounds, injective=("P",)))
    for each in samples(inputs(kernel), 60):
        assert len(set(each["P"])) == each["P"].size <= each["N"]
    alone = assuming(Assumptions(injective=("P",)))
    for each in samples(inputs(alone), 20):
        assert sorted(each["P"]) == [*range(each["M"])]
