"""How far loop variables, dims and affine forms of them reach.

Intervals, so what is said is true but may be too wide: `i - j` for `j <= i` is not
known to be at least 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .affine import Affine
from .dtypes import DType, i64
from .nodes import Dim

LARGEST_DIM = 2**31 - 1
"""What a call accepts for any dim."""


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
    """Return the values of *form* in `i64`, which wraps around: any, where it may."""
    found = exact_range(form, ranges)
    return range_of_dtype(i64) if found is None else wrapped(found)


def wrapped(exact: Range) -> Range:
    """Return what is known once numbers have wrapped around to `i64`."""
    return exact if exact.fits(i64) else range_of_dtype(i64)


def exact_range(form: Affine, ranges: Ranges) -> Range | None:
    """Return the values without wrapping; None where a numerator may leave `i64`."""
    total = Range(form.constant, form.constant)
    others: list[Range] = []
    for atom, coefficient in form.terms:
        times = Range(coefficient, coefficient)
        if isinstance(atom, str):
            total = total + ranges.get(atom, range_of_dtype(i64)) * times
            continue
        inner = exact_range(atom.numerator, ranges)
        if inner is None or not inner.fits(i64):
            return None
        total = (
            total + Range(inner.low // atom.divisor, inner.high // atom.divisor) * times
        )
        if coefficient % atom.divisor == 0:
            # d*(n//d) is n - n%d, which `i % d`, kept as i - d*(i//d), is made of.
            count = coefficient // atom.divisor
            whole = form + Affine(((atom, -coefficient),)) + atom.numerator * count
            other = exact_range(whole, ranges)
            if other is not None:
                others.append(other + Range(1 - atom.divisor, 0) * Range(count, count))
    for other in others:
        total = total & other
    return total
