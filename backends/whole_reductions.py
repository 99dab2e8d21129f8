"""Reductions over all lanes of a vector, which are one operation."""

from __future__ import annotations

from ..ir.affine import Affine, constant, name
from ..ir.nodes import For, Load, Reduce
from .declarations import Declarations
from .elements import Elements
from .expressions import UPDATES, Expressions, Value
from .plan import Plan
from .point import Point, is_nonnegative
from .storage import LANE, Addresses
from .tile_loops import TileLoop
from .writer import Writer


class WholeReductions:
    """Write reductions of whole vectors of registers, in another order of the lanes."""

    def __init__(
        self,
        writer: Writer,
        addresses: Addresses,
        plan: Plan,
        declared: Declarations,
        expressions: Expressions,
        elements: Elements,
    ) -> None:
        self._writer = writer
        self._addresses = addresses
        self._plan = plan
        self._declared = declared
        self._expressions = expressions
        self._elements = elements

    def write(self, loop: For, tile: TileLoop, point: Point) -> bool:
        """Write `for l: s += part[l]` over all lanes of a vector as one reduction."""
        if loop.step != 1 or len(loop.body.statements) != 1:
            return False
        leaf = loop.body.statements[0]
        if not isinstance(leaf, Reduce) or not isinstance(leaf.value, Load):
            return False
        if any(loop.axis in form.names() for form in leaf.index):
            return False
        guards = self._guards(leaf, point)
        if any({loop.axis, LANE} & guard.names() for guard in guards):
            return False
        groups = self._groups(leaf.value, loop, tile, point)
        if not groups:
            return False
        tests = [self._addresses.test(guard) for guard in guards]
        if tests:
            with self._writer.block(f"if {' and '.join(tests)}:"):
                self._combine(leaf, groups, point)
        else:
            self._combine(leaf, groups, point)
        return True

    def _guards(self, leaf: Reduce, point: Point) -> list[Affine]:
        """Return the conditions of *leaf* that have to be tested at *point*."""
        plan = self._plan.leaves[id(leaf)]
        forms = [
            point.at(guard.form)
            for guard in plan.guards
            if guard.full not in point.assumed
            and guard.form not in point.satisfied
            and guard.form not in plan.dropped
        ]
        return [form for form in forms if not is_nonnegative(form)]

    def _combine(self, leaf: Reduce, groups: list[str], point: Point) -> None:
        total = groups[0]
        for group in groups[1:]:
            total = self._expressions.call(UPDATES[leaf.op], total, group)
        text = self._expressions.call(f"reduce_{leaf.op.value}", total)
        self._elements.combine(leaf, Value(text, leaf.value.dtype, 0), point)

    def _groups(self, load: Load, loop: For, tile: TileLoop, point: Point) -> list[str]:
        """Return the vectors whose lanes *load* reads in *loop*, none if not whole."""
        source = self._declared.registers.get(load.tensor)
        if source is None or source.layout.lane_dimension is None:
            return []
        dimension, lanes = source.layout.lane_dimension, source.layout.lanes
        index = [point.at(form) for form in load.index]
        # The first lane that is read; a form over other names is that of another loop.
        index[dimension] += point.at(tile.start) - name(loop.axis)
        if any(loop.axis in form.names() for form in index):
            return []
        first = index[dimension].constant
        if first % lanes or tile.extent % lanes:
            return []
        groups = []
        for lane in range(first, first + tile.extent, lanes):
            index[dimension] = constant(lane)
            groups.append(self._declared.register(load.tensor, tuple(index)))
        return groups
