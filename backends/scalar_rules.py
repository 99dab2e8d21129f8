"""The rules of `uncertain.py` and `accumulate.py` for one number at a time.

Generated evaluations (`one_by_one.py`) call these from machine code. A number is its
value `v` and its bound `e`; *unit*, *tiny* and *limit* are those of a `Rounding`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite, nan, sqrt
from typing import Any

import numpy as np
from numba import njit

from .modules import guard_caches

Number = tuple[float, float]
Parts = tuple[float, ...]

_compiled: Callable[..., Any] = njit(error_model="numpy", cache=True)


@_compiled
def place(subscript: int) -> int:
    """Return *subscript*, which Numba would count from the end if negative."""
    if subscript < 0:
        raise IndexError
    return subscript


@_compiled
def inevitable(lv: float, le: float, rv: float, re: float) -> bool:
    """Whether all executions give the same infinity or NaN, if the result is one."""
    if le == 0 and re == 0 and (lv == 0 or rv == 0):
        return True
    special = (le == 0 and not isfinite(lv)) or (re == 0 and not isfinite(rv))
    return special and (le == 0 or abs(lv) > le) and (re == 0 or abs(rv) > re)


@_compiled
def _rounded(
    v: float, p: float, certain: bool, unit: float, tiny: float, limit: float
) -> Number:
    size = abs(v)
    e = p + unit * (size + p)
    if size > 0 or p > 0:
        e += tiny
    if size + e <= limit:
        return v, e
    return v, (0.0 if certain and not isfinite(v) else inf)


@_compiled
def add(
    lv: float, le: float, rv: float, re: float, unit: float, tiny: float, limit: float
) -> Number:
    """Return the sum."""
    return _rounded(  # type: ignore[no-any-return]
        lv + rv, le + re, inevitable(lv, le, rv, re), unit, tiny, limit
    )


@_compiled
def sub(
    lv: float, le: float, rv: float, re: float, unit: float, tiny: float, limit: float
) -> Number:
    """Return the difference."""
    return _rounded(  # type: ignore[no-any-return]
        lv - rv, le + re, inevitable(lv, le, rv, re), unit, tiny, limit
    )


@_compiled
def mul(
    lv: float, le: float, rv: float, re: float, unit: float, tiny: float, limit: float
) -> Number:
    """Return the product."""
    p = 0.0
    if le != 0:
        p = le * (abs(rv) + re)
    if re != 0:
        p += abs(lv) * re
    return _rounded(  # type: ignore[no-any-return]
        lv * rv, p, inevitable(lv, le, rv, re), unit, tiny, limit
    )


@_compiled
def div(
    lv: float, le: float, rv: float, re: float, unit: float, tiny: float, limit: float
) -> Number:
    """Return the quotient."""
    v = lv / rv
    p = 0.0
    if le != 0 or re != 0:
        smallest = abs(rv) - re
        p = (le + abs(v) * re) / smallest if smallest > 0 else inf
    return _rounded(  # type: ignore[no-any-return]
        v, p, inevitable(lv, le, rv, re), unit, tiny, limit
    )


@_compiled
def rounded(v: float, e: float, unit: float, tiny: float, limit: float) -> Number:
    """Return a number rounded to another type."""
    return _rounded(v, e, e == 0, unit, tiny, limit)  # type: ignore[no-any-return]


@_compiled
def negate(v: float, e: float) -> Number:
    """Return the number with the other sign."""
    return -v, e


@_compiled
def absolute(v: float, e: float) -> Number:
    """Return the absolute value."""
    return abs(v), e


@_compiled
def root(v: float, e: float, unit: float, tiny: float, limit: float) -> Number:
    """Return the square root."""
    value = sqrt(v) if v >= 0 else nan
    p = 0.0
    if e != 0:
        inside = v - e >= 0 and v > 0
        p = e / (value + sqrt(v - e)) if inside else inf
    return _rounded(value, p, e == 0, unit, tiny, limit)  # type: ignore[no-any-return]


@_compiled
def exponential(v: float, e: float, unit: float, tiny: float, limit: float) -> Number:
    """Return the exponential function."""
    p = 0.0 if e == 0 else np.exp(v + e) * -np.expm1(-e)
    return _rounded(  # type: ignore[no-any-return]
        np.exp(v), p, e == 0 and not isfinite(v), unit, tiny, limit
    )


@_compiled
def least(l: Any, r: Any) -> Any:  # noqa: E741
    """Return the smaller number, NaN if one is."""
    return l if l != l or l < r else r


@_compiled
def most(l: Any, r: Any) -> Any:  # noqa: E741
    """Return the larger number, NaN if one is."""
    return l if l != l or l > r else r


@_compiled
def _extreme(v: Any, lv: Any, le: float, rv: Any, re: float) -> float:
    """Return the bound of *v*, one of two numbers: the other may take its place."""
    if (le == 0 and lv != lv) or (re == 0 and rv != rv):
        return 0.0
    left = le if lv == v else le - abs(float(lv) - float(v))
    right = re if rv == v else re - abs(float(rv) - float(v))
    e = most(left, right)
    return e if e == e else inf


@_compiled
def minimum(lv: Any, le: float, rv: Any, re: float) -> tuple[Any, float]:
    """Return the smaller number."""
    v = least(lv, rv)
    return v, _extreme(v, lv, le, rv, re)


@_compiled
def maximum(lv: Any, le: float, rv: Any, re: float) -> tuple[Any, float]:
    """Return the larger number."""
    v = most(lv, rv)
    return v, _extreme(v, lv, le, rv, re)


@_compiled
def doubt(lv: Any, le: float, rv: Any, re: float) -> float:
    """Return the bound of a comparison: infinite where it may come out otherwise."""
    slack = le + re
    if slack == 0:
        return 0.0
    close = abs(float(lv) - float(rv)) <= slack
    return inf if close or not slack < inf else 0.0


@_compiled
def unsure(e: float) -> float:
    """Return the bound of what an uncertain integer or bool decides."""
    return 0.0 if e == 0 else inf


@_compiled
def choose(
    tv: Any, te: float, ov: Any, oe: float, cv: bool, ce: float
) -> tuple[Any, float]:
    """Return the chosen side; where the condition is unsure, cover both."""
    v = tv if cv else ov
    if ce == 0:
        return v, (te if cv else oe)
    gap = 0.0 if tv == ov else abs(float(tv) - float(ov))
    both = gap + most(te, oe)
    return v, (both if both == both else inf)


@_compiled
def from_integer(
    v: int, e: float, whole: float, unit: float, tiny: float, limit: float
) -> Number:
    """Return an integer as a float that has all integers up to *whole*."""
    if e == 0 and abs(float(v)) <= whole:
        return float(v), 0.0
    return _rounded(  # type: ignore[no-any-return]
        float(v), e, e == 0, unit, tiny, limit
    )


@_compiled
def narrowed(v: int, e: float) -> tuple[Any, float]:
    """Return an integer as the i32 to which it wraps."""
    value = np.int64(np.int32(v))
    return value, (inf if e > 0 and value != v else e)


# --- reductions: see accumulate.py --------------------------------------------------


@_compiled
def lift_add(v: float, e: float, number: float) -> Parts:
    """Return the parts of a term of a sum."""
    return v, e, (abs(v) if isfinite(v) else 0.0), number


@_compiled
def lift_mul(v: float, e: float, number: float) -> Parts:
    """Return the parts of a factor of a product."""
    size = abs(v) + e
    growth = np.log1p(e / abs(v)) if e > 0 else 0.0
    return v, size, growth, most(size, 1.0), number


@_compiled
def lift_max(v: float, e: float, number: float) -> Parts:
    """Return the parts of a candidate of a maximum."""
    return v, (np.nextafter(v + e, inf) if e > 0 else v), (e if e < inf else inf)


@_compiled
def lift_min(v: float, e: float, number: float) -> Parts:
    """Return the parts of a candidate of a minimum."""
    return v, (np.nextafter(v - e, -inf) if e > 0 else v), (e if e < inf else inf)


@_compiled
def _gamma(number: float, unit: float) -> float:
    product = number * unit
    return product / (1 - product) if product < 1 else inf


@_compiled
def settle_add(
    v: float, e: float, size: float, number: float, unit: float, tiny: float, lim: float
) -> Number:
    """Return a sum with its bound."""
    sure = e if number == 0 else e + _gamma(number, unit) * (size + e)
    if not size + sure <= lim:
        sure = inf
    return v, (0.0 if not isfinite(v) and sure < inf else sure)


@_compiled
def settle_mul(
    v: float,
    size: float,
    growth: float,
    above: float,
    n: float,
    unit: float,
    tiny: float,
    limit: float,
) -> Number:
    """Return a product with its bound."""
    growth = 0.0 if v == 0 else growth
    moved = size if v == 0 else abs(v) * np.expm1(growth)
    underflow = n * tiny * above
    rounded = 2 * _gamma(n, unit) * (abs(v) + moved)
    e = moved + rounded + underflow * (1 + np.exp(growth))
    return v, (e if above <= limit and e <= limit else inf)


@_compiled
def settle_extreme(
    v: float, end: float, largest: float, unit: float, tiny: float, limit: float
) -> Number:
    """Return a maximum or minimum with its bound."""
    if largest == inf:
        return v, inf
    return v, (0.0 if v == end or v != v else narrower(abs(end - v), largest))


@_compiled
def wider(a: float, b: float) -> float:
    """Return the larger number, of which NaN is none."""
    return a if b != b or a > b else b


@_compiled
def narrower(a: float, b: float) -> float:
    """Return the smaller number, of which NaN is none."""
    return a if b != b or a < b else b


guard_caches(globals())
