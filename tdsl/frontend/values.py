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
from typing import Any, TypeVar

import numpy as np

from ..ir.affine import Affine
from ..ir.affine import constant as constant_form
from ..ir.dtypes import (
    DType,
    boolean,
    c64,
    c128,
    f64,
    holds,
    i64,
    promote,
    u64,
)
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
from .builtins import (
    BINARY_FUNCTIONS,
    COMPLEX_FUNCTIONS,
    FLOAT_FUNCTIONS,
    PART_FUNCTIONS,
    ROUNDING_FUNCTIONS,
)
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
Number = bool | int | float | complex
_Plain = TypeVar("_Plain", int, float)
_NOT_COMPLEX = {
    "floordiv": "`//` of complex numbers: it rounds, and only real numbers can be",
    "mod": "`%` of complex numbers: only real numbers have a remainder",
    "pow": "`**` of complex numbers: write products, `x * x`",
    "min": "`min` of complex numbers, which have no order: compare `abs(x)`",
    "max": "`max` of complex numbers, which have no order: compare `abs(x)`",
}
_MOST_BITS = 4096
_LARGE = (
    "the result of `{}` is too large for any dtype: compute with floats, or with "
    "smaller numbers"
)
_ZERO_DIVISOR = "the divisor is 0: write the one that was meant"
_SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
}


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
        return constant_form(_plain(expr, int))
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
            return _constant(_plain(expr, float), dtype, expr.span)
        case Const() if dtype.kind == "complex" and value.weak:
            return _constant(complex(expr.value), dtype, expr.span)
        case Const() if dtype.kind == "int" and expr.dtype.kind == "int":
            return _constant(_plain(expr, int), dtype, expr.span)
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


def _plain(expr: Const, kind: type[_Plain]) -> _Plain:
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


def binary(op: str, left: Value, right: Value, span: Span, text: str = "") -> Value:
    """Return the arithmetic operation *op* on promoted operands.

    *text* is what the user calls it, where that is no operator.
    """
    text = text or _SYMBOLS[op]
    if left.dtype.kind == "bool" or right.dtype.kind == "bool":
        raise Mismatch(_bool_arithmetic(text))
    folded = _fold(op, left, right, span, text)
    if folded is not None:
        return folded
    dtype = common_dtype(left, right)
    if dtype.kind == "complex" and op in _NOT_COMPLEX:
        raise Mismatch(_NOT_COMPLEX[op])
    if op == "div" and dtype.kind == "int":
        dtype = f64
    if op == "pow" and dtype.kind == "int":
        instead = {"**": "`f64(x) ** n`"}.get(text, f"`{text}(f64(x), n)`")
        raise Mismatch(
            f"`{text}` needs a float: write `x * x`, or {instead} for a float result"
        )
    expr = Binary(op, convert(left, dtype), convert(right, dtype), dtype, span=span)
    return _made_of(expr, left, right)


def _fold(op: str, left: Value, right: Value, span: Span, text: str) -> Value | None:
    """Compute what is known now: Python numbers, and affine forms of integers."""
    if not (left.weak and right.weak):
        if op in ("floordiv", "mod", "div") and _is_zero(right):
            kinds = {left.dtype.kind, right.dtype.kind}
            if kinds == {"int"}:
                raise Mismatch(_ZERO_DIVISOR)
        return None
    a, b = left.expr, right.expr
    if isinstance(a, Const) and isinstance(b, Const) and op in _FOLD:
        return number(_computed(op, a.value, b.value, text), span)
    x, y = form_of(left), form_of(right)
    if x is None or y is None:
        return None
    form = _affine_operation(op, x, y)
    return None if form is None else index(form, span, left.ranges or right.ranges)


