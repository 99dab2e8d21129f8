"""The loops as a sketch finds them: distributed, in blocks, joined with what follows.

Each step is taken where it applies, and is a decision of its own. A search tries many
of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar

from ..ir.nodes import For, Function
from ..ir.walk import loops
from . import row_blocks
from .blocking import in_blocks
from .crossings import without_crossings
from .distribution import isolated
from .epilogues import with_epilogue
from .params import Choice, Config, Param
from .schedule import Schedule

_BLOCKS = (0, 32, 64, 128, 256, 512)
_ROWS = MappingProxyType({64: False, 256: True})
"""The usual numbers of iterations that take from those before all at once.

And whether sums along rows are enough: where that is no more than a product with a
vector, longer blocks are the usual ones.
"""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Start:
    """A schedule, the decisions that made it, and the loops around blocks of rows.

    *blocks* has these by the outermost of them: they hold several nests, which run one
    after another in each iteration, and the iterations are independent.
    """

    schedule: Schedule
    choices: tuple[Param, ...] = ()
    blocks: tuple[tuple[str, ...], ...] = ()

    def around(self, axis: str) -> tuple[str, ...]:
        """Return the loops around the block of rows that *axis* begins, if it does."""
        return next((axes for axes in self.blocks if axes[0] == axis), ())

    def outermost(self) -> list[str]:
        """Return the outermost loops that are not around a block of rows."""
        statements = self.schedule.function.body.statements
        axes = [each.axis for each in statements if isinstance(each, For)]
        return [axis for axis in axes if not self.around(axis)]

    def chosen(self, param: Param, schedule: Schedule | None, *around: str) -> Start:
        """Return what *param* makes of it: *schedule*, which None leaves as it is."""
        choices = (*self.choices, param)
        if schedule is None:
            return replace(self, choices=choices)
        blocks = (*self.blocks, around) if around else self.blocks
        return Start(schedule, choices, blocks)


class Starts:
    """The starts of one function: what one found out is not asked again for others."""

    def __init__(self, function: Function) -> None:
        """Begin with *function* as it was written."""
        self._plain = Start(Schedule(function))
        self._known: dict[tuple[object, ...], Any] = {}
        self._sizes: dict[int, tuple[For, int]] = {}  # by id, with the loop that has it

    def find(self, wanted: Config) -> Start:
        """Return the function as *wanted* says, and as usual where that is silent."""
        start = self._plain
        steps = (
            self._in_row_blocks,
            self._with_epilogue,
            self._distributed,
            self._in_order_blocks,
        )
        for step in steps:
            for axis in start.outermost():
                if axis in start.outermost():  # and no earlier step has taken it
                    start = step(start, axis, wanted)
        return replace(start, schedule=without_crossings(start.schedule))

    def _in_row_blocks(self, start: Start, axis: str, wanted: Config) -> Start:
        name = f"{axis}.row_block"
        size = int(wanted.get(name, row_blocks.USUAL))
        rows = size or row_blocks.USUAL
        found = self._once(row_blocks.in_row_blocks, start.schedule, axis, rows)
        if found is None:
            return start
        schedule, around = found
        param = Param(name, row_blocks.SIZES, size, "structure")
        if not size:
            return start.chosen(param, None)
        return start.chosen(param, schedule, *around)

    def _with_epilogue(self, start: Start, axis: str, wanted: Config) -> Start:
        found = self._once(with_epilogue, start.schedule, axis, row_blocks.USUAL)
        if found is None:
            return start
        schedule, block = found
        param = _whether(f"{axis}.epilogue", wanted)
        if not param.default:
            return start.chosen(param, None)
        return start.chosen(param, schedule, block)

    def _distributed(self, start: Start, axis: str, wanted: Config) -> Start:
        apart = self._once(isolated, start.schedule, axis)
        if apart.steps == start.schedule.steps:
            return start
        param = _whether(f"{axis}.distributed", wanted)
        return start.chosen(param, apart if param.default else None)

    def _in_order_blocks(self, start: Start, axis: str, wanted: Config) -> Start:
        usual = self._usual_size(start.schedule, axis)
        if not usual:
            return start
        name = f"{axis}.order_block"
        size = int(wanted.get(name, usual))
        rows = _ROWS[usual] if size == usual else None
        found = size and self._once(_in_blocks, start.schedule, axis, size, rows)
        return start.chosen(Param(name, _BLOCKS, size, "structure"), found or None)

    def _usual_size(self, schedule: Schedule, axis: str) -> int:
        """Return the size of blocks of *axis* to begin with, 0 if they are no use."""
        loop = loops(schedule.function)[axis]
        if id(loop) not in self._sizes:
            sizes = (
                size
                for size, rows in _ROWS.items()
                if self._once(_in_blocks, schedule, axis, size, rows) is not None
            )
            self._sizes[id(loop)] = loop, next(sizes, 0)
        return self._sizes[id(loop)][1]

    def _once(self, find: Callable[..., _T], schedule: Schedule, *given: object) -> _T:
        """Return what *find* makes of *schedule*, which it may have been asked for."""
        key = find, schedule.steps, *given
        if key not in self._known:
            self._known[key] = find(schedule, *given)
        found: _T = self._known[key]
        return found


def _in_blocks(
    schedule: Schedule, axis: str, size: int, rows: bool | None
) -> Schedule | None:
    return in_blocks(schedule, axis, size, rows=rows)


def _whether(name: str, wanted: Config) -> Param:
    chosen: Choice = bool(wanted.get(name, True))
    return Param(name, (True, False), chosen, "structure")
