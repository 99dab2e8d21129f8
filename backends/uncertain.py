"""Numbers with a bound on how far a correct program may be from them.

An `Uncertain` pairs what the float64 reference computed with a bound on the distance
to what *any* correct execution in the kernel's own dtypes computes. Operands' bounds
propagate by the exact size of the function's change over the interval, not by a
derivative at its middle, and each operation adds its own rounding:

    error = propagated + u * (|value| + propagated) + smallest subnormal

where u is the unit roundoff of the dtype plus the reference's own. A result that may
overflow gets an infinite bound: nothing is claimed of it. An infinity or a NaN that
every correct execution gives has bound 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ir.dtypes import DType
from .semantics import BINARY, COMPARISONS

Array = NDArray[Any]

EXACT: Array = np.zeros(())
"""The bound of numbers that every correct execution gives bit for bit."""

REFERENCE_ULPS = 4.0
"""How far the float64 functions that the reference calls may be off, at most."""


@dataclass(frozen=True, slots=True)
class Uncertain:
    """An array of numbers and of bounds that broadcasts against it."""

    value: Array
    error: Array = field(default_factory=lambda: EXACT)

    @property
    def is_exact(self) -> bool:
        """Whether every bound is zero by construction."""
        return self.error is EXACT

    @property
    def magnitude(self) -> Array:
        """The largest absolute value that a correct execution can have."""
        size = np.abs(self.value)
        return size if self.is_exact else size + self.error


@dataclass(frozen=True, slots=True)
class Rounding:
    """What one operation of a dtype adds to the error."""

    unit: float
    tiny: float
    limit: float
    is_complex: bool = False

    def rounded(
        self, value: Array, propagated: Array, *operands: Uncertain
    ) -> Uncertain:
        """Return *value* with its operands' *propagated* error and one rounding.

        A zero from exact operands stays exact.
        """
        size = np.abs(value)
        if propagated is EXACT:
            error = self.unit * size
        else:
            error = propagated + self.unit * (size + propagated)
        inexact = (size > 0) | (propagated > 0)
        return self.bounded(value, error + self.tiny * inexact, *operands)

    def bounded(self, value: Array, error: Array, *operands: Uncertain) -> Uncertain:
        """Return *value* with *error*, after care for overflow, infinities and NaN."""
        suspicious = ~(np.abs(value) + error <= self.limit)
        if suspicious.any():
            certain = ~np.isfinite(value) & _inevitable(operands)
            if self.is_complex:  # its parts overflow one by one
                certain = np.zeros_like(certain)
            certain = certain & ~_overflow(value, operands)
            error = np.where(suspicious, np.where(certain, 0.0, np.inf), error)
        return Uncertain(value, error)


@cache
def rounding(dtype: DType, ulps: float = 0.5) -> Rounding:
    """Return the rounding of an operation of *dtype* that is *ulps* off at most.

    The reference's own error is added to it.
    """
    last, smallest = 2.0 ** (1 - dtype.precision), dtype.smallest
    reference = 0.5 if ulps <= 0.5 else REFERENCE_ULPS
    own = ulps * last + reference * 2.0**-52
    if dtype.is_storage:  # what is stored may have been rounded to f32 first
        own += 2.0**-23
    tiny = smallest * max(1.0, ulps)
    if dtype.kind == "complex":
        return Rounding(_COMPLEX * own, _COMPLEX * tiny, dtype.largest / 4, True)
    return Rounding(own, tiny, dtype.largest)


_COMPLEX = 3.0
"""A product of complex numbers is off by sqrt(5) roundings at most, two with `fma`."""


def _overflow(value: Array, operands: tuple[Uncertain, ...]) -> Array:
    """Where *value* is infinite for its size, not for a pole at a zero.

    A fused multiply-add never sees that a product is too large, and a few units in the
    last place decide whether a function is.
    """
    finite: Array = np.array(True)
    for operand in operands:
        finite = finite & np.isfinite(operand.value) & (operand.value != 0)
    overflow: Array = np.isinf(value) & finite
    return overflow


def _inevitable(operands: tuple[Uncertain, ...]) -> Array:
    """Where all executions give the same infinity or NaN as the reference.

    That is where all operands are exact, or one is infinite or NaN and the signs of
    the others are sure.
    """
    exact: Array = np.array(True)
    sure: Array = np.array(True)
    special: Array = np.array(False)
    for operand in operands:
        exact = exact & (operand.error == 0)
        infinite = ~np.isfinite(operand.value)
        special = special | (infinite & (operand.error == 0))
        sure = sure & ((operand.error == 0) | (np.abs(operand.value) > operand.error))
    return exact | (special & sure)


# --- arithmetic -------------------------------------------------------------------


def negate(operand: Uncertain) -> Uncertain:
    """Return the operand with the other sign."""
    return Uncertain(np.negative(operand.value), operand.error)


def invert(operand: Uncertain) -> Uncertain:
    """Return `not operand`."""
    return Uncertain(np.logical_not(operand.value), operand.error)


def binary(op: str, left: Uncertain, right: Uncertain, rule: Rounding) -> Uncertain:
    """Return the float operation *op* with its bound."""
    if op in COMPARISONS:
        return _compare(op, left, right)
    return _FLOAT_BINARY[op](left, right, rule)


def integer_binary(op: str, left: Uncertain, right: Uncertain) -> Uncertain:
    """Return *op* of integers or bools: exact unless an operand is uncertain."""
    value = BINARY[op](left.value, right.value)
    if left.is_exact and right.is_exact:
        return Uncertain(value)
    if op in COMPARISONS:
        return _compare(op, left, right)
    if op in ("add", "sub"):
        return Uncertain(value, left.error + right.error)
    if op in ("min", "max") and value.dtype != np.bool_:
        return _extreme(op, left, right)
    if op in ("and", "or"):
        return _logic(op, left, right)
    return Uncertain(value, _unknown_if(left.error + right.error > 0))


def _unknown_if(condition: Array) -> Array:
    return np.where(condition, np.inf, 0.0)


def _compare(op: str, left: Uncertain, right: Uncertain) -> Uncertain:
    value = BINARY[op](left.value, right.value)
    if left.is_exact and right.is_exact:
        return Uncertain(value)
    slack = left.error + right.error
    close = (slack > 0) & (distance(left.value, right.value) <= slack)
    return Uncertain(value, _unknown_if(close | np.isinf(slack)))


def distance(left: Array, right: Array) -> Array:
    """Return how far apart numbers of one type are, to a relative rounding."""
    if left.dtype.kind in "iu":  # whose difference may not fit its type
        high = np.maximum(left, right).astype(np.uint64)
        low = np.minimum(left, right).astype(np.uint64)
        return (high - low).astype(np.float64)
    kind = np.complex128 if left.dtype.kind == "c" else np.float64
    apart: Array = np.abs(np.subtract(left, right, dtype=kind))
    return apart


def _logic(op: str, left: Uncertain, right: Uncertain) -> Uncertain:
    value = BINARY[op](left.value, right.value)
    deciding = op == "or"
    decided = ((left.value == deciding) & (left.error == 0)) | (
        (right.value == deciding) & (right.error == 0)
    )
    return Uncertain(value, _unknown_if(~decided & (left.error + right.error > 0)))


def _sum_of_errors(left: Uncertain, right: Uncertain) -> Array:
    if left.is_exact:
        return right.error
    return left.error if right.is_exact else left.error + right.error


def _add(left: Uncertain, right: Uncertain, rule: Rounding) -> Uncertain:
    value = left.value + right.value
    return rule.rounded(value, _sum_of_errors(left, right), left, right)


def _subtract(left: Uncertain, right: Uncertain, rule: Rounding) -> Uncertain:
    return _add(left, negate(right), rule)


def _multiply(left: Uncertain, right: Uncertain, rule: Rounding) -> Uncertain:
    value = left.value * right.value
    propagated = EXACT
    if not left.is_exact:
        propagated = left.error * right.magnitude
    if not right.is_exact:
        propagated = propagated + np.abs(left.value) * right.error
    return rule.rounded(value, propagated, left, right)


def _divide(left: Uncertain, right: Uncertain, rule: Rounding) -> Uncertain:
    value = left.value / right.value
    propagated = _quotient_error(left, right, value)
    if rule.is_complex:
        propagated = propagated + _reciprocal_error(right, value, rule)
    return rule.rounded(value, propagated, left, right)


def _quotient_error(left: Uncertain, right: Uncertain, value: Array) -> Array:
    if left.is_exact and right.is_exact:
        return EXACT
    smallest = np.abs(right.value) - right.error
    error = (left.error + np.abs(value) * right.error) / smallest
    return np.where((smallest > 0) | (_sum_of_errors(left, right) == 0), error, np.inf)


def _reciprocal_error(divisor: Uncertain, quotient: Array, rule: Rounding) -> Array:
    """Return what a quotient of complex numbers is off for its way through 1 / divisor:
    that may overflow, and is a factor of what sums of subnormal numbers have lost.
    """
    scale = 1 / (np.abs(divisor.value) - divisor.error)
    lost = 2 * rule.tiny * scale * (1 + np.abs(quotient))
    error: Array = np.where((scale > 0) & (scale <= rule.limit), lost, np.inf)
    return error


def _floor_divide(left: Uncertain, right: Uncertain, rule: Rounding) -> Uncertain:
    value = np.floor_divide(left.value, right.value)
    return rule.rounded(value, _floor_steps(left, right, rule), left, right)


def _floor_steps(left: Uncertain, right: Uncertain, rule: Rounding) -> Array:
    """Return how far the floor of the quotient may move: not at all if it is whole."""
    quotient = _divide(left, right, rule)
    whole = np.floor_divide(left.value, right.value)
    low = np.floor(quotient.value - quotient.error)
    high = np.floor(quotient.value + quotient.error)
    exact = (left.error == 0) & (right.error == 0)
    divides = exact & (np.remainder(left.value, right.value) == 0)
    steps = np.where(divides, 0.0, np.maximum(whole - low, high - whole))
    unsure = ~np.isfinite(right.value) | (np.abs(right.value) <= right.error)
    return np.where(unsure & ~exact, np.inf, steps)


def _modulo(left: Uncertain, right: Uncertain, rule: Rounding) -> Uncertain:
    value = np.remainder(left.value, right.value)
    whole = np.abs(np.floor_divide(left.value, right.value))
    smooth = left.error + whole * right.error
    smooth = smooth + rule.unit * (left.magnitude + whole * right.magnitude)
    steps = _floor_steps(left, right, rule)
    wrapped = np.where(steps > 0, right.magnitude, 0.0)
    wrapped = np.where(np.isinf(steps), np.inf, wrapped)
    return rule.rounded(value, smooth + wrapped, left, right)


def _extreme(op: str, left: Uncertain, right: Uncertain) -> Uncertain:
    value = BINARY[op](left.value, right.value)
    if left.is_exact and right.is_exact:
        return Uncertain(value)
    error = np.maximum(_reach(left, value), _reach(right, value))
    certain = _surely_nan(left) | _surely_nan(right)
    error = np.where(np.isnan(error), np.inf, error)
    return Uncertain(value, np.where(certain, 0.0, error))


def _reach(operand: Uncertain, extreme: Array) -> Array:
    """Return by how much *operand* may move the extreme of it and others, or less
    than 0: what is not the extreme itself has to make up the distance first.
    """
    same = operand.value == extreme
    reach: Array = operand.error - np.where(same, 0.0, distance(operand.value, extreme))
    return reach


def _surely_nan(operand: Uncertain) -> Array:
    sure: Array = np.isnan(operand.value) & (operand.error == 0)
    return sure


def _power(left: Uncertain, right: Uncertain, rule: Rounding) -> Uncertain:
    value = np.power(left.value, right.value)
    if left.is_exact and right.is_exact:
        return rule.rounded(value, EXACT, left, right)
    exponent = np.abs(right.value)
    whole = (right.error == 0) & (right.value >= 1) & (right.value % 1 == 0)
    polynomial = exponent * np.power(left.magnitude, exponent - 1) * left.error
    ratio = left.error / np.abs(left.value)
    change = -right.magnitude * np.log1p(-np.minimum(ratio, 1.0))
    change = change + np.abs(np.log(np.abs(left.value))) * right.error
    unsure = (ratio >= 1) | ((left.value < 0) & (right.error > 0))
    general = np.where(unsure, np.inf, np.abs(value) * np.expm1(change))
    same = (left.error == 0) & (right.error == 0)
    propagated = np.where(same, 0.0, np.where(whole, polynomial, general))
    result = rule.rounded(value, propagated, left, right)
    certain = same | np.isfinite(value)
    return Uncertain(value, np.where(certain, result.error, np.inf))


_FLOAT_BINARY: Mapping[str, Callable[[Uncertain, Uncertain, Rounding], Uncertain]] = {
    "add": _add,
    "sub": _subtract,
    "mul": _multiply,
    "div": _divide,
    "floordiv": _floor_divide,
    "mod": _modulo,
    "pow": _power,
    "min": lambda left, right, rule: _extreme("min", left, right),
    "max": lambda left, right, rule: _extreme("max", left, right),
}
