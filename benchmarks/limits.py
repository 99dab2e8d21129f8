"""What keeps a kernel from being faster: its work at the speeds this machine reaches.

Each limit is a contender whose time is that of one part of the kernel's work alone, at
the speed measured in that round:

    memory       every parameter read or written once, in arrays as large as the largest
    cache        all loads and stores, in arrays as large as the largest parameter
    near cache   all loads and stores, in arrays that fit in half of the first cache
    arithmetic   all operations, as multiply-adds in registers

Memory is a limit to arrays that no cache holds, the cache to others. No schedule beats
memory or arithmetic; tiles move loads and stores to a nearer cache or to registers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from examples.polybench import Benchmark, load
from tdsl.analysis.cost import Moved, cost, moved
from tdsl.backends.peak import measure_peak, measure_traffic
from tdsl.ir.nodes import For, Function, LoopKind, Role
from tdsl.ir.walk import walk
from tdsl.target import host

from .harness import Contender, Pace, race
from .worker import Workload

_SLACK = 1.1  # how far below a limit a time may come by noise
SPEED_SECONDS = 0.2  # to measure a speed for, once a round
LARGEST_ARRAY = 1 << 28  # bytes of an array to measure memory with


@dataclass(frozen=True, slots=True)
class Limits:
    """The seconds that parts of a kernel's work take alone on *threads*."""

    seconds: Mapping[str, float]
    threads: int

    def reason(self, taken: float, numba: float) -> str:
        """Say what takes most of *taken* seconds; *numba* is the time to beat.

        What would take longer is passed over: a schedule has avoided it.
        """
        possible = {
            name: limit
            for name, limit in self.seconds.items()
            if limit <= _SLACK * taken
        }
        if not possible:
            return "it is faster than every limit that was measured"
        name = max(possible, key=lambda each: possible[each])
        limit = possible[name]
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return (
            f"{_WORK[name]} takes {threads} {limit:.4f} s, {limit / taken:.0%} of the "
            f"time; that alone would be {numba / limit:.2f}x"
        )


_WORK = {
    "memory": "moving each array once between memory and the cores",
    "cache": "loading and storing in a cache that holds the arrays",
    "near cache": "loading and storing in the first cache",
    "arithmetic": "the arithmetic",
}


def measure_limits(
    benchmark: Benchmark, dims: dict[str, int], threads: int, rounds: int
) -> Limits:
    """Measure the limits of *benchmark*, on one thread where its loops run in order."""
    if not _is_shared(benchmark.kernel.default_schedule().function):
        threads = 1
    large = sum(array_bytes(benchmark.kernel.function, dims)) > host().l3
    names = ("memory" if large else "cache", "near cache", "arithmetic")
    arguments = {"kernel": benchmark.name, "dims": dims, "threads": threads}
    place = "benchmarks.limits:limit_workload"
    outcome = race(
        [Contender(name, place, arguments | {"limit": name}) for name in names],
        threads,
        Pace(rounds),
    )
    return Limits({n: found.seconds for n, found in outcome.measured.items()}, threads)


def _is_shared(function: Function) -> bool:
    """Whether threads share out a loop of *function*."""
    return any(
        isinstance(node, For) and node.kind is LoopKind.PARALLEL
        for node in walk(function)
    )


def limit_workload(arguments: dict[str, Any]) -> Workload:
    """Take the time of one part of a kernel's work, at the speed just measured."""
    benchmark, dims = load(arguments["kernel"]), arguments["dims"]
    limit, threads = arguments["limit"], arguments["threads"]
    measure = _measure(benchmark, dims, limit, threads)
    return Workload(measure, lambda: np.zeros(0), measure)


def _measure(
    benchmark: Benchmark, dims: dict[str, int], limit: str, threads: int
) -> Callable[[], float]:
    function, target = benchmark.kernel.function, host()
    if limit == "arithmetic":
        flops = cost(function, dims).flops
        return lambda: flops / _flops_a_second(benchmark.precision, threads)
    size = min(max(array_bytes(function, dims)), LARGEST_ARRAY)
    if limit == "near cache":
        size = target.l1 * threads // 4
    if limit == "memory":
        work = parameter_bytes(function, dims)
    else:
        work = moved(function, dims)

    def measure() -> float:
        speeds = measure_traffic(
            target, size=size, threads=threads, seconds=SPEED_SECONDS
        )
        return traffic_seconds(work, *speeds)

    return measure


def traffic_seconds(work: Moved, read: float, copied: float) -> float:
    """Return the time of *work* at GB/s of reading and of copying.

    A copy is a load and a store; the loads beyond that are reading.
    """
    pairs = min(work.loaded, work.stored)
    others = work.loaded + work.stored - 2 * pairs
    return (2 * pairs / copied + others / read) / 1e9


def _flops_a_second(precision: int, threads: int) -> float:
    peak = measure_peak(host(), threads=threads, seconds=SPEED_SECONDS)
    return 1e9 * (peak.f32_gflops if precision == 4 else peak.f64_gflops)


def array_bytes(function: Function, dims: Mapping[str, int]) -> list[int]:
    """Return the sizes of the parameters that are arrays."""
    return [
        param.tensor.dtype.bytes
        * int(np.prod([extent.evaluate(dims) for extent in param.tensor.shape]))
        for param in function.params
        if param.tensor.shape
    ]


def parameter_bytes(function: Function, dims: Mapping[str, int]) -> Moved:
    """Return what a kernel must read and write of its parameters."""
    arrays = [param for param in function.params if param.tensor.shape]
    sizes = list(zip(arrays, array_bytes(function, dims), strict=True))
    return Moved(
        sum(size for param, size in sizes if param.role is not Role.OUTPUT),
        sum(size for param, size in sizes if param.role is not Role.INPUT),
    )
