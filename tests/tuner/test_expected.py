"""What a job compares with: derived bounds, and tolerances where they say nothing."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

import tdsl
from tdsl import f32, f64, i32
from tdsl.backends.error_bound import EvaluationTooSlow, evaluate_with_bound
from tdsl.errors import ArgumentError
from tdsl.target import host
from tdsl.tuner import problem
from tdsl.tuner.expected import DERIVED, STATED, expect

N = tdsl.dim("N")


@tdsl.kernel
def double(x: f32[N]) -> f32[N]:
    y = tdsl.empty((N,), f32)
    for i in range(N):
        y[i] = 2.0 * x[i]
    return y


@tdsl.kernel
def decay(x: tdsl.inout(f64[N]), rate: f64):
    for i in range(1, N):
        x[i] = x[i] + rate * x[i - 1]


@tdsl.kernel
def count(x: tdsl.inout(i32[N])):
    for i in range(1, N):
        x[i] = x[i] + x[i - 1]


def decaying(n: int, rate: float) -> dict[str, Any]:
    return {"x": np.ones(n), "rate": rate}


def expected(
    kernel: tdsl.Kernel, inputs: dict[str, Any], **options: Any
) -> tuple[dict[str, Any], str]:
    dims = {"N": len(inputs["x"])}
    settings: dict[str, Any] = {"numerics": "reassoc", "seconds": inf} | options
    return expect(kernel.function, inputs, dims, target=host(), **settings)


def test_the_derived_bound_decides_where_it_can() -> None:
    x = np.arange(5, dtype=np.float32)
    found, criterion = expected(double, {"x": x})
    assert criterion == DERIVED
    derived = evaluate_with_bound(double.function, {"x": x}, {"N": 5})["y"]
    for ours, theirs in zip(found["y"], derived, strict=True):
        assert np.array_equal(ours, theirs)


@tdsl.kernel
def ring(x: tdsl.inout(f64[N])):
    for i in range(2, N):
        x[i] = x[i] + 0.84 * x[i - 1] - 0.6 * x[i - 2]


def test_the_bound_decides_in_a_recursion_whose_errors_cancel() -> None:
    found, criterion = expected(ring, {"x": np.ones(6000)})
    assert criterion == DERIVED
    assert found["x"][1].max() < 1e-13


@tdsl.kernel
def population(x: tdsl.inout(f64[N])):
    for i in range(2, N):
        x[i] = x[i] + 2.0 * tdsl.log1p(x[i - 1]) - 1.5 * tdsl.log1p(x[i - 2])


def test_a_tolerance_decides_where_the_bound_is_larger_than_the_result() -> None:
    x = np.ones(400)  # a logarithm has no rule for errors that cancel
    _, bound = evaluate_with_bound(population.function, {"x": x}, {"N": len(x)})["x"]
    found, criterion = expected(population, {"x": x})
    assert criterion == STATED
    value, limit = found["x"]
    largest = np.abs(value).max()
    assert bound[2] < 1e-14 < largest < 1e20 < bound[-1]
    assert limit[2] == bound[2]
    assert limit[-1] == pytest.approx(2.0**-26 * largest)


def test_an_infinite_bound_gives_way_to_a_tolerance() -> None:
    @tdsl.kernel
    def inverse(x: tdsl.inout(f64[N])):
        for i in range(N):
            x[i] = 1.0 / (((x[i] + 1e17) + 1e17) - 2e17)

    x = np.array([32.0, 4096.0])  # 32 is smaller than the error bound of the divisor
    _, bound = evaluate_with_bound(inverse.function, {"x": x}, {"N": 2})["x"]
    assert np.isinf(bound).tolist() == [True, False]
    found, criterion = expected(inverse, {"x": x})
    assert criterion == STATED
    _, limit = found["x"]
    assert limit[0] == pytest.approx(2.0**-26 / 32)
    assert limit[1] == bound[1]


@pytest.mark.parametrize(
    ("numerics", "share"), [("reassoc", 2.0**-26), ("bitwise", 0.0)]
)
def test_the_plain_program_stands_in_for_a_slow_derivation(
    numerics: str, share: float
) -> None:
    inputs = decaying(50, -0.5)
    found, criterion = expected(decay, inputs, numerics=numerics, seconds=0.0)
    assert criterion == STATED
    value, limit = found["x"]
    exact = 2 / 3 * (1 - (-0.5) ** np.arange(1, 51))
    assert np.allclose(value, exact, rtol=1e-12)
    assert np.allclose(limit, share * np.abs(value).max(), rtol=1e-12)
    assert (inputs["x"] == 1).all()


def test_whole_numbers_have_no_tolerance() -> None:
    x = np.arange(6, dtype=np.int32)
    found, _ = expected(count, {"x": x}, seconds=0.0)
    value, limit = found["x"]
    assert value.tolist() == [0, 1, 3, 6, 10, 15]
    assert not limit.any()


def test_an_evaluation_ends_with_its_time() -> None:
    with pytest.raises(EvaluationTooSlow):
        evaluate_with_bound(decay.function, decaying(50, 1.0), {"N": 50}, seconds=0.0)


# --- inputs -----------------------------------------------------------------------


def made(inputs: Any) -> problem.Problem:
    return problem.make_problem(
        decay.function, {"N": 4}, "reassoc", 0, host(), lambda dims: inputs(dims["N"])
    )


def test_given_inputs_replace_random_ones() -> None:
    found = made(lambda n: {"rate": 1, "x": np.arange(float(n))})
    assert found.inputs["x"].tolist() == [0, 1, 2, 3]
    assert found.inputs["x"].dtype == np.float64
    assert found.expected["x"][0].tolist() == [0, 1, 3, 6]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (
            lambda n: [np.ones(n), 1.0],
            "decay: the function of inputs returned list, but it returns a dict of "
            "arguments by name",
        ),
        (
            lambda n: 1 // (n - 4),
            "decay: the function of inputs failed for N=4: ZeroDivisionError: integer "
            "division or modulo by zero",
        ),
        (
            lambda n: {"x": np.ones(n + 1), "rate": 1.0},
            "decay: x has shape (5,): dim N would be both 4 (from the call) and 5 "
            "(from x[N])",
        ),
    ],
)
def test_given_inputs_are_checked(inputs: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        made(inputs)
    assert str(caught.value) == message
