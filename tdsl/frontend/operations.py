"""Operations on typed values while parsing: their dtypes, and what they refuse."""

from __future__ import annotations

import operator
from typing import Any

from ..ir.dtypes import DType, boolean, f64, i64
from ..ir.nodes import Binary, Call, Const, Select, Span, Unary
from .builtins import (
    BINARY_FUNCTIONS,
    COMPLEX_FUNCTIONS,
    FLOAT_FUNCTIONS,
    PART_FUNCTIONS,
    ROUNDING_FUNCTIONS,
)
from .folding import NOT_COMPLEX, fold
from .values import (
    Mismatch,
    Value,
    chosen_dtype,
    common_dtype,
    convert,
    fits,
    form_of,
    index,
    made_of,
    number,
    plain,
)

_SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
}


def binary(op: str, left: Value, right: Value, span: Span, text: str = "") -> Value:
    """Return the arithmetic operation *op* on promoted operands.

    *text* is what the user calls it, where that is no operator.
    """
    text = text or _SYMBOLS[op]
    if left.dtype.kind == "bool" or right.dtype.kind == "bool":
        raise Mismatch(_bool_arithmetic(text))
    folded = fold(op, left, right, span, text)
    if folded is not None:
        return folded
    dtype = common_dtype(left, right)
    if dtype.kind == "complex" and op in NOT_COMPLEX:
        raise Mismatch(NOT_COMPLEX[op])
    if op == "div" and dtype.kind == "int":
        dtype = f64
    if op == "pow" and dtype.kind == "int":
        instead = {"**": "`f64(x) ** n`"}.get(text, f"`{text}(f64(x), n)`")
        raise Mismatch(
            f"`{text}` needs a float: write `x * x`, or {instead} for a float result"
        )
    expr = Binary(op, convert(left, dtype), convert(right, dtype), dtype, span=span)
    return made_of(expr, left, right)


def _bool_arithmetic(text: str) -> str:
    return (
        f"`{text}` needs numbers, and a comparison or bool is none: cast it, "
        "as in `i32(x > 0)`, or use `and`, `or`, `not`"
    )


def extreme(op: str, left: Value, right: Value, span: Span, text: str = "") -> Value:
    """Return `min` or `max` of both; *text* is what the user calls it."""
    dtype = common_dtype(left, right)
    if dtype.kind == "complex":
        raise Mismatch(NOT_COMPLEX[op])
    if left.weak and right.weak:
        a, b = left.expr, right.expr
        if isinstance(a, Const) and isinstance(b, Const):
            known: Any = (min if op == "min" else max)(a.value, b.value)  # type: ignore[type-var]
            return number(known, span)
    if dtype.kind == "bool":
        raise Mismatch(f"`{text or op}` needs numbers: for bools write `and` or `or`")
    expr = Binary(op, convert(left, dtype), convert(right, dtype), dtype, span=span)
    return made_of(expr, left, right)


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
        number = plain(expr, int)
        if not dtype.lowest <= number <= dtype.highest:
            below = number < dtype.lowest
            order = "lt" if below == (smaller == "lt") else "gt"
            return op in {"ne", order, f"{order[0]}e"}
    return None


def known_comparison(op: str, left: Value, right: Value) -> bool | None:
    """Return the comparison *op* of two numbers, None of anything else.

    A Python number is rounded to the dtype of the other one, as it is elsewhere.
    """
    a, b = left.expr, right.expr
    if not (isinstance(a, Const) and isinstance(b, Const)):
        return None
    numbers: list[Any] = [a.value, b.value]
    dtype = common_dtype(left, right)
    if left.weak != right.weak and dtype.kind in ("float", "complex"):
        numbers = [dtype.numpy.type(each) for each in numbers]
    return bool(getattr(operator, op)(*numbers))


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
    return made_of(Unary("neg", operand, operand.dtype, span=span), value)


def invert(value: Value, span: Span) -> Value:
    """Return `not value` of a value that is known to be a bool."""
    return Value(Unary("not", value.expr, boolean, span=span))


def select(condition: Value, then: Value, otherwise: Value, span: Span) -> Value:
    """Return `then if condition else otherwise`; the condition is a bool."""
    dtype = chosen_dtype(then, otherwise)
    branches = convert(then, dtype), convert(otherwise, dtype)
    expr = Select(condition.expr, *branches, dtype, span=span)
    return made_of(expr, then, otherwise)


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
    return made_of(expr, value)


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
    return made_of(Call(function, expr, dtype, span=span), value)


def _no_part(value: Value, span: Span) -> Value:
    return Value(convert(number(0), value.dtype), weak=value.weak)
