"""Which integers and bools are still certain where their operands are not."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tdsl.backends.uncertain import Uncertain, integer_binary

INFINITE = np.inf


@pytest.mark.parametrize("op", ["and", "or"])
def test_a_certain_operand_may_decide(op: str) -> None:
    deciding = op == "or"
    for a, b in product((False, True), repeat=2):
        left = Uncertain(np.array([a]), np.array([0.0]))
        right = Uncertain(np.array([b]), np.array([INFINITE]))
        wanted = 0.0 if a == deciding else INFINITE
        for result in (
            integer_binary(op, left, right),
            integer_binary(op, right, left),
        ):
            assert result.error.tolist() == [wanted], (a, b)


@pytest.mark.parametrize("op", ["and", "or"])
def test_two_uncertain_operands_decide_nothing(op: str) -> None:
    for a, b in product((False, True), repeat=2):
        left, right = (Uncertain(np.array([x]), np.array([INFINITE])) for x in (a, b))
        assert integer_binary(op, left, right).error.tolist() == [INFINITE]


def test_integer_operations_of_uncertain_integers() -> None:
    left = Uncertain(np.array([5, 5]), np.array([0.0, 1.0]))
    right = Uncertain(np.array([3, 3]), np.array([0.0, 2.0]))
    wanted = {
        "add": 3.0,
        "sub": 3.0,
        "mul": INFINITE,
        "floordiv": INFINITE,
        "lt": INFINITE,
    }
    for op, error in wanted.items():
        assert integer_binary(op, left, right).error.tolist() == [0.0, error], op
