"""What a kernel runs on: compiled code, or the reference interpreter in its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from .backends.reference import interpret
from .ir.nodes import Function
from .ir.numerics import Numerics
from .schedules.schedule import Schedule


class Executable(Protocol):
    """Code for one function."""

    @property
    def entry(self) -> Callable[..., Any]:
        """The callable: arrays and Python numbers, then one integer for each dim."""


class Backend(Protocol):
    """Makes executables, and knows which tuned entries are meant for them."""

    @property
    def target(self) -> str:
        """The name of the machine, as tuned entries have it."""

    @property
    def threads(self) -> int:
        """The number of threads, as tuned entries have it."""

    def default_schedule(self, function: Function, numerics: Numerics) -> Schedule:
        """Return a proved schedule for *function*, without a search."""

    def compile(self, function: Function, numerics: Numerics) -> Executable:
        """Return code for the scheduled *function*."""


@dataclass(frozen=True, slots=True)
class ReferenceBackend:
    """The reference interpreter: slow, and the meaning of the IR."""

    target: str = "reference"
    threads: int = 1

    def default_schedule(self, function: Function, numerics: Numerics) -> Schedule:
        """Return the identity schedule."""
        return Schedule(function)

    def compile(self, function: Function, numerics: Numerics) -> Executable:
        """Return the interpreter with the calling convention of compiled code."""
        return ReferenceExecutable(function)


@dataclass(frozen=True, slots=True)
class ReferenceExecutable:
    """Interprets a function."""

    function: Function

    @property
    def entry(self) -> Callable[..., Any]:
        """Run the function on arrays and numbers, then dims."""
        return self._run

    def _run(self, *values: Any) -> None:
        names = [param.tensor.name for param in self.function.params]
        dims = [dim.name for dim in self.function.dims]
        arrays = dict(zip(names, values[: len(names)], strict=True))
        sizes = dict(zip(dims, values[len(names) :], strict=True))
        interpret(self.function, arrays, sizes)
