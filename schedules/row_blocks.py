"""Blocks of rows that go through a kernel one nest after another.

Where each iteration makes a row and then uses it, as attention does with the scores of
a query, accumulations stand in no perfect nest and no rows share what they read.
Distributed over all iterations, the rows would fill a matrix that no cache holds. So
the loop is cut into blocks, and distributed inside of each: its rows stay near.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..analysis.access import perfect_nest
from ..analysis.legality import Legality
from ..analysis.validate import validate
from ..errors import ScheduleError
from ..ir.nodes import Alloc, For
from ..ir.walk import loops
from .distribution import isolated
from .params import Choice, Config, Param
from .schedule import Schedule

SIZES: tuple[Choice, ...] = (0, 12, 24, 48, 96)
USUAL = 48


def in_row_blocks(
    schedule: Schedule, outermost: str, size: int
) -> tuple[Schedule, tuple[str, ...]] | None:
    """Return *schedule* with rows in blocks, and the loops around the nests of a block.

    None where *outermost* has no loop of rows, or the rows nothing to share.
    """
    chain = _chain(loops(schedule.function)[outermost])
    rows = chain[-1]
    made = [each.tensor for each in rows.body.statements if isinstance(each, Alloc)]
    if perfect_nest(rows) or not any(tensor.shape for tensor in made):
        return None
    legality = Legality(schedule.function)
    if not all(legality.is_concurrent(loop.axis) for loop in chain):
        return None
    block, within = f"{rows.axis}_o", f"{rows.axis}_i"
    try:
        tiled = schedule.split(rows.axis, size, names=(block, within))
        for tensor in made:
            tiled = tiled.expand(tensor.name, within, memory="array")
        apart = isolated(tiled, within)
    except ScheduleError:
        return None
    if apart is tiled:
        return None
    if validate(schedule.original, apart.function).verdict != "proved":
        return None
    return apart, (*(loop.axis for loop in chain[:-1]), block)


def _chain(loop: For) -> list[For]:
    """Return *loop* and the loops in it as long as each holds nothing but the next."""
    chain = [loop]
    while True:
        match chain[-1].body.statements:
            case (For() as only,):
                chain.append(only)
            case _:
                return chain


@dataclass(frozen=True)
class SharedBlocks:
    """The loops around the nests of a block of rows, for threads to share."""

    axes: tuple[str, ...]

    @property
    def params(self) -> tuple[Param, ...]:
        """The decision: threads or not."""
        name = f"{self.axes[0]}.parallel"
        return (Param(name, (True, False), True, "structure"),)

    def apply(self, schedule: Schedule, config: Config) -> Schedule:
        """Append the steps."""
        (param,) = self.params
        if not config[param.name]:
            return schedule
        shared = self.axes[-2:]
        if len(shared) > 1:
            schedule = schedule.fuse(*shared)
        return schedule.parallelize(shared[0])
