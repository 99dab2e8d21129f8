"""The loops as a sketch finds them: distributed, in blocks, joined with what follows.

Each step is taken where it applies, and is a decision of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..ir.nodes import For, Function
from . import row_blocks
from .blocking import in_blocks
from .crossings import without_crossings
from .distribution import isolated
from .epilogues import with_epilogue
from .params import Choice, Config, Param
from .schedule import Schedule

_BLOCKS = (0, 32, 64, 128, 256, 512)
_BLOCK = 64  # iterations of a loop in order that take from those before all at once
_LONG_BLOCK = 256  # where that is no more than a product with a vector


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


Step = Callable[[Start, str, Config], Start]


def start_of(function: Function, wanted: Config) -> Start:
    """Return *function* as *wanted* says, and as usual where that says nothing."""
    start = Start(Schedule(function))
    for step in (_in_row_blocks, _with_epilogue, _distributed, _in_order_blocks):
        for axis in start.outermost():
            if axis in start.outermost():  # and no earlier step has taken it
                start = step(start, axis, wanted)
    return replace(start, schedule=without_crossings(start.schedule))


def _in_row_blocks(start: Start, axis: str, wanted: Config) -> Start:
    name = f"{axis}.row_block"
    size = int(wanted.get(name, row_blocks.USUAL))
    found = row_blocks.in_row_blocks(start.schedule, axis, size or row_blocks.USUAL)
    if found is None:
        return start
    schedule, around = found
    param = Param(name, row_blocks.SIZES, size, "structure")
    return start.chosen(param, schedule, *around) if size else start.chosen(param, None)


def _with_epilogue(start: Start, axis: str, wanted: Config) -> Start:
    found = with_epilogue(start.schedule, axis, row_blocks.USUAL)
    if found is None:
        return start
    schedule, block = found
    param = _whether(f"{axis}.epilogue", wanted)
    return (
        start.chosen(param, schedule, block)
        if param.default
        else start.chosen(param, None)
    )


def _distributed(start: Start, axis: str, wanted: Config) -> Start:
    apart = isolated(start.schedule, axis)
    if apart is start.schedule:
        return start
    param = _whether(f"{axis}.distributed", wanted)
    return start.chosen(param, apart if param.default else None)


def _in_order_blocks(start: Start, axis: str, wanted: Config) -> Start:
    found, size = _in_usual_blocks(start.schedule, axis)
    if found is None:
        return start
    name = f"{axis}.order_block"
    chosen = int(wanted.get(name, size))
    if chosen != size:
        found = in_blocks(start.schedule, axis, chosen) if chosen else None
    return start.chosen(Param(name, _BLOCKS, chosen, "structure"), found)


def _in_usual_blocks(schedule: Schedule, axis: str) -> tuple[Schedule | None, int]:
    """Return *schedule* with *axis* in blocks, if that is of use, and their size."""
    for size, rows in ((_BLOCK, False), (_LONG_BLOCK, True)):
        found = in_blocks(schedule, axis, size, rows=rows)
        if found is not None:
            return found, size
    return None, 0


def _whether(name: str, wanted: Config) -> Param:
    chosen: Choice = bool(wanted.get(name, True))
    return Param(name, (True, False), chosen, "structure")
