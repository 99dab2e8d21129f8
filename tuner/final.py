"""The final re-check: the best few again, as a kernel call will run them.

While searching, outer tile sizes are run-time integers and everything happens in one
process. Here the finalists and the default are compiled with their sizes as constants,
in fresh processes, and timed together in interleaved rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from .candidates import Candidate, Failure
from .records import Record, ranked
from .search import Found
from .statistics import Interval, judge, median, median_interval, ratios

FINALISTS = 3
"""How many candidates besides the default are timed again."""
NOISE_CAP = 0.01
"""The largest difference that many rounds in fresh processes still call a tie."""
CONFIRMED = 1.5
"""How many times the re-checked speedup the search may have seen before it is told."""


@dataclass(frozen=True, slots=True)
class FinalTiming:
    """Seconds a call, round by round, all fresh processes together."""

    samples: tuple[float, ...]
    max_error_over_bound: float | None


class FinalBench(Protocol):
    """Times several candidates in fresh processes."""

    def time_finalists(
        self, candidates: Sequence[Candidate]
    ) -> list[FinalTiming | Failure]:
        """Return the times of *candidates* in interleaved rounds."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The winner; *speedup* is its advantage over the default, if it has one.

    It is not *sure* where the re-check failed, rather than was left out.
    """

    winner: Candidate
    timing: FinalTiming
    default_seconds: float | None
    speedup: Interval | None
    timings: tuple[tuple[Candidate, FinalTiming | Failure], ...]
    sure: bool = True

    @property
    def seconds(self) -> float:
        """The winner's median time."""
        return median(self.timing.samples)


def choose_finalists(
    records: Iterable[Record], noise: float, limit: int = FINALISTS
) -> list[Record]:
    """Return the best records that may beat the default, at most *limit*."""
    return [r for r in ranked(records) if (r.ratio or 0.0) < 1.0 + noise][:limit]


def recheck(
    bench: FinalBench,
    default: Candidate | None,
    finalists: Sequence[Candidate],
    noise: float,
) -> Verdict | None:
    """Time the *finalists* with the *default* and choose the winner.

    The default wins unless another is faster beyond the noise; among the others the
    earlier finalist wins unless a later one is. Return None where nothing ran.
    """
    everyone = [] if default is None else [default]
    everyone += [c for c in finalists if not same(c, default)]
    timings = bench.time_finalists(everyone)
    noise = min(noise, NOISE_CAP)
    ran = [
        (candidate, timing)
        for candidate, timing in zip(everyone, timings, strict=True)
        if isinstance(timing, FinalTiming)
    ]
    if not ran:
        return None
    winner, best = ran[0]
    for candidate, timing in ran[1:]:
        if judge(_ratio(best, timing), noise) == "faster":
            winner, best = candidate, timing
    pairs = tuple(zip(everyone, timings, strict=True))
    base = next((timing for candidate, timing in ran if same(candidate, default)), None)
    if base is None:
        return Verdict(winner, best, None, None, pairs)
    speedup = None if same(winner, default) else _speedup(base, best)
    return Verdict(winner, best, median(base.samples), speedup, pairs)


def same(candidate: Candidate, other: Candidate | None) -> bool:
    """Whether two candidates are the same program."""
    return other is not None and candidate.identity == other.identity


def _ratio(before: FinalTiming, after: FinalTiming) -> Interval:
    return median_interval(ratios(before.samples, after.samples))


def _speedup(default: FinalTiming, best: FinalTiming) -> Interval:
    """Return how many times as fast *best* is."""
    return median_interval(ratios(best.samples, default.samples))


def unconfirmed(found: Found, verdict: Verdict | None) -> float | None:
    """Return the leader's speedup in the search where the re-check saw far less."""
    if verdict is None or found.best is None or same(found.best, found.default):
        return None
    claimed = 1.0 / found.best_ratio
    if verdict.default_seconds is None or found.default is None:
        return None
    confirmed = 1.0 if verdict.speedup is None else CONFIRMED * verdict.speedup.high
    return claimed if claimed > confirmed else None
