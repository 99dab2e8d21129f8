"""Which of two programs is faster, and how sure are we?

Two programs are timed in the same rounds, so that a machine that slows down slows both;
what is compared is the ratio within each round. The interval around the median ratio
comes from order statistics (the sign test turned around), which assumes nothing about
how timings are distributed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Literal

Verdict = Literal["faster", "slower", "tie"]

RISK = 0.05
"""The chance that an interval misses the true median ratio."""
FLOOR = 0.005
"""The smallest difference that is ever called one."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A median with the interval that holds it at the confidence `1 - RISK`."""

    low: float
    median: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f}x [{self.low:.2f}, {self.high:.2f}]"


def median(values: Sequence[float]) -> float:
    """Return the median of *values*."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def median_interval(values: Sequence[float]) -> Interval:
    """Return the median of *values* with an interval from their order.

    Fewer than six values decide nothing: their interval is infinitely wide.
    """
    ordered = sorted(values)
    skip = _skipped(len(ordered))
    if skip < 0:
        return Interval(0.0, median(ordered), float("inf"))
    return Interval(ordered[skip], median(ordered), ordered[len(ordered) - 1 - skip])


def ratios(before: Sequence[float], after: Sequence[float]) -> list[float]:
    """Return *after* over *before*, round by round."""
    pairs = zip(before, after, strict=True)
    return [second / first for first, second in pairs]


def judge(interval: Interval, noise: float) -> Verdict:
    """Say what a ratio of times says, given the *noise* of equal programs.

    A difference smaller than the noise is a tie, however narrow the interval.
    """
    margin = max(noise, FLOOR)
    if interval.high < 1.0 - margin:
        return "faster"
    if interval.low > 1.0 + margin:
        return "slower"
    return "tie"


def noise_floor(same: Sequence[float]) -> float:
    """Return the noise that the ratios of a program to itself show.

    It is how far the interval of the median reaches from 1, at least `FLOOR`.
    """
    interval = median_interval(same)
    if interval.high == float("inf"):
        reach = max(abs(value - 1.0) for value in same)
    else:
        reach = max(abs(interval.low - 1.0), abs(interval.high - 1.0))
    return max(FLOOR, reach)


def _skipped(count: int) -> int:
    """Return how many values at each end lie outside the interval; -1 for none."""
    skip, tail = -1, 0.0
    while True:
        tail += comb(count, skip + 1) / 2.0**count
        if 2.0 * tail > RISK:  # before the middle: half the values are half the tail
            return skip
        skip += 1