def _computed(op: str, a: Any, b: Any, text: str) -> Number:
    """Return what Python computes, unless it is no number or a very large one."""
    large = _LARGE.format(text)
    whole = op == "pow" and isinstance(a, int) and isinstance(b, int)
    if whole and abs(a) > 1 and b * a.bit_length() > _MOST_BITS:
        raise Mismatch(large)
    try:
        result = _FOLD[op](a, b)
    except TypeError:  # complex numbers
        raise Mismatch(_NOT_COMPLEX[op]) from None
    except ZeroDivisionError:
        raise Mismatch(_ZERO_DIVISOR) from None
    except OverflowError:
        raise Mismatch(large) from None
    if isinstance(result, complex) and complex not in (type(a), type(b)):
        raise Mismatch(
            f"`{text}` gives a complex number here: a negative number has real powers "
            "for integer exponents only"
        )
    if isinstance(result, int) and result.bit_length() > _MOST_BITS:
        raise Mismatch(large)
    return result  # type: ignore[no-any-return]


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
            raise Mismatch(_ZERO_DIVISOR)
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
    dtype = common_dtype(left, right)
    if dtype.kind == "complex":
        raise Mismatch(_NOT_COMPLEX[op])
    if left.weak and right.weak:
        a, b = left.expr, right.expr
        if isinstance(a, Const) and isinstance(b, Const):
            known: Any = (min if op == "min" else max)(a.value, b.value)  # type: ignore[type-var]
            return number(known, span)
    if dtype.kind == "bool":
        raise Mismatch(f"`{text or op}` needs numbers: for bools write `and` or `or`")
    expr = Binary(op, convert(left, dtype), convert(right, dtype), dtype, span=span)
    return _made_of(expr, left, right)


def comparison(op: str, left: Value, right: Value, span: Span) -> Value:
    """Return the comparison *op* of promoted operands."""
    dtype = common_dtype(left, right)
    if dtype.kind == "bool" and op not in ("eq", "ne"):
        raise Mismatch("bools have no order: compare them with == or !=")
    if dtype.kind == "complex" and op not in ("eq", "ne"):
        raise Mismatch("complex numbers have no order: compare `abs(x)`, or `real(x)`")
    known = _outside(op, left, right, dtype)
    if known is not None:
        return Value(Const(known, boolean, span=span))
    if not (fits(left, dtype) and fits(right, dtype)) and dtype.bits < i64.bits:
        dtype = i64
    expr = Binary(op, convert(left, dtype), convert(right, dtype), boolean, span=span)
    return Value(expr)


def _outside(op: str, left: Value, right: Value, dtype: DType) -> bool | None:
    """Return how an integer compares with a Python integer outside its dtype."""
    for value, smaller in ((left, "lt"), (right, "gt")):
        expr = value.expr
        if dtype.kind != "int" or not (value.weak and isinstance(expr, Const)):
            continue
        number = _plain(expr, int)
        if not dtype.lowest <= number <= dtype.highest:
            below = number < dtype.lowest
            order = "lt" if below == (smaller == "lt") else "gt"
            return op in {"ne", order, f"{order[0]}e"}
    return None


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
    operand = convert(value, value.dtype.computed)
    return _made_of(Unary("neg", operand, operand.dtype, span=span), value)


def invert(value: Value, span: Span) -> Value:
    """Return `not value` of a value that is known to be a bool."""
    return Value(Unary("not", value.expr, boolean, span=span))


def select(condition: Value, then: Value, otherwise: Value, span: Span) -> Value:
    """Return `then if condition else otherwise`; the condition is a bool."""
    dtype = chosen_dtype(then, otherwise)
    branches = convert(then, dtype), convert(otherwise, dtype)
    expr = Select(condition.expr, *branches, dtype, span=span)
    return _made_of(expr, then, otherwise)


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
    if value.dtype.kind == "complex":
        return _complex_call(function, value, span)
    if function in PART_FUNCTIONS:
        return value if function != "imag" else _no_part(value, span)
    dtype = value.dtype.computed
    if function in FLOAT_FUNCTIONS and dtype.kind == "int":
        dtype = f64
    expr = Call(function, convert(value, dtype), dtype, span=span)
    return _made_of(expr, value)


def _complex_call(function: str, value: Value, span: Span) -> Value:
    if function not in COMPLEX_FUNCTIONS:
        known = ", ".join(f"`{each}`" for each in sorted(COMPLEX_FUNCTIONS))
        raise Mismatch(f"`{function}` of a complex number: complex are only {known}")
    expr = value.expr
    if isinstance(expr, Const) and value.weak:
        number_of: Any = complex(expr.value)
        known_value = {
            "abs": abs(number_of),
            "conj": number_of.conjugate(),
            "imag": number_of.imag,
            "real": number_of.real,
        }
        return number(known_value[function], span)
    dtype = value.dtype if function == "conj" else value.dtype.part
    return _made_of(Call(function, expr, dtype, span=span), value)


def _no_part(value: Value, span: Span) -> Value:
    return Value(convert(number(0), value.dtype), weak=value.weak)
