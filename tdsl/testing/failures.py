"""What a failed check says: what is wrong, for what, and how to see it again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ..errors import CheckError
from ..ir.nodes import Function
from ..schedules.schedule import Schedule
from .case import Case

Engine = Literal["compiled", "interpreted"]
"""Machine code, or the reference interpreter running the scheduled loops."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A wrong result: *reason* names the worst element, its error and its bound.

    *schedule* is None where the kernel's own is at fault. *drawn_steps* is how many
    steps the schedule had when it was found, before it was made shorter.
    """

    function: Function
    case: Case
    schedule: Schedule | None
    engine: Engine
    reason: str
    is_prepared: bool = False
    drawn_steps: int = 0

    def __str__(self) -> str:
        """Return the whole report."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        name, case, span = self.function.name, self.case, self.function.span
        sizes = ", ".join(f"{dim}={size}" for dim, size in case.dims.items())
        yield f"{name} is wrong for {sizes or 'its only size'}: {self.reason}"
        yield f"  kernel:    {name}" + (f" ({span.file}:{span.line})" if span else "")
        yield (f"  arguments: {case.data} data, {case.layout} arrays, seed {case.seed}")
        yield f"  schedule:  {self._schedule_text()}"
        yield f"  run as:    {_ENGINES[self.engine]}"
        yield f"  to repeat: {self.repeat()}"

    def _schedule_text(self) -> str:
        if self.schedule is None:
            return "the kernel's own"
        text = python(self.schedule)
        shorter = self.drawn_steps - len(self.schedule.steps)
        return text + (
            f"  (made shorter, from {self.drawn_steps} steps)" if shorter > 0 else ""
        )

    def repeat(self) -> str:
        """Return the line of Python that runs this again and fails."""
        arguments = [self.function.name, f"tdsl.testing.{self.case!r}"]
        if self.schedule is not None:
            arguments.append(f"schedule={python(self.schedule)}")
        if self.engine != "compiled":
            arguments.append(f'engine="{self.engine}"')
        if self.is_prepared:
            arguments.append("prepare=...")
        return f"tdsl.testing.run_case({', '.join(arguments)})"

    def found_with(self, steps: int) -> Failure:
        """Return this failure, as made from a schedule of *steps* steps."""
        return replace(self, drawn_steps=steps)


_ENGINES = {
    "compiled": "machine code",
    "interpreted": "the scheduled loops in the reference interpreter",
}


def python(schedule: Schedule) -> str:
    """Return *schedule* as an expression over the kernel's name."""
    return (
        f"{schedule.original.name}.{str(schedule).replace('schedule', 'schedule()', 1)}"
    )


class OutOfBoundError(CheckError, AssertionError):
    """A result that is farther from the kernel's meaning than its bound allows.

    Also an `AssertionError`, as test runners expect one.
    """


class FailedCheck(OutOfBoundError):
    """A run with a wrong result, or that touched memory it may not."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure
