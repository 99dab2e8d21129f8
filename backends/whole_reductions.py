"""Reductions over all lanes of a vector, which are one operation."""

from __future__ import annotations

from ..ir.affine import name
from ..ir.nodes import For, Load, Reduce
from .declarations import Declarations
from .elements import UPDATES, Elements
from .expressions import Expressions, Value
from .plan import Plan, TileLoop
from .point import Point


class WholeReductions:
    """Write reductions of whole vectors of registers, in another order of the lanes."""

    def __init__(
        self,
        plan: Plan,
        declared: Declarations,
        expressions: Expressions,
        elements: Elements,
    ) -> None:
        self._plan = plan
        self._declared = declared
        self._expressions = expressions
        self._elements = elements

    def write(self, loop: For, tile: TileLoop, point: Point) -> bool:
        """Write `for l: s += part[l]` over all lanes of a vector as one reduction."""
        if len(loop.body.statements) != 1 or point.lanes:
            return False
        leaf = loop.body.statements[0]
        if not isinstance(leaf, Reduce) or not isinstance(leaf.value, Load):
            return False
        if any(loop.axis in form.names() for form in leaf.index) or tile.guards:
            return False
        plan = self._plan.leaves[id(leaf)]
        if any(g.full not in point.assumed for g in plan.guards):
            return False
        source = self._declared.registers.get(leaf.value.tensor)
        if source is None or source.private_lanes or loop.step != 1:
            return False
        dimension, lanes = source.layout.lane_dimension, source.layout.lanes
        if dimension is None or tile.extent % lanes or lanes & (lanes - 1):
            return False
        index = [point.at(f) for f in leaf.value.index]
        along = index[dimension] - name(loop.axis) + point.at(tile.start)
        if any(loop.axis in form.names() for form in (*index[:dimension], along)):
            return False
        if not along.is_constant or along.constant % lanes:
            return False
        groups, tensor = [], leaf.value.tensor
        for offset in range(0, tile.extent, lanes):
            index[dimension] = along + offset
            groups.append(self._declared.register_name(tensor, tuple(index)))
            self._declared.see_started(source, groups[-1])
        total = groups[0]
        for group in groups[1:]:
            total = self._expressions.call(UPDATES[leaf.op], total, group)
        reduce_ = f"reduce_{leaf.op.value}"
        value = Value(self._expressions.call(reduce_, total), leaf.value.dtype, 0)
        self._elements.combine(leaf, value, point)
        return True
