"""Typed values while parsing: promotion, weak numbers, and constant folding.

A *weak* value is a Python number, a loop variable or a dim, or arithmetic on these
alone. It adapts to the dtype of the other operand, as Python numbers do in NumPy 2.
"""

from __future__ import annotations

import linecache
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from ..ir.affine import Affine
from ..ir.affine import constant as constant_form
from ..ir.dtypes import DType, boolean, f32, f64, i64, promote
from ..ir.nodes import (
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Index,
    Select,
    Span,
    Unary,
)
from ..ir.printer import print_expr
from .builtins import BINARY_FUNCTIONS, FLOAT_FUNCTIONS, ROUNDING_FUNCTIONS
from .ranges import Ranges, range_of_dtype, range_of_value


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


_FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
}
_SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
}


def number(value: float | int | bool, span: Span | None = None) -> Value:
    """Return a Python number as a value; only bool is not weak."""
    if isinstance(value, bool):
        return Value(Const(value, boolean, span=span))
    dtype = i64 if isinstance(value, int) else f64
    return Value(_constant(value, dtype, span), weak=True)


def index(form: Affine, span: Span | None = None, ranges: Ranges = _NO_RANGES) -> Value:
    """Return an affine form as a weak integer."""
    if form.is_constant:
        return number(form.constant, span)
    return Value(Index(form, i64, span=span), True, ranges)


def _made_of(expr: Expr, *operands: Value) -> Value:
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
        return constant_form(int(expr.value))
    return None


def convert(value: Value, dtype: DType) -> Expr:
    """Return *value* as *dtype*; weak integers must fit."""
    if not isinstance(value.expr, Const) and not fits(value, dtype):
        raise Mismatch(_may_wrap(value, dtype))
    return _converted(value, dtype)


def fits(value: Value, dtype: DType) -> bool:
    """Whether *value* is a *dtype*, which weak integers need not be below 64 bits."""
    if not value.weak or value.dtype.kind != "int":
        return True
    if dtype.kind != "int" or dtype.bits >= i64.bits:
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
            return _constant(float(expr.value), dtype, expr.span)
        case Const() if dtype.kind == "int" and expr.dtype.kind == "int":
            return _constant(int(expr.value), dtype, expr.span)
        case Index() if dtype.kind != "bool" and value.weak:
            return replace(expr, dtype=dtype)
        case _ if expr.dtype == dtype:
            return expr
        case _:
            return Cast(expr, dtype, span=expr.span)


def _constant(value: float | int, dtype: DType, span: Span | None) -> Const:
    if dtype.kind == "int":
        limit = 1 << (dtype.bits - 1)
        if not -limit <= value < limit:
            raise Mismatch(f"{value} does not fit in {dtype}")
    elif dtype == f32 and math.isfinite(value):
        with np.errstate(over="ignore"):
            if np.isinf(np.float32(value)):
                raise Mismatch(f"{value!r} does not fit in f32: its largest is 3.4e38")
    return Const(value, dtype, span=span)


def common_dtype(left: Value, right: Value) -> DType:
    """Return the dtype of an operation on both, by NumPy 2's rules."""
    if left.weak == right.weak:
        return promote(left.dtype, right.dtype)
    weak, strong = (left, right) if left.weak else (right, left)
    if weak.dtype.kind == "float" and strong.dtype.kind != "float":
        return f64
    return i64 if strong.dtype.kind == "bool" else strong.dtype


def can_store(value: Value, dtype: DType) -> bool:
    """Whether *value* becomes *dtype* without an explicit cast."""
    if value.weak:
        return dtype.kind == "float" or value.dtype.kind == dtype.kind
    return bool(np.can_cast(value.dtype.numpy, dtype.numpy, "safe"))


def binary(op: str, left: Value, right: Value, span: Span, text: str = "") -> Value:
    """Return the arithmetic operation *op* on promoted operands.

    *text* is what the user calls it, where that is no operator.
    """
    text = text or _SYMBOLS[op]
    if left.dtype.kind == "bool" or right.dtype.kind == "bool":
        raise Mismatch(_bool_arithmetic(text))
    folded = _fold(op, left, right, span)
    if folded is not None:
        return folded
    dtype = common_dtype(left, right)
    if op == "div" and dtype.kind == "int":
        dtype = f64
    if op == "pow" and dtype.kind == "int":
        instead = {"**": "`f64(x) ** n`"}.get(text, f"`{text}(f64(x), n)`")
        raise Mismatch(
            f"`{text}` needs a float: write `x * x`, or {instead} for a float result"
        )
    expr = Binary(op, convert(left, dtype), convert(right, dtype), dtype, span=span)
    return _made_of(expr, left, right)


def _fold(op: str, left: Value, right: Value, span: Span) -> Value | None:
    """Compute what is known now: Python numbers, and affine forms of integers."""
    if not (left.weak and right.weak):
        if op in ("floordiv", "mod", "div") and _is_zero(right):
            kinds = {left.dtype.kind, right.dtype.kind}
            if kinds == {"int"}:
                raise Mismatch("division by zero")
        return None
    a, b = left.expr, right.expr
    if isinstance(a, Const) and isinstance(b, Const) and op in _FOLD:
        try:
            result = _FOLD[op](a.value, b.value)
        except (ZeroDivisionError, OverflowError) as error:
            raise Mismatch(str(error)) from None
        if isinstance(result, complex):
            raise Mismatch("the result is a complex number")
        return number(result, span)
    x, y = form_of(left), form_of(right)
    if x is None or y is None:
        return None
    form = _affine_operation(op, x, y)
    return None if form is None else index(form, span, left.ranges or right.ranges)


