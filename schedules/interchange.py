"""Nesting orders of a perfect nest, with exact bounds for what is no rectangle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from ..errors import ScheduleError
from ..ir.affine import Affine, name
from ..ir.extents import fixed_extent
from ..ir.inequalities import is_linear, least, stop_after, unfloored
from ..ir.nodes import Dim, For, LoopKind
from .bounds import Loops, prune_starts, prune_stops
from .checks import describe, is_around
from .lattices import remainder_of, residue


def permute(
    chain: Sequence[For], order: Sequence[str], scope: Loops, dims: dict[str, Dim]
) -> list[For]:
    """Return the loops of *chain* in *order*, with bounds that mean the same."""
    by_axis = {loop.axis: loop for loop in chain}
    wanted = [by_axis[axis] for axis in order]
    if _is_scoped(wanted):
        return wanted
    # Sort by exchanging neighbours; each exchange rewrites the two bounds.
    result = list(chain)
    rank = {axis: position for position, axis in enumerate(order)}
    for end in range(len(result) - 1, 0, -1):
        for at in range(end):
            outer, inner = result[at], result[at + 1]
            if rank[outer.axis] > rank[inner.axis]:
                around = {**scope, **{loop.axis: loop for loop in result[:at]}}
                result[at : at + 2] = exchange(outer, inner, around, dims)
    return result


def _is_scoped(order: Sequence[For]) -> bool:
    return not any(
        is_around(inner.axis, loop)
        for position, loop in enumerate(order)
        for inner in order[position + 1 :]
    )


def exchange(
    outer: For, inner: For, scope: Loops, dims: dict[str, Dim]
) -> tuple[For, For]:
    """Return *inner* around *outer*: the integer points of both are the same.

    The new inner loop has exact bounds, and may be empty; those of the new outer one
    come from eliminating the other axis by Fourier and Motzkin.
    """
    if not is_around(outer.axis, inner):
        return inner, outer
    _check_kinds(outer, inner)
    pair = _Pair(outer, inner, scope, dims)
    first, second = pair.outermost(), pair.innermost()
    first = replace(
        first,
        starts=prune_starts(first.starts, scope, dims),
        stops=prune_stops(first.stops, scope, dims),
    )
    first = _as_tile(first, [s for s in inner.starts if outer.axis not in s.names()])
    inside = {**scope, first.axis: first}
    pruned = replace(
        second,
        starts=prune_starts(second.starts, inside, dims),
        stops=prune_stops(second.stops, inside, dims),
    )
    if _is_bounded(second) and not _is_bounded(pruned):
        pruned = second  # the bound that fixes the extent is never reached
    return first, pruned


def _is_bounded(loop: For) -> bool:
    """Whether some start of *loop* fixes its extent."""
    alone = (replace(loop, starts=(start,)) for start in loop.starts)
    return any(fixed_extent(each) is not None for each in alone)


def _as_tile(loop: For, own: Sequence[Affine]) -> For:
    """Return *loop* with a constant extent, if it had one before bounds were derived.

    Without derived starts, which only leave out iterations that are empty.
    """
    alone = replace(loop, starts=tuple(own))
    if fixed_extent(loop) is None and own and fixed_extent(alone) is not None:
        return alone
    return loop


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two loops whose *inner* one depends on the *outer* one, and where they stand."""

    outer: For
    inner: For
    scope: Loops
    dims: dict[str, Dim]

    def outermost(self) -> For:
        """Return the loop of the inner axis as the outer one."""
        here, gone = self.inner.axis, self.outer.axis
        starts = [form for form in self.inner.starts if gone not in form.names()]
        stops = [form for form in self.inner.stops if gone not in form.names()]
        limits = [self._linear(limit) for limit in _limits(self.outer)]
        remainder = self._remainder(self.inner)
        for form in self._joint():
            for bound in _eliminated(form, limits, gone):
                if bound.coefficient(here) > 0:
                    starts.append(least(bound, here, remainder, self.inner.step))
                else:
                    stops.append(stop_after(bound, here))
        return replace(self.inner, starts=tuple(starts), stops=tuple(stops))

    def innermost(self) -> For:
        """Return the loop of the outer axis as the inner one."""
        axis = self.outer.axis
        starts, stops = list(self.outer.starts), list(self.outer.stops)
        remainder = self._remainder(self.outer)
        for form in self._joint():
            if form.coefficient(axis) > 0:
                starts.append(least(form, axis, remainder, self.outer.step))
            elif form.coefficient(axis) < 0:
                stops.append(stop_after(form, axis))
        return replace(self.outer, starts=tuple(starts), stops=tuple(stops))

    def _joint(self) -> list[Affine]:
        """Return what the bounds of the inner loop say about both axes, >= 0."""
        axis = self.outer.axis
        forms = [form for form in _limits(self.inner) if axis in form.names()]
        return [self._linear(form) for form in forms]

    def _linear(self, form: Affine) -> Affine:
        axes = (self.outer.axis, self.inner.axis)
        loops = {**self.scope, axes[0]: self.outer, axes[1]: self.inner}
        result = unfloored(
            form,
            lambda rest, divisor: residue(rest, divisor, loops, self.dims),
            frozenset(axes),
        )
        if not all(is_linear(result, axis) for axis in axes):
            self._refuse(f"its bounds divide by more than its step {self.inner.step}")
        return result

    def _remainder(self, loop: For) -> Affine:
        around = {**self.scope, self.outer.axis: self.outer}
        found = remainder_of(loop, around, self.dims)
        if found is None or self.outer.axis in found.names():
            step = loop.step
            self._refuse(
                f'its tiles of {step} start elsewhere for each "{self.outer.axis}"',
                f", or split with origin=0, so that tiles start at multiples of {step}",
            )
        return found

    def _refuse(self, reason: str, remedy: str = "") -> NoReturn:
        outer, inner = self.outer.axis, self.inner.axis
        raise ScheduleError(
            f'reorder: loop "{inner}" cannot be around loop "{outer}": in '
            f"{describe(self.inner)} {reason}; keep "
            f'"{outer}" outside, reorder before the split that made it{remedy}'
        )


def _limits(loop: For) -> list[Affine]:
    """Return the forms that are >= 0 for the values of *loop*, but for its step."""
    axis = name(loop.axis)
    return [
        *(axis - start for start in loop.starts),
        *(stop - axis - 1 for stop in loop.stops),
    ]


def _eliminated(form: Affine, limits: Sequence[Affine], axis: str) -> Iterator[Affine]:
    """Yield what *form* >= 0 says without *axis*, which *limits* bound."""
    one = form.coefficient(axis)
    if one == 0:  # what it said of the axis went with a floor
        yield form
    for limit in limits:
        other = limit.coefficient(axis)
        if one * other < 0:
            yield form * abs(other) + limit * abs(one)


def _check_kinds(outer: For, inner: For) -> None:
    for loop in (outer, inner):
        if loop.kind in (LoopKind.VECTORIZED, LoopKind.UNROLLED):
            raise ScheduleError(
                f'reorder: loop "{loop.axis}" is {loop.kind.value} and would get new '
                f'bounds, without a constant extent; reorder "{outer.axis}" and '
                f'"{inner.axis}" before that step'
            )
