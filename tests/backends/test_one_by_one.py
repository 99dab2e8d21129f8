"""The evaluation one by one gives what the evaluation of whole arrays gives."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest

from tdsl.backends import error_bound, one_by_one
from tdsl.backends.error_bound import EvaluationTooSlow, Result, evaluate_with_bound
from tdsl.backends.modules import load_module
from tdsl.backends.one_by_one import is_covered
from tdsl.errors import CheckError
from tdsl.ir.dtypes import f32, f64, i32, i64
from tdsl.ir.nodes import Function
from tdsl.testing.case import Case
from tdsl.testing.values import make_arrays

from ..fuzz.campaign import sizes
from ..fuzz.programs import random_program
from ..ir_text import read_function
from .programs import PROGRAMS, random_arrays

COVERED = [name for name, p in PROGRAMS.items() if is_covered(p.function)]

CHOLESKY = """
def cholesky(A: inout f64[N, N]) for N:
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] += -(A[i, k] * A[j, k])
            A[i, j] = A[i, j] / A[j, j]
        for q in range(i):
            A[i, i] += -(A[i, q] * A[i, q])
        A[i, i] = sqrt(A[i, i])
"""


@pytest.fixture
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_bound, "STATEMENT_LIMIT", 0)


@pytest.fixture(autouse=True)
def without_a_closer_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_bound, "CORRELATED_STATEMENTS", 1 << 62)


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str, text: str) -> SimpleNamespace:
        return SimpleNamespace(evaluate=load_module(name, text).evaluate.py_func)

    monkeypatch.setattr(one_by_one, "load_module", load)


def assert_same(found: dict[str, Result], expected: dict[str, Result]) -> None:
    for name, (value, bound) in expected.items():
        np.testing.assert_allclose(found[name][0], value, 1e-9, 1e-9)
        np.testing.assert_array_equal(np.isinf(found[name][1]), np.isinf(bound))
        finite = np.isfinite(bound)
        np.testing.assert_allclose(
            found[name][1][finite], bound[finite], 5e-2, 1e-13 * _largest(bound[finite])
        )


def _largest(array: np.ndarray) -> float:
    return float(np.max(np.abs(array), initial=0.0))


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("name", COVERED)
def test_programs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = PROGRAMS[name]
    arrays = random_arrays(program.function, program.dims, 5)
    usual = evaluate_with_bound(program.function, arrays, program.dims)
    monkeypatch.setattr(error_bound, "STATEMENT_LIMIT", 0)
    assert_same(
        evaluate_with_bound(program.function, arrays, program.dims),
        usual,
    )


def covered_program(seed: int) -> Function:
    rng = random.Random(seed)
    while True:
        function = random_program(rng, rng.choice([f32, f64, i32, i64]))
        if is_covered(function):
            return function


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    function = covered_program(seed)
    dims = list(sizes(function.dims))[-1]
    data = ("normal", "special", "magnitudes")[seed % 3]
    arrays = make_arrays(function, Case(dims, data=data, seed=seed))
    monkeypatch.setattr(error_bound, "is_covered", lambda _: False)
    usual = evaluate_with_bound(function, arrays, dims)
    monkeypatch.setattr(error_bound, "is_covered", is_covered)
    monkeypatch.setattr(error_bound, "STATEMENT_LIMIT", 0)
    assert_same(evaluate_with_bound(function, arrays, dims), usual)


@pytest.mark.usefixtures("one_at_a_time")
def test_machine_code() -> None:
    function = read_function(CHOLESKY)
    root = np.tril(np.random.default_rng(1).uniform(0.5, 1, (30, 30)))
    matrix = root @ root.T + 30 * np.eye(30)
    value, bound = evaluate_with_bound(function, {"A": matrix}, {"N": 30})["A"]
    lower = np.tril_indices(30)
    expected = np.linalg.cholesky(matrix)[lower]
    assert (np.abs(value[lower] - expected) <= bound[lower] + 1e-15).all()
    assert 0 < bound[lower].max() < 1e-12


@pytest.mark.usefixtures("one_at_a_time")
def test_it_stops_after_the_time_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_bound, "ITERATIONS_A_SECOND", 1.0)
    function = read_function(CHOLESKY)
    with pytest.raises(EvaluationTooSlow):
        evaluate_with_bound(
            function, {"A": np.eye(30)}, {"N": 30}, "reassoc", seconds=100.0
        )


@pytest.mark.usefixtures("one_at_a_time")
@pytest.mark.parametrize("place", ["i + 1", "i - 1"])
def test_an_element_outside_is_an_error(place: str) -> None:
    text = (
        f"def bad(x: inout f64[N]) for N:\n    for i in range(N):\n        x[{place}]"
    )
    with pytest.raises(CheckError) as caught:
        evaluate_with_bound(
            read_function(f"\n{text} = 1.0\n"), {"x": np.ones(5)}, {"N": 5}
        )
    assert str(caught.value) == "bad accesses an element outside its tensor at N=5"
