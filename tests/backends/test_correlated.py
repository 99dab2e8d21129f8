"""Errors that share causes cancel in the bounds of recursions, as they do."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tdsl.backends import correlated, error_bound
from tdsl.backends.comparison import compare
from tdsl.backends.correlated import is_in_reach
from tdsl.backends.error_bound import evaluate_with_bound
from tdsl.backends.modules import load_module
from tdsl.backends.reference import interpret
from tdsl.backends.sketches import EXCESS
from tdsl.ir.dtypes import f32, f64
from tdsl.ir.nodes import Function
from tdsl.testing.case import Case
from tdsl.testing.values import make_arrays

from ..fuzz.campaign import sizes
from ..fuzz.programs import random_program
from ..ir_text import read_function
from .programs import copies

SOLVE = """
def solve(L: f64[N, N], x: inout f64[N]) for N:
    for i in range(N):
        for j in range(i):
            x[i] += -(L[i, j] * x[j])
        x[i] = x[i] / L[i, i]
"""
RING = """
def ring(x: inout f32[N]) for N:
    for i in range(2, N):
        x[i] = x[i] + 0.84 * x[i - 1] - 0.6 * x[i - 2]
"""
RULES = """
def rules(x: inout f32[N], y: f32[N]) for N:
    for i in range(1, N):
        x[i] = sqrt(abs(x[i - 1]) + 0.5) - exp(-abs(x[i - 1] * 0.25))
        x[i] = max(x[i], min(y[i], -x[i - 1])) / (1.5 + x[i - 1] * x[i - 1])
        x[i] = x[i] * y[i] - x[i] * y[i - 1] if y[i] < x[i - 1] else -x[i]
"""


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str, text: str) -> SimpleNamespace:
        return SimpleNamespace(evaluate=load_module(name, text).evaluate.py_func)

    monkeypatch.setattr(correlated, "load_module", load)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a closer look at everything, and believe it alone."""
    monkeypatch.setattr(error_bound, "CORRELATED_STATEMENTS", 0)
    monkeypatch.setattr(error_bound, "_are_useless", lambda *_: True)
    monkeypatch.setattr(error_bound, "_better", lambda first, second: second or first)


def exact(function: Function, arrays: dict[str, Any]) -> dict[str, Any]:
    results = copies(arrays)
    interpret(function, results, {"N": len(arrays["x"])})
    return results


def triangle(n: int) -> np.ndarray:
    """Return that of trisolv: its inverse is small, its columns are not."""
    return np.tril(np.fromfunction(lambda i, j: (i + n - j + 1) * 2 / n, (n, n)))


@pytest.mark.usefixtures("uncompiled")
def test_a_substitution_is_as_accurate_as_its_matrix_allows() -> None:
    function, n = read_function(SOLVE), 36
    arrays = {"L": triangle(n), "x": np.arange(n, dtype=np.float64)}
    value, bound = evaluate_with_bound(function, arrays, {"N": n})["x"]
    gamma = 2 * n * 2.0**-53
    inverse = np.abs(np.linalg.inv(arrays["L"]))
    theorem = gamma * inverse @ np.abs(arrays["L"]) @ np.abs(value)
    assert (bound <= 4 * EXCESS * theorem + 1e-16).all(), bound / theorem
    assert compare(exact(function, arrays), {"x": (value, bound)}).passed


@pytest.mark.usefixtures("uncompiled")
def test_a_stable_filter_has_a_bound_that_stays() -> None:
    function, arrays = read_function(RING), {"x": np.ones(150, np.float32)}
    expected = evaluate_with_bound(function, arrays, {"N": 150})
    assert expected["x"][1].max() < 2e-6 * EXCESS
    found = exact(function, arrays)
    assert compare(found, expected).passed
    found["x"][140] *= np.float32(1 + 2.0**-18)
    assert not compare(found, expected).passed


@pytest.mark.usefixtures("uncompiled", "eager")
@pytest.mark.parametrize("seed", range(5))
def test_every_rule_holds_in_both_precisions(seed: int) -> None:
    """The interpreter computes in f32, the bounds in f64."""
    function, random = read_function(RULES), np.random.default_rng(seed)
    arrays = {name: random.standard_normal(40).astype(np.float32) for name in "xy"}
    expected = evaluate_with_bound(function, arrays, {"N": 40})
    assert is_in_reach(function, {"N": 40})
    assert compare(exact(function, arrays), expected).passed


def covered_program(seed: int) -> Function:
    rng = random.Random(seed)
    while True:
        function = random_program(rng, rng.choice([f32, f64]))
        if is_in_reach(function, list(sizes(function.dims))[-1]):
            return function


@pytest.mark.usefixtures("uncompiled", "eager")
@pytest.mark.parametrize("seed", range(30))
def test_random_programs_stay_within_them(seed: int) -> None:
    function = covered_program(seed)
    dims = list(sizes(function.dims))[-1]
    data = ("normal", "special", "magnitudes", "tiny", "huge")[seed % 5]
    arrays = make_arrays(function, Case(dims, data=data, seed=seed))
    expected = evaluate_with_bound(function, arrays, dims)
    results = copies(arrays)
    for param in function.params:
        tensor = param.tensor
        shape = tuple(extent.evaluate(dims) for extent in tensor.shape)
        results.setdefault(tensor.name, np.zeros(shape, tensor.dtype.numpy))
    with np.errstate(all="ignore"):
        interpret(function, results, dims)
    assert compare({name: results[name] for name in expected}, expected).passed


