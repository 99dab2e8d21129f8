"""Error bounds of mathematical functions and casts.

`FUNCTION_ULPS` is a contract: a backend's vector math must stay within it, and the
tests of the backend check that it does. Each rule below bounds the change of the
function over the interval `value - error .. value + error`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..ir.dtypes import DType, holds
from ..ir.numerics import Numerics
from .semantics import CALLS, EXACT_CALLS, apply_cast
from .uncertain import EXACT, Array, Uncertain, rounding

FUNCTION_ULPS: Mapping[str, float] = {
    "exp": 4,
    "exp2": 4,
    "expm1": 4,
    "log": 4,
    "log2": 4,
    "log1p": 4,
    "sqrt": 0.5,
    "rsqrt": 4,
    "sin": 4,
    "cos": 4,
    "tanh": 4,
    "erf": 4,
    "sigmoid": 4,
    "pow": 4,
    "floordiv": 2,
    "mod": 2,
}
"""How many units in the last place a backend's function may be off, at most."""

ABSOLUTE_ROUNDOFFS: Mapping[str, float] = {"sin": 1, "cos": 1}
"""What to add near a zero of the function, in unit roundoffs (2**-24, 2**-53)."""

COMPLEX_DIVISION_ULPS = 6.0
COMPLEX_ABS_ULPS = 2.0
"""How far a quotient of complex numbers, and an absolute value, may be off."""

FAST_ULPS = 4.0
"""What numerics class `fast` grants to `div` and `sqrt`."""


def function_ulps(function: str, numerics: Numerics) -> float:
    """Return the declared error of a function, or of the operation `div`."""
    ulps = FUNCTION_ULPS.get(function, 0.5)
    return max(ulps, FAST_ULPS) if numerics == "fast" else ulps


def call(
    function: str, operand: Uncertain, dtype: DType, numerics: Numerics
) -> Uncertain:
    """Return *function* of a float *operand* with its bound."""
    value = CALLS[function](operand.value)
    if operand.value.dtype.kind == "c" and function == "abs":
        rule = rounding(dtype, COMPLEX_ABS_ULPS)
        return rule.rounded(value, operand.error, operand)
    if function in EXACT_CALLS:
        return Uncertain(value, _EXACT_RULES[function](operand))
    rule = rounding(dtype, function_ulps(function, numerics))
    propagated = EXACT if operand.is_exact else _RULES[function](operand, value)
    if function in ABSOLUTE_ROUNDOFFS:
        unit = float(np.finfo(dtype.numpy).eps) / 2
        propagated = propagated + ABSOLUTE_ROUNDOFFS[function] * unit
    return rule.rounded(value, propagated, operand)


def cast(
    operand: Uncertain, source: DType, dtype: DType, wide: np.dtype[Any]
) -> Uncertain:
    """Return *operand* of type *source* converted to *dtype*, with its bound.

    The evaluation holds numbers of *dtype* as *wide*.
    """
    if operand.is_exact:
        given = operand.value.astype(source.numpy)
        return Uncertain(np.asarray(apply_cast(given, dtype)).astype(wide))
    match source.kind, dtype.kind:
        case _, "float" | "complex" if holds(dtype, source):
            error = operand.error
            error = np.minimum(error, 1.0) if source.kind == "bool" else error
            return Uncertain(operand.value.astype(wide), error)
        case _, "float" | "complex":
            value = operand.value.astype(wide)
            return rounding(dtype).rounded(value, operand.error, operand)
        case "float", "int":
            return _truncated(operand, dtype, wide)
        case _, "bool":
            value = operand.value != 0
            near = (operand.error > 0) & (np.abs(operand.value) <= operand.error)
            return Uncertain(value, _exactly(operand, np.where(near, np.inf, 0.0)))
        case _:
            value = operand.value.astype(dtype.numpy).astype(wide)
            changed = (operand.error > 0) & (value != operand.value)
            error = np.where(changed, np.inf, operand.error)
            return Uncertain(value, _exactly(operand, error))


def _exactly(operand: Uncertain, error: Array) -> Array:
    return EXACT if operand.is_exact else error


