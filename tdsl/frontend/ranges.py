"""How far loop variables, dims and arithmetic on them reach.

Intervals, so what is said is true but may be too wide: `i - j` for `j <= i` is not
known to be at least 0. An operation that may leave `i64` wraps around, to any `i64`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..ir.affine import Affine
from ..ir.dtypes import DType, i64
from ..ir.nodes import Binary, Call, Const, Dim, Expr, Index, Select, Unary

LARGEST_DIM = 2**31 - 1
"""What a call accepts for any dim (`tdsl.arguments` says so too)."""


@dataclass(frozen=True, slots=True)
class Range:
    """The integers from *low* to *high*, both included."""

    low: int
    high: int

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Range) -> Range:
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Range(min(ends), max(ends))

    def __or__(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high))

    def __and__(self, other: Range) -> Range:
        return Range(max(self.low, other.low), min(self.high, other.high))

    def fits(self, dtype: DType) -> bool:
        """Whether every number is one of *dtype*."""
        limits = range_of_dtype(dtype)
        return limits.low <= self.low and self.high <= limits.high


Ranges = Mapping[str, Range]
"""The ranges of axes, by their names in the IR, and of dims."""


def range_of_dtype(dtype: DType) -> Range:
    """Return the range of an integer dtype."""
    return Range(dtype.lowest, dtype.highest)


def range_of_dim(dim: Dim) -> Range:
    """Return the sizes that a call accepts."""
    high = LARGEST_DIM if dim.max is None else min(dim.max, LARGEST_DIM)
    return Range(dim.min, max(dim.min, high))


def range_of_axis(
    starts: tuple[Affine, ...], stops: tuple[Affine, ...], ranges: Ranges
) -> Range:
    """Return the values of a loop variable; those of a loop over nothing are any."""
    low = max(range_of_form(start, ranges).low for start in starts)
    high = min(range_of_form(stop, ranges).high for stop in stops) - 1
    return Range(low, max(low, high))


def range_of_form(form: Affine, ranges: Ranges) -> Range:
    """Return the values of *form*."""
    found = _exact(form, ranges)
    return range_of_dtype(i64) if found is None else _wrapped(found)


def _exact(form: Affine, ranges: Ranges) -> Range | None:
    """Return the values without wrapping; None where a numerator may wrap."""
    total = Range(form.constant, form.constant)
    others: list[Range] = []
    for atom, coefficient in form.terms:
        times = Range(coefficient, coefficient)
        if isinstance(atom, str):
            total = total + ranges.get(atom, range_of_dtype(i64)) * times
            continue
        inner = _exact(atom.numerator, ranges)
        if inner is None or not inner.fits(i64):
            return None
        total = (
            total + Range(inner.low // atom.divisor, inner.high // atom.divisor) * times
        )
        if coefficient % atom.divisor == 0:
            # d*(n//d) is n - n%d, which `i % d`, kept as i - d*(i//d), is made of.
            count = coefficient // atom.divisor
            whole = form + Affine(((atom, -coefficient),)) + atom.numerator * count
            other = _exact(whole, ranges)
            if other is not None:
                others.append(other + Range(1 - atom.divisor, 0) * Range(count, count))
    for other in others:
        total = total & other
    return total


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
            return operand and _wrapped(operand * Range(-1, -1))
        case Call(function="abs"):
            operand = range_of_value(expr.operand, ranges)
            return operand and _wrapped(operand | operand * Range(-1, -1))
        case Binary():
            left = range_of_value(expr.left, ranges)
            right = range_of_value(expr.right, ranges)
            return left and right and _wrapped(_operation(expr.op, left, right))
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


def _wrapped(exact: Range) -> Range:
    return exact if exact.fits(i64) else range_of_dtype(i64)
