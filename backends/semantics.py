"""The scalar meaning of every operator, shared by the interpreter and the error bound.

Each entry works on NumPy scalars and on arrays of the exact dtype alike:

* float32 and float64 arithmetic rounds to nearest even after each operation, with
  subnormals, signed zeros, infinities and NaN as in IEEE 754;
* mathematical functions, `pow`, `floordiv` and `mod` of float32 are those of
  float64 rounded once;
* `min` and `max` give NaN if either side is NaN; which zero they return is open;
* f16 and bf16 are cast to f32 before anything else is done with them;
* complex products and quotients are those of NumPy, part by part;
* integers wrap; `x // 0` and `x % 0` are 0; `floordiv` rounds down and `mod` has the
  sign of the divisor, for floats too; an integer to a negative power is the
  reciprocal rounded towards zero (0 to a negative power is 0);
* a cast from float to an integer type truncates; NaN, and what does not fit, give
  the smallest number of that type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..ir.dtypes import DTYPES, DType

Value = Any
"""A NumPy scalar or array."""


def apply_unary(op: str, operand: Value, dtype: DType) -> Value:
    """Return `neg` or `not` of *operand*."""
    return _as(UNARY[op](operand), dtype)


def apply_binary(op: str, left: Value, right: Value, dtype: DType) -> Value:
    """Return the arithmetic, comparison or logic *op* of two values of one dtype."""
    if left.dtype == np.float32 and op in DOUBLE_BINARY:
        left, right = left.astype(np.float64), right.astype(np.float64)
    return _as(BINARY[op](left, right), dtype)


def apply_call(function: str, operand: Value, dtype: DType) -> Value:
    """Return the mathematical *function* of *operand*, in double precision inside."""
    if operand.dtype == np.float32 and function not in EXACT_CALLS:
        operand = operand.astype(np.float64)
    return _as(CALLS[function](operand), dtype)


def apply_cast(operand: Value, dtype: DType) -> Value:
    """Return *operand* converted to *dtype*, as `astype` does where that is defined."""
    if dtype.kind == "int" and operand.dtype not in _EXACT:
        return _truncated(operand, dtype)
    return _as(operand, dtype)


def _truncated(operand: Value, dtype: DType) -> Value:
    whole = np.trunc(operand.astype(np.promote_types(operand.dtype, np.float32)))
    fits = (whole >= float(dtype.lowest)) & (whole < float(dtype.highest + 1))
    safe = np.where(fits, whole, 0).astype(dtype.numpy)
    return np.where(fits, safe, dtype.numpy.type(dtype.lowest))[()]


def _complex(real: Value, imaginary: Value) -> Value:
    kind = np.result_type(real.dtype, np.complex64)
    value = np.empty(np.broadcast_shapes(real.shape, imaginary.shape), kind)
    value.real, value.imag = real, imaginary
    return value[()]


def _product(left: Value, right: Value) -> Value:
    """Return the product; of complex numbers part by part, without fused additions."""
    if left.dtype.kind != "c":
        return np.multiply(left, right)
    (a, b), (c, d) = (left.real, left.imag), (right.real, right.imag)
    return _complex(a * c - b * d, a * d + b * c)


def _quotient(left: Value, right: Value) -> Value:
    """Return the quotient; of complex numbers by Smith's method."""
    if left.dtype.kind != "c":
        return np.divide(left, right)
    (a, b), (c, d) = (left.real, left.imag), (right.real, right.imag)
    flat = np.abs(c) >= np.abs(d)
    large, small = np.where(flat, c, d), np.where(flat, d, c)
    ratio = small / large
    scale = 1 / (large + small * ratio)
    real = np.where(flat, a + b * ratio, a * ratio + b) * scale
    imaginary = np.where(flat, b - a * ratio, b * ratio - a) * scale
    none = (c == 0) & (d == 0)
    by_zero = a / np.abs(c), b / np.abs(c)
    return _complex(
        np.where(none, by_zero[0], real), np.where(none, by_zero[1], imaginary)
    )


def _as(value: Value, dtype: DType) -> Value:
    return value if value.dtype == dtype.numpy else value.astype(dtype.numpy)


def _power(left: Value, right: Value) -> Value:
    if left.dtype.kind == "f":
        return np.power(left, right)
    result = np.power(left, np.maximum(right, 0))
    unit = (left == 1) | (left == -1)
    reciprocal = np.where(unit, np.where(right % 2 == 0, 1, left), 0)
    return np.where(right < 0, reciprocal, result).astype(left.dtype)[()]


def _sigmoid(x: Value) -> Value:
    tail = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + tail), tail / (1 + tail))[()]


_erf_elements = np.frompyfunc(math.erf, 1, 1)


def _erf(x: Value) -> Value:
    return np.asarray(_erf_elements(x), np.float64)[()]


UNARY: Mapping[str, Callable[[Value], Value]] = {
    "neg": np.negative,
    "not": np.logical_not,
}

BINARY: Mapping[str, Callable[[Value, Value], Value]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": _product,
    "div": _quotient,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": _power,
    "min": np.minimum,
    "max": np.maximum,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
}

CALLS: Mapping[str, Callable[[Value], Value]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "erf": _erf,
    "sigmoid": _sigmoid,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "real": np.real,
    "imag": np.imag,
    "conj": np.conj,
}

_EXACT = {each.numpy for each in DTYPES.values() if each.kind in ("int", "bool")}

DOUBLE_BINARY = frozenset({"pow", "floordiv", "mod"})
"""Operations that, like functions, go through double precision."""

EXACT_CALLS = frozenset({"abs", "floor", "ceil", "real", "imag", "conj"})
"""Functions that never round, but for `abs` of complex numbers."""

COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
