"""Arithmetic that is known while parsing: Python numbers and affine forms."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..ir.affine import Affine
from ..ir.nodes import Const, Span
from .values import Mismatch, Number, Value, form_of, index, number

_FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
}
NOT_COMPLEX = {
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


def fold(op: str, left: Value, right: Value, span: Span, text: str) -> Value | None:
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
        raise Mismatch(NOT_COMPLEX[op]) from None
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
