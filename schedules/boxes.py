"""Boxes: intervals of subscripts that cover what a loop body touches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..ir.affine import Affine, affine, name
from ..ir.extents import fixed_extent
from ..ir.nodes import Block, Dim, For, Function, LoopKind, Stmt
from .bounds import (
    Loops,
    extent_over_dims,
    highest,
    is_nonnegative,
    lowest,
    prune_starts,
    prune_stops,
)
from .checks import scope_of

Index = tuple[Affine, ...]


@dataclass(frozen=True, slots=True)
class Side:
    """One dimension of a box: coordinates from *origin*, at most *extent* of them.

    They lie from the largest of *starts* to below the smallest of *stops*.
    """

    origin: Affine
    extent: Affine
    starts: tuple[Affine, ...]
    stops: tuple[Affine, ...]

    @property
    def is_unit(self) -> bool:
        """Whether one coordinate is all there is: a buffer needs no dimension."""
        return self.extent == affine(1)


@dataclass(frozen=True, slots=True)
class Place:
    """The body of a loop: the loops around it and the dims."""

    around: Loops
    dims: dict[str, Dim]


def place_in(function: Function, axis: str | None) -> Place:
    """Return the place of the body of *axis*, or of the function's body for None."""
    return Place(scope_of(function, axis), {dim.name: dim for dim in function.dims})


def bounding_side(
    forms: Sequence[tuple[Affine, Loops]], size: Affine, place: Place
) -> Side | None:
    """Return the interval that covers one subscript in all its forms.

    *size* is the tensor's extent, which clamps it. Where nothing smaller is known the
    interval is the whole dimension; None if its size is not a form over dims.
    """
    low = _meet([lowest(form, inner) for form, inner in forms], place, upper=False)
    high = _meet([highest(form, inner) for form, inner in forms], place, upper=True)
    best: tuple[Affine, Affine] | None = None
    for origin in low:
        extent = extent_over_dims(
            [top - origin + 1 for top in high], 1, place.around, place.dims
        )
        if extent is None:
            continue
        if best is None or _is_smaller(extent, best[1]):
            best = origin, extent
    if best is None:
        if not size.names() <= place.dims.keys():
            return None
        return Side(affine(0), size, (affine(0),), (size,))
    starts = prune_starts((*low, affine(0)), place.around, place.dims)
    stops = prune_stops((*(top + 1 for top in high), size), place.around, place.dims)
    return Side(*best, starts, stops)


def _is_point(side: Side) -> bool:
    return len(side.starts) == 1 and side.stops == (side.starts[0] + 1,)


def _is_smaller(extent: Affine, other: Affine) -> bool:
    if not extent.is_constant:
        return False
    return not other.is_constant or extent.constant < other.constant


def _meet(
    bounds: list[tuple[Affine, ...]], place: Place, *, upper: bool
) -> tuple[Affine, ...]:
    """Return forms that bound the union of several intervals on one side."""
    if len(bounds) == 1:
        return bounds[0]
    shifted = list(bounds[0])
    for other in bounds[1:]:
        shifted = [
            mine + gap
            for mine in shifted
            if (gap := _constant_gap(mine, other, upper=upper)) is not None
        ]

    def covers(form: Affine, bound: Affine) -> bool:
        gap = form - bound if upper else bound - form
        return is_nonnegative(gap, place.around, place.dims)

    covering = [
        form
        for own in bounds
        for form in own
        if all(any(covers(form, each) for each in other) for other in bounds)
    ]
    return tuple(dict.fromkeys((*shifted, *covering)))


def _constant_gap(
    mine: Affine, other: tuple[Affine, ...], *, upper: bool
) -> int | None:
    """Return by how much *mine* must move to bound the other interval as well."""
    gaps = [form - mine for form in other]
    sizes = [gap.constant for gap in gaps if gap.is_constant]
    if not sizes:
        return None
    return max(min(sizes), 0) if upper else min(max(sizes), 0)


def box_nest(
    sides: Sequence[Side],
    names: Sequence[str],
    kinds: Sequence[LoopKind],
    leaf: Callable[[Index], Stmt],
) -> Stmt:
    """Return a nest over a box, one loop a dimension, around what *leaf* makes.

    A kind that needs a constant extent gives way to SERIAL where there is none.
    """
    index = [
        side.starts[0] if _is_point(side) else name(axis)
        for side, axis in zip(sides, names, strict=True)
    ]
    result = leaf(tuple(index))
    for side, axis, kind in reversed(list(zip(sides, names, kinds, strict=True))):
        if _is_point(side):
            continue
        body = Block((result,))
        loop = For(axis, side.starts, side.stops, 1, kind, body)
        if fixed_extent(loop) is None and kind is not LoopKind.SERIAL:
            loop = For(axis, side.starts, side.stops, 1, LoopKind.SERIAL, body)
        result = loop
    return result
