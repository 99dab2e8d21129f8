"""What tuning PolyBench spends on a candidate before Numba compiles it.

For each kernel its default schedule and random points of its search space are built,
proved and emitted, as a tuner does it. `benchmarks.proof` prints the longest.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from examples.polybench import NAMES, load
from tdsl.analysis.validate import validate
from tdsl.backends.source import emit_source
from tdsl.errors import ScheduleError
from tdsl.frontend.parser import parse
from tdsl.schedules.schedule import Schedule
from tdsl.schedules.sketches import sketch
from tdsl.target import AVX512
from tdsl.tuner.space import SearchSpace

_P = ParamSpec("_P")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A point of a kernel's space, and milliseconds of processor time it took."""

    kernel: str
    point: str
    verdict: str
    schedule: float
    proof: float
    emit: float

    @property
    def total(self) -> float:
        """The time before the candidate can be compiled."""
        return self.schedule + self.proof + self.emit

    def __str__(self) -> str:
        parts = f"schedule {self.schedule:.0f}, emit {self.emit:.0f} ms"
        name = f"{self.kernel}, {self.point}"
        return f"{name:32s} {self.verdict}  {self.proof:.1f} ms  ({parts})"


def all_candidates(points: int, seed: int) -> Iterator[Candidate]:
    """Yield the default schedule of every kernel and those of random *points*."""
    for name in NAMES:
        function = load(name).kernel.function
        found = sketch(function, AVX512, "reassoc")
        space = SearchSpace(found)
        everything, generator = space.everything(found.default()), random.Random(seed)
        configs = {"default": found.default()}
        for number in range(1, points + 1):
            configs[f"point {number}"] = everything.draw(generator)
        validate(function, function)  # prepares the original, once for all candidates
        for point, config in configs.items():
            try:
                schedule, built = timed(found.build, config)
            except ScheduleError:  # no such schedule: the search goes on
                continue
            yield _candidate(name, point, schedule, built)


def _candidate(name: str, point: str, schedule: Schedule, built: float) -> Candidate:
    original, scheduled = schedule.original, schedule.function
    certificate, proved = timed(validate, original, scheduled)
    _, emitted = timed(emit_source, scheduled, runtime_sizes=True)
    return Candidate(name, point, certificate.verdict, built, proved, emitted)


def longest_parse() -> tuple[float, str]:
    """Return how long the slowest kernel takes to parse and verify, and its name."""
    times: list[tuple[float, str]] = []
    for name in NAMES:
        program = load(name).kernel.__wrapped__
        times.append((min(timed(parse, program)[1] for _ in "ab"), name))
    return max(times)


def timed(
    work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs
) -> tuple[_T, float]:
    """Return what *work* returns, and the milliseconds of processor time it took."""
    started = time.process_time()
    result = work(*args, **kwargs)
    return result, (time.process_time() - started) * 1e3
