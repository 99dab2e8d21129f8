"""Run contenders against one another, fairly.

* Each contender lives in a process of its own, with its libraries' thread counts set
  by environment and otherwise at their defaults.
* Rounds are interleaved: in each round every contender runs for a moment, in an order
  that rotates. Drift of the clock hits all alike, and ratios are taken round by round.
* A contender whose turn it is not is stopped (SIGSTOP). Idle threads of its pool
  cannot spin and steal a core. Measured on 2 cores with idle contenders left awake:
  torch fell from 188 to 109 GFLOP/s beside NumPy; stopped, from 186 to 188 (noise).
* The figure is the median over rounds of each round's median, with the quartiles.
* Results are compared before anything is timed.

Buffers are reused between calls, so small problems are measured with warm caches.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np

from tdsl.tuner.process import pinned_environment

REPOSITORY = Path(__file__).resolve().parents[1]

PREPARE_LIMIT = 600.0  # seconds: imports and compiles
ROUND_LIMIT = 120.0


class ContenderError(Exception):
    """Report that a contender's process failed, died or hung."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A name in the report and the workload behind it.

    *factory* is `module:function`, called in the contender's process with *arguments*
    (JSON). A contender is skipped where the package *needs* is not installed.
    """

    name: str
    factory: str
    arguments: Mapping[str, Any]
    needs: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measurement:
    """The medians of a contender's rounds, and the error of its result."""

    rounds: tuple[float, ...]
    error: float | None

    @property
    def seconds(self) -> float:
        """Return the median of the rounds."""
        return median(self.rounds)

    @property
    def spread(self) -> tuple[float, float]:
        """Return the lower and the upper quartile of the rounds."""
        if len(self.rounds) < 2:
            return self.seconds, self.seconds
        low, _, high = quantiles(self.rounds, n=4, method="inclusive")
        return low, high

    def speedup_over(self, other: Measurement) -> float:
        """Return how many times faster than *other*: the median of round ratios."""
        pairs = zip(other.rounds, self.rounds, strict=True)
        return median(theirs / ours for theirs, ours in pairs)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a race gave: measurements by contender, and why others have none."""

    measured: dict[str, Measurement]
    absent: dict[str, str]


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a race lasts."""

    rounds: int = 15
    seconds: float = 0.1


def race(
    contenders: Sequence[Contender],
    threads: int,
    pace: Pace,
    inspect: Callable[[np.ndarray], float] | None = None,
) -> Outcome:
    """Measure *contenders* in interleaved rounds.

    *inspect* turns a contender's result into the error that the report shows.
    """
    absent: dict[str, str] = {}
    samples: dict[str, list[float]] = {}
    errors: dict[str, float | None] = {}
    with contextlib.ExitStack() as stack:
        workers: list[_Worker] = []
        for contender in contenders:
            try:
                worker = stack.enter_context(_started(contender, threads))
                errors[contender.name] = _inspected(worker, inspect)
                workers.append(worker)
            except ContenderError as failure:
                absent[contender.name] = str(failure)
        for number in range(pace.rounds):
            for worker in _rotated(workers, number):
                if worker.name in absent:
                    continue
                try:
                    seconds = worker.round(pace.seconds)
                    samples.setdefault(worker.name, []).append(seconds)
                except ContenderError as failure:
                    absent[worker.name] = str(failure)
    measured = {
        contender.name: Measurement(tuple(samples[contender.name]), error)
        for contender in contenders
        if contender.name not in absent
        for error in (errors[contender.name],)
    }
    return Outcome(measured, absent)


def _rotated(workers: list[_Worker], by: int) -> list[_Worker]:
    by %= max(1, len(workers))
    return workers[by:] + workers[:by]


def _inspected(
    worker: _Worker, inspect: Callable[[np.ndarray], float] | None
) -> float | None:
    return inspect(worker.result()) if inspect else None


@contextlib.contextmanager
def _started(contender: Contender, threads: int) -> Iterator[_Worker]:
    package = contender.needs
    if package and importlib.util.find_spec(package) is None:
        raise ContenderError(f"skipped: the package {package} is not installed")
    with tempfile.TemporaryFile("w+") as complaints:
        environment = pinned_environment(threads) | dict(contender.environment)
        arguments = json.dumps(dict(contender.arguments))
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker", contender.factory, arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            cwd=REPOSITORY,
            env=environment,
        )
        worker = _Worker(contender.name, process, complaints)
        try:
            worker.receive(PREPARE_LIMIT)
            worker.pause()
            yield worker
        finally:
            worker.end()


class _Worker:
    """The parent's end of a contender's process, stopped except while it answers."""

    def __init__(
        self, name: str, process: subprocess.Popen[bytes], complaints: Any
    ) -> None:
        self.name = name
        self._process = process
        self._complaints = complaints
        self._pending = b""

    def round(self, seconds: float) -> float:
        reply = self.ask({"do": "round", "seconds": seconds}, ROUND_LIMIT)
        samples: list[float] = reply["seconds"]
        return median(samples)

    def result(self) -> np.ndarray:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "result.npy")
            self.ask({"do": "save", "path": str(path)}, ROUND_LIMIT)
            loaded: np.ndarray = np.load(path)
            return loaded

    def ask(self, request: Mapping[str, Any], limit: float) -> dict[str, Any]:
        """Wake the process for one request and stop it again."""
        assert self._process.stdin
        self._process.send_signal(signal.SIGCONT)
        try:
            self._process.stdin.write(json.dumps(dict(request)).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failure("died") from None
        reply = self.receive(limit)
        self.pause()
        return reply

    def end(self) -> None:
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        self._process.wait()

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def receive(self, limit: float) -> dict[str, Any]:
        """Wait for one line from the process, at most *limit* seconds."""
        reply: dict[str, Any] = json.loads(self._line(limit))
        if "error" in reply:
            raise ContenderError(reply["error"])
        return reply

    def _line(self, limit: float) -> bytes:
        assert self._process.stdout
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._pending:
                if not selector.select(limit):
                    raise self._failure(f"gave no answer in {limit:g} s")
                chunk = os.read(self._process.stdout.fileno(), 1 << 16)
                if not chunk:
                    raise self._failure("died")
                self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _failure(self, what: str) -> ContenderError:
        self._complaints.seek(0)
        last = self._complaints.read().strip().splitlines()[-1:]
        return ContenderError(": ".join([f"its process {what}", *last]))