def _affine_operation(op: str, x: Affine, y: Affine) -> Affine | None:
    match op:
        case "add":
            return x + y
        case "sub":
            return x - y
        case "mul" if y.is_constant:
            return x * y.constant
        case "mul" if x.is_constant:
            return y * x.constant
        case "floordiv" if y.is_constant and y.constant > 0:
            return x // y.constant
        case "mod" if y.is_constant and y.constant > 0:
            return x % y.constant
        case "floordiv" | "mod" if y.is_constant and y.constant == 0:
            raise Mismatch("division by zero")
    return None


def _is_zero(value: Value) -> bool:
    return isinstance(value.expr, Const) and value.expr.value == 0


def _bool_arithmetic(text: str) -> str:
    return (
        f"`{text}` needs numbers, and a comparison or bool is none: cast it, "
        "as in `i32(x > 0)`, or use `and`, `or`, `not`"
    )


def extreme(op: str, left: Value, right: Value, span: Span, text: str = "") -> Value:
    """Return `min` or `max` of both; *text* is what the user calls it."""
    if left.weak and right.weak:
        a, b = left.expr, right.expr
        if isinstance(a, Const) and isinstance(b, Const):
            return number((min if op == "min" else max)(a.value, b.value), span)
    dtype = common_dtype(left, right)
    if dtype.kind == "bool":
        raise Mismatch(f"`{text or op}` needs numbers: for bools write `and` or `or`")
    expr = Binary(op, convert(left, dtype), convert(right, dtype), dtype, span=span)
    return _made_of(expr, left, right)


def comparison(op: str, left: Value, right: Value, span: Span) -> Value:
    """Return the comparison *op* of promoted operands."""
    dtype = common_dtype(left, right)
    if not (fits(left, dtype) and fits(right, dtype)):
        dtype = i64
    if dtype.kind == "bool" and op not in ("eq", "ne"):
        raise Mismatch("bools have no order: compare them with == or !=")
    expr = Binary(op, convert(left, dtype), convert(right, dtype), boolean, span=span)
    return Value(expr)


def known_comparison(op: str, left: Any, right: Any) -> bool:
    """Return the comparison *op* of two Python numbers."""
    return bool(getattr(operator, op)(left, right))


def logic(op: str, left: Value, right: Value, span: Span) -> Value:
    """Return `and` or `or` of two values that are known to be bools."""
    return Value(Binary(op, left.expr, right.expr, boolean, span=span))


def negate(value: Value, span: Span) -> Value:
    """Return `-value`."""
    if value.dtype.kind == "bool":
        raise Mismatch("`-` needs a number: write `not x` for a bool")
    if value.weak:
        if isinstance(value.expr, Const):
            return number(-value.expr.value, span)
        form = form_of(value)
        if form is not None:
            return index(-form, span, value.ranges)
    return _made_of(Unary("neg", value.expr, value.dtype, span=span), value)


def invert(value: Value, span: Span) -> Value:
    """Return `not value` of a value that is known to be a bool."""
    return Value(Unary("not", value.expr, boolean, span=span))


def select(condition: Value, then: Value, otherwise: Value, span: Span) -> Value:
    """Return `then if condition else otherwise`; the condition is a bool."""
    dtype = common_dtype(then, otherwise)
    branches = convert(then, dtype), convert(otherwise, dtype)
    expr = Select(condition.expr, *branches, dtype, span=span)
    return _made_of(expr, then, otherwise)


def cast(value: Value, dtype: DType, span: Span) -> Value:
    """Return `dtype(value)`, which may wrap around."""
    if dtype.kind == "bool" and value.dtype.kind != "bool":
        raise Mismatch("a cast to bool: write `x != 0`")
    expr = _converted(value, dtype)
    return Value(replace(expr, span=span) if expr is not value.expr else expr)


def call(function: str, arguments: list[Value], span: Span, text: str) -> Value:
    """Return a call of a mathematical function; the count is checked already.

    *text* is what the user calls the function.
    """
    if function in BINARY_FUNCTIONS and function != "pow":
        result = arguments[0]
        for argument in arguments[1:]:
            result = extreme(function, result, argument, span, text)
        return result
    if function == "pow":
        return binary("pow", arguments[0], arguments[1], span, text)
    (value,) = arguments
    if value.dtype.kind == "bool":
        raise Mismatch(f"`{text}` needs a number: write `f32(x)` for a bool")
    if function in ROUNDING_FUNCTIONS and value.dtype.kind == "int":
        return value
    dtype = value.dtype
    if function in FLOAT_FUNCTIONS and dtype.kind == "int":
        dtype = f64
    expr = Call(function, convert(value, dtype), dtype, span=span)
    return _made_of(expr, value)
