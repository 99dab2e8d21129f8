"""Numbers whose errors share causes, one at a time: the rules of `correlated.py`.

Inside a statement, the error of a number is a linear form: *slopes* times the errors of
the elements that the statement loads, and a *rest*, of which no more than its size is
known. What is not linear goes to the rest (affine arithmetic: Stolfi and de Figueiredo,
1997). A rule takes the value `v`, rest `e` and whole error `t` of each operand, and
returns value, rest and, for each operand, the factor of its slopes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np
from numba import njit

from .modules import guard_caches
from .scalar_rules import choose, exponential, inevitable, minimum, root
from .sketches import SLACK

One = tuple[float, float, float]
Two = tuple[float, float, float, float]

_compiled: Callable[..., Any] = njit(error_model="numpy", cache=True)


@_compiled
def live(t: float) -> float:
    """Return the slope of an element in itself: 0 if it has no error."""
    return 1.0 if t > 0 else 0.0


@_compiled
def share(slope: float, t: float) -> float:
    """Return what the error of an element contributes to that of a number."""
    return 0.0 if slope == 0 or t == 0 else abs(slope) * t


@_compiled
def form_rounded(
    v: float, e: float, t: float, unit: float, tiny: float, limit: float
) -> One:
    """Return a number rounded to another type."""
    return _rounded(v, e, t, t == 0, unit, tiny, limit)  # type: ignore[no-any-return]


@_compiled
def _rounded(
    v: float, e: float, t: float, certain: bool, unit: float, tiny: float, limit: float
) -> One:
    size = abs(v)
    new = unit * (size + t) + SLACK * t
    if size > 0 or t > 0:
        new += tiny
    if size + t + new <= limit:
        return v, e + new, 1.0
    return v, (0.0 if certain and not isfinite(v) else inf), 0.0


@_compiled
def form_add(
    lv: float,
    le: float,
    lt: float,
    rv: float,
    re: float,
    rt: float,
    unit: float,
    tiny: float,
    limit: float,
) -> Two:
    """Return the sum."""
    certain = inevitable(lv, lt, rv, rt)
    v, e, kept = _rounded(lv + rv, le + re, lt + rt, certain, unit, tiny, limit)
    return v, e, kept, kept


@_compiled
def form_sub(
    lv: float,
    le: float,
    lt: float,
    rv: float,
    re: float,
    rt: float,
    unit: float,
    tiny: float,
    limit: float,
) -> Two:
    """Return the difference."""
    certain = inevitable(lv, lt, rv, rt)
    v, e, kept = _rounded(lv - rv, le + re, lt + rt, certain, unit, tiny, limit)
    return v, e, kept, -kept


@_compiled
def form_mul(
    lv: float,
    le: float,
    lt: float,
    rv: float,
    re: float,
    rt: float,
    unit: float,
    tiny: float,
    limit: float,
) -> Two:
    """Return the product: what two errors contribute together goes to the rest."""
    certain = inevitable(lv, lt, rv, rt)
    e = share(rv, le) + share(lv, re) + lt * rt
    t = share(rv, lt) + share(lv, rt) + lt * rt
    v, e, kept = _rounded(lv * rv, e, t, certain, unit, tiny, limit)
    return (v, e, rv, lv) if kept else (v, e, 0.0, 0.0)


@_compiled
def form_div(
    lv: float,
    le: float,
    lt: float,
    rv: float,
    re: float,
    rt: float,
    unit: float,
    tiny: float,
    limit: float,
) -> Two:
    """Return the quotient q: it moves by (dl - q dr) / (r + dr)."""
    q, e, t = lv / rv, 0.0, 0.0
    if lt != 0 or rt != 0:
        smallest = abs(rv) - rt
        t = (lt + share(q, rt)) / smallest if smallest > 0 else inf
        e = (le + share(q, re) + t * rt) / abs(rv)
    certain = inevitable(lv, lt, rv, rt)
    v, e, kept = _rounded(q, e, t, certain, unit, tiny, limit)
    return (v, e, 1 / rv, -q / rv) if kept else (v, e, 0.0, 0.0)


@_compiled
def form_root(
    v: float, e: float, t: float, unit: float, tiny: float, limit: float
) -> One:
    """Return the square root, by its tangent and the curvature below *v*."""
    low = v - t
    if t == 0 or not low > 0:
        value, error = root(v, t, unit, tiny, limit)
        return value, error, 0.0
    value = sqrt(v)
    curved = t * t / (8 * low * sqrt(low))
    slope = 0.5 / value
    value, rest, kept = _rounded(
        value, slope * e + curved, slope * t + curved, False, unit, tiny, limit
    )
    return value, rest, kept * slope


@_compiled
def form_exponential(
    v: float, e: float, t: float, unit: float, tiny: float, limit: float
) -> One:
    """Return the exponential function, by its tangent and the curvature above *v*."""
    slope = np.exp(v)
    if t == 0 or not isfinite(slope):
        value, error = exponential(v, t, unit, tiny, limit)
        return value, error, 0.0
    curved = slope * (t * t / 2 * np.exp(t))
    value, rest, kept = _rounded(
        slope, slope * e + curved, slope * t + curved, False, unit, tiny, limit
    )
    return (value, rest, slope) if kept else (value, rest, 0.0)


@_compiled
def form_negate(v: float, e: float, t: float) -> One:
    """Return the number with the other sign."""
    return -v, e, -1.0


@_compiled
def form_absolute(v: float, e: float, t: float) -> One:
    """Return the absolute value."""
    if abs(v) >= t:
        return abs(v), e, (1.0 if v >= 0 else -1.0)
    return abs(v), t, 0.0


@_compiled
def form_minimum(
    lv: float, le: float, lt: float, rv: float, re: float, rt: float
) -> Two:
    """Return the smaller number: a form if it is clear which one that is."""
    if rv - lv >= lt + rt:
        return lv, le, 1.0, 0.0
    if lv - rv >= lt + rt:
        return rv, re, 0.0, 1.0
    v, e = minimum(lv, lt, rv, rt)
    return v, e, 0.0, 0.0


@_compiled
def form_maximum(
    lv: float, le: float, lt: float, rv: float, re: float, rt: float
) -> Two:
    """Return the larger number: of the numbers with other signs, the smaller one."""
    v, e, left, right = form_minimum(-lv, le, lt, -rv, re, rt)
    return -v, e, left, right


@_compiled
def form_choose(
    tv: float,
    te: float,
    tt: float,
    ov: float,
    oe: float,
    ot: float,
    cv: bool,
    ce: float,
) -> Two:
    """Return the chosen side; where the condition is unsure, cover both."""
    if ce == 0:
        return (tv, te, 1.0, 0.0) if cv else (ov, oe, 0.0, 1.0)
    v, e = choose(tv, tt, ov, ot, cv, ce)
    return v, e, 0.0, 0.0


# --- reductions ---------------------------------------------------------------------


@_compiled
def product_error(v: float, size: float, growth: float) -> float:
    """Return the error of a product for those of its factors: see `accumulate.py`."""
    return size if v == 0 else abs(v) * np.expm1(growth)


guard_caches(globals())
