"""A sketch for every other nest: vector lanes inside, threads outside.

Elementwise maps, stencils, row-wise reductions and normalisations. Each innermost loop
whose statements are contiguous along its axis is cut into vectors; sums along the axis
are split into lanes first (`rfactor`). The outermost loop is spread over threads.
Whether a step is legal is for the proof to say: a default that the proof refuses is
tried again with the offending decision taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..analysis.access import (
    Nest,
    innermost_loops,
    is_contiguous,
    leaves,
    perfect_nest,
    statement_loads,
    subscript_names,
    value_dtypes,
)
from ..ir.nodes import Alloc, Block, Const, For, Reduce, Store
from ..ir.walk import walk
from ..target import Target
from .params import Config, Param
from .schedule import Schedule

_VECTORS = (1, 2, 4, 8)


@dataclass(frozen=True)
class LoopNest:
    """A top-level loop that is not a register-tiled contraction."""

    loop: For
    target: Target
    reassociate: bool

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
            return (best,) if self._vector_merit(best) > 0 else ()
        chosen: list[str] = []
        for chain in innermost_loops(Block((self.loop,))):
            if not any(loop.axis in chosen for loop in chain):
                suited = max(chain, key=self._lane_merit)
                chosen += [suited.axis] if self._lane_merit(suited) > 0 else []
        return tuple(chosen)

    def _vector_merit(self, axis: str) -> int:
        """Return the merit of *axis* in a perfect nest, whose loops can be swapped."""
        assert self.nest is not None
        statement = self.nest.statement
        reducing = axis not in subscript_names(statement)
        if reducing and (not isinstance(statement, Reduce) or not self.reassociate):
            return -1
        return _merit([statement], axis)

    def _lane_merit(self, loop: For) -> int:
        """Return the merit of *loop* in place, -1 where its iterations are no lanes.

        Lanes store to neighbours, to storage of their own, or sum into one element.
        """
        inner = [node for node in walk(loop.body) if isinstance(node, For)]
        bounds = {
            n for f in inner for form in (*f.starts, *f.stops) for n in form.names()
        }
        if loop.step != 1 or loop.axis in bounds:
            return -1
        private = _private(loop)
        for leaf in leaves(loop.body):
            shared = leaf.tensor not in private
            if loop.axis in subscript_names(leaf):
                if not is_contiguous(leaf, loop.axis):
                    return -1
            elif shared and (inner or not self._sums(leaf)):
                return -1
        return _merit(leaves(loop.body), loop.axis)

    def _sums(self, leaf: Store | Reduce) -> bool:
        return isinstance(leaf, Reduce) and self.reassociate

    @cached_property
    def params(self) -> tuple[Param, ...]:
        """The decisions: vector length in hardware vectors, threads or not."""
        threads = not self._is_cheap
        params = [Param(f"{self.prefix}.parallel", (True, False), threads, "structure")]
        if self.vector_axes:
            params.append(
                Param(f"{self.prefix}.vectors", (0, *_VECTORS), 4, "structure")
            )
        return tuple(params)

    @property
    def _is_cheap(self) -> bool:
        """Whether the loop only fills a row: waking the threads would cost more."""
        return (
            self.nest is not None
            and len(self.nest.loops) == 1
            and isinstance(self.nest.statement.value, Const)
        )

    def apply(self, schedule: Schedule, config: Config) -> Schedule:
        """Append the steps."""
        outermost = self.loop.axis
        vectors = int(config.get(f"{self.prefix}.vectors", 0))
        if vectors:
            for axis in self.vector_axes:
                schedule = self._vectorize(schedule, axis, vectors)
        if config[f"{self.prefix}.parallel"]:
            outermost = self._outermost(outermost, bool(vectors))
            schedule = schedule.parallelize(outermost)
        return schedule

    def _outermost(self, axis: str, vectorized: bool) -> str:
        """Return the name of the outermost loop after the vector steps."""
        if not vectorized or self.vector_axes[:1] != (axis,):
            return axis
        if self.nest is not None and len(self.nest.axes) > 1:
            return next(a for a in self.nest.axes if a != axis)
        return f"{axis}_o"

    def _vectorize(self, schedule: Schedule, axis: str, vectors: int) -> Schedule:
        loop_leaves = leaves(_loop_named(self.loop, axis).body)
        if self.nest is not None:
            loop_leaves = [self.nest.statement]
        dtypes = {dtype for leaf in loop_leaves for dtype in value_dtypes(leaf)}
        lanes = min(self.target.lanes(dtype) for dtype in dtypes)
        outer, inner = f"{axis}_o", f"{axis}_v"
        schedule = schedule.split(axis, lanes * vectors, names=(outer, inner))
        if self.nest is not None and len(self.nest.axes) > 1:
            others = [a for a in self.nest.axes if a != axis]
            schedule = schedule.reorder(*others, outer, inner)
        private = _private(_loop_named(self.loop, axis))
        if any(
            axis not in subscript_names(leaf) and leaf.tensor not in private
            for leaf in loop_leaves
        ):
            schedule = schedule.rfactor(inner)
        return schedule.vectorize(inner)


def _merit(statements: Sequence[Store | Reduce], axis: str) -> int:
    """Count the accesses that are contiguous along *axis*, strided ones against it."""
    merit = 0
    for statement in statements:
        for access in (statement, *statement_loads(statement)):
            if is_contiguous(access, axis):
                merit += 1
            elif axis in subscript_names(access):
                merit -= 2
    return merit


def _private(loop: For) -> set[str]:
    """Return the local tensors of which each iteration of *loop* has its own."""
    return {n.tensor.name for n in walk(loop.body) if isinstance(n, Alloc)}


def _loop_named(loop: For, axis: str) -> For:
    for chain in innermost_loops(Block((loop,))):
        for candidate in chain:
            if candidate.axis == axis:
                return candidate
    raise AssertionError(axis)
