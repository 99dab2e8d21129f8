"""A short run of the fuzz command, and the machinery that it relies on."""

from __future__ import annotations

import random

import pytest

from tdsl.analysis.validate import validate
from tdsl.ir.printer import print_function

from ..fuzz.campaign import find_difference, kind, run_campaign, run_kernel
from ..fuzz.execute import FaultError, compile_function, initial
from ..fuzz.faults import MALFORMATIONS
from ..fuzz.programs import random_program
from .kernels import LANES, PACKED, SMOOTH, TOTAL, read


def test_verdicts_agree_with_execution() -> None:
    report = run_campaign(pairs=60, faults=30, seed=3)
    assert report.failures == []
    assert report.pairs == 60 and report.faults >= 30
    proved = sum(n for text, n in report.verdicts.items() if "pair proved" in text)
    assert proved > 20


def test_reasons_that_differ_in_names_are_counted_as_one() -> None:
    functions = read(TOTAL), read(LANES)
    reasons = [
        f"same dataflow: loop {loop} reverses a flow dependence on {tensor}: a read of "
        f"{tensor}[{loop} + 1, 0] sees another value of {label}"
        for loop, tensor, label in (("i", "A", "S0"), ("o", "P", "S1"))
    ]
    assert {kind(reason, *functions) for reason in reasons} == {
        "same dataflow: loop _ reverses a flow dependence on _: a read of _[...] sees "
        "another value of _"
    }


def test_malformed_schedules_are_refuted() -> None:
    rng = random.Random(1)
    function = read(PACKED)
    for spoil in MALFORMATIONS:
        broken = spoil(function, rng)
        assert broken is not None and broken != function
        assert validate(function, broken).reason.startswith("well-formed: ")


def test_execution_sees_differences() -> None:
    expected = run_kernel(read(SMOOTH))
    assert find_difference(expected, read(SMOOTH)) == ""
    assert "C differs" in find_difference(expected, read(SMOOTH, ("T[j]", "T[0]")))
    shared = ("for i in range(N):", "for i in range(N):  # vectorized")
    assert "differs" in find_difference(run_kernel(read(TOTAL)), read(TOTAL, shared))


def test_execution_checks_memory() -> None:
    function = read(TOTAL, ("    C[0] = 0.0  # S0\n", ""))
    with pytest.raises(FaultError, match="reads"):
        compile_function(function)(initial(function, {"N": 2}, 1), {"N": 2}, iter)


def test_programs_are_a_function_of_the_seed() -> None:
    first, again = (random_program(random.Random(5)) for _ in range(2))
    assert print_function(first) == print_function(again)
