"""A sketch for loops in order around sweeps over space, as time steps are.

Run one after the other, sweeps read their arrays from memory each time. Here they run
together (`merge`, each some rows behind the one before), and tiles of several steps and
some rows stay in a cache. Tiles lean over (`skew`), since a point needs its neighbours
of the step before; those on a diagonal are shared out among threads.

How far sweeps stay behind and tiles lean is what the first proof admits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ..analysis.access import is_contiguous, leaves, subscript_names, value_dtypes
from ..analysis.legality import Legality
from ..analysis.validate import validate
from ..errors import ScheduleError
from ..ir.nodes import Alloc, Block, For, Reduce, Store
from ..ir.numerics import Numerics
from ..ir.walk import loops, walk
from ..target import Target
from .checks import perfect_child
from .params import Config, Param, Part
from .schedule import Schedule

_STEPS = (0, 2, 4, 8, 16, 32)
_RATIOS = (1, 2, 4, 8, 16, 32, 64, 128)
_USUAL = {1: (32, 64), 2: (8, 4), 3: (4, 2)}  # steps in a tile, and rows for each
_FARTHEST = 3


@dataclass(frozen=True)
class TimeTiles:
    """The loop *time* in tiles of several steps, or else as *plain* parts have it."""

    time: For
    start: Schedule
    legality: Legality
    target: Target
    numerics: Numerics
    plain: tuple[Part, ...]

    @cached_property
    def leaning(self) -> Schedule | None:
        """The start with one loop over rows, leaning such that tiles are legal."""
        merged = self._merged()
        if merged is None:
            return None
        for factor in range(_FARTHEST + 1):
            try:
                leaning = merged
                if factor:
                    leaning = merged.skew(self.time.axis, self._rows, factor)
                tiled = leaning.tile((self.time.axis, self._rows), (2, 4), origin=0)
            except ScheduleError:
                return None
            if self._is_proved(tiled):
                return leaning
        return None

    @property
    def _sweeps(self) -> list[For]:
        return [each for each in self.time.body.statements if isinstance(each, For)]

    @cached_property
    def _rows(self) -> str:
        """The loop over rows that all sweeps run in: that of the first one."""
        return self._row_axes(self.start)[1][0]

    @cached_property
    def _depth(self) -> int:
        return max(len(_nested(sweep)) for sweep in self._sweeps)

    def _row_axes(self, schedule: Schedule) -> tuple[Schedule, list[str]]:
        """Return *schedule* with a loop over rows around each sweep, and their axes."""
        axes = []
        for sweep in self._sweeps:
            nested = _nested(sweep)
            leaf = leaves(sweep.body)[0]
            if len(nested) < self._depth and leaf.index and leaf.index[0].is_constant:
                axes.append(f"{sweep.axis}_row")
                row = leaf.index[0].constant
                schedule = schedule.enclose(sweep.axis, axes[-1], at=row)
            else:
                axes.append(sweep.axis)
        return schedule, axes

    def _merged(self) -> Schedule | None:
        """Return the start with all sweeps in one loop, None where there is none."""
        try:
            schedule, (first, *others) = self._row_axes(self.start)
        except ScheduleError:
            return None
        behind = 0
        for axis in others:
            for rows in range(behind, behind + _FARTHEST):
                found = self._merge(schedule, first, axis, rows)
                if found is not None:
                    schedule, behind = found, rows
                    break
            else:
                return None
        return schedule

    def _merge(
        self, schedule: Schedule, first: str, axis: str, rows: int
    ) -> Schedule | None:
        try:
            shifted = schedule.shift(axis, rows) if rows else schedule
            merged = shifted.merge(first, axis)
        except ScheduleError:
            return None
        return merged if self._is_proved(merged) else None

    def _is_proved(self, schedule: Schedule) -> bool:
        certificate = validate(schedule.original, schedule.function, self.numerics)
        return certificate.verdict == "proved"

    @cached_property
    def params(self) -> tuple[Param, ...]:
        """The decisions: steps in a tile (0: none), rows, and those without tiles."""
        steps, ratio = _USUAL[self._depth]
        name = self.time.axis
        return (
            Param(f"{name}.steps", _STEPS, steps, "structure"),
            Param(f"{name}.rows_a_step", _RATIOS, ratio, "structure"),
            Param(f"{name}.lanes", (0, 1, 2, 4, 8), 4, "structure"),
            *(param for part in self.plain for param in part.params),
        )

    def apply(self, schedule: Schedule, config: Config) -> Schedule:
        """Append the steps."""
        time = self.time.axis
        steps = int(config[f"{time}.steps"])
        if not steps or self.leaning is None:
            for part in self.plain:
                schedule = part.apply(schedule, config)
            return schedule
        for step in self.leaning.steps[len(self.start.steps) :]:
            schedule = schedule.apply(step)
        ratio = int(config[f"{time}.rows_a_step"])
        rows = self._rows
        schedule = schedule.tile((time, rows), (steps, steps * ratio), origin=0)
        schedule = schedule.skew(f"{time}_o", f"{rows}_o", ratio)
        schedule = schedule.reorder(f"{rows}_o", f"{time}_o").parallelize(f"{time}_o")
        lanes = int(config[f"{time}.lanes"])
        return self._in_lanes(schedule, lanes) if lanes else schedule

    def _in_lanes(self, schedule: Schedule, vectors: int) -> Schedule:
        inner = f"{self._rows}_i"
        if self._depth == 1:
            schedule = _one_by_one(schedule, inner)
        known = loops(self.start.function)
        for axis in list(_lane_loops(loops(schedule.function)[f"{self.time.axis}_i"])):
            if axis in known and not self.legality.is_concurrent(axis):
                continue
            loop = loops(schedule.function)[axis]
            dtypes = {d for leaf in leaves(loop.body) for d in value_dtypes(leaf)}
            width = vectors * min(self.target.lanes(dtype) for dtype in dtypes)
            names = (f"{axis}_w", f"{axis}_v")
            schedule = schedule.split(axis, width, names=names).vectorize(names[1])
        return schedule


def suits_tiles(loop: For) -> bool:
    """Whether *loop* does nothing but sweeps over space, one after the other."""
    return all(
        isinstance(sweep, For) and _is_sweep(sweep, loop.axis)
        for sweep in loop.body.statements
    )


def _is_sweep(sweep: For, time: str) -> bool:
    """Whether *sweep* is a rectangle of points, each stored anew at all times."""
    nested = _nested(sweep)
    axes = {time, *(loop.axis for loop in nested)}
    points = nested[-1].body.statements
    private = {s.tensor.name for s in points if isinstance(s, Alloc)}
    stores = [s for s in points if isinstance(s, Store | Reduce)]
    shared = [s for s in stores if s.tensor not in private]
    return (
        len(private) + len(stores) == len(points)
        and len(nested) <= max(_USUAL)
        and all(
            axes.isdisjoint(form.names())
            for loop in nested
            for form in (*loop.starts, *loop.stops)
        )
        and bool(shared)
        and all(s.index and time not in subscript_names(s) for s in shared)
    )


def _nested(loop: For) -> tuple[For, ...]:
    """Return *loop* and the loops that are all of the body of the one around them."""
    child = perfect_child(loop)
    return (loop,) if child is None else (loop, *_nested(child))


def _one_by_one(schedule: Schedule, axis: str) -> Schedule:
    """Return *schedule* with a loop for each statement of *axis*, without guards."""
    while len(loops(schedule.function)[axis].body.statements) > 1:
        known = {*loops(schedule.function)}
        schedule = schedule.fission(axis, after=1)
        schedule = schedule.tighten(axis)
        (axis,) = (a for a in loops(schedule.function) if a not in known)
    return schedule.tighten(axis)


def _lane_loops(loop: For) -> Iterator[str]:
    """Yield the innermost loops whose statements run along memory."""
    for node in walk(loop):
        if not isinstance(node, For):
            continue
        body: Block = node.body
        stores = [s for s in body.statements if isinstance(s, Store | Reduce)]
        if len(stores) == len(body.statements) and all(
            is_contiguous(each, node.axis) for each in stores
        ):
            yield node.axis
