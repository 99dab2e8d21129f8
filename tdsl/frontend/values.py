"""Typed values while parsing: weak numbers, conversion and promotion.

A *weak* value is a Python number, a loop variable or a dim, or arithmetic on these
alone. It adapts to the dtype of the other operand, as Python numbers do in NumPy 2.
"""

from __future__ import annotations

import linecache
import math
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from ..ir.affine import Affine
from ..ir.affine import constant as constant_form
from ..ir.dtypes import DType, boolean, c64, c128, f64, holds, i64, promote, u64
from ..ir.nodes import Cast, Const, Expr, Index, Span
from ..ir.printer import print_expr
from ..ir.ranges import Ranges, range_of_dtype
from .weak_ranges import range_of_value


class Mismatch(Exception):
    """Tell that operands do not fit; the parser attaches the place."""


_NO_RANGES: Ranges = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Value:
    """An expression, and whether it adapts to the dtype it meets.

    *ranges* are those of the loop variables and dims that a weak one is made of.
    """

    expr: Expr
    weak: bool = False
    ranges: Ranges = field(
        default_factory=lambda: _NO_RANGES, compare=False, repr=False
    )

    @property
    def dtype(self) -> DType:
        """The dtype of the expression as it stands."""
        return self.expr.dtype


Number = bool | int | float | complex
_Plain = TypeVar("_Plain", int, float)


def number(value: Number, span: Span | None = None) -> Value:
    """Return a Python number as a value; only bool is not weak."""
    if isinstance(value, bool):
        return Value(Const(value, boolean, span=span))
    if isinstance(value, complex):
        return Value(_constant(value, c128, span), weak=True)
    dtype = f64
    if isinstance(value, int):
        dtype = u64 if i64.highest < value <= u64.highest else i64
    return Value(_constant(value, dtype, span), weak=True)


def index(form: Affine, span: Span | None = None, ranges: Ranges = _NO_RANGES) -> Value:
    """Return an affine form as a weak integer."""
    if form.is_constant:
        return number(form.constant, span)
    return Value(Index(form, i64, span=span), True, ranges)


def made_of(expr: Expr, *operands: Value) -> Value:
    """Return *expr*, which is weak if all *operands* are."""
    known = (operand.ranges for operand in operands if operand.ranges)
    weak = all(operand.weak for operand in operands)
    return Value(expr, weak, next(known, _NO_RANGES))


def form_of(value: Value) -> Affine | None:
    """Return the affine form that *value* is, or None if it is something else."""
    expr = value.expr
    if isinstance(expr, Index) and expr.dtype.kind == "int":
        return expr.value
    if isinstance(expr, Const) and expr.dtype.kind == "int":
        return constant_form(plain(expr, int))
    return None


def convert(value: Value, dtype: DType) -> Expr:
    """Return *value* as *dtype*; weak integers must fit."""
    if not isinstance(value.expr, Const) and not fits(value, dtype):
        raise Mismatch(_may_wrap(value, dtype))
    return _converted(value, dtype)


def cast(value: Value, dtype: DType, span: Span) -> Value:
    """Return `dtype(value)`, which may wrap around."""
    if dtype.kind == "bool" and value.dtype.kind != "bool":
        raise Mismatch("a cast to bool: write `x != 0`")
    if value.dtype.kind == "complex" and dtype.kind != "complex":
        raise Mismatch(
            f"a cast of a complex number to {dtype}: write `{dtype}(real(x))`, or "
            "`imag` or `abs`"
        )
    expr = _converted(value, dtype)
    return Value(replace(expr, span=span) if expr is not value.expr else expr)


def fits(value: Value, dtype: DType) -> bool:
    """Whether *value* is a *dtype*, which weak integers need not be below 64 bits."""
    if not value.weak or value.dtype.kind != "int":
        return True
    if dtype.kind != "int" or dtype == i64:
        return True
    reach = range_of_value(value.expr, value.ranges)
    return reach is None or reach.fits(dtype)


