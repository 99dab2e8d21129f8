"""How far weak integers reach: arithmetic on loop variables, dims and literals.

An operation that may leave `i64` wraps around, to any `i64`.
"""

from __future__ import annotations

from ..ir.dtypes import i64
from ..ir.nodes import Binary, Call, Const, Expr, Index, Select, Unary
from ..ir.ranges import Range, Ranges, range_of_dtype, range_of_form, wrapped


def range_of_value(expr: Expr, ranges: Ranges) -> Range | None:
    """Return the values of a weak integer; None for one of no known range.

    That is a variable whose dtype is open: the kernel is parsed again with the dtype,
    and then it is not weak.
    """
    match expr:
        case Const():
            assert not isinstance(expr.value, complex), expr
            return Range(int(expr.value), int(expr.value))
        case Index():
            return range_of_form(expr.value, ranges)
        case Unary(op="neg"):
            operand = range_of_value(expr.operand, ranges)
            return operand and wrapped(operand * Range(-1, -1))
        case Call(function="abs"):
            operand = range_of_value(expr.operand, ranges)
            return operand and wrapped(operand | operand * Range(-1, -1))
        case Binary():
            left = range_of_value(expr.left, ranges)
            right = range_of_value(expr.right, ranges)
            return left and right and wrapped(_operation(expr.op, left, right))
        case Select():
            then = range_of_value(expr.then, ranges)
            otherwise = range_of_value(expr.otherwise, ranges)
            return then and otherwise and then | otherwise
        case _:
            return None


def _operation(op: str, left: Range, right: Range) -> Range:
    match op:
        case "add":
            return left + right
        case "sub":
            return left + right * Range(-1, -1)
        case "mul":
            return left * right
        case "min":
            return Range(min(left.low, right.low), min(left.high, right.high))
        case "max":
            return Range(max(left.low, right.low), max(left.high, right.high))
        case "floordiv":  # by 0 it is 0
            most = max(abs(left.low), abs(left.high))
            return Range(-most, most)
        case "mod":
            most = max(abs(right.low), abs(right.high))
            return Range(-most, most)
        case _:
            return range_of_dtype(i64)
