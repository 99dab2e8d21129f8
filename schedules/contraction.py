"""A sketch for nests that accumulate: a register tile inside cache blocks.

The nest `for outer..., u, v..., reduction...: C[..., v] += f(loads)` becomes, from the
outside in (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication",
ACM TOMS 2008, written with the public primitives and without knowing about matrices):

    outer axes | k_o blocks | pack column operands | u_o blocks | pack row operands |
    v_t tiles | u_t tiles | accumulators in registers | reduction | u_i x v_i tile

*v* (columns) is the axis along which the target is contiguous; it becomes vector lanes.
*u* (rows) is an axis that the operands indexed by *v* do not depend on, so that each
vector loaded from them serves every unrolled row. Convolutions, batched and plain
contractions differ only in which axes these are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ..analysis.access import (
    Nest,
    constant_extent,
    is_contiguous,
    statement_loads,
    subscript_names,
)
from ..errors import ScheduleError
from ..ir.nodes import Load
from ..ir.walk import loops
from ..target import Target
from .params import Choice, Config, Param
from .schedule import Schedule

_ROWS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 24)
_VECTORS = (1, 2, 3, 4, 6)
_BLOCK_TILES = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48)
_REDUCTION_BLOCKS = (64, 128, 192, 256, 320, 384, 512, 768, 1024)


@dataclass(frozen=True)
class Contraction:
    """The axes of an accumulating nest and the decisions about them."""

    nest: Nest
    columns: str
    rows: str | None
    init: str | None
    target: Target

    @cached_property
    def prefix(self) -> str:
        """The label of the statement, which params are named after."""
        instance = self.nest.statement.instance
        assert instance is not None
        return instance.label

    @cached_property
    def lanes(self) -> int:
        """The lanes of one hardware vector of the widest operand."""
        statement = self.nest.statement
        dtypes = [load.dtype for load in statement_loads(statement)]
        return min(self.target.lanes(dtype) for dtype in dtypes)

    @cached_property
    def outer(self) -> tuple[str, ...]:
        """The spatial axes that are neither rows nor columns."""
        tile = (self.rows, self.columns)
        return tuple(axis for axis in self.nest.spatial if axis not in tile)

    @cached_property
    def blocked(self) -> str | None:
        """The reduction axis to cut into blocks: the last, unless known to be short."""
        axis = self.nest.reduction[-1]
        extent = self.extent(axis)
        return None if extent is not None and extent <= _REDUCTION_BLOCKS[0] else axis

    def extent(self, axis: str) -> int | None:
        """Return the number of iterations of *axis* where it is a constant."""
        (loop,) = (loop for loop in self.nest.loops if loop.axis == axis)
        return constant_extent(loop)

    @cached_property
    def column_operands(self) -> tuple[Load, ...]:
        """The loads that vary along the columns, one a tensor."""
        return self._packable(lambda names: self.columns in names)

    @cached_property
    def row_operands(self) -> tuple[Load, ...]:
        """The loads that vary along the rows and not the columns, one a tensor."""
        if self.rows is None:
            return ()
        return self._packable(
            lambda names: self.rows in names and self.columns not in names
        )

    def _packable(self, wanted: Callable[[frozenset[str]], bool]) -> tuple[Load, ...]:
        all_loads = statement_loads(self.nest.statement)
        chosen = []
        for load in all_loads:
            same = {other.index for other in all_loads if other.tensor == load.tensor}
            if len(same) == 1 and load not in chosen and wanted(subscript_names(load)):
                chosen.append(load)
        return tuple(chosen)

    @cached_property
    def params(self) -> tuple[Param, ...]:
        """The decisions, with defaults from the target's registers and caches."""
        vectors, rows = self._default_tile()
        reuse = self.rows is not None
        params = [
            self._param(
                "vectors",
                self._fitting(self.columns, _VECTORS, self.lanes),
                vectors,
                "structure",
            ),
        ]
        if reuse:
            assert self.rows is not None
            params += [
                self._param(
                    "rows", self._fitting(self.rows, _ROWS, 1), rows, "structure"
                ),
                self._param("pack_columns", (True, False), True, "structure"),
                self._param(
                    "pack_rows", (True, False), self._rows_are_pure, "structure"
                ),
                self._param("columns_outside", (True, False), True, "structure"),
                self._param(
                    "row_tiles", self._fitting(self.rows, _BLOCK_TILES, rows), 8, "size"
                ),
            ]
        if self.blocked is not None and reuse:
            blocks = self._fitting(self.blocked, _REDUCTION_BLOCKS, 1)
            params.append(self._param("reduction_block", blocks, 256, "size"))
        return tuple(params)

    @cached_property
    def _rows_are_pure(self) -> bool:
        """Whether no row operand has a window (`h + r`), which packing would copy."""
        forms = (form for load in self.row_operands for form in load.index)
        return all(len(form.terms) <= 1 for form in forms)

    def _default_tile(self) -> tuple[int, int]:
        """Return (vectors, rows) that fill the register file but for operands."""
        if self.rows is None:
            return 4, 1
        vectors = 2
        rows = (self.target.vector_registers - vectors - 2) // vectors
        return vectors, max(row for row in _ROWS if row <= rows)

    def _fitting(
        self, axis: str, choices: tuple[int, ...], unit: int
    ) -> tuple[int, ...]:
        """Drop the choices beyond the first that covers the whole of *axis*."""
        extent = self.extent(axis)
        if extent is None:
            return choices
        enough = [choice for choice in choices if choice * unit >= extent]
        return tuple(c for c in choices if c * unit < extent) + tuple(enough[:1])

    def _param(
        self,
        name: str,
        choices: tuple[Choice, ...],
        default: Choice,
        scope: Literal["structure", "size"],
    ) -> Param:
        if default not in choices:
            default = max(c for c in choices if c <= default or c == choices[0])
        return Param(f"{self.prefix}.{name}", choices, default, scope)

    # --- steps --------------------------------------------------------------------

    def apply(self, schedule: Schedule, config: Config) -> Schedule:
        """Append the steps; raise `ScheduleError` where the tile exceeds registers."""
        choice = {
            param.name.removeprefix(f"{self.prefix}."): config[param.name]
            for param in self.params
        }
        vectors, rows = int(choice["vectors"]), int(choice.get("rows", 1))
        registers = rows * vectors + vectors + 1
        if registers > self.target.vector_registers:
            raise ScheduleError(
                f"{self.prefix}: a tile of {rows} rows x {vectors} vectors needs "
                f"{registers} vector registers; {self.target.name} has "
                f"{self.target.vector_registers}"
            )
        v, u = self.columns, self.rows
        schedule = schedule.split(v, vectors * self.lanes, names=(f"{v}_t", f"{v}_i"))
        tiles = [f"{v}_t"]
        inner = [f"{v}_i"]
        blocks: list[str] = []
        if u is not None:
            block = rows * int(choice["row_tiles"])
            schedule = schedule.split(u, block, names=(f"{u}_o", f"{u}_b"))
            schedule = schedule.split(f"{u}_b", rows, names=(f"{u}_t", f"{u}_i"))
            blocks.append(f"{u}_o")
            tiles.insert(1 if choice["columns_outside"] else 0, f"{u}_t")
            inner.insert(0, f"{u}_i")
        reduction = list(self.nest.reduction)
        if "reduction_block" in choice:
            k = reduction[-1]
            size = int(choice["reduction_block"])
            schedule = schedule.split(k, size, names=(f"{k}_o", f"{k}_i"))
            blocks.insert(0, f"{k}_o")
            reduction[-1] = f"{k}_i"
        order = (*self.outer, *blocks, *tiles, *reduction, *inner)
        schedule = schedule.reorder(*order).vectorize(f"{v}_i")
        if u is not None:
            schedule = schedule.unroll(f"{u}_i")
        schedule = self._accumulate(schedule, tiles[-1])
        return self._pack(self._parallelize(schedule), choice, reduction)

    def _accumulate(self, schedule: Schedule, tile: str) -> Schedule:
        """Keep the tile of the target in registers across the reduction."""
        if self.init is not None:
            schedule = schedule.compute_at(self.init, tile)
        return schedule.cache_write(self.nest.statement.tensor, tile)

    def _parallelize(self, schedule: Schedule) -> Schedule:
        if self.outer:
            return schedule.parallelize(self.outer[0])
        axis = self.columns if self.rows is None else self.rows
        return schedule.parallelize(f"{axis}_{'t' if self.rows is None else 'o'}")

    def _pack(
        self, schedule: Schedule, choice: Mapping[str, Choice], reduction: list[str]
    ) -> Schedule:
        v, u = self.columns, self.rows
        if u is None:
            return schedule
        blocked = "reduction_block" in choice
        if choice["pack_columns"]:
            level = f"{self.blocked}_o" if blocked else None
            if self.outer and not blocked:
                level = self.outer[-1]
            layout = (f"{v}_t", *reduction, f"{v}_i")
            for load in self.column_operands:
                schedule, axes = _packed(schedule, load.tensor, level, layout)
                schedule = schedule.vectorize(axes[-1])
                if not self.outer:
                    schedule = schedule.parallelize(axes[0])
        if choice["pack_rows"]:
            layout = (f"{u}_t", *reduction, f"{u}_i")
            for load in self.row_operands:
                schedule, axes = _packed(schedule, load.tensor, f"{u}_o", layout)
                schedule = schedule.unroll(axes[-1])
        return schedule


