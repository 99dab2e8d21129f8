"""Tile loops: the unrolled and vectorized ones, whose shape is constant.

A tile loop starts at `start` and covers `extent` coordinates; where its range has other
bounds, the iterations beyond them do not exist.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import BackendError
from ..ir.affine import Affine, FloorDiv, name
from ..ir.nodes import For, LoopKind

TILE_KINDS = (LoopKind.UNROLLED, LoopKind.VECTORIZED)


@dataclass(frozen=True, slots=True)
class TileLoop:
    """The constant shape of an unrolled or vectorized loop, and its other bounds."""

    axis: str
    start: Affine
    extent: int
    guards: tuple[Affine, ...]


def tile_loop(loop: For) -> TileLoop:
    """Return the shape of *loop*, which has one start and a constant largest extent."""
    start, *others = loop.starts
    ends = [stop for stop in loop.stops if (stop - start).is_constant]
    if others or not ends:
        lacks = "more than one start" if others else "no constant extent"
        raise BackendError(
            f"the {loop.kind.value} loop {loop.axis!r} has {lacks}: its "
            f"range is ({', '.join(map(str, loop.starts))}) to "
            f"({', '.join(map(str, loop.stops))}); split it by a constant first"
        )
    end = min(ends, key=lambda stop: (stop - start).constant)
    extent = max(0, (end - start).constant)
    guards = tuple(stop - 1 - name(loop.axis) for stop in loop.stops if stop != end)
    return TileLoop(loop.axis, start, extent, guards)


def extremes(
    form: Affine, tiles: Iterable[TileLoop], steps: dict[str, int]
) -> tuple[Affine, Affine] | None:
    """Return the least and the greatest value of *form* over the tiles, inner first.

    None where a tile axis stands inside a floor division.
    """
    low = high = form
    for tile in tiles:
        if is_divided(low, tile.axis) or is_divided(high, tile.axis):
            return None
        last = tile.start + (tile.extent - 1) // steps[tile.axis] * steps[tile.axis]
        first = {tile.axis: tile.start}
        final = {tile.axis: last}
        low = low.substitute(first if low.coefficient(tile.axis) >= 0 else final)
        high = high.substitute(final if high.coefficient(tile.axis) >= 0 else first)
    return low, high


def is_divided(form: Affine, axis: str) -> bool:
    """Whether *axis* stands inside a floor division in *form*."""
    return any(
        isinstance(atom, FloorDiv) and axis in atom.numerator.names()
        for atom, _ in form.terms
    )
