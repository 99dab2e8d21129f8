"""The workers of a job: one that times, one that helps to compile, fresh ones.

Two workers compile side by side, through the backend's disk cache; then only one of
them runs while candidates are timed, so nothing disturbs the clock but the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import TuningError
from ..target import Target
from .candidates import COMPILE_LIMIT, Failure
from .process import COMMAND, Worker, WorkerLost, pinned_environment

FIRST_RUN_LIMIT = 120.0
"""Seconds a check or a batch of rounds may take before any time is known."""
RUN_LIMIT, RUN_LIMIT_CALLS = 10.0, 40.0
"""Later limits: so many seconds, and so many calls of the incumbent."""
MEMORY_GROWTH = 4 << 30
"""Bytes by which a worker may grow before it is replaced."""
INSIDE = "TDSL_TUNING_CHILD"
"""Set in the children of a job, which must not start jobs of their own."""

Loaded = dict[str, float | Failure]


@dataclass(slots=True)
class Hand:
    """A worker that knows the problem, and the programs it has loaded."""

    worker: Worker
    folder: Path
    loaded: set[str] = field(default_factory=set)
    ready: bool = False
    base_memory: int = 0
    memory: int = 0

    def send_load(self, name: str, program: Path) -> Failure | None:
        """Ask for a program to be compiled, starting the worker if need be.

        Return why, where the worker is lost before it hears of it.
        """
        self.make_ready()
        try:
            self.worker.send({"do": "load", "name": name, "program": str(program)})
        except WorkerLost as lost:
            self.forget()
            return Failure(lost.cause, lost.detail)
        return None

    def receive_load(self, name: str, limit: float) -> float | Failure:
        """Return the seconds of the compilation asked for, or why it failed."""
        try:
            reply = self.worker.receive({"compile": limit})
        except WorkerLost as lost:
            self.forget()
            return Failure(lost.cause, lost.detail)
        if "cause" in reply:
            return Failure(f"compilation: {reply['cause']}", reply["detail"])
        self.loaded.add(name)
        return float(reply["compile_seconds"])

    def load(self, name: str, program: Path, limit: float) -> float | Failure:
        """Compile one program, or find it in the disk cache."""
        if name in self.loaded and self.worker.alive:
            return 0.0
        return self.send_load(name, program) or self.receive_load(name, limit)

    def ask(
        self, message: Mapping[str, Any], limits: Mapping[str, float]
    ) -> dict[str, Any]:
        """Ask for anything else; a lost worker is forgotten."""
        try:
            reply = self.worker.ask(message, limits)
        except WorkerLost:
            self.forget()
            raise
        self.memory = reply["resident"]
        return reply

    @property
    def has_grown(self) -> bool:
        """Whether the worker holds so much memory that it should be replaced."""
        return self.ready and self.memory - self.base_memory > MEMORY_GROWTH

    def make_ready(self) -> None:
        """Start the worker where it does not run, and give it the problem.

        Raise TuningError where that fails twice: then no candidate is to blame.
        """
        if self.ready and self.worker.alive:
            return
        try:
            self._prepare()
        except WorkerLost:
            self.forget()
            try:
                self._prepare()
            except WorkerLost as lost:
                raise TuningError(f"no worker process can start: {lost}") from lost

    def _prepare(self) -> None:
        if not self.worker.alive:
            self.loaded.clear()
            self.worker.start()
        message = {"do": "prepare", "folder": str(self.folder)}
        reply = self.worker.ask(message, {"prepare": FIRST_RUN_LIMIT})
        if "cause" in reply:
            raise WorkerLost(reply["cause"], reply["detail"])
        self.base_memory = self.memory = reply["resident"]
        self.ready = True

    def forget(self) -> None:
        """End the worker; the next request starts another."""
        self.worker.close()
        self.loaded.clear()
        self.ready = False


@dataclass(slots=True)
class Crew:
    """The timing worker and its helper."""

    threads: int
    target: Target
    folder: Path
    should_stop: Callable[[], bool]
    call_seconds: float | None = None
    _timer: Hand = field(init=False)
    _helper: Hand = field(init=False)

    def __post_init__(self) -> None:
        """Make the two hands; their processes start when asked to."""
        self._timer, self._helper = self._hand(), self._hand()

    def start(self) -> None:
        """Start both processes without waiting for them."""
        self._timer.worker.start()
        self._helper.worker.start()

    def close(self) -> None:
        """End both processes."""
        self._timer.forget()
        self._helper.forget()

    @property
    def limits(self) -> dict[str, float]:
        """The seconds each phase of a running candidate may stay silent."""
        if self.call_seconds is None:
            run = FIRST_RUN_LIMIT
        else:
            run = RUN_LIMIT + RUN_LIMIT_CALLS * self.call_seconds
        return {"check": run, "time": run, "compile": COMPILE_LIMIT, "peak": 60.0}

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the timing worker."""
        self._timer.make_ready()
        return self._timer.ask(message, self.limits)

    def load(self, programs: Mapping[str, Path], limit: float) -> Loaded:
        """Load *programs* into the timing worker, compiling two at a time."""
        for hand in (self._timer, self._helper):
            if hand.has_grown:
                hand.forget()
        results: Loaded = {}
        todo = [
            (name, path)
            for name, path in programs.items()
            if not (name in self._timer.loaded and self._timer.worker.alive)
        ]
        for name in programs:
            results[name] = 0.0
        while todo:
            batch, todo = todo[:2], todo[2:]
            results.update(self._load_batch(batch, limit))
        return results

    def _load_batch(self, batch: list[tuple[str, Path]], limit: float) -> Loaded:
        first, second = batch[0], batch[1] if len(batch) > 1 else None
        unsent = self._timer.send_load(*first)
        unsent_second = self._helper.send_load(*second) if second else None
        results: Loaded = {
            first[0]: unsent or self._timer.receive_load(first[0], limit)
        }
        if second is not None:
            name, path = second
            result = unsent_second or self._helper.receive_load(name, limit)
            again = result
            if not isinstance(result, Failure):
                again = self._timer.load(name, path, limit)
            results[name] = again if isinstance(again, Failure) else result
        return results

    @contextmanager
    def fresh(self, count: int) -> Iterator[list[Hand]]:
        """Lend workers that have measured nothing before; they start at once."""
        hands = [self._hand() for _ in range(count)]
        try:
            for hand in hands:
                hand.worker.start()
            yield hands
        finally:
            for hand in hands:
                hand.forget()

    def _hand(self) -> Hand:
        environment = pinned_environment(self.threads) | {INSIDE: "1"}
        environment |= self.target.environment()
        worker = Worker(environment, COMMAND, self.should_stop, self.folder)
        return Hand(worker, self.folder)