def _packed(
    schedule: Schedule, tensor: str, level: str | None, layout: tuple[str, ...]
) -> tuple[Schedule, list[str]]:
    """Return *schedule* with *tensor* packed, and the axes of the copy nest."""
    before = loops(schedule.function)
    schedule = schedule.cache_read(tensor, level, layout=layout)
    return schedule, [axis for axis in loops(schedule.function) if axis not in before]


def find_contraction(
    nest: Nest, inits: Mapping[str, str], target: Target
) -> Contraction | None:
    """Return the sketch of *nest*, or None where no axis suits vector lanes.

    Lanes need a spatial axis along which the target is contiguous. Operands that are
    not contiguous along it must be packed, which pays only where rows reuse them.
    *inits* gives the label of the statement that initialises each tensor.
    """
    statement = nest.statement
    columns = [axis for axis in nest.spatial if is_contiguous(statement, axis)]
    if not columns:
        return None
    operands = [
        load
        for load in statement_loads(statement)
        if columns[0] in subscript_names(load)
    ]
    varying = {name for load in operands for name in subscript_names(load)}
    rows = [axis for axis in nest.spatial if axis not in varying]
    if not operands or (
        not rows and not all(is_contiguous(load, columns[0]) for load in operands)
    ):
        return None
    return Contraction(
        nest,
        columns=columns[0],
        rows=rows[-1] if rows else None,
        init=inits.get(statement.tensor),
        target=target,
    )