@pytest.mark.usefixtures("eager")
def test_machine_code() -> None:
    function, n = read_function(SOLVE), 12
    arrays = {"L": triangle(n), "x": np.arange(n, dtype=np.float64)}
    expected = evaluate_with_bound(function, arrays, {"N": n})
    assert compare(exact(function, arrays), expected).passed
    assert 0 < expected["x"][1].max() < 1e-13 * EXCESS


@pytest.mark.usefixtures("uncompiled")
def test_it_is_left_when_it_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    function, arrays = read_function(RING), {"x": np.ones(150, np.float32)}
    monkeypatch.setattr(error_bound, "CORRELATED_ITERATIONS", 20.0)
    assert evaluate_with_bound(function, arrays, {"N": 150})["x"][1].max() > 1


WAVES = """
def waves(x: inout f32[N], y: inout f32[N], T: f32[S]) for N, S:
    for t in range(S):
        for i in range(1, N):
            x[i] += -(0.5 * (y[i] - y[i - 1]))
        for j in range(N - 1):
            y[j] += -(0.7 * (x[j + 1] - x[j]))
"""
LEVINSON = """
def levinson(r: f32[N], y: output f32[N]) for N:
    z = local f32[N]
    beta = local f32
    alpha = local f32
    beta = 1.0
    alpha = -r[0]
    y[0] = -r[0]
    for k in range(1, N):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k])
        for i in range(k):
            alpha += -(r[k - i - 1] * y[i])
        alpha = alpha / beta
        for m in range(k):
            z[m] = y[m] + alpha * y[k - m - 1]
        for q in range(k):
            y[q] = z[q]
        y[k] = alpha
"""
LARGEST = """
def largest(x: inout f32[N], m: output f32[N]) for N:
    for i in range(2, N):
        x[i] = x[i] + 0.84 * x[i - 1] - 0.6 * x[i - 2]
    for j in range(N):
        m[j] = -10.0
        for k in range(j):
            m[j] = max(m[j], x[k])
"""


@pytest.mark.usefixtures("uncompiled")
def test_sums_that_are_read_on_the_way() -> None:
    """Two fields drive each other: without signs, a bound doubles each step."""
    function, random = read_function(WAVES), np.random.default_rng(2)
    dims = {"N": 8, "S": 60}
    arrays = {
        **{name: random.random(8).astype(np.float32) for name in "xy"},
        "T": np.zeros(60, np.float32),
    }
    expected = evaluate_with_bound(function, arrays, dims)
    results = copies(arrays)
    interpret(function, results, dims)
    assert compare({name: results[name] for name in expected}, expected).passed
    assert max(bound.max() for _, bound in expected.values()) < 1e-3


@pytest.mark.usefixtures("uncompiled")
def test_products_that_are_read_on_the_way() -> None:
    function, n = read_function(LEVINSON), 60
    arrays = {"r": (n + 1 - np.arange(n, dtype=np.float64)) / (2 * n)}
    arrays["r"] = arrays["r"].astype(np.float32)
    value, bound = evaluate_with_bound(function, arrays, {"N": n})["y"]
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    toeplitz = np.concatenate([[1.0], arrays["r"]])[distance]
    assert np.abs(value - np.linalg.solve(toeplitz, -arrays["r"])).max() < 1e-5
    assert 0 < bound.max() < 1e-3


@pytest.mark.usefixtures("uncompiled")
def test_extremes_beside_a_recursion() -> None:
    function = read_function(LARGEST)
    arrays = {"x": np.linspace(0, 1, 150, dtype=np.float32)}
    expected = evaluate_with_bound(function, arrays, {"N": 150})
    assert expected["x"][1].max() < 1e-5 and expected["m"][1].max() < 1e-5


def test_too_many_elements_are_out_of_reach() -> None:
    function = read_function(RING)
    assert is_in_reach(function, {"N": 1000})
    assert not is_in_reach(function, {"N": 300_000})


FUSED = """
def fused(x: f64[N], y: f64[N], z: output f64[N]) for N:
    for i in range(N):
        p = local f64
        p = x[i] * y[i]
        z[i] = p - 1.0 - (abs(p) - 1.0)
"""


@pytest.mark.usefixtures("uncompiled", "eager")
def test_one_reader_of_a_product_may_fuse_it_with_a_sum() -> None:
    arrays = {"x": np.array([1 + 2.0**-30]), "y": np.array([1 - 2.0**-30])}
    value, bound = evaluate_with_bound(read_function(FUSED), arrays, {"N": 1})["z"]
    fused = -(2.0**-60) - (abs(1.0) - 1.0)
    assert abs(fused - value) <= bound < 1e-15


PRODUCT = """
def product(x: f32[N], p: output f32[N]) for N:
    for i in range(N):
        p[i] = 1.0
        for k in range(i + 1):
            s = local f32
            s = x[k] + 1000.0
            s = s - 1000.0
            p[i] *= s
"""


@pytest.mark.usefixtures("uncompiled", "eager")
def test_a_product_has_the_errors_of_its_factors() -> None:
    function = read_function(PRODUCT)
    x = np.linspace(1, 2, 8, dtype=np.float32)
    value, bound = evaluate_with_bound(function, {"x": x}, {"N": 8})["p"]
    worst = 1000 * 2.0**-24 * np.abs(value) * np.cumsum(1 / np.abs(x))
    assert (bound >= worst).all() and (bound <= 3 * EXCESS * worst).all()
