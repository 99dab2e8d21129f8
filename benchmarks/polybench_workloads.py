"""A PolyBench kernel in a contender's process, by tdsl or by Numba.

Most kernels change their arguments, and a matrix factored over and over is soon full of
NaN. So each call starts from fresh copies, which are made while the clock stands.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numba
import numpy as np

from examples.polybench import Benchmark, load

from .worker import Workload

MODULES = ("products", "solvers", "medley", "stencils")
SAMPLE = 20_000
"""How many elements of each result are compared."""

Call = Callable[[dict[str, Any], dict[str, np.ndarray]], object]


@dataclass(slots=True)
class _Run:
    """Everything that one kernel needs to run again and again."""

    benchmark: Benchmark
    dims: dict[str, int]
    given: dict[str, Any]
    arguments: dict[str, Any]
    results: dict[str, np.ndarray]
    call: Call

    def restore(self) -> None:
        """Give the arguments their first values."""
        for name in self.benchmark.updated:
            np.copyto(self.arguments[name], self.given[name])

    def measure(self) -> float:
        """Return the seconds of one call."""
        self.restore()
        start = perf_counter()
        self.call(self.arguments, self.results)
        return perf_counter() - start

    def sample(self) -> np.ndarray:
        """Run once and return a row for each tensor that was written."""
        self.measure()
        updated = {name: self.arguments[name] for name in self.benchmark.updated}
        written = updated | self.results
        return np.stack([_sampled(array) for array in written.values()])


def _sampled(array: np.ndarray) -> np.ndarray:
    flat = array.reshape(-1)
    places = np.linspace(0, max(0, flat.size - 1), SAMPLE).astype(np.int64)
    return flat[places].astype(np.float64)


def _workload(arguments: dict[str, Any], call: Call) -> Workload:
    benchmark, dims = load(arguments["kernel"]), arguments["dims"]
    given = benchmark.initialize(dims)
    working = dict(given)
    for name in benchmark.updated:
        working[name] = given[name].copy()
    run = _Run(benchmark, dims, given, working, benchmark.results(dims), call)
    return Workload(run.measure, run.sample, run.measure)


def tdsl_workload(arguments: dict[str, Any]) -> Workload:
    """Call the kernel as a user does, into existing arrays."""
    benchmark, dims = load(arguments["kernel"]), arguments["dims"]

    def call(given: dict[str, Any], results: dict[str, np.ndarray]) -> object:
        return benchmark.call(given, dims, results)

    return _workload(arguments, call)


def numba_workload(arguments: dict[str, Any]) -> Workload:
    """Call the same loops through Numba."""
    name, parallel = arguments["kernel"], arguments["parallel"]
    function = numba_function(load(name).module, parallel)
    names = list(inspect.signature(function).parameters)
    compiled = numba.njit(fastmath=True, parallel=parallel)(function)

    def call(given: dict[str, Any], results: dict[str, np.ndarray]) -> object:
        every = arguments["dims"] | given | results
        return compiled(*(every[each] for each in names))

    return _workload(arguments, call)


def numba_function(module: str, parallel: bool) -> Callable[..., None]:
    """Return the loops of *module* for Numba."""
    wanted = (f"{module}_parallel", module) if parallel else (module,)
    for place in MODULES:
        loaded = importlib.import_module(f"benchmarks.polybench_numba.{place}")
        for name in wanted:
            if hasattr(loaded, name):
                function: Callable[..., None] = getattr(loaded, name)
                return function
    raise LookupError(f"no loops of {module} for Numba")


def has_parallel_loops(module: str) -> bool:
    """Whether a loop of *module* may run in parallel as it stands."""
    return "prange" in numba_function(module, True).__code__.co_names