def _truncated(operand: Uncertain, dtype: DType, wide: np.dtype[Any]) -> Uncertain:
    value = np.asarray(apply_cast(operand.value, dtype)).astype(wide)
    low, high = operand.value - operand.error, operand.value + operand.error
    inside = (low > float(dtype.lowest) - 1) & (high < float(dtype.highest + 1))
    steps = np.where(inside, _change(np.trunc, operand), np.inf)
    return Uncertain(value, np.where(operand.error == 0, 0.0, steps))


def _change(step: Callable[[Array], Array], operand: Uncertain) -> Array:
    """Return how far a monotone *step* function moves over the interval."""
    value = step(operand.value)
    low = step(operand.value - operand.error)
    high = step(operand.value + operand.error)
    change = np.maximum(value - low, high - value)
    change = np.where(np.isnan(change), np.inf, change)
    return np.where(operand.error == 0, 0.0, change)


def _exact_steps(step: Callable[[Array], Array]) -> Callable[[Uncertain], Array]:
    return lambda operand: _exactly(operand, _change(step, operand))


_EXACT_RULES: Mapping[str, Callable[[Uncertain], Array]] = {
    "abs": lambda operand: operand.error,
    "floor": _exact_steps(np.floor),
    "ceil": _exact_steps(np.ceil),
    "real": lambda operand: operand.error,
    "imag": lambda operand: operand.error,
    "conj": lambda operand: operand.error,
}


# --- the change of each function over an interval -----------------------------------


def _exponential(operand: Uncertain, scale: float) -> Array:
    """Return exp(x + e) - exp(x), neither of which need be representable alone."""
    highest: Array = np.exp(scale * (operand.value + operand.error))
    return highest * -np.expm1(-scale * operand.error)


def _logarithm(operand: Uncertain, scale: float, shift: float) -> Array:
    ratio = operand.error / (operand.value + shift)
    inside = (ratio >= 0) & (ratio < 1)
    return np.where(inside, -np.log1p(-np.where(inside, ratio, 0.0)) / scale, np.inf)


def _square_root(operand: Uncertain, value: Array) -> Array:
    low = operand.value - operand.error
    inside = (low >= 0) & (operand.value > 0)
    return np.where(inside, operand.error / (value + np.sqrt(np.abs(low))), np.inf)


def _reciprocal_root(operand: Uncertain, value: Array) -> Array:
    ratio = operand.error / operand.value
    inside = (ratio >= 0) & (ratio < 1)
    change = np.expm1(-0.5 * np.log1p(-np.where(inside, ratio, 0.0)))
    return np.where(inside, value * change, np.inf)


def _nearest_to_zero(operand: Uncertain) -> Array:
    nearest: Array = np.maximum(np.abs(operand.value) - operand.error, 0.0)
    return nearest


def _at_most(change: Array, limit: float) -> Array:
    """Return *change* up to *limit*; of what may be NaN nothing is known."""
    smaller: Array = np.where(np.isinf(change), np.inf, np.minimum(change, limit))
    return smaller


def _hyperbolic_tangent(operand: Uncertain, value: Array) -> Array:
    flattest = 1 / np.cosh(np.minimum(_nearest_to_zero(operand), 300.0)) ** 2
    return _at_most(operand.error * flattest, 2.0)


def _error_function(operand: Uncertain, value: Array) -> Array:
    slope = 2 / np.sqrt(np.pi) * np.exp(-np.square(_nearest_to_zero(operand)))
    return _at_most(operand.error * slope, 2.0)


def _logistic(operand: Uncertain, value: Array) -> Array:
    tail = np.exp(-_nearest_to_zero(operand))
    return _at_most(operand.error * tail / np.square(1 + tail), 1.0)


_RULES: Mapping[str, Callable[[Uncertain, Array], Array]] = {
    "exp": lambda x, value: _exponential(x, 1.0),
    "exp2": lambda x, value: _exponential(x, float(np.log(2))),
    "expm1": lambda x, value: _exponential(x, 1.0),
    "log": lambda x, value: _logarithm(x, 1.0, 0.0),
    "log2": lambda x, value: _logarithm(x, float(np.log(2)), 0.0),
    "log1p": lambda x, value: _logarithm(x, 1.0, 1.0),
    "sqrt": _square_root,
    "rsqrt": _reciprocal_root,
    "sin": lambda x, value: _at_most(x.error, 2.0),
    "cos": lambda x, value: _at_most(x.error, 2.0),
    "tanh": _hyperbolic_tangent,
    "erf": _error_function,
    "sigmoid": _logistic,
}
