"""A sketch for every other nest: vector lanes inside, threads outside.

Elementwise maps, stencils, row-wise reductions and normalisations. Each innermost loop
whose statements are contiguous along its axis is cut into vectors; sums along the axis
are split into lanes first (`rfactor`). The outermost loop is spread over threads.
Whether a step is legal is for the proof to say: a default that the proof refuses is
tried again with the offending decision taken back.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from ..analysis.access import (
    Nest,
    innermost_loops,
    is_contiguous,
    leaves,
    perfect_nest,
    subscript_names,
    value_dtypes,
)
from ..analysis.legality import Legality
from ..errors import ScheduleError
from ..ir.extents import exact_iterations
from ..ir.nodes import (
    Alloc,
    Block,
    Const,
    For,
    Load,
    Memory,
    Reduce,
    Store,
)
from ..ir.walk import loads, loops, walk, walk_nest
from ..target import Target
from .lanes import (
    Access,
    accesses,
    has_like_iterations,
    merit,
    private_tensors,
    running_values,
    runs_across,
)
from .params import Config, Param, Place
from .row_groups import GROUPS, grouped_lanes, in_groups, rows_around, run_together
from .row_groups import shares as share_elements
from .schedule import Schedule

_VECTORS = (1, 2, 4, 8)
_BLOCK = 64  # iterations of the other axis in which lines of memory are used up
_BLOCKS = (8, 16, 32, 64)
_GROUP = 4  # rows that share what they read
_COLUMNS = 4  # iterations whose lanes are stored together, column by column


@dataclass(frozen=True)
class LoopNest:
    """A loop that is not a register-tiled contraction."""

    loop: For
    target: Target
    reassociate: bool
    legality: Legality
    place: Place

    @cached_property
    def prefix(self) -> str:
        """The axis of the outermost loop, which params are named after."""
        return self.loop.axis

    @cached_property
    def nest(self) -> Nest | None:
        """The loops as a perfect nest, where they are one."""
        return perfect_nest(self.loop)

    @cached_property
    def vector_axes(self) -> tuple[str, ...]:
        """The axes worth cutting into vectors, one an innermost loop."""
        if self.nest is not None and self.nest.is_rectangular:
            best = max(self.nest.axes, key=self._vector_merit)
            suits = self._vector_merit(best) > 0 and self._may_be_lanes(best)
            return (best,) if suits else ()
        chosen: list[str] = []
        for chain in innermost_loops(Block((self.loop,))):
            if not any(loop.axis in chosen for loop in chain):
                suited = max(chain, key=self._lane_merit)
                suits = self._lane_merit(suited) > 0 and self._may_be_lanes(suited.axis)
                chosen += [suited.axis] if suits else []
        if not chosen and self.nest is None and runs_across(self.loop, self.legality):
            return (self.loop.axis,)
        return tuple(chosen)

    def _may_be_lanes(self, axis: str) -> bool:
        """Whether iterations of *axis* are independent, or sum into one element."""
        loop = _loop_named(self.loop, axis)
        private = private_tensors(loop)
        points = leaves(loop.body)
        sums = {
            leaf.tensor
            for leaf in points
            if axis not in subscript_names(leaf) and leaf.tensor not in private
        }
        if sums and not sums & running_values(points, axis):
            return True  # partial results make them so
        return self.legality.is_concurrent(axis)

    def _vector_merit(self, axis: str) -> int:
        """Return the merit of *axis* in a perfect nest, whose loops can be swapped."""
        assert self.nest is not None
        statement = self.nest.statement
        reducing = axis not in subscript_names(statement)
        if reducing and (not isinstance(statement, Reduce) or not self.reassociate):
            return -1
        return merit([statement], axis)

    def _crossed(self, axis: str) -> list[tuple[Access, str]]:
        """Return what lanes along *axis* access with a stride, and its own axis.

        A block of iterations along both uses up each line of memory that it touches.
        """
        if self.nest is None or axis not in self.nest.spatial:
            return []
        return [
            (access, other)
            for access in accesses(self.nest.statement)
            for other in self.nest.spatial
            if other != axis
            and axis in subscript_names(access)
            and is_contiguous(access, other)
        ]

    @cached_property
    def block_axes(self) -> tuple[str, str] | None:
        """The axis of the store and that of a load, where lanes along neither pay."""
        if self.nest is None or not self.nest.is_rectangular or self.vector_axes:
            return None
        statement = self.nest.statement
        for axis in self.nest.spatial:
            if is_contiguous(statement, axis):
                return next(((axis, c) for _, c in self._crossed(axis)), None)
        return None

    def _lane_merit(self, loop: For) -> int:
        """Return the merit of *loop* in place, -1 where its iterations are no lanes.

        Lanes store to neighbours, to storage of their own, or sum into one element.
        """
        if not has_like_iterations(loop):
            return -1
        inner = any(isinstance(node, For) for node in walk(loop.body))
        private = private_tensors(loop)
        for leaf in leaves(loop.body):
            shared = leaf.tensor not in private
            if loop.axis in subscript_names(leaf):
                if not is_contiguous(leaf, loop.axis):
                    return -1
            elif shared and (inner or not self._sums(leaf)):
                return -1
        return merit(leaves(loop.body), loop.axis)

    def _sums(self, leaf: Store | Reduce) -> bool:
        return isinstance(leaf, Reduce) and self.reassociate

    @cached_property
    def params(self) -> tuple[Param, ...]:
        """The decisions: vector length in hardware vectors, threads or not."""
        whether = (True, False) if self.thread_axis else (False,)
        threads = whether[0] and not self._is_cheap
        params = [Param(f"{self.prefix}.parallel", whether, threads, "structure")]
        if self.vector_axes:
            usual = 1 if self._has_strides else 4
            params.append(
                Param(f"{self.prefix}.vectors", (0, *_VECTORS), usual, "structure")
            )
        if self.row_axis:
            params.append(Param(f"{self.prefix}.rows", GROUPS, _GROUP, "structure"))
        if self.block_axes:
            params.append(Param(f"{self.prefix}.block", (0, *_BLOCKS), 16, "structure"))
        return tuple(params)

    @property
    def _has_strides(self) -> bool:
        """Whether neighbouring lanes are far apart in memory."""
        (axis, *_) = self.vector_axes
        if self.nest is None:
            return axis == self.loop.axis and self._lane_merit(self.loop) <= 0
        return bool(self._crossed(axis))

    @cached_property
    def row_axis(self) -> str | None:
        """The axis of which some iterations can share what each of them reads."""
        if self.nest is None:
            found = grouped_lanes(self.loop, self.vector_axes)
            return self.loop.axis if found and self._has_free_rows else None
        if not self.vector_axes or not self.nest.is_rectangular:
            return None
        lanes = self.vector_axes[0]
        if lanes in self.nest.spatial:
            return None
        rows = [axis for axis in self.nest.axes if axis != lanes][-1:]
        known = rows and rows[0] in self.nest.spatial
        if known and share_elements([self.nest.statement], rows[0], lanes):
            return rows[0]
        return None

    @property
    def _has_free_rows(self) -> bool:
        """Whether the iterations of the loop do not depend on one another."""
        return self.legality.is_concurrent(self.loop.axis)

    @property
    def _is_cheap(self) -> bool:
        """Whether waking the threads would cost more than they save.

        That is so where the loop only fills a row, or runs along one again and again.
        """
        if self.nest is None:
            return False
        filled = isinstance(self.nest.statement.value, Const)
        if len(self.nest.loops) == 1:
            return self.place.inside is not None or filled
        return self.thread_axis == self.nest.axes[-1] != self._usual_thread_axis

    @cached_property
    def _usual_thread_axis(self) -> str:
        """The axis of the outermost loop after the other steps."""
        usual = self._outermost(bool(self.vector_axes), bool(self.block_axes))[0]
        axes = self.nest.axes if self.nest else (self.loop.axis,)
        return next((a for a in axes if usual in (f"{a}_o", f"{a}_b")), usual)

    @cached_property
    def thread_axis(self) -> str | None:
        """The axis to share out among threads before other steps, if there is one."""
        if exact_iterations(self.loop) == 1 or self.place.shared:
            return None
        axes = self.nest.axes if self.nest else (self.loop.axis,)
        for axis in (self._usual_thread_axis, *axes):
            if self.legality.is_concurrent(axis):
                return axis
        return None

    def apply(self, schedule: Schedule, config: Config) -> Schedule:
        """Append the steps."""
        vectors = int(config.get(f"{self.prefix}.vectors", 0))
        rows = int(config.get(f"{self.prefix}.rows", 1)) if vectors else 1
        if vectors:
            schedule = self._in_lanes(schedule, vectors, rows)
        block = int(config.get(f"{self.prefix}.block", 0))
        if block:
            schedule = self._in_squares(schedule, block)
        if config[f"{self.prefix}.parallel"] and self.thread_axis:
            shared, *fused = self._outermost(bool(vectors), bool(block))
            if rows > 1 and shared == self.row_axis:
                shared = f"{shared}_b"
            if not shared.startswith(self.thread_axis):
                if self.nest and self.thread_axis == self.nest.axes[-1]:
                    return schedule  # too little work to wake threads for
                shared, fused = self._inner(schedule, self.thread_axis), []
            for loop in fused:
                schedule = schedule.fuse(shared, loop)
            schedule = schedule.parallelize(shared)
        return schedule

    @staticmethod
    def _inner(schedule: Schedule, axis: str) -> str:
        """Return the outermost loop that is left of *axis*."""
        known = loops(schedule.function)
        return next(a for a in (axis, f"{axis}_b", f"{axis}_o") if a in known)

    def _outermost(self, vectorized: bool, blocked: bool) -> list[str]:
        """Return the outermost loops after the other steps, for threads to share."""
        if blocked and self.nest is not None and self.block_axes is not None:
            others = [axis for axis in self.nest.axes if axis not in self.block_axes]
            return others[:1] or [f"{axis}_o" for axis in self.block_axes]
        if not vectorized or not self.vector_axes:
            return [self.loop.axis]
        axis = self.vector_axes[0]
        if self._crossed(axis):
            others, blocks = self._around_blocks(axis)
            return others[:1] or blocks
        if axis != self.loop.axis:
            return [self.loop.axis]
        if self.nest is not None and len(self.nest.axes) > 1:
            return [next(a for a in self.nest.axes if a != axis)]
        return [f"{axis}_o"]

    def _around_blocks(self, axis: str) -> tuple[list[str], list[str]]:
        """Return the loops around blocks with lanes along *axis*, and over them."""
        assert self.nest is not None
        crossing = self._crossed(axis)[0][1]
        others = [each for each in self.nest.axes if each not in (axis, crossing)]
        return others, [f"{crossing}_b", f"{axis}_o"]

    def _in_lanes(self, schedule: Schedule, vectors: int, rows: int) -> Schedule:
        """Run all vector axes in lanes, *rows* iterations around them at once."""
        together: tuple[str, ...] = ()
        if rows > 1 and self.nest is not None:
            together = self.vector_axes
        elif rows > 1:
            together = grouped_lanes(self.loop, self.vector_axes)
            schedule = in_groups(schedule, self._rows_now(schedule), rows, together)
        for axis in self.vector_axes:
            if axis in together:
                schedule = self._together(schedule, axis, vectors, rows)
            else:
                schedule = self._vectorize(schedule, axis, vectors)
        return schedule

    def _rows_now(self, schedule: Schedule) -> str:
        """Return the loop over rows as earlier steps have left it."""
        known = loops(schedule.function)
        return next(a for a in (self.prefix, f"{self.prefix}_i") if a in known)

    def _together(
        self, schedule: Schedule, axis: str, vectors: int, rows: int
    ) -> Schedule:
        outer, inner = f"{axis}_o", f"{axis}_v"
        registers = max(1, vectors * _GROUP // (2 * rows))
        width = self._lanes(axis) * registers
        schedule = schedule.split(axis, width, names=(outer, inner))
        if self.nest is None:
            return run_together(schedule, outer, inner, rows_around(schedule, outer))
        *others, row = (a for a in self.nest.axes if a != axis)
        groups, within = f"{row}_b", f"{row}_u"
        schedule = schedule.split(row, rows, names=(groups, within))
        schedule = schedule.reorder(*others, groups, within, outer, inner)
        return run_together(schedule, outer, inner, within)

    def _lanes(self, axis: str) -> int:
        """Return the lanes of one hardware vector in the loop *axis*."""
        dtypes = {d for leaf in self._leaves(axis) for d in value_dtypes(leaf)}
        return min(self.target.lanes(dtype) for dtype in dtypes)

    def _leaves(self, axis: str) -> list[Store | Reduce]:
        if self.nest is not None:
            return [self.nest.statement]
        return list(leaves(_loop_named(self.loop, axis).body))

    def _vectorize(self, schedule: Schedule, axis: str, vectors: int) -> Schedule:
        loop_leaves = self._leaves(axis)
        outer, inner = f"{axis}_o", f"{axis}_v"
        width = self._lanes(axis) * vectors
        schedule = schedule.split(axis, width, names=(outer, inner))
        if self._crossed(axis):
            return self._in_blocks(schedule, axis).vectorize(inner)
        if self.nest is not None and len(self.nest.axes) > 1:
            others = [a for a in self.nest.axes if a != axis]
            schedule = schedule.reorder(*others, outer, inner)
        private = private_tensors(_loop_named(self.loop, axis))
        sums = [
            leaf.tensor
            for leaf in loop_leaves
            if axis not in subscript_names(leaf) and leaf.tensor not in private
        ]
        for tensor in dict.fromkeys(sums):
            named = tensor if len(sums) > 1 else None
            schedule = schedule.rfactor(inner, tensor=named)
        for node in walk(loops(schedule.function)[inner].body):
            if isinstance(node, Alloc) and node.memory is Memory.ARRAY:
                rank = len(node.tensor.shape)
                schedule = schedule.expand(node.tensor.name, inner, at=rank)
        schedule = schedule.vectorize(inner)
        for tensor in self._summed_inside(axis):
            with suppress(ScheduleError):  # or it stays where it is
                schedule = schedule.cache_write(tensor, outer)
        return schedule

    def _summed_inside(self, axis: str) -> tuple[str, ...]:
        """Return what loops inside *axis* add to, the same elements in each iteration.

        In registers these need no load and store each time. What is read as well stays.
        """
        loop = _loop_named(self.loop, axis)
        read = {load.tensor for leaf in leaves(loop.body) for load in loads(leaf)}
        others = private_tensors(loop) | read
        found: list[str] = []
        for leaf, path in walk_nest(loop.body):
            inside = {node.axis for node in path if isinstance(node, For)}
            if not inside or not isinstance(leaf, Reduce) or leaf.tensor in others:
                continue
            own = subscript_names(leaf)
            found += [leaf.tensor] if axis in own and not inside & own else []
        return tuple(dict.fromkeys(found))

    def _in_blocks(self, schedule: Schedule, axis: str) -> Schedule:
        """Make blocks of lanes along *axis* and iterations of the crossing axis.

        Where the lanes are stored with a stride, some iterations are stored at once.
        """
        (access, crossing), *_ = self._crossed(axis)
        others, (blocks, lanes) = self._around_blocks(axis)
        inner, columns = f"{crossing}_i", f"{crossing}_u"
        schedule = schedule.split(crossing, _BLOCK, names=(blocks, inner))
        schedule = schedule.reorder(*others, blocks, lanes, inner, f"{axis}_v")
        if isinstance(access, Load):
            return schedule
        schedule = schedule.split(inner, _COLUMNS, names=(inner, columns))
        return schedule.unroll(columns)

    def _in_squares(self, schedule: Schedule, block: int) -> Schedule:
        """Run squares of *block* along both axes: their lines of memory stay near."""
        assert self.nest is not None
        assert self.block_axes is not None
        axes = self.block_axes
        others = [axis for axis in self.nest.axes if axis not in axes]
        for axis in axes:
            schedule = schedule.split(axis, block)
        # Squares follow one another along the load; in each, the store is innermost.
        squares, inside = [f"{a}_o" for a in axes], [f"{a}_i" for a in axes[::-1]]
        return schedule.reorder(*others, *squares, *inside)


def _loop_named(loop: For, axis: str) -> For:
    for chain in innermost_loops(Block((loop,))):
        for candidate in chain:
            if candidate.axis == axis:
                return candidate
    raise AssertionError(axis)
