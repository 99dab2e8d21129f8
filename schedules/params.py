"""The decisions that a sketch leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from .schedule import Schedule

Choice = int | bool | str
Config = Mapping[str, Choice]


@dataclass(frozen=True, slots=True)
class Param:
    """A named decision with its choices, the default first tried.

    A *structure* param changes the code (register tiles, packing, loop order); a *size*
    param changes only numbers in it (outer tile sizes), so one compilation serves all.
    """

    name: str
    choices: tuple[Choice, ...]
    default: Choice
    scope: Literal["structure", "size"]

    def __post_init__(self) -> None:
        assert self.default in self.choices, (self.name, self.default, self.choices)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a nest stands.

    *inside* is the innermost loop around it, *shared* are loops around it, outermost
    first, whose iterations threads share out already.
    """

    inside: str | None = None
    shared: tuple[str, ...] = ()


class Part(Protocol):
    """A way to schedule one nest of a function, with its decisions."""

    @property
    def params(self) -> tuple[Param, ...]:
        """The decisions of this part."""

    def apply(self, schedule: Schedule, config: Config) -> Schedule:
        """Return *schedule* with this part's steps appended."""
