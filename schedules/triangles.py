"""A register tile for nests whose bounds depend on one another: triangles.

The order is that of `Contraction` without blocks of the reduction. Rows are cut into
tiles first and move inside the other loops, which so run from the first to the last
iteration that any row of the tile has. Only then are the columns cut: tiles that lie in
the triangle are whole, and the lanes and rows beyond its border are masked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ..ir.nodes import Load
from .contraction import Contraction, split_twice
from .params import Choice, Config, Param
from .schedule import Schedule


@dataclass(frozen=True)
class Triangle(Contraction):
    """The schedule of one accumulating nest with dependent bounds."""

    @cached_property
    def blocked(self) -> bool:
        """The reduction is not cut: its bounds differ from row to row."""
        return False

    @cached_property
    def has_free_columns(self) -> bool:
        """Whether the columns have a range of their own."""
        axis = self.roles.columns
        for loop in self.roles.nest.loops:
            for form in (*loop.starts, *loop.stops):
                own = loop.axis == axis and form.names() & {*self.roles.nest.axes}
                if own or axis in form.names():
                    return False
        return True

    @cached_property
    def params(self) -> tuple[Param, ...]:
        """The decisions, with defaults from the target's registers."""
        assert self.roles.rows is not None
        rows, vectors = self._default_tile(self.roles.rows)
        tiles = tuple(f"{r}x{v}" for r, v in self._tiles(self.roles.rows))
        return (
            self._param("tile", tiles, f"{rows}x{vectors}", "structure"),
            *self._order_params(),
            *self._size_params(self.roles.rows, rows),
        )

    def _order_params(self) -> list[Param]:
        columns = all(self._packs_columns(load) for load in self.roles.column_operands)
        rows = any(self._packs_rows(load) for load in self.roles.row_operands)
        params = [
            self._param("pack_columns", (True, False), columns, "structure"),
            self._param("pack_rows", (True, False), rows, "structure"),
        ]
        if self.place.shared:
            return params
        axes = ("columns", "rows") if self.has_free_columns else ("rows",)
        few = self.roles.most(self.roles.columns) is not None
        usual = axes[-1] if few else axes[0]
        return [*params, self._param("threads", axes, usual, "structure")]

    def _packs_columns(self, load: Load) -> bool:
        """Whether packing pays, and can: all rows must have the same tiles."""
        (loop,) = (x for x in self.roles.nest.loops if x.axis == self.roles.columns)
        fixed = not any(form.names() & {*self.roles.nest.axes} for form in loop.starts)
        return fixed and super()._packs_columns(load)

    def apply(self, schedule: Schedule, config: Config) -> Schedule:
        """Append the steps."""
        choice = self._choice(config)
        schedule = self._tiled(schedule, choice)
        schedule = schedule.vectorize(f"{self.roles.columns}_i")
        schedule = schedule.unroll(f"{self.roles.rows}_i")
        schedule = self._accumulate(schedule, choice)
        schedule = self._parallelize(schedule, choice)
        return self._pack(schedule, choice)

    def _tiled(self, schedule: Schedule, choice: Mapping[str, Choice]) -> Schedule:
        u, v = self.roles.rows, self.roles.columns
        assert u is not None
        outer, reduction = self.roles.outer, self.roles.reduction
        rows, vectors = self._tile(choice)
        width = vectors * self.lanes
        schedule = schedule.reorder(*outer, u, v, *reduction)
        schedule = split_twice(schedule, u, rows * int(choice["row_tiles"]), rows)
        tiles = (f"{u}_o", f"{u}_t")
        inside = (*reduction, f"{u}_i")
        if choice.get("threads") == "columns":
            block = width * int(choice["column_tiles"])
            schedule = split_twice(schedule, v, block, width)
            return schedule.reorder(
                *outer, f"{v}_o", *tiles, f"{v}_t", *inside, f"{v}_i"
            )
        schedule = schedule.reorder(*outer, *tiles, v, *inside)
        schedule = schedule.split(v, width, names=(f"{v}_t", f"{v}_i"))
        return schedule.reorder(*outer, *tiles, f"{v}_t", *inside, f"{v}_i")

    def _tile_axes(self, choice: Mapping[str, Choice]) -> tuple[str, ...]:
        return (f"{self.roles.rows}_t", f"{self.roles.columns}_t")
