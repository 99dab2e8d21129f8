"""tdsl as a contender, the FMA peak beside it, and the way one problem is measured."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tdsl.paths import cache_folder
from tdsl.tuner.process import pinned_environment

from .harness import REPOSITORY, Contender, Pace, race
from .report import PEAK, Row, note, rows_of

_PATIENCE = (
    300.0  # seconds beyond the budget: tdsl compiles, and measures the finalists
)


@dataclass(frozen=True, slots=True)
class Problem:
    """One race: a kernel at one size, and everything that computes the same.

    *kernel* (FILE.py:NAME) and *dims* are what the contender `tdsl` is tuned for.
    """

    label: int | str
    kernel: str
    dims: Mapping[str, int]
    flops: float
    contenders: tuple[Contender, ...]
    error: Callable[[np.ndarray], float]


def tdsl_contenders(
    kernel: str, shapes: Sequence[Sequence[int]], threads: int
) -> tuple[Contender, Contender]:
    """Return tdsl with what is tuned, and with its default schedule.

    They are the same program: a call uses a tuned schedule where the cache has one,
    and the second contender's cache has none.
    """
    arguments = {"kernel": kernel, "shapes": shapes, "threads": threads}
    untuned = {"TDSL_CACHE": str(cache_folder() / "benchmarks-default")}
    factory = "benchmarks.ours:tdsl_workload"
    return (
        Contender("tdsl", factory, arguments),
        Contender("tdsl-default", factory, arguments, environment=untuned),
    )


def peak_contender(threads: int) -> Contender:
    """Return the contender that measures the FMA peak, as seconds an operation."""
    return Contender(PEAK, "benchmarks.ours:peak_workload", {"threads": threads})


def tune(
    label: int | str, kernel: str, sizes: Mapping[str, int], threads: int, budget: float
) -> None:
    """Run `tdsl tune` in a process of its own; its report goes to stderr."""
    dims = [f"{name}={size}" for name, size in sizes.items()]
    command = [sys.executable, "-m", "tdsl.cli", "tune", kernel, *dims]
    command += ["--threads", str(threads), "--budget", f"{budget:g}s"]
    note(f"{label}: tuning for at most {budget:g} s")
    try:
        finished = subprocess.run(
            command,
            cwd=REPOSITORY,
            env=pinned_environment(threads),
            stdout=sys.stderr,
            timeout=budget + _PATIENCE,
        )
    except subprocess.TimeoutExpired:
        note(f"{label}: tdsl tune was killed {_PATIENCE:g} s after its time")
        return
    if finished.returncode:
        note(f"{label}: tdsl tune ended with {finished.returncode}")


def measure(
    problem: Problem, options: argparse.Namespace, *, with_peak: bool = False
) -> list[Row]:
    """Tune, race, and say who is absent and why."""
    if "tdsl" in options.contenders and options.budget > 0:
        tune(
            problem.label,
            problem.kernel,
            problem.dims,
            options.threads,
            options.budget,
        )
    chosen = [c for c in problem.contenders if c.name in options.contenders]
    outcome = race(
        [peak_contender(options.threads), *chosen],
        options.threads,
        Pace(options.rounds, options.seconds),
        lambda result: problem.error(result) if result.size else 0.0,
    )
    for name, reason in outcome.absent.items():
        note(f"{problem.label}: {name}: {reason}")
    return rows_of(
        problem.label, problem.flops, options.threads, outcome, with_peak=with_peak
    )
