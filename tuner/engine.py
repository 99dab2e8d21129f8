"""Compile, check and run real kernels inside a worker process."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ..backends.comparison import compare
from ..backends.cpu import compile_function
from ..backends.peak import measure_peaks
from ..backends.poison import poisoned_call
from ..ir.nodes import Role
from .problem import Problem, Program, load_problem
from .serving import Reply, Request, Sizes
from .timing import Subject

Entry = Callable[..., Any]

UPDATING_CALLS = 16
"""Calls in a row of a kernel that updates its arguments, before they are restored."""


class WrongResult(Exception):
    """A candidate left its bound, or touched what is not its own."""

    cause = "wrong result"


@dataclass(slots=True)
class CpuEngine:
    """Keeps the problem's arrays and every program loaded so far."""

    _problem: Problem | None = None
    _arguments: list[Any] = field(default_factory=list)
    _updated: dict[int, Any] = field(default_factory=dict)
    _entries: dict[str, Entry] = field(default_factory=dict)

    def prepare(self, request: Request) -> Reply:
        """Load inputs and expected results; set up arrays to time with."""
        problem = load_problem(Path(request["folder"]))
        self._problem = problem
        self._arguments = _timing_arguments(problem)
        self._updated = {
            position: problem.inputs[param.tensor.name]
            for position, param in enumerate(problem.function.params)
            if param.role is Role.INOUT and param.tensor.shape
        }
        return {}

    def load(self, name: str, request: Request) -> Reply:
        """Compile the pickled program, or find it in the disk cache."""
        if name in self._entries:
            return {}
        with open(request["program"], "rb") as stream:
            program: Program = pickle.load(stream)
        compiled = compile_function(
            program.function,
            program.target,
            numerics=program.numerics,
            parallel=program.parallel,
            runtime_sizes=program.runtime_sizes,
        )
        compiled.compile()
        self._entries[name] = compiled.entry
        return {}

    def check(self, name: str, sizes: Sizes) -> Reply:
        """Run twice on poisoned private arrays; compare with the derived bound."""
        problem = self._given()
        call, seconds = self._call(name, sizes), []

        def run(*arguments: Any) -> None:
            start = perf_counter()
            call(*arguments)
            seconds.append(perf_counter() - start)

        outcome = poisoned_call(run, problem.function, problem.inputs, problem.dims)
        if not outcome.is_clean:
            raise WrongResult("; ".join(outcome.faults))
        comparison = compare(outcome.outputs, problem.expected)
        if not comparison.passed:
            raise WrongResult(str(comparison))
        return {
            "max_error_over_bound": comparison.max_error_over_bound,
            "seconds": min(seconds),
        }

    def run(self, name: str, sizes: Sizes) -> Subject:
        """Return a call on arrays that only timing uses."""
        entry = self._entries[name]
        arguments = (*self._arguments, *self._given().dims.values(), *sizes)
        updated = list(self._updated.items())
        if not updated:
            return Subject(lambda: entry(*arguments))

        def restore() -> None:
            for position, original in updated:
                np.copyto(arguments[position], original)

        return Subject(lambda: entry(*arguments), restore, UPDATING_CALLS)

    def peak(self, request: Request) -> Reply:
        """Measure multiply-add throughput and memory bandwidth."""
        with open(request["program"], "rb") as stream:
            program: Program = pickle.load(stream)
        peak = measure_peaks(program.target, threads=request["threads"])[-1]
        gflops = {"f32": peak.f32_gflops, "f64": peak.f64_gflops}
        return {
            "gflops": gflops.get(request["dtype"]),
            "gigabytes": max(peak.read_gbytes, peak.copy_gbytes),
            "reliable": peak.reliable,
        }

    def _call(self, name: str, sizes: Sizes) -> Entry:
        """Return a call that takes the parameters only."""
        entry = self._entries[name]
        extra = (*self._given().dims.values(), *sizes)
        return lambda *arguments: entry(*map(_plain, arguments), *extra)

    def _given(self) -> Problem:
        assert self._problem is not None, "prepare comes first"
        return self._problem


def _plain(argument: Any) -> Any:
    """Return a NumPy scalar as the Python number that compiled code expects."""
    return argument.item() if isinstance(argument, np.generic) else argument


def _timing_arguments(problem: Problem) -> list[Any]:
    """Return arguments in the kernel's order: fresh, aligned, outputs allocated."""
    arguments: list[Any] = []
    for param in problem.function.params:
        name, dtype = param.tensor.name, param.tensor.dtype.numpy
        if not param.tensor.shape and param.role is Role.INPUT:
            arguments.append(_plain(dtype.type(problem.inputs[name])))
            continue
        shape = tuple(extent.evaluate(problem.dims) for extent in param.tensor.shape)
        array = np.zeros(shape, dtype)
        if param.role is not Role.OUTPUT:
            array[...] = problem.inputs[name]
        arguments.append(array)
    return arguments
