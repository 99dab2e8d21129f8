"""Numbers whose errors share causes, one at a time: the rules of `correlated.py`.

A number is its value `v`, a *row* of weights, and a rest `e`: it is off by at most
the sum of weight * noise, where each noise is somewhere in [-1, 1] and the same in all
numbers, and the rest, of which nothing more is known. What two numbers have in common
cancels in their difference. What is not linear goes to the rest (affine arithmetic:
Stolfi and de Figueiredo, 1997). A row shorter than another one ends in zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .modules import guard_caches
from .scalar_rules import (
    choose,
    doubt,
    exponential,
    from_integer,
    inevitable,
    lift_add,
    minimum,
    root,
    settle_add,
)

Row = NDArray[np.float64]
Form = tuple[float, float, Row]

_compiled: Callable[..., Any] = njit(error_model="numpy", cache=True)

# Sums of weights in several lanes; infinities and NaN stay what they are.
_in_any_order: Callable[..., Any] = njit(
    error_model="numpy", cache=True, fastmath={"reassoc", "contract"}
)

SLACK = 2.0**-50
"""More than the relative error of a weight, as a share of what it is the sum of."""


@_compiled
def nothing() -> Row:
    """Return the row of a number without causes in common."""
    return np.empty(0)


@_in_any_order
def reach(e: float, row: Row) -> float:
    """Return the largest error of a number."""
    total = e
    for weight in row:
        total += abs(weight)
    return total


@_in_any_order
def _mixed(a: float, left: Row, b: float, right: Row) -> tuple[Row, float]:
    """Return `a * left + b * right`, and what bounds the roundings of that."""
    row = np.zeros(max(len(left), len(right)))
    gross = 0.0
    for k in range(len(left)):
        row[k] = a * left[k]
        gross += abs(row[k])
    for k in range(len(right)):
        weight = b * right[k]
        gross += abs(weight)
        row[k] += weight
    return row, SLACK * gross


@_compiled
def _rounded(
    v: float, e: float, row: Row, certain: bool, unit: float, tiny: float, limit: float
) -> Form:
    size, total = abs(v), reach(e, row)
    added = unit * (size + total)
    if size > 0 or total > 0:
        added += tiny
    if size + total + added <= limit:
        return v, e + added, row
    return v, (0.0 if certain and not isfinite(v) else inf), row[:0]


@_compiled
def form_rounded(
    v: float, e: float, row: Row, unit: float, tiny: float, limit: float
) -> Form:
    """Return a number rounded to another type."""
    certain = reach(e, row) == 0
    return _rounded(v, e, row, certain, unit, tiny, limit)  # type: ignore[no-any-return]


@_compiled
def form_add(
    lv: float,
    le: float,
    left: Row,
    rv: float,
    re: float,
    right: Row,
    unit: float,
    tiny: float,
    limit: float,
) -> Form:
    """Return the sum."""
    row, slack = _mixed(1.0, left, 1.0, right)
    certain = inevitable(lv, reach(le, left), rv, reach(re, right))
    return _rounded(lv + rv, le + re + slack, row, certain, unit, tiny, limit)  # type: ignore[no-any-return]


@_compiled
def form_sub(
    lv: float,
    le: float,
    left: Row,
    rv: float,
    re: float,
    right: Row,
    unit: float,
    tiny: float,
    limit: float,
) -> Form:
    """Return the difference."""
    row, slack = _mixed(1.0, left, -1.0, right)
    certain = inevitable(lv, reach(le, left), rv, reach(re, right))
    return _rounded(lv - rv, le + re + slack, row, certain, unit, tiny, limit)  # type: ignore[no-any-return]


@_compiled
def form_mul(
    lv: float,
    le: float,
    left: Row,
    rv: float,
    re: float,
    right: Row,
    unit: float,
    tiny: float,
    limit: float,
) -> Form:
    """Return the product: what two errors contribute together goes to the rest."""
    lt, rt = reach(le, left), reach(re, right)
    certain = inevitable(lv, lt, rv, rt)
    if lt == 0 and rt == 0:
        return _rounded(lv * rv, 0.0, nothing(), certain, unit, tiny, limit)  # type: ignore[no-any-return]
    row, slack = _mixed(rv, left, lv, right)
    rest = abs(rv) * le + abs(lv) * re + lt * rt + slack
    return _rounded(lv * rv, rest, row, certain, unit, tiny, limit)  # type: ignore[no-any-return]


@_compiled
def form_div(
    lv: float,
    le: float,
    left: Row,
    rv: float,
    re: float,
    right: Row,
    unit: float,
    tiny: float,
    limit: float,
) -> Form:
    """Return the quotient q: it moves by (dl - q dr) / (r + dr)."""
    v = lv / rv
    lt, rt = reach(le, left), reach(re, right)
    certain = inevitable(lv, lt, rv, rt)
    smallest = abs(rv) - rt
    if (lt == 0 and rt == 0) or not smallest > 0:
        rest = 0.0 if lt == 0 and rt == 0 else inf
        return _rounded(v, rest, nothing(), certain, unit, tiny, limit)  # type: ignore[no-any-return]
    row, slack = _mixed(1 / rv, left, -v / rv, right)
    rest = (le + abs(v) * re) / abs(rv) + slack
    rest += reach(rest, row) * rt / smallest
    return _rounded(v, rest, row, certain, unit, tiny, limit)  # type: ignore[no-any-return]


@_compiled
def form_root(
    v: float, e: float, row: Row, unit: float, tiny: float, limit: float
) -> Form:
    """Return the square root, by its tangent and the curvature below *v*."""
    total = reach(e, row)
    low = v - total
    if total == 0 or not low > 0:
        value, error = root(v, total, unit, tiny, limit)
        return value, error, nothing()
    value = sqrt(v)
    new, slack = _mixed(0.5 / value, row, 0.0, row[:0])
    rest = e * 0.5 / value + total * total / (8 * low * sqrt(low)) + slack
    return _rounded(value, rest, new, False, unit, tiny, limit)  # type: ignore[no-any-return]


@_compiled
def form_exponential(
    v: float, e: float, row: Row, unit: float, tiny: float, limit: float
) -> Form:
    """Return the exponential function, by its tangent and the curvature above *v*."""
    total, value = reach(e, row), np.exp(v)
    if total == 0 or not isfinite(value):
        value, error = exponential(v, total, unit, tiny, limit)
        return value, error, nothing()
    new, slack = _mixed(value, row, 0.0, row[:0])
    rest = value * (e + total * total / 2 * np.exp(total)) + slack
    return _rounded(value, rest, new, False, unit, tiny, limit)  # type: ignore[no-any-return]


@_compiled
def form_negate(v: float, e: float, row: Row) -> Form:
    """Return the number with the other sign."""
    return -v, e, -row


@_compiled
def form_absolute(v: float, e: float, row: Row) -> Form:
    """Return the absolute value."""
    if v >= 0 and v >= reach(e, row):
        return v, e, row
    if v < 0 and -v >= reach(e, row):
        return -v, e, -row
    return abs(v), reach(e, row), row[:0]


@_compiled
def form_minimum(
    lv: float, le: float, left: Row, rv: float, re: float, right: Row
) -> Form:
    """Return the smaller number: a form if it is clear which one that is."""
    lt, rt = reach(le, left), reach(re, right)
    if rv - lv >= lt + rt:
        return lv, le, left
    if lv - rv >= lt + rt:
        return rv, re, right
    v, e = minimum(lv, lt, rv, rt)
    return v, e, nothing()


@_compiled
def form_maximum(
    lv: float, le: float, left: Row, rv: float, re: float, right: Row
) -> Form:
    """Return the larger number: of the numbers with other signs, the smaller one."""
    v, e, row = form_minimum(-lv, le, -left, -rv, re, -right)
    return -v, e, -row


@_compiled
def form_doubt(
    lv: float, le: float, left: Row, rv: float, re: float, right: Row
) -> float:
    """Return the bound of a comparison: infinite where it may come out otherwise."""
    return doubt(lv, reach(le, left), rv, reach(re, right))  # type: ignore[no-any-return]


@_compiled
def form_choose(
    cv: bool, ce: float, tv: float, te: float, then: Row, ov: float, oe: float, o: Row
) -> Form:
    """Return the chosen side; where the condition is unsure, cover both."""
    if ce == 0:
        return (tv, te, then) if cv else (ov, oe, o)
    v, e = choose(cv, ce, tv, reach(te, then), ov, reach(oe, o))
    return v, e, nothing()


@_compiled
def form_from_integer(
    v: int, e: float, whole: float, unit: float, tiny: float, limit: float
) -> Form:
    """Return an integer as a float that has all integers up to *whole*."""
    value, error = from_integer(v, e, whole, unit, tiny, limit)
    return value, error, nothing()


# --- elements -----------------------------------------------------------------------


@_compiled
def named(e: float, row: Row, noises: NDArray[np.int64]) -> tuple[float, Row]:
    """Make the rest *e* of what is written a noise of its own, while there are any.

    *noises* are their number so far, which is the length of the row, and at most.
    """
    count = noises[0]
    grows = 0 < e < inf and count < noises[1]
    if grows:
        noises[0] += 1
    longer = np.zeros(noises[0])
    longer[: len(row)] = row
    if grows:
        longer[count] = e
    return (0.0 if grows else e), longer


@_compiled
def form_lift(v: float, e: float, row: Row) -> tuple[float, ...]:
    """Return the parts of a term of a sum, but for its row."""
    value, error, size, number = lift_add(v, e, 1.0)
    return value, error, size + reach(0.0, row), number


@_in_any_order
def added(target: Row, row: Row) -> float:
    """Add *row* to the front of *target*; return what bounds the roundings."""
    gross = 0.0
    for k in range(len(row)):
        target[k] += row[k]
        gross += abs(target[k])
    return SLACK * gross


@_compiled
def form_settle(
    v: float,
    e: float,
    size: float,
    number: float,
    row: Row,
    own: Row,
    noises: NDArray[np.int64],
    unit: float,
    tiny: float,
    limit: float,
) -> Form:
    """Return a sum. Its roundings are the noise *own* (which, how large): the same for
    all who read it before it is updated again.
    """
    if number == 0 and e == 0:
        return v, 0.0, row
    if own[0] < 0:
        _, error = settle_add(v, e, size, number, unit, tiny, limit)
        if not (isfinite(v) and error < inf):
            return v, error, row[:0]
        if noises[0] == noises[1]:
            return v, error, row
        own[0], own[1] = noises[0], error
        noises[0] += 1
    longer = np.zeros(noises[0])
    longer[: len(row)] = row
    longer[int(own[0])] += own[1]
    return v, 0.0, longer


guard_caches(globals())
