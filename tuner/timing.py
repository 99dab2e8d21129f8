"""Time two programs, or several, in interleaved rounds.

Everything takes its clock as an argument, so that tests can let a synthetic one drift.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .statistics import FLOOR, judge, median, median_interval, ratios

Run = Callable[[], object]
Clock = Callable[[], float]

DECISIVE = 6
"""Rounds below which no interval is finite, so that nothing can be called faster."""


@dataclass(frozen=True, slots=True)
class TimingLimits:
    """How long to time: a batch of calls, a pair of programs, the warm-up.

    A program whose first batch takes *hopeless* times its rival's is given up at once.
    """

    batch_seconds: float = 0.004
    pair_seconds: float = 0.12
    warm_up_seconds: float = 0.01
    warm_up_calls: int = 50
    min_rounds: int = 3
    max_rounds: int = 13
    hopeless: float = 1.5
    noise: float = FLOOR


@dataclass(frozen=True, slots=True)
class PairTiming:
    """Seconds a call of the *rival* and the *candidate*, round by round."""

    rival: tuple[float, ...]
    candidate: tuple[float, ...]
    stopped: str = ""


def warm_up(run: Run, limits: TimingLimits, clock: Clock) -> int:
    """Call *run* until caches are warm; return how many calls make a batch.

    The warm-up ends at the cap in time or in calls, whichever comes first.
    """
    start = clock()
    calls = 0
    while True:
        run()
        calls += 1
        spent = clock() - start
        if spent >= limits.warm_up_seconds or calls >= limits.warm_up_calls:
            break
    return batch_size(spent / calls, limits)


def batch_size(seconds: float, limits: TimingLimits) -> int:
    """Return how many calls of *seconds* each make a batch worth timing."""
    return max(1, min(100_000, round(limits.batch_seconds / max(seconds, 1e-9))))


def time_batch(run: Run, calls: int, clock: Clock) -> float:
    """Return the seconds a call of *run* takes, over a batch of *calls*."""
    start = clock()
    for _ in range(calls):
        run()
    return (clock() - start) / calls


def time_pair(
    rival: Run, candidate: Run, limits: TimingLimits, clock: Clock
) -> PairTiming:
    """Time *candidate* against *rival*, alternating which goes first.

    Stop early where the candidate is hopeless, or clearly slower, or clearly faster; a
    promising one gets all its rounds, so that it can win beyond the noise.
    """
    calls_rival = warm_up(rival, limits, clock)
    calls = warm_up(candidate, limits, clock)
    start = clock()
    before: list[float] = []
    after: list[float] = []
    stopped = ""
    while not stopped and len(after) < limits.max_rounds:
        if len(after) % 2:
            after.append(time_batch(candidate, calls, clock))
            before.append(time_batch(rival, calls_rival, clock))
        else:
            before.append(time_batch(rival, calls_rival, clock))
            after.append(time_batch(candidate, calls, clock))
        stopped = _decided(before, after, limits, clock() - start)
    return PairTiming(tuple(before), tuple(after), stopped)


def time_rounds(
    runs: Sequence[Run], rounds: int, limits: TimingLimits, clock: Clock
) -> list[tuple[float, ...]]:
    """Time every program in each of *rounds* rounds, each starting with another."""
    calls = [warm_up(run, limits, clock) for run in runs]
    samples: list[list[float]] = [[] for _ in runs]
    for number in range(rounds):
        order = [(number + offset) % len(runs) for offset in range(len(runs))]
        for index in reversed(order) if number % 2 else order:
            samples[index].append(time_batch(runs[index], calls[index], clock))
    return [tuple(values) for values in samples]


def _decided(
    before: list[float], after: list[float], limits: TimingLimits, spent: float
) -> str:
    """Return why timing may stop now, or an empty text."""
    found = ratios(before, after)
    if len(found) == 1:
        return "hopeless" if found[0] > limits.hopeless else ""
    if len(found) < limits.min_rounds:
        return ""
    margin = max(limits.noise, FLOOR)
    if min(found) > 1.0 + 2 * margin:
        return "slower"
    promising = median(found) < 1.0 - margin
    if len(found) >= DECISIVE and judge(median_interval(found), margin) == "faster":
        return "faster"
    if spent > limits.pair_seconds and not promising:
        return "tie"
    return ""
