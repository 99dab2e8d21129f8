"""The contest of candidates: each against the incumbent, a winner against the default.

The default schedule is measured first and is the first incumbent. From then on every
candidate runs in interleaved rounds against the incumbent. It replaces it only if it is
faster beyond the noise, and still is in a second look against the default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .candidates import (
    COMPILE_LIMIT,
    Candidate,
    Failure,
    Measurement,
    Workshop,
    rebuild,
)
from .deadline import Deadline
from .journal import Journal
from .records import ranked
from .statistics import FLOOR, judge, median, median_interval, noise_floor, ratios

NOISE_CAP = 0.03
"""The largest noise assumed: beyond it the interval of each comparison decides."""


@dataclass(slots=True)
class Contest:
    """Who leads; ratios of times refer to the *reference*.

    That is the *default*, or the first candidate with a time where the default, which
    is None then, has none.
    """

    workshop: Workshop
    journal: Journal
    deadline: Deadline
    reference: Candidate | None = field(default=None, init=False)
    default: Candidate | None = field(default=None, init=False)
    best: Candidate | None = field(default=None, init=False)
    best_ratio: float = field(default=1.0, init=False)
    best_seconds: float | None = field(default=None, init=False)
    noise: float = field(default=FLOOR, init=False)
    _compile_times: list[float] = field(default_factory=list, init=False)

    def open_with(self, candidate: Candidate) -> None:
        """Measure the default against itself: its time, and the noise of equals."""
        known = self.journal.trials.get(candidate.identity)
        if known is not None and known.status == "failed":
            known = None  # everything refers to it: worth another try each time
        seconds = self.compile([candidate])[0]
        result: Measurement | Failure
        if isinstance(seconds, Failure):
            result, seconds = seconds, 0.0
        else:
            result = self.workshop.measure(candidate, candidate, FLOOR)
        if isinstance(result, Failure):
            self.journal.fail(candidate, result, seconds)
            return
        self.default = candidate
        self._become_reference(candidate, result)
        if known is None:
            self.journal.measure(candidate, candidate, result, 1.0, seconds)

    def resume(self) -> None:
        """Bring the best candidate of earlier jobs back as the incumbent."""
        if self.reference is None:
            return
        for record in ranked(self.journal.trials.values()):
            assert record.ratio is not None
            if record.ratio >= 1.0 - self.noise:
                return
            candidate = rebuild(self.workshop, record)
            if candidate is None:
                continue
            (seconds,) = self.compile([candidate])
            if isinstance(seconds, Failure):
                continue
            result = self.workshop.measure(candidate, self.reference, self.noise)
            if isinstance(result, Measurement):
                found = median(ratios(result.rival_samples, result.samples))
                if found < 1.0:
                    self._take(candidate, found, median(result.samples))
                return

    def compile(self, candidates: Sequence[Candidate]) -> list[float | Failure]:
        """Compile *candidates*, with patience learnt from the compilations so far."""
        limit = min(self._compile_limit(), self.deadline.in_flight())
        results = self.workshop.compile(candidates, limit)
        self._compile_times += [s for s in results if not isinstance(s, Failure) and s]
        return results

    def enter(self, candidate: Candidate, seconds: float | Failure) -> float | None:
        """Measure one compiled candidate, record it, return its ratio."""
        self.deadline.check()  # a limit cut short by the budget is nobody's failure
        if isinstance(seconds, Failure):
            self.journal.fail(candidate, seconds, 0.0)
            return None
        rival = self.best or candidate
        result = self.workshop.measure(candidate, rival, self.noise)
        if isinstance(result, Failure):
            self.journal.fail(candidate, result, seconds)
            return None
        if self.best is None:
            self._become_reference(candidate, result)
        found = median_interval(ratios(result.rival_samples, result.samples))
        ratio = found.median * self.best_ratio
        wins = judge(found, self.noise) == "faster"
        if wins:
            ratio = self._against_reference(candidate, ratio)
        self.journal.measure(candidate, rival, result, ratio, seconds)
        if wins and ratio < self.best_ratio * (1.0 - self.noise / 2):
            self._take(candidate, ratio, median(result.samples))
        return ratio

    def _compile_limit(self) -> float:
        if len(self._compile_times) < 3:
            return COMPILE_LIMIT
        return min(COMPILE_LIMIT, 5.0 + 8.0 * median(self._compile_times))

    def _become_reference(self, candidate: Candidate, result: Measurement) -> None:
        """Make *candidate* what ratios refer to, and the incumbent."""
        noise = noise_floor(ratios(result.rival_samples, result.samples))
        self.noise = min(noise, NOISE_CAP)
        self.reference = candidate
        self._take(candidate, 1.0, median(result.samples))

    def _against_reference(self, candidate: Candidate, ratio: float) -> float:
        """Return the ratio of a winner to the reference, measured and not multiplied.

        A second look keeps lucky candidates from the throne, and errors of ratios from
        adding up over a chain of incumbents. Where it fails the first look stands, but
        does not win.
        """
        assert self.reference is not None
        result = self.workshop.measure(candidate, self.reference, self.noise)
        if isinstance(result, Failure):
            return max(ratio, self.best_ratio)
        return median(ratios(result.rival_samples, result.samples))

    def _take(self, candidate: Candidate, ratio: float, seconds: float) -> None:
        self.best = candidate
        self.best_ratio = ratio
        self.best_seconds = seconds
