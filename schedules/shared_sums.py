"""A sketch for loops whose iterations share nothing but a sum that they add to.

As in `y += A[i, :] * t[i]` with `t[i]` from the same row: the matrix is read once if
the rows are shared out, each thread adding up a sum of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..ir.walk import loops
from .nests import LoopNest
from .params import Config, Param
from .schedule import Schedule

_CHUNKS = (16, 32, 64, 128, 256)
_WIDTH = 32  # elements that are summed up together at the end


@dataclass(frozen=True)
class SharedSum(LoopNest):
    """A loop that adds to the tensor *shared*, and else has iterations of its own."""

    shared: str

    @cached_property
    def params(self) -> tuple[Param, ...]:
        """The decisions: those inside an iteration, threads, and how many rows each."""
        inside = (p for p in super().params if not p.name.endswith(".parallel"))
        return (
            Param(f"{self.prefix}.parallel", (True, False), True, "structure"),
            Param(f"{self.prefix}.chunk", _CHUNKS, 64, "structure"),
            *inside,
        )

    @cached_property
    def thread_axis(self) -> str | None:
        """None: the threads need sums of their own first."""
        return None

    @property
    def _has_free_rows(self) -> bool:
        """Iterations only add to the sum that they share."""
        return True

    def apply(self, schedule: Schedule, config: Config) -> Schedule:
        """Append the steps."""
        if config[f"{self.prefix}.parallel"]:
            schedule = self._shared_out(schedule, config)
        return super().apply(schedule, config)

    def _shared_out(self, schedule: Schedule, config: Config) -> Schedule:
        outer = f"{self.prefix}_o"
        schedule = schedule.split(self.prefix, int(config[f"{self.prefix}.chunk"]))
        before = loops(schedule.function)
        schedule = schedule.rfactor(outer, memory="array").parallelize(outer)
        new = [axis for axis in loops(schedule.function) if axis not in before]
        half = len(new) // 2
        for number, axes in enumerate((new[:half], new[half:])):
            schedule = self._swept(schedule, axes, is_start=not number)
        return schedule

    def _swept(
        self, schedule: Schedule, axes: list[str], *, is_start: bool
    ) -> Schedule:
        """Run the nest of *axes*, elements outside and chunks inside, in lanes."""
        *elements, chunk = axes
        if not elements:
            return schedule
        last = elements[-1]
        blocks, lanes = f"{last}_o", f"{last}_v"
        schedule = schedule.split(last, _WIDTH, names=(blocks, lanes))
        order = [*elements[:-1], blocks, chunk, lanes]
        if is_start:
            order = [chunk, *elements[:-1], blocks, lanes]
        return schedule.reorder(*order).vectorize(lanes).parallelize(order[0])
