"""What a kernel runs on: compiled code, or the reference interpreter in its place."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from .backends.cpu import CompiledFunction, compile_function
from .backends.reference import interpret
from .entries import fingerprint
from .ir.nodes import Function
from .ir.numerics import Numerics
from .plans import plan
from .schedules.schedule import Schedule
from .target import Target, host

Entry = Callable[..., Any]
"""Takes an array or Python number for each parameter, then each dim, in order."""


class Executable(Protocol):
    """Code for one function."""

    def entry_for(self, layouts: Sequence[str]) -> Entry:
        """Return the code for these stride classes, one for each parameter.

        They are C and F (contiguous), U (unit last stride) and A (any).
        """


class Backend(Protocol):
    """Makes executables, and knows which tuned entries are meant for them."""

    @property
    def machine(self) -> str:
        """The machine, as tuned entries have it."""

    @property
    def threads(self) -> int:
        """The number of threads, as tuned entries have it."""

    def default_schedule(self, function: Function, numerics: Numerics) -> Schedule:
        """Return a proved schedule for *function*, without a search."""

    def compile(self, function: Function, numerics: Numerics) -> Executable:
        """Return code for the scheduled *function*."""


class CpuBackend:
    """Code that Numba compiles for this machine."""

    @cached_property
    def target(self) -> Target:
        """The description of this machine, with the cores that may be used."""
        return host()

    @cached_property
    def machine(self) -> str:
        """The identity of this machine."""
        return fingerprint(self.target)

    @cached_property
    def threads(self) -> int:
        """The number of threads that Numba's parallel loops use."""
        chosen = os.environ.get("NUMBA_NUM_THREADS", "")
        return int(chosen) if chosen.isdecimal() else self.target.cores

    def default_schedule(self, function: Function, numerics: Numerics) -> Schedule:
        """Return the default point of the function's sketch."""
        return plan(function, self.target, numerics)

    def compile(self, function: Function, numerics: Numerics) -> Executable:
        """Return code that is compiled when it is first asked for."""
        return CpuExecutable(
            compile_function(
                function, self.target, numerics=numerics, parallel=self.threads > 1
            )
        )


@dataclass(frozen=True, slots=True)
class CpuExecutable:
    """Machine code for each combination of stride classes."""

    compiled: CompiledFunction

    def entry_for(self, layouts: Sequence[str]) -> Entry:
        """Return compiled code; raise BackendError where that fails."""
        self.compiled.compile(layouts)
        entry: Entry = self.compiled.entry_for(layouts)
        return entry


@dataclass(frozen=True, slots=True)
class ReferenceBackend:
    """The reference interpreter: slow, and the meaning of the IR."""

    machine: str = "reference"
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

    def entry_for(self, layouts: Sequence[str]) -> Entry:
        """Return the interpreter, which takes any strides."""
        return self._run

    def _run(self, *values: Any) -> None:
        names = [param.tensor.name for param in self.function.params]
        dims = [dim.name for dim in self.function.dims]
        arrays = dict(zip(names, values[: len(names)], strict=True))
        sizes = dict(zip(dims, values[len(names) :], strict=True))
        interpret(self.function, arrays, sizes)
