"""Transposed copies: rows are loaded as vectors and stored by columns."""

from __future__ import annotations

from dataclasses import replace

from ..ir.affine import name
from ..ir.nodes import For, LoopKind, Store
from ..ir.walk import reads
from .declarations import Declarations
from .elements import Elements
from .expressions import Expressions
from .plan import Plan
from .point import Point
from .storage import LANE, Addresses, Stride
from .tile_loops import TileLoop
from .writer import Writer

_COLUMN_STORES = {1: "store_strided", 2: "store_pairs", 4: "store_quads"}


class Transpositions:
    """Write tiles that copy rows to columns, where no mask is needed."""

    def __init__(
        self,
        writer: Writer,
        plan: Plan,
        addresses: Addresses,
        declared: Declarations,
        expressions: Expressions,
        elements: Elements,
    ) -> None:
        self._writer = writer
        self._plan = plan
        self._addresses = addresses
        self._declared = declared
        self._expressions = expressions
        self._elements = elements

    def write(self, loop: For, tile: TileLoop, point: Point) -> bool:
        """Write `for i: for k: T[k, i] = X[i, k]` as loads and a transposing store."""
        if point.lanes or loop.step != 1 or len(loop.body.statements) != 1:
            return False
        inner = loop.body.statements[0]
        if not isinstance(inner, For) or inner.kind is not LoopKind.VECTORIZED:
            return False
        (leaf, *more), lanes = inner.body.statements, self._plan.tiles[inner.axis]
        if more or not isinstance(leaf, Store) or lanes.extent < 2:
            return False
        if loop.axis in lanes.start.names():
            return False
        exact = {**point.exact, inner.axis: point.at(lanes.start) + name(LANE)}
        row = replace(point, exact=exact, lanes=lanes.extent)
        if not self._is_transposition(leaf, loop.axis, row):
            return False
        start = point.at(tile.start)
        points = [
            replace(row, exact={**exact, loop.axis: start + number})
            for number in range(tile.extent)
        ]
        stride = self._lane_stride(leaf, points[0])
        if stride in (0, 1, None):
            return False
        self._write_columns(leaf, str(stride), points)
        return True

    def _is_transposition(self, leaf: Store, axis: str, point: Point) -> bool:
        """Return whether the neighbours of what *leaf* writes lie along *axis*.

        Not so where masks are needed, or the value reads what is written.
        """
        place = self._declared.storage.get(leaf.tensor)
        if place is None:
            return False
        guards = self._plan.leaves[id(leaf)].guards
        if any(guard.full not in point.assumed for guard in guards):
            return False
        if any(read.tensor == leaf.tensor for read in reads(leaf)):
            return False
        *outer, last = map(point.at, leaf.index)
        return (
            place.strides[-1] == Stride(1)
            and not any(axis in form.names() for form in outer)
            and axis not in (last - name(axis)).names()
            and LANE not in last.names()
        )

    def _lane_stride(self, leaf: Store, point: Point) -> int | str | None:
        """Return how far apart the elements are that two lanes write."""
        place = self._declared.storage[leaf.tensor]
        return self._addresses.offset(place, tuple(map(point.at, leaf.index))).lane

    def _write_columns(self, leaf: Store, stride: str, points: list[Point]) -> None:
        """Write a store at successive points, which are neighbours in memory."""
        place = self._declared.storage[leaf.tensor]
        lanes = points[0].lanes
        rows = [self._elements.unmasked(leaf, point) for point in points]
        texts = [self._expressions.spread(row, lanes) for row in rows]
        self._writer.forget(leaf.tensor)
        while texts:
            count = max(n for n in _COLUMN_STORES if n <= len(texts))
            index = tuple(map(points[-len(texts)].at, leaf.index))
            offset = self._addresses.offset(place, index).text
            arguments = [place.base, offset, stride, *texts[:count]]
            call = self._expressions.call(_COLUMN_STORES[count], *arguments)
            self._writer.line(f"{call}{self._writer.comment(leaf)}")
            texts = texts[count:]
