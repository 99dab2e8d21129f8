"""What is known of affine forms inside loops: multiples, signs, intervals, extents.

Exact where it says yes; where nothing can be shown the answer is None or False, never
a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd

from ..ir.affine import Affine, Atom, FloorDiv, affine
from ..ir.nodes import Dim, For

Loops = dict[str, For]


def multiple_of(form: Affine, loops: Loops, dims: Mapping[str, Dim]) -> int:
    """Return a number that divides *form* wherever it is evaluated (0 for zero)."""
    result = abs(form.constant)
    for atom, coefficient in form.terms:
        factor = 1
        if isinstance(atom, str) and atom in dims:
            factor = dims[atom].multiple
        elif isinstance(atom, str) and atom in loops:
            loop = loops[atom]
            starts = (multiple_of(start, loops, dims) for start in loop.starts)
            factor = gcd(loop.step, *starts)
        result = gcd(result, coefficient * factor)
    return result


def is_nonnegative(form: Affine, loops: Loops, dims: Mapping[str, Dim]) -> bool:
    """Return whether *form* >= 0 is shown inside *loops* (outermost first)."""
    return _Search(dims).shows(form, loops)


_FORMS = 1000
"""How many forms a search looks at: tiles of skewed tiles have any number of them."""


@dataclass(frozen=True, slots=True)
class _Search:
    """The search for a reason why a form is not negative, and what it found so far."""

    dims: Mapping[str, Dim]
    known: dict[tuple[Affine, tuple[str, ...]], bool] = field(default_factory=dict)

    def shows(self, form: Affine, loops: Loops) -> bool:
        """Return whether *form* >= 0 follows from the bounds of *loops*."""
        key = form, tuple(loops)
        if key not in self.known:
            if len(self.known) >= _FORMS:
                return False
            self.known[key] = False
            self.known[key] = self._find(form, loops)
        return self.known[key]

    def _find(self, form: Affine, loops: Loops) -> bool:
        for atom, coefficient in form.terms:
            if isinstance(atom, FloorDiv):
                rest = form - Affine(((atom, coefficient),))
                positive = coefficient > 0 and self.shows(atom.numerator, loops)
                if positive and self.shows(rest, loops):
                    return True
                if self.shows(_without_floor(rest, atom, coefficient), loops):
                    return True
                return self._find_floor(form, atom, loops)
        axis = _innermost(form, loops)
        if axis is None:
            least = _least(form, self.dims)
            return least is not None and least >= 0
        limits = _limits(loops[axis], lowest=form.coefficient(axis) > 0)
        return any(
            self.shows(form.substitute({axis: limit}), loops) for limit in limits
        )

    def _find_floor(self, form: Affine, floor: FloorDiv, loops: Loops) -> bool:
        """Return whether *form* is >= 0 where *floor* is the least it can be, or most.

        That is exact where nothing else depends on the innermost axis of the floor.
        """
        axis = _innermost(floor.numerator, loops)
        if axis is None:
            return False
        outside = {each: loop for each, loop in loops.items() if each != axis}
        lows = _extremes(form, {axis: loops[axis]})
        return any(self.shows(low, outside) for low in lows)


def lowest(form: Affine, inner: Loops) -> tuple[Affine, ...]:
    """Return forms over the outer names that are <= *form* for all *inner* axes.

    Each is a bound, so the largest of them is the best one known.
    """
    return undominated(_extremes(form, inner), upper=False)


def highest(form: Affine, inner: Loops) -> tuple[Affine, ...]:
    """Return forms over the outer names that are >= *form* for all *inner* axes."""
    return undominated((-low for low in _extremes(-form, inner)), upper=True)


def extent_over_dims(
    spans: Iterable[Affine], step: int, loops: Loops, dims: Mapping[str, Dim]
) -> Affine | None:
    """Return how many steps fit in the smallest of *spans*, as a form over dims.

    A constant is preferred. None where every bound keeps an axis of *loops*. The
    result is never negative, also where the span is: a buffer can have that size.
    """
    symbolic: list[Affine] = []
    sizes: list[int] = []
    for span in spans:
        for limit in highest(span, loops):
            if limit.is_constant:
                sizes.append(-(-max(limit.constant, 0) // step))
            elif limit.names() <= dims.keys():
                size = _raised(limit + (step - 1), dims)
                symbolic += [] if size is None else [size // step]
    if sizes:
        return affine(min(sizes))
    return symbolic[0] if symbolic else None


def prune_starts(
    starts: Sequence[Affine], loops: Loops, dims: Mapping[str, Dim]
) -> tuple[Affine, ...]:
    """Drop starts that another one is shown to reach."""
    kept = _prune([-start for start in starts], loops, dims)
    return tuple(-start for start in kept)


def prune_stops(
    stops: Sequence[Affine], loops: Loops, dims: Mapping[str, Dim]
) -> tuple[Affine, ...]:
    """Drop stops that another one is shown not to exceed."""
    return _prune(stops, loops, dims)


def _prune(
    stops: Sequence[Affine], loops: Loops, dims: Mapping[str, Dim]
) -> tuple[Affine, ...]:
    search = _Search(dims)
    kept = list(dict.fromkeys(stops))
    for stop in tuple(kept):
        others = [other for other in kept if other != stop]
        if any(search.shows(stop - other, loops) for other in others):
            kept.remove(stop)
    return tuple(kept)


def _innermost(form: Affine, loops: Loops) -> str | None:
    names = form.names()
    return next((axis for axis in reversed(loops) if axis in names), None)


def _limits(loop: For, *, lowest: bool) -> tuple[Affine, ...]:
    if lowest:
        return loop.starts
    if loop.step == 1 or len(loop.starts) > 1:
        return tuple(stop - 1 for stop in loop.stops)
    start = loop.starts[0]
    limits = []
    for stop in loop.stops:
        span = stop - start
        last = (span.constant - 1) // loop.step * loop.step
        limits.append(start + max(last, 0) if span.is_constant else stop - 1)
    return tuple(limits)


def _least(form: Affine, dims: Mapping[str, Dim]) -> int | None:
    total = form.constant
    for atom, coefficient in form.terms:
        dim = dims.get(atom) if isinstance(atom, str) else None
        limit = None if dim is None else dim.min if coefficient > 0 else dim.max
        if limit is None:
            return None
        total += coefficient * limit
    return total


def _raised(form: Affine, dims: Mapping[str, Dim]) -> Affine | None:
    """Return *form*, plus a constant where that is needed to keep it from below 0."""
    if is_nonnegative(form, {}, dims):
        return form
    least = _least(form, dims)
    return None if least is None else form - least


def _without_floor(rest: Affine, floor: FloorDiv, coefficient: int) -> Affine:
    # floor(n / d) is at least (n - d + 1) / d and at most n / d; scale by d.
    slack = floor.divisor - 1 if coefficient > 0 else 0
    return rest * floor.divisor + (floor.numerator - slack) * coefficient


def _extremes(form: Affine, inner: Loops) -> tuple[Affine, ...]:
    for atom, coefficient in form.terms:
        if isinstance(atom, FloorDiv) and _innermost(atom.numerator, inner):
            return _floor_extremes(form, atom, coefficient, inner)
    axis = _innermost(form, inner)
    if axis is None:
        return (form,)
    limits = _limits(inner[axis], lowest=form.coefficient(axis) > 0)
    return tuple(
        low
        for limit in limits
        for low in _extremes(form.substitute({axis: limit}), inner)
    )


def _floor_extremes(
    form: Affine, floor: FloorDiv, coefficient: int, inner: Loops
) -> tuple[Affine, ...]:
    term: tuple[tuple[Atom, int], ...] = ((floor, coefficient),)
    rests = _extremes(form - Affine(term), inner)
    if coefficient > 0:
        numerators = _extremes(floor.numerator, inner)
    else:
        numerators = tuple(-low for low in _extremes(-floor.numerator, inner))
    floors = [(numerator // floor.divisor) * coefficient for numerator in numerators]
    return tuple(rest + low for rest in rests for low in floors)


def undominated(forms: Iterable[Affine], *, upper: bool) -> tuple[Affine, ...]:
    """Return the tightest of those *forms* that differ by a constant only.

    Of *upper* bounds that is the least, of lower bounds the greatest.
    """
    best: dict[tuple[tuple[Atom, int], ...], Affine] = {}
    for form in forms:
        known = best.get(form.terms)
        tighter = known is None or (form.constant < known.constant) == upper
        if tighter:
            best[form.terms] = form
    return tuple(best.values())