def _may_wrap(value: Value, dtype: DType) -> str:
    reach, limits = range_of_value(value.expr, value.ranges), range_of_dtype(dtype)
    assert reach is not None
    far = reach.high if reach.high > limits.high else reach.low
    text = _source_text(value.expr)
    return (
        f"`{text}` may be {far}, which does not fit in {dtype}: give the dims a max, "
        f'as in tdsl.dim("M", max=1000), or write `{dtype}({text})`, which wraps '
        "around"
    )


def _source_text(expr: Expr) -> str:
    """Return *expr* as the user wrote it, if that is one line of a known file."""
    span = expr.span
    if span is not None and span.line == span.end_line:
        line = linecache.getline(span.file, span.line).encode()
        text = line[span.column : span.end_column].decode()
        if text:
            return text
    return print_expr(expr)


def _converted(value: Value, dtype: DType) -> Expr:
    expr = value.expr
    match expr:
        case Const() if dtype.kind == "float" and value.weak:
            return _constant(plain(expr, float), dtype, expr.span)
        case Const() if dtype.kind == "complex" and value.weak:
            return _constant(complex(expr.value), dtype, expr.span)
        case Const() if dtype.kind == "int" and expr.dtype.kind == "int":
            return _constant(plain(expr, int), dtype, expr.span)
        case Index() if dtype.kind == "int" and value.weak:
            return replace(expr, dtype=dtype)
        case Index() if dtype.kind in ("float", "complex") and value.weak:
            number = replace(expr, dtype=dtype.part.computed)
            return (
                number if number.dtype == dtype else Cast(number, dtype, span=expr.span)
            )
        case _ if expr.dtype == dtype:
            return expr
        case _:
            return Cast(expr, dtype, span=expr.span)


def plain(expr: Const, kind: type[_Plain]) -> _Plain:
    """Return the number that *expr* is, which is not complex, as *kind*."""
    assert not isinstance(expr.value, complex), expr
    return kind(expr.value)


def _constant(value: Number, dtype: DType, span: Span | None) -> Const:
    if dtype.kind == "int":
        assert not isinstance(value, complex), value
        if not dtype.lowest <= value <= dtype.highest:
            raise Mismatch(f"{value} does not fit in {dtype}")
    elif isinstance(value, complex):
        parts = (_constant(part, dtype.part, span) for part in (value.real, value.imag))
        assert all(isinstance(part.value, float) for part in parts)
    elif dtype != f64 and math.isfinite(value):
        with np.errstate(over="ignore"):
            rounded = np.asarray(value, np.float64).astype(dtype.numpy)
        if not np.isfinite(rounded.astype(np.float64)):
            largest = f"{dtype.largest:.1e}".replace("e+0", "e").replace("e+", "e")
            raise Mismatch(
                f"{value!r} does not fit in {dtype}: its largest is {largest}"
            )
    return Const(value, dtype, span=span)


_RANKS = {"bool": 0, "int": 1, "float": 2, "complex": 3}


def common_dtype(left: Value, right: Value) -> DType:
    """Return the dtype of an operation on both, by NumPy 2's rules."""
    if left.weak == right.weak:
        return promote(left.dtype, right.dtype)
    weak, strong = (left, right) if left.weak else (right, left)
    if _RANKS[weak.dtype.kind] <= _RANKS[strong.dtype.kind]:
        return strong.dtype.computed
    if weak.dtype.kind == "complex":
        return c64 if strong.dtype.computed == c64.part else c128
    return weak.dtype


def chosen_dtype(left: Value, right: Value) -> DType:
    """Return the dtype of a choice between both, which computes nothing."""
    for one, other in ((left, right), (right, left)):
        adapts = other.weak and other.dtype.kind in ("int", "float")
        if one.dtype.is_storage and (one.dtype == other.dtype or adapts):
            return one.dtype
    return common_dtype(left, right)


def can_store(value: Value, dtype: DType) -> bool:
    """Whether *value* becomes *dtype* without an explicit cast."""
    if value.weak:
        wide = dtype.kind in ("float", "complex")
        converts = wide and _RANKS[value.dtype.kind] <= _RANKS[dtype.kind]
        return converts or value.dtype.kind == dtype.kind
    return holds(dtype, value.dtype)
