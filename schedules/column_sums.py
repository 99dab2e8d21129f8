"""A sketch for sums over the rows of a matrix, column by column.

`y[j] += A[i, j] * x[i]` has no rows that share what they read: it reads A once, and is
as fast as that is. A tile of columns that stayed in registers for all of i would take a
short piece of each row, each of them in another page of memory. Here a group of rows is
read at a time, along all columns of a chunk, and added up in registers before it is
added to y, which stays in a cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from .contraction import Contraction, covering, split_twice
from .params import Choice, Config, Param
from .roles import Roles
from .schedule import Schedule

_VECTORS = (1, 2, 4)
_GROUPS = (4, 8, 16, 32)
_TILES = (4, 8, 16, 32, 64, 128)
_SHORT = 32  # iterations that may all run for one tile of columns


def sums_long_columns(roles: Roles) -> bool:
    """Whether the nest adds up rows, and too many of them for a tile of columns."""
    extent = roles.extent(roles.reduction[-1])
    return roles.rows is None and (extent is None or extent > _SHORT)


@dataclass(frozen=True)
class ColumnSums(Contraction):
    """The schedule of one nest that adds up rows."""

    @cached_property
    def params(self) -> tuple[Param, ...]:
        """The decisions: vectors in a tile, rows in a group, tiles in a chunk."""
        extent = self.roles.extent(self.roles.columns)
        vectors = covering(_VECTORS, extent, self.lanes)
        groups = covering(_GROUPS, self.roles.extent(self.roles.reduction[-1]), 1)
        return (
            self._param("vectors", vectors, 4, "structure"),
            self._param("group", groups, 8, "structure"),
            self._param("column_tiles", _TILES, 32, "size"),
        )

    def apply(self, schedule: Schedule, config: Config) -> Schedule:
        """Append the steps."""
        choice = self._choice(config)
        *others, summed = self.roles.reduction
        columns, group = self.roles.columns, f"{summed}_u"
        width = self.lanes * int(choice["vectors"])
        names = (f"{summed}_b", group)
        schedule = schedule.split(summed, int(choice["group"]), names=names)
        block = width * int(choice["column_tiles"])
        schedule = split_twice(schedule, columns, block, width)
        outside = (*self.roles.outer, f"{columns}_o", *others, f"{summed}_b")
        schedule = schedule.reorder(*outside, f"{columns}_t", group, f"{columns}_i")
        schedule = schedule.vectorize(f"{columns}_i").unroll(group)
        schedule = self._accumulate(schedule, choice)
        return self._parallelize(schedule, choice)

    def _shared(self, choice: Mapping[str, Choice]) -> str:
        return (*self.roles.outer, f"{self.roles.columns}_o")[0]
