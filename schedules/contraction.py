"""A sketch for nests that accumulate: a register tile inside cache blocks.

From the outside in (after Goto and van de Geijn, "Anatomy of high-performance matrix
multiplication", ACM TOMS 34, 2008, but made of public primitives and ignorant of
matrices):

    outer axes | reduction blocks | pack column operands | row blocks |
    pack row operands | column tiles | row tiles | accumulators in registers |
    reduction | rows x columns in registers

Convolutions, batched and plain products differ only in which axes play which role.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from math import inf, prod
from typing import Literal

from ..analysis.access import is_contiguous, subscript_names, value_dtypes
from ..errors import ScheduleError
from ..ir.nodes import Load, Role
from ..ir.walk import loops
from ..target import Target
from .params import Choice, Config, Param, Place
from .roles import Roles, has_window
from .schedule import Schedule

_VECTORS = (1, 2, 3, 4, 6)
_ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24)
_TILES = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
_BLOCK_ROWS = 96
_RARE = 256  # uses of an element below which a packed copy does not pay
_REDUCTION_BLOCKS = (64, 128, 192, 256, 320, 384, 512, 640, 768, 1024)


@dataclass(frozen=True)
class Contraction:
    """The schedule of one accumulating nest, up to its decisions.

    Params are called after *name*, by default the label of the statement.
    """

    roles: Roles
    target: Target
    place: Place = field(default_factory=Place)
    name: str = ""

    @cached_property
    def lanes(self) -> int:
        """The lanes of one hardware vector of the widest number computed with."""
        statement = self.roles.nest.statement
        return min(self.target.lanes(dtype) for dtype in value_dtypes(statement))

    @cached_property
    def blocked(self) -> bool:
        """Whether the last reduction axis is cut: unless it is known to be short."""
        extent = self.roles.extent(self.roles.reduction[-1])
        long = extent is None or extent > _REDUCTION_BLOCKS[0]
        return long and self.roles.rows is not None

    @cached_property
    def chooses_threads(self) -> bool:
        """Whether rows or columns have to be shared out: no loop around them is."""
        return not self.roles.outer and not self.place.shared

    # --- decisions ----------------------------------------------------------------

    @cached_property
    def params(self) -> tuple[Param, ...]:
        """The decisions, with defaults from the target's registers and caches."""
        roles = self.roles
        if roles.rows is None:
            choices = covering(_VECTORS, roles.extent(roles.columns), self.lanes)
            return (self._param("vectors", choices, 4, "structure"),)
        rows, vectors = self._default_tile(roles.rows)
        tiles = tuple(f"{r}x{v}" for r, v in self._tiles(roles.rows))
        return (
            self._param("tile", tiles, f"{rows}x{vectors}", "structure"),
            *self._order_params(),
            *self._size_params(roles.rows, rows),
        )

    def _tiles(self, rows_axis: str) -> list[tuple[int, int]]:
        """Return the tiles (rows, vectors) that fill the registers at least by half.

        Fewer accumulators than that cannot hide the latency of an update.
        """
        registers = self.target.vector_registers
        all_rows = covering(_ROWS, self.roles.extent(rows_axis), 1)
        all_vectors = covering(
            _VECTORS, self.roles.extent(self.roles.columns), self.lanes
        )
        fitting = [
            (rows, vectors)
            for rows in all_rows
            for vectors in all_vectors
            if rows * vectors + vectors + 1 <= registers
        ]
        full = [(r, v) for r, v in fitting if r * v >= registers // 2]
        return full or fitting

    def _order_params(self) -> list[Param]:
        columns = all(self._packs_columns(load) for load in self.roles.column_operands)
        rows = any(self._packs_rows(load) for load in self.roles.row_operands)
        params = [
            self._param("pack_columns", (True, False), columns, "structure"),
            self._param("pack_rows", (True, False), rows, "structure"),
            self._param("columns_outside", (True, False), False, "structure"),
        ]
        if self.chooses_threads:
            axes = ("rows", "columns")
            params.append(self._param("threads", axes, self._threads(), "structure"))
        return params

    def _size_params(self, rows_axis: str, rows: int) -> list[Param]:
        roles = self.roles
        extent = roles.extent(rows_axis)
        tiles = covering(_TILES, extent, rows)
        params = [
            self._param(
                "row_tiles", tiles, self._row_tiles(roles.most(rows_axis), rows), "size"
            )
        ]
        if self.chooses_threads:
            tiles = covering(_TILES, roles.extent(roles.columns), self.lanes)
            params.append(self._param("column_tiles", tiles, 8, "size"))
        if self.blocked:
            extent = roles.extent(roles.reduction[-1])
            blocks = covering(_REDUCTION_BLOCKS, extent, 1)
            params.append(self._param("reduction_block", blocks, 512, "size"))
        return params

    def _packs_columns(self, load: Load) -> bool:
        """Whether packing the column operand *load* pays.

        It does unless the lanes are contiguous anyway and the copy is used too rarely,
        or holds each element several times (a window).
        """
        if not is_contiguous(load, self.roles.columns):
            return True
        return not has_window(load) and self._reuse(load) > _RARE

    def _packs_rows(self, load: Load) -> bool:
        """Whether packing the row operand *load* pays.

        Few rows that are contiguous along the reduction are good streams already.
        """
        streams = is_contiguous(load, self.roles.reduction[-1])
        return not streams and not has_window(load) and self._reuse(load) > _RARE

    def _reuse(self, load: Load) -> float:
        """Return how often each element of *load* is used, as far as extents tell."""
        used = subscript_names(load)
        if not self._shared_with(load) >= {*self.place.shared}:
            return inf
        idle = [axis for axis in self.roles.nest.spatial if axis not in used]
        return prod(self.roles.most(axis) or inf for axis in idle)

    def _shared_with(self, load: Load) -> set[str]:
        """Return the loops that are shared out and that choose what is loaded."""
        used = subscript_names(load)
        bounds = {
            name
            for loop in self.roles.nest.loops
            if loop.axis in used
            for form in (*loop.starts, *loop.stops)
            for name in form.names()
        }
        return {*self.place.shared} & (used | bounds)

    def _threads(self) -> str:
        """Return the axis to share among threads: rows, unless they are known few."""
        assert self.roles.rows is not None
        rows = self.roles.extent(self.roles.rows)
        columns = self.roles.extent(self.roles.columns)
        if rows is None or rows >= 32 * self.target.cores:
            return "rows"
        return "columns" if columns is None or columns > rows else "rows"

    def _row_tiles(self, extent: int | None, rows: int) -> int:
        """Return how many row tiles make a block, even over the cores where known."""
        if extent is None:
            return -(-_BLOCK_ROWS // rows)
        if self.place.shared:
            return -(-min(extent, _BLOCK_ROWS) // rows)
        cores = self.target.cores
        blocks = max(1, round(extent / (_BLOCK_ROWS * cores))) * cores
        return -(-extent // (blocks * rows))

    def _default_tile(self, rows_axis: str) -> tuple[int, int]:
        """Return the tile with the most updates for each operand loaded.

        Tiles that do not divide a known extent waste the rest of the last one. Between
        equals, narrow tiles: their packed panels are smaller.
        """
        extents = self.roles.extent(rows_axis), self.roles.extent(self.roles.columns)

        def merit(tile: tuple[int, int]) -> tuple[float, int]:
            rows, vectors = tile
            work = rows * vectors / (rows + vectors)
            for extent, size in zip(extents, (rows, vectors * self.lanes), strict=True):
                if extent:
                    work *= extent / (-(-extent // size) * size)
            return work, rows

        return max(self._tiles(rows_axis), key=merit)

    def _param(
        self,
        name: str,
        choices: tuple[Choice, ...],
        default: Choice,
        scope: Literal["structure", "size"],
    ) -> Param:
        if default not in choices and isinstance(default, int):
            smaller = [c for c in choices if isinstance(c, int) and c <= default]
            default = max(smaller, default=choices[0])
        return Param(f"{self.key}.{name}", choices, default, scope)

    @property
    def key(self) -> str:
        """What the params are called after."""
        return self.name or self.roles.label

    # --- steps --------------------------------------------------------------------

    def apply(self, schedule: Schedule, config: Config) -> Schedule:
        """Append the steps."""
        choice = self._choice(config)
        schedule, order = self._split(schedule, choice)
        schedule = schedule.reorder(*order).vectorize(f"{self.roles.columns}_i")
        if self.roles.rows is not None:
            schedule = schedule.unroll(f"{self.roles.rows}_i")
        schedule = self._accumulate(schedule, choice)
        schedule = self._parallelize(schedule, choice)
        return self._pack(schedule, choice)

    def _choice(self, config: Config) -> dict[str, Choice]:
        """Return what *config* says about this nest."""
        prefix = f"{self.key}."
        return {p.name.removeprefix(prefix): config[p.name] for p in self.params}

    def _tile(self, choice: Mapping[str, Choice]) -> tuple[int, int]:
        """Return the rows and vectors of the register tile."""
        if "tile" not in choice:
            return 1, int(choice["vectors"])
        rows, vectors = str(choice["tile"]).split("x")
        return int(rows), int(vectors)

    def _blocks(self, choice: Mapping[str, Choice]) -> tuple[str, ...]:
        """Return the loops between the outer axes and the tiles, outermost first."""
        blocks = [f"{self.roles.reduction[-1]}_o"] if self.blocked else []
        if choice.get("threads") == "columns":
            blocks.append(f"{self.roles.columns}_o")
        if self.roles.rows is not None:
            blocks.append(f"{self.roles.rows}_o")
        return tuple(blocks)

    def _split(
        self, schedule: Schedule, choice: Mapping[str, Choice]
    ) -> tuple[Schedule, tuple[str, ...]]:
        """Return *schedule* with every split done, and the new loop order."""
        u, v = self.roles.rows, self.roles.columns
        rows, vectors = self._tile(choice)
        width = vectors * self.lanes
        if self.blocked:
            k = self.roles.reduction[-1]
            size = int(choice["reduction_block"])
            schedule = schedule.split(k, size, names=(f"{k}_o", f"{k}_i"))
        if choice.get("threads") == "columns":
            block = width * int(choice["column_tiles"])
            schedule = split_twice(schedule, v, block, width)
        else:
            schedule = schedule.split(v, width, names=(f"{v}_t", f"{v}_i"))
        inner = [f"{v}_i"]
        if u is not None:
            block = rows * int(choice["row_tiles"])
            schedule = split_twice(schedule, u, block, rows)
            inner.insert(0, f"{u}_i")
        outside = (*self.roles.outer, *self._blocks(choice))
        tiles = self._tile_axes(choice)
        return schedule, (*outside, *tiles, *self._inner_reduction, *inner)

    @property
    def _inner_reduction(self) -> tuple[str, ...]:
        """The reduction loops around the register tile, outermost first."""
        axes = self.roles.reduction
        return (*axes[:-1], f"{axes[-1]}_i") if self.blocked else axes

    def _tile_axes(self, choice: Mapping[str, Choice]) -> tuple[str, ...]:
        columns = f"{self.roles.columns}_t"
        if self.roles.rows is None:
            return (columns,)
        rows = f"{self.roles.rows}_t"
        return (columns, rows) if choice["columns_outside"] else (rows, columns)

    def _accumulate(self, schedule: Schedule, choice: Mapping[str, Choice]) -> Schedule:
        """Keep the tile of the target in registers across the reduction."""
        tile = self._tile_axes(choice)[-1]
        if self.roles.init is not None:
            with suppress(ScheduleError):  # or it stays where it is
                schedule = schedule.compute_at(self.roles.init, tile)
        return schedule.cache_write(self.roles.nest.statement.tensor, tile)

    def _shared(self, choice: Mapping[str, Choice]) -> str:
        """Return the loop to share among threads."""
        if self.roles.outer:
            return self.roles.outer[0]
        if self.roles.rows is None:
            return f"{self.roles.columns}_t"
        by_columns = choice["threads"] == "columns"
        return f"{self.roles.columns if by_columns else self.roles.rows}_o"

    def _parallelize(
        self, schedule: Schedule, choice: Mapping[str, Choice]
    ) -> Schedule:
        if self.place.shared:
            return schedule
        if len(self.roles.outer) > 1:
            schedule = schedule.fuse(*self.roles.outer[:2])
        return schedule.parallelize(self._shared(choice))

    def _pack(self, schedule: Schedule, choice: Mapping[str, Choice]) -> Schedule:
        u, v = self.roles.rows, self.roles.columns
        if u is not None and choice["pack_columns"]:
            for load in self.roles.column_operands:
                schedule, copy = self._packed(schedule, load, v, choice)
                schedule = schedule.vectorize(copy[-1])
        if u is not None and choice["pack_rows"]:
            for load in self.roles.row_operands:
                schedule, copy = self._packed(schedule, load, u, choice)
                schedule = schedule.unroll(copy[-1])
        return schedule

    def _packed(
        self, schedule: Schedule, load: Load, axis: str, choice: Mapping[str, Choice]
    ) -> tuple[Schedule, list[str]]:
        """Return *schedule* with *load* packed in tiles along *axis*, and the new axes.

        The copy goes into the innermost loop such that no loop around it would repeat
        it; the blocks further in that it varies with become dimensions of the buffer,
        but for those of *axis*, whose tiles are counted through.
        """
        outside = (*self.roles.outer, *self._blocks(choice))
        used = {*subscript_names(load), f"{axis}_o", f"{self.roles.reduction[-1]}_o"}
        around = tuple(takewhile(lambda loop: loop in used, outside))
        level = around[-1] if around else self.place.inside
        repeated = {*self.place.shared[-1:]} - self._shared_with(load)
        first = bool(repeated) and load.tensor in _inputs(schedule)
        if first:  # once for all iterations that are shared out
            outside, around, level = (*self.place.shared, *outside), (), None
        further_in = used - {f"{axis}_o"}
        blocks = [loop for loop in outside[len(around) :] if loop in further_in]
        layout = (*blocks, f"{axis}_t", *self._inner_reduction, f"{axis}_i")
        before = loops(schedule.function)
        schedule = schedule.cache_read(load.tensor, level, layout=layout)
        copy = [new for new in loops(schedule.function) if new not in before]
        is_shared = self.place.shared or self._shared(choice) in around
        if first:
            schedule = schedule.fuse(*copy[:2])
        if first or not is_shared:
            schedule = schedule.parallelize(copy[0])
        return schedule, copy


def _inputs(schedule: Schedule) -> set[str]:
    """Return the tensors that *schedule* only reads."""
    params = schedule.function.params
    return {each.tensor.name for each in params if each.role is Role.INPUT}


def split_twice(schedule: Schedule, axis: str, block: int, tile: int) -> Schedule:
    """Split *axis* into blocks `_o`, tiles `_t` and what is in a tile, `_i`."""
    schedule = schedule.split(axis, block, names=(f"{axis}_o", f"{axis}_b"))
    return schedule.split(f"{axis}_b", tile, names=(f"{axis}_t", f"{axis}_i"))


def covering(
    choices: tuple[int, ...], extent: int | None, unit: int
) -> tuple[int, ...]:
    """Drop the *choices* beyond the first that, times *unit*, covers *extent*."""
    if extent is None:
        return choices
    enough = [choice for choice in choices if choice * unit >= extent]
    return (*(c for c in choices if c * unit < extent), *enough[:1])
