"""Each operation's bound holds for every operand within its own bound."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tdsl.backends.accumulate import lift, settle
from tdsl.backends.comparison import error_over_bound
from tdsl.backends.semantics import BINARY, CALLS, apply_binary, apply_call
from tdsl.backends.uncertain import Uncertain, binary, integer_binary, rounding
from tdsl.backends.uncertain_calls import (
    COMPLEX_DIVISION_ULPS,
    call,
    cast,
    function_ulps,
)
from tdsl.backends.uncertain_expr import wide
from tdsl.ir.dtypes import boolean, c64, f32, f64, i32
from tdsl.ir.nodes import ReduceOp

COUNT = 4000
ARITHMETIC = ["add", "sub", "mul", "div", "floordiv", "mod", "pow", "min", "max"]
COMPARISONS = ["lt", "le", "gt", "ge", "eq", "ne"]
SPECIAL = np.float32([0, -0.0, 1, -1, 1e-45, 3e38, -3e38, np.inf, -np.inf, np.nan, 0.5])


def operand(seed: int, exact: bool) -> tuple[Uncertain, NDArray[np.float32]]:
    """Return numbers with bounds, and float32 numbers within them."""
    random = np.random.default_rng(seed)
    size = 10 ** random.uniform(-3, 3, COUNT)
    value = np.float32(random.standard_normal(COUNT) * size)
    value[::5] = np.round(value[::5])
    value[::17] = random.choice(SPECIAL, value[::17].size)
    error = np.abs(value) * 10.0 ** random.uniform(-7, 0.5, COUNT)
    error = np.where(np.isfinite(value), error, 0.0)
    error[::3] = 0.0
    if exact:
        return Uncertain(value.astype(np.float64)), value
    with np.errstate(over="ignore"):
        moved = np.float32(value + error * random.uniform(-1, 1, COUNT))
    moved = np.where(np.isfinite(value) & np.isfinite(moved), moved, value)
    with np.errstate(invalid="ignore"):
        distance = np.abs(moved.astype(np.float64) - value)
    error = np.where(np.isfinite(distance), np.maximum(error, distance), 0.0)
    moved = np.where(error > 0, moved, value)
    return Uncertain(value.astype(np.float64), error), moved


def assert_within(actual: NDArray[np.float32], result: Uncertain) -> None:
    bound = np.broadcast_to(result.error, result.value.shape)
    ratios = error_over_bound(actual, result.value, bound)
    worst = int(np.argmax(ratios))
    assert ratios[worst] <= 1, (worst, actual[worst], result.value[worst], bound[worst])


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("op", ARITHMETIC + COMPARISONS)
def test_binary_operations(op: str, exact: bool) -> None:
    for seed in range(5):
        left, a = operand(2 * seed, exact)
        right, b = operand(2 * seed + 1, exact)
        with np.errstate(all="ignore"):
            result = binary(
                op, left, right, rounding(f32, function_ulps(op, "reassoc"))
            )
            dtype = boolean if op in COMPARISONS else f32
            assert_within(apply_binary(op, a, b, dtype), result)
            if not exact and op != "pow":
                assert np.isinf(result.error).mean() < 0.5


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("function", sorted(CALLS))
def test_functions(function: str, exact: bool) -> None:
    for seed in range(5):
        uncertain, a = operand(seed, exact)
        with np.errstate(all="ignore"):
            result = call(function, uncertain, f32, "reassoc")
            assert_within(apply_call(function, a, f32), result)
            if exact:
                assert np.isinf(result.error).mean() < 0.5


@pytest.mark.parametrize("exact", [True, False])
def test_casts(exact: bool) -> None:
    uncertain, a = operand(0, exact)
    usable = np.abs(a) < 1e9
    a = a[usable]
    error = uncertain.error[usable] if not exact else uncertain.error
    uncertain = Uncertain(uncertain.value[usable], error)
    assert_within(a.astype(np.int32), cast(uncertain, f32, i32, wide(i32)))
    assert_within(a.astype(np.bool_), cast(uncertain, f32, boolean, wide(boolean)))
    third = Uncertain(uncertain.value / 3, uncertain.error / 3)
    assert_within(
        (a.astype(np.float64) / 3).astype(np.float32), cast(third, f64, f32, wide(f32))
    )
    large = np.arange(2**24, 2**24 + 9)
    assert_within(large.astype(np.float32), cast(Uncertain(large), i32, f32, wide(f32)))


def test_a_bound_is_not_zero_where_it_must_not_be() -> None:
    one = Uncertain(np.array([1.0]))
    third = binary("div", one, Uncertain(np.array([3.0])), rounding(f32))
    assert 2.0**-26 <= third.error[0] <= 2.0**-24
    assert set(BINARY) >= {*ARITHMETIC, *COMPARISONS}


@pytest.mark.parametrize("function", ["sin", "cos", "tanh", "erf", "sigmoid", "ceil"])
def test_nothing_is_known_of_a_function_of_what_may_be_nan(function: str) -> None:
    anything = Uncertain(np.array([0.5, np.nan]), np.array([np.inf, np.inf]))
    assert np.isinf(call(function, anything, f64, "reassoc").error).all()


def test_an_overflow_is_not_certain_but_a_pole_is() -> None:
    """`fma(1e200, 1e200, -inf)` and `fma(1e155, 1e154, -1e308)` see no infinity."""
    large, zero = Uncertain(np.array([1e200])), Uncertain(np.array([0.0]))
    one, infinite = Uncertain(np.array([1.0])), Uncertain(np.array([np.inf]))
    rule, beyond = rounding(f64), Uncertain(np.array([800.0]))
    with np.errstate(all="ignore"):
        assert np.isinf(binary("mul", large, large, rule).error).all()
        assert binary("div", one, zero, rule).error == 0
        assert binary("mul", large, infinite, rule).error == 0
        assert np.isinf(call("exp", beyond, f64, "reassoc").error)
        assert call("log", zero, f64, "reassoc").error == 0


def test_a_maximum_with_an_unknown_term_is_unknown() -> None:
    term = Uncertain(np.array([np.nan]), np.array([np.nan]))
    parts = lift(ReduceOp.MAX, term, f64, 1)
    assert np.isinf(settle(ReduceOp.MAX, parts, f64).error).all()


@pytest.mark.parametrize("op", ReduceOp)
def test_what_is_assigned_and_never_updated_has_the_bound_it_was_given(
    op: ReduceOp,
) -> None:
    values, errors = np.array([0.0, 1.5, -3e5, 7.0]), np.array([2e-16, 1e-20, 1.0, 0.0])
    with np.errstate(all="ignore"):
        found = settle(op, lift(op, Uncertain(values, errors), f64, 0), f64)
    assert (found.error >= errors).all()
    np.testing.assert_allclose(found.error, errors, 1e-9)


def test_a_product_has_its_factors_relative_errors_and_its_roundings() -> None:
    values, errors = np.array([3.0, -5.0]), np.array([3e-16, 1e-15])
    factors = lift(ReduceOp.MUL, Uncertain(values, errors), f64, 1)
    value, size, growth, above, _ = factors
    parts = (value.prod(), size.prod(), growth.sum(), above.prod(), np.asarray(2.0))
    error = settle(ReduceOp.MUL, parts, f64).error
    assert 15 * 3e-16 <= error <= 15 * (3e-16 + 5 * 2.0**-52)


@pytest.mark.parametrize("op", [ReduceOp.MAX, ReduceOp.MIN])
def test_the_ends_of_an_interval_are_rounded_outwards(op: ReduceOp) -> None:
    """An odd significand and half a unit: to nearest, both ends would be at it."""
    one, unit = 1 + 2.0**-52, 2.0**-53
    near = Uncertain(np.array([one]), np.array([1.4 * unit]))
    assert settle(op, lift(op, near, f64, 1), f64).error >= 1.4 * unit
    name = op.name.lower()
    assert binary(name, near, near, rounding(f64)).error >= 1.4 * unit


def test_extremes_of_large_integers_do_not_round() -> None:
    large = np.array([2**62], np.int64)
    left, right = Uncertain(large, np.array([3.0])), Uncertain(large + 2)
    found = integer_binary("max", left, right)
    assert found.value == 2**62 + 2 and found.error == 1
    far = Uncertain(np.array([-(2**63)]), np.array([1.0]))
    assert integer_binary("max", far, right).error == 0


def test_a_nan_in_a_maximum_is_certain_whatever_else_is_in_it() -> None:
    nan, near = Uncertain(np.array([np.nan])), Uncertain(np.ones(1), np.full(1, 2.0))
    with np.errstate(invalid="ignore"):
        found = binary("max", nan, near, rounding(f64))
    assert np.isnan(found.value) and found.error == 0


def test_nothing_is_known_of_a_complex_sum_with_an_infinite_part() -> None:
    """Its other part is rounded, and NumPy may well make a NaN of it."""
    term = Uncertain(np.array([complex(np.inf, 0.1)]))
    with np.errstate(invalid="ignore"):
        assigned, added = (
            settle(ReduceOp.ADD, lift(ReduceOp.ADD, term, c64, number), c64).error
            for number in (0, 1)
        )
    assert assigned == 0 and np.isinf(added)


@pytest.mark.parametrize("size", [1e-44, 1e-39, 3e-38, 1e-30, 1.0, 5e37])
def test_quotients_of_complex_numbers_go_through_a_reciprocal(size: float) -> None:
    random = np.random.default_rng(3)
    a, b = (random.standard_normal((2, COUNT, 2)) * size).astype(np.float32)
    a, b = a.view(np.complex64)[:, 0], b.view(np.complex64)[:, 0]
    left, right = (Uncertain(x.astype(np.complex128)) for x in (a, b))
    with np.errstate(all="ignore"):
        found = binary("div", left, right, rounding(c64, COMPLEX_DIVISION_ULPS))
        assert_within(apply_binary("div", a, b, c64), found)
    assert np.isfinite(found.error).any() == (size > 1e-38)
