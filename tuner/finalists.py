"""Time the finalists in fresh processes; one that crashes there costs only itself.

A lost process takes the other programs with it: they are loaded again before anything
is timed. So all programs that survive have been timed in the same rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from .candidates import COMPILE_LIMIT, Failure
from .crew import Crew, Hand
from .final import FinalTiming
from .process import WorkerLost
from .timing import DECISIVE, LONG_CALL, TimingLimits

PROCESSES = 2
ROUNDS = 12
"""Fresh processes, and rounds in each, of the final re-check."""

Rounds = list[list[float]]


@dataclass(slots=True)
class Finalists:
    """Programs by name; rounds stop early after *seconds* for all processes."""

    crew: Crew
    programs: Mapping[str, Path]
    seconds: float
    _failures: dict[str, Failure] = field(default_factory=dict, init=False)
    _errors: dict[str, float] = field(default_factory=dict, init=False)
    _samples: dict[str, list[float]] = field(default_factory=dict, init=False)

    def time(self) -> dict[str, FinalTiming | Failure]:
        """Return each program's time, or why it has none."""
        with self.crew.fresh(PROCESSES) as hands:
            compiled = self.crew.load(self.programs, COMPILE_LIMIT)
            for name, result in compiled.items():
                if isinstance(result, Failure):
                    self._failures[name] = result
            until = monotonic() + self.seconds
            for number, hand in enumerate(hands):
                share = (until - monotonic()) / (len(hands) - number)
                self._time_in(hand, monotonic() + share)
        return {name: self._result(name) for name in self.programs}

    def _result(self, name: str) -> FinalTiming | Failure:
        if name in self._failures:
            return self._failures[name]
        if not self._samples.get(name):
            return Failure("lost", "no process lived long enough to time it")
        return FinalTiming(tuple(self._samples[name]), self._errors.get(name))

    def _alive(self) -> list[str]:
        return [name for name in self.programs if name not in self._failures]

    def _time_in(self, hand: Hand, until: float) -> None:
        """Check and time what is left in one fresh process.

        Where a call takes long, one check of the same machine code must do.
        """
        slow = (self.crew.call_seconds or 0.0) >= LONG_CALL
        for name in self._alive():
            if slow and name in self._errors:
                continue
            result = self._checked(hand, name)
            if isinstance(result, Failure):
                self._failures[name] = result
            else:
                self._errors[name] = max(result, self._errors.get(name, 0.0))
        while self._load_all(hand) and (names := self._alive()):
            timed = self._rounds(hand, names, ROUNDS, until - monotonic())
            if not isinstance(timed, Failure):
                for name, values in zip(names, timed, strict=True):
                    self._samples.setdefault(name, []).extend(values)
                return
            if not self._blame(hand, names):
                return  # nobody's fault: the rounds of this process are missing

    def _load_all(self, hand: Hand) -> bool:
        """Load what a lost process took with it; False if nothing is left."""
        while missing := [name for name in self._alive() if not _has(hand, name)]:
            result = hand.load(missing[0], self.programs[missing[0]], COMPILE_LIMIT)
            if isinstance(result, Failure):
                self._failures[missing[0]] = result
        return bool(self._alive())

    def _blame(self, hand: Hand, names: Sequence[str]) -> bool:
        """Run each program alone; say whether one of them cannot."""
        found = False
        for name in names:
            loaded = hand.load(name, self.programs[name], COMPILE_LIMIT)
            alone: Rounds | Failure
            if isinstance(loaded, Failure):
                alone = loaded
            else:
                alone = self._rounds(hand, [name], 1, 0.0)
            if isinstance(alone, Failure):
                self._failures[name], found = alone, True
        return found

    def _checked(self, hand: Hand, name: str) -> float | Failure:
        """Load and check a program; return its error over the bound."""
        loaded = hand.load(name, self.programs[name], COMPILE_LIMIT)
        if isinstance(loaded, Failure):
            return loaded
        message = {"do": "check", "name": name, "sizes": []}
        reply = self._ask(hand, message)
        if isinstance(reply, Failure):
            return reply
        return float(reply["max_error_over_bound"])

    def _rounds(
        self, hand: Hand, names: Sequence[str], rounds: int, seconds: float
    ) -> Rounds | Failure:
        at_least = -(-DECISIVE // PROCESSES)
        limits = TimingLimits(rounds_seconds=seconds, rounds_at_least=at_least)
        reply = self._ask(hand, rounds_message(names, rounds, limits))
        if isinstance(reply, Failure):
            return reply
        samples: Rounds = reply["samples"]
        return samples

    def _ask(self, hand: Hand, message: Mapping[str, Any]) -> dict[str, Any] | Failure:
        try:
            reply = hand.ask(message, self.crew.limits)
        except WorkerLost as lost:
            return Failure(lost.cause, lost.detail)
        if "cause" in reply:
            return Failure(reply["cause"], reply["detail"])
        return reply


def rounds_message(
    names: Sequence[str], rounds: int, limits: TimingLimits
) -> dict[str, Any]:
    """Return the request to time programs with constant sizes in rounds."""
    programs = [{"name": name, "sizes": []} for name in names]
    return {
        "do": "rounds",
        "programs": programs,
        "rounds": rounds,
        "limits": asdict(limits),
    }


def _has(hand: Hand, name: str) -> bool:
    return name in hand.loaded and hand.worker.alive
