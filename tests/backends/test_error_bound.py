"""The derived bound holds for every right execution and catches wrong ones."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tdsl.backends import error_bound
from tdsl.backends.accumulate import settle
from tdsl.backends.comparison import compare, error_over_bound
from tdsl.backends.error_bound import evaluate_with_bound
from tdsl.backends.reference import interpret
from tdsl.errors import CheckError
from tdsl.ir.dtypes import f32
from tdsl.ir.nodes import Function, ReduceOp

from ..ir_text import read_function
from .programs import (
    PROGRAMS,
    as_integers,
    copies,
    in_double,
    random_arrays,
)
from .random_nests import random_nest

EDITS = [(name, fault) for name, p in PROGRAMS.items() for fault in p.faults]


def interpreted(
    function: Function, arrays: Mapping[str, Any], dims: Mapping[str, int]
) -> dict[str, Any]:
    results = copies(arrays)
    interpret(function, results, dims)
    return results


@pytest.mark.parametrize("spread", [0.0, 3.0])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_interpreter_is_within_the_bound(name: str, spread: float) -> None:
    program = PROGRAMS[name]
    arrays = random_arrays(program.function, program.dims, 1, spread)
    expected = evaluate_with_bound(program.function, arrays, program.dims)
    found = compare(interpreted(program.function, arrays, program.dims), expected)
    assert found.passed, str(found)
    assert spread or found.void == 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_double_precision_is_within_its_much_smaller_bound(name: str) -> None:
    program = PROGRAMS[name]
    function = in_double(program.function)
    arrays = random_arrays(function, program.dims, 2)
    expected = evaluate_with_bound(function, arrays, program.dims)
    found = compare(interpreted(function, arrays, program.dims), expected)
    assert found.passed, str(found)
    assert all((bound < 1e-9).all() for _, bound in expected.values())


@pytest.mark.parametrize(("name", "fault"), EDITS, ids=str)
def test_a_wrong_program_leaves_the_bound(name: str, fault: tuple[str, str]) -> None:
    program = PROGRAMS[name]
    arrays = random_arrays(program.function, program.dims, 3)
    expected = evaluate_with_bound(program.function, arrays, program.dims)
    wrong = interpreted(program.wrong(fault), arrays, program.dims)
    assert compare(wrong, expected).max_error_over_bound > 10


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bound_is_not_absurdly_wide(name: str) -> None:
    program = PROGRAMS[name]
    arrays = random_arrays(program.function, program.dims, 4)
    expected = evaluate_with_bound(program.function, arrays, program.dims)
    actual = interpreted(program.function, arrays, program.dims)
    ratios = [error_over_bound(actual[n], *pair) for n, pair in expected.items()]
    assert max(ratio.max() for ratio in ratios) > 0.005


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_way_of_evaluation_gives_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = PROGRAMS[name]
    arrays = random_arrays(program.function, program.dims, 5)
    usual = evaluate_with_bound(program.function, arrays, program.dims)
    ways = [
        {"GRID_LIMIT": 64, "CONTRACTION_FLOOR": 1 << 60},
        {"GRID_LIMIT": 64, "FACTOR_LIMIT": 200, "CONTRACTION_FLOOR": 1},
        {"is_independent": lambda *_: False},
    ]
    for way in ways:
        with monkeypatch.context() as patched:
            for setting, value in way.items():
                patched.setattr(error_bound, setting, value)
            other = evaluate_with_bound(program.function, arrays, program.dims)
        for output, (value, bound) in usual.items():
            np.testing.assert_allclose(other[output][0], value, 1e-11, 1e-11)
            np.testing.assert_allclose(other[output][1], bound, 1e-2, 1e-13)


@pytest.mark.parametrize("seed", range(20))
def test_sums_in_any_order_are_within_the_bound(seed: int) -> None:
    """Terms of all magnitudes cancel, so the order decides most of the error."""
    program = PROGRAMS["matmul"]
    dims = {"M": 4, "N": 5, "K": 64}
    arrays = random_arrays(program.function, dims, seed, spread=2.0)
    arrays["A"][:, 32:] = -arrays["A"][:, :32]
    arrays["B"][32:] = arrays["B"][:32] * np.float32(1 + 1e-6)
    expected = evaluate_with_bound(program.function, arrays, dims)
    order = np.random.default_rng(seed).permutation(64)
    for terms in (slice(None), order, np.argsort(order)):
        a, b = arrays["A"][:, terms], arrays["B"][terms]
        sequential = np.zeros((4, 5), np.float32)
        for k in range(64):
            sequential += a[:, k : k + 1] * b[k]
        products = a[:, :, None] * b
        for result in (sequential, a @ b, products.sum(1), products[:, ::-1].sum(1)):
            assert compare({"C": result}, expected).passed


def test_large_products_go_through_matrix_products() -> None:
    function = PROGRAMS["matmul"].function
    dims = {"M": 300, "N": 301, "K": 302}
    arrays = random_arrays(function, dims, 6)
    started = time.perf_counter()
    expected = evaluate_with_bound(function, arrays, dims)
    assert time.perf_counter() - started < 5  # scalar loops would take hours
    right = arrays["A"] @ arrays["B"]
    assert compare({"C": right}, expected).passed
    right[7, 9] += arrays["A"][7, 11] * arrays["B"][11, 9]
    assert compare({"C": right}, expected).index == (7, 9)


def test_infinities_and_nan_are_claimed_where_they_are_certain() -> None:
    function = PROGRAMS["matmul"].function
    dims = {"M": 2, "N": 2, "K": 3}
    a = np.array([[np.inf, 1, 2], [np.nan, 0, 1]], np.float32)
    b = np.array([[1, 0], [1, 1], [1, 1]], np.float32)
    value, bound = evaluate_with_bound(function, {"A": a, "B": b}, dims)["C"]
    assert value[0, 0] == np.inf and np.isnan(value[0, 1]) and np.isnan(value[1]).all()
    assert (bound == 0).all()
    with np.errstate(invalid="ignore"):
        right = {"C": a @ b}
    assert compare(right, {"C": (value, bound)}).passed
    right["C"][1, 1] = 3.0
    assert compare(right, {"C": (value, bound)}).max_error_over_bound == np.inf


def test_nothing_is_claimed_of_sums_that_may_overflow() -> None:
    function = PROGRAMS["matmul"].function
    dims = {"M": 1, "N": 1, "K": 3}
    a = np.array([[3e38, 3e38, -3e38]], np.float32)
    b = np.ones((3, 1), np.float32)
    found = evaluate_with_bound(function, {"A": a, "B": b}, dims)["C"]
    assert found[1][0, 0] == np.inf
    assert compare({"C": np.full((1, 1), np.inf)}, {"C": found}).void == 1


def test_a_sum_too_long_for_its_dtype_has_no_bound() -> None:
    parts = (np.ones(2), np.zeros(2), np.ones(2), np.array([1e3, 2e7]))
    error = settle(ReduceOp.ADD, parts, f32).error
    assert error[0] < 1e-3 and error[1] == np.inf


def test_a_subscript_outside_is_named() -> None:
    text = PROGRAMS["matmul"].text.replace("B[k, j]", "B[k + 1, j]")
    program = PROGRAMS["matmul"]
    arrays = random_arrays(program.function, program.dims, 0)
    with pytest.raises(CheckError) as caught:
        evaluate_with_bound(read_function(text), arrays, program.dims)
    assert str(caught.value) == (
        "B is accessed outside its shape: a subscript takes values from 1 to 40 where "
        "0 to 39 exist"
    )


def test_empty_dims_give_empty_or_initial_results() -> None:
    function = PROGRAMS["matmul"].function
    dims = {"M": 2, "N": 3, "K": 0}
    value, bound = evaluate_with_bound(
        function, random_arrays(function, dims, 0), dims
    )["C"]
    assert (value == 0).all() and (bound == 0).all()
    dims = {"M": 0, "N": 3, "K": 2}
    empty = evaluate_with_bound(function, random_arrays(function, dims, 0), dims)
    assert empty["C"][0].shape == (0, 3)
    assert compare({"C": np.empty((0, 3))}, empty).max_error_over_bound == 0


def test_integers_are_exact_and_wrap() -> None:
    text = PROGRAMS["matmul"].text.replace("f32", "i32")
    function = as_integers(read_function(text))
    dims = {"M": 9, "N": 8, "K": 100}
    random = np.random.default_rng(0)
    arrays = {
        "A": random.integers(-(2**30), 2**30, (9, 100), dtype=np.int32),
        "B": random.integers(-(2**30), 2**30, (100, 8), dtype=np.int32),
    }
    value, bound = evaluate_with_bound(function, arrays, dims)["C"]
    assert (value == arrays["A"] @ arrays["B"]).all() and (bound == 0).all()
    small = {name: array >> 20 for name, array in arrays.items()}
    value, bound = evaluate_with_bound(function, small, dims)["C"]
    assert (value == small["A"] @ small["B"]).all() and (bound == 0).all()


def test_inputs_are_not_changed() -> None:
    program = PROGRAMS["stencil"]
    arrays = random_arrays(program.function, program.dims, 0)
    before = copies(arrays)
    evaluate_with_bound(program.function, arrays, program.dims)
    assert (arrays["A"] == before["A"]).all()


def test_fast_grants_more_to_divisions() -> None:
    program = PROGRAMS["gauss_seidel"]
    arrays = random_arrays(program.function, program.dims, 0)
    usual, fast = (
        evaluate_with_bound(program.function, arrays, program.dims, numerics)["A"][1]
        for numerics in ("reassoc", "fast")
    )
    assert (fast[1:-1] > 1.5 * usual[1:-1]).all()


@pytest.mark.parametrize("block", range(2))
def test_random_nests_are_evaluated_as_they_are_interpreted(block: int) -> None:
    """Loops that run at once must not depend on one another: tries the decision."""
    at_once = 0
    for seed in range(100 * block, 100 * block + 100):
        function = in_double(random_nest(seed))
        arrays = random_arrays(function, {"N": 5}, seed)
        expected = evaluate_with_bound(function, arrays, {"N": 5})
        found = compare(interpreted(function, arrays, {"N": 5}), expected)
        assert found.passed, f"seed {seed}: {found}"
        at_once += all((bound < 1e-9).all() for _, bound in expected.values())
    assert at_once > 50


DIFFUSION = """
def diffusion(A: inout f32[N], B: inout f32[N]) for N, T:
    for t in range(T):
        for i in range(1, N - 1):
            B[i] = A[i] + 0.25 * (A[i - 1] - 2.0 * A[i] + A[i + 1])
        for j in range(1, N - 1):
            A[j] = B[j] + 0.25 * (B[j - 1] - 2.0 * B[j] + B[j + 1])
"""


def test_what_cancels_in_an_expression_does_not_add_up() -> None:
    """Each step takes a mean, though the size of its coefficients is 2."""
    function = read_function(DIFFUSION)
    start = np.random.default_rng(1).standard_normal(40).astype(np.float32)
    arrays, dims = {"A": start, "B": start.copy()}, {"N": 40, "T": 50}
    expected = evaluate_with_bound(function, arrays, dims)
    assert expected["A"][1].max() < 1e-3
    found = compare(interpreted(function, arrays, dims), expected)
    assert found.passed and found.max_error_over_bound > 1e-4, str(found)
