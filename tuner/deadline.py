"""How long a search may take, and that it may be told to end earlier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .process import Interrupted

GRACE = 0.05
"""The part of the budget by which the candidate in flight may overrun it."""


class OutOfTime(Exception):
    """The budget is spent."""


@dataclass(slots=True)
class Deadline:
    """A *budget* of wall-clock seconds that runs from now on."""

    budget: float
    clock: Callable[[], float]
    should_stop: Callable[[], bool]
    _start: float = field(init=False)

    def __post_init__(self) -> None:
        """Start the clock."""
        self._start = self.clock()

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return self.clock() - self._start

    def remaining(self) -> float:
        """Return the seconds that are left; raise as `check` does."""
        self.check()
        return self.budget - self.elapsed()

    def in_flight(self) -> float:
        """Return the seconds that the candidate in flight may still take."""
        return max(1.0, (1.0 + GRACE) * self.budget - self.elapsed())

    def check(self) -> None:
        """Raise Interrupted when told to stop, and OutOfTime when the time is up."""
        if self.should_stop():
            raise Interrupted
        if self.elapsed() >= self.budget:
            raise OutOfTime
