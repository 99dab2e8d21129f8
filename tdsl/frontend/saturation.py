"""`tdsl.saturate(x, i32)`: a cast that stops at the ends of an integer type."""

from __future__ import annotations

import numpy as np

from ..ir.dtypes import DType, boolean
from ..ir.nodes import Binary, Cast, Const, Expr, Select, Span
from .values import Mismatch, Value, convert


def saturate(value: Value, dtype: DType, span: Span) -> Value:
    """Return *value* as the integer *dtype*: its nearest value; NaN gives 0.

    Fractions are dropped, as by a plain cast.
    """
    if dtype.kind != "int":
        raise Mismatch(f"`saturate` gives an integer: for {dtype} write `{dtype}(x)`")
    if value.dtype.kind not in ("int", "float"):
        raise Mismatch(f"`saturate` needs a number, not a {value.dtype}")
    expr = convert(value, value.dtype.computed)
    if value.dtype.kind == "float":
        return Value(_from_float(expr, dtype, span))
    return Value(_from_integer(expr, dtype, span))


def _limits(dtype: DType) -> tuple[int, int]:
    return dtype.lowest, dtype.highest


def _from_integer(expr: Expr, dtype: DType, span: Span) -> Expr:
    source = expr.dtype
    (low, high), (least, most) = _limits(dtype), _limits(source)
    if least < low:
        expr = Binary("max", expr, Const(low, source, span=span), source, span=span)
    if most > high:
        expr = Binary("min", expr, Const(high, source, span=span), source, span=span)
    return expr if source == dtype else Cast(expr, dtype, span=span)


def _from_float(expr: Expr, dtype: DType, span: Span) -> Expr:
    """Clamp to the floats that fit; the last one may be below the last integer."""
    source = expr.dtype
    low, high = _limits(dtype)
    last = _largest_float(high, source)

    def constant(number: float) -> Const:
        return Const(number, source, span=span)

    is_number = Binary("eq", expr, expr, boolean, span=span)
    number = Select(is_number, expr, constant(0.0), source, span=span)
    least = Binary("max", number, constant(float(low)), source, span=span)
    clamped = Binary("min", least, constant(last), source, span=span)
    result = Cast(clamped, dtype, span=span)
    if int(last) == high:
        return result
    above = Binary("gt", number, constant(last), boolean, span=span)
    return Select(above, Const(high, dtype, span=span), result, dtype, span=span)


def _largest_float(limit: int, dtype: DType) -> float:
    """Return the largest float of *dtype* that is at most *limit*."""
    kind = dtype.numpy.type
    found = kind(limit)
    if int(found) > limit:
        found = np.nextafter(found, kind(0))
    return float(found)
