"""Time two programs, or several, in interleaved rounds.

A batch during which the system took a core away from us tells more about others than
about the program: it is timed again, a few times. Everything takes its stopwatch as an
argument, so that tests can let a synthetic one drift.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from resource import RUSAGE_SELF, getrusage
from time import perf_counter

from .statistics import FLOOR, judge, median, median_interval, ratios

LONGEST_BATCH = 100_000
LONG_CALL = 0.05
"""Seconds of a call from which a few rounds must do."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A call to time; *restore* undoes, off the clock, what calls do to their arrays.

    Kernels that update an array would otherwise drift into huge or denormal numbers,
    whose arithmetic takes another time; they also have at most *calls* calls a batch.
    """

    run: Callable[[], object]
    restore: Callable[[], object] = lambda: None
    calls: int = LONGEST_BATCH


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """A *clock* in seconds, and how often this process lost a core against its will."""

    clock: Callable[[], float]
    preemptions: Callable[[], int] = lambda: 0


def system_stopwatch() -> Stopwatch:
    """Return the machine's own clock and count of involuntary context switches."""
    return Stopwatch(perf_counter, lambda: getrusage(RUSAGE_SELF).ru_nivcsw)


DECISIVE = 6
"""Rounds below which no interval is finite, so that nothing can be called faster."""


@dataclass(frozen=True, slots=True)
class TimingLimits:
    """How long to time: a batch of calls, a pair of programs, the warm-up.

    A program whose first two batches take *hopeless* times its rival's is given up, and
    one whose first batch takes *hopeless_at_once* times that at once. A candidate that
    *ran_long* was just called, for longer than a batch: that was its warm-up.
    """

    batch_seconds: float = 0.004
    pair_seconds: float = 0.12
    rounds_seconds: float = 3.0
    rounds_at_least: int = DECISIVE
    warm_up_seconds: float = 0.01
    warm_up_calls: int = 50
    min_rounds: int = 3
    max_rounds: int = 13
    longest_seconds: float = 3.0
    hopeless: float = 1.5
    hopeless_at_once: float = 3.0
    ran_long: bool = False
    attempts: int = 5
    attempts_seconds: float = 0.05
    noise: float = FLOOR


@dataclass(frozen=True, slots=True)
class PairTiming:
    """Seconds a call of the *rival* and the *candidate*, round by round."""

    rival: tuple[float, ...]
    candidate: tuple[float, ...]
    stopped: str = ""


def warm_up(subject: Subject, limits: TimingLimits, watch: Stopwatch) -> int:
    """Call *subject* until caches are warm; return how many calls make a batch.

    The warm-up ends at the cap in time or in calls, whichever comes first.
    """
    start = last = watch.clock()
    shortest = float("inf")
    for _ in range(min(limits.warm_up_calls, subject.calls)):
        subject.run()
        now = watch.clock()
        shortest, last = min(shortest, now - last), now
        if now - start >= limits.warm_up_seconds:
            break
    wanted = round(limits.batch_seconds / max(shortest, 1e-9))
    return max(1, min(wanted, subject.calls))


def time_batch(
    subject: Subject, calls: int, limits: TimingLimits, watch: Stopwatch
) -> float:
    """Return the seconds a call of *subject* takes, over a batch of *calls*.

    It is that of an undisturbed batch, or of the shortest where none is undisturbed.
    """
    shortest, spent = float("inf"), 0.0
    for _ in range(limits.attempts):
        subject.restore()
        run = subject.run
        preemptions = watch.preemptions()
        start = watch.clock()
        for _ in range(calls):
            run()
        seconds = watch.clock() - start
        if watch.preemptions() == preemptions:
            return seconds / calls
        shortest, spent = min(shortest, seconds), spent + seconds
        if spent > limits.attempts_seconds:
            break
    return shortest / calls


def time_pair(
    rival: Subject, candidate: Subject, limits: TimingLimits, watch: Stopwatch
) -> PairTiming:
    """Time *candidate* against *rival*, alternating which goes first.

    Stop early where the candidate is hopeless, or clearly slower, or clearly faster; a
    promising one gets all its rounds, so that it can win beyond the noise.
    """
    calls_rival = warm_up(rival, limits, watch)
    calls = 1 if limits.ran_long else warm_up(candidate, limits, watch)
    start = watch.clock()
    before: list[float] = []
    after: list[float] = []
    stopped = ""
    while not stopped and len(after) < limits.max_rounds:
        if len(after) % 2:
            after.append(time_batch(candidate, calls, limits, watch))
            before.append(time_batch(rival, calls_rival, limits, watch))
        else:
            before.append(time_batch(rival, calls_rival, limits, watch))
            after.append(time_batch(candidate, calls, limits, watch))
        stopped = _decided(before, after, limits, watch.clock() - start)
    return PairTiming(tuple(before), tuple(after), stopped)


def time_rounds(
    subjects: Sequence[Subject], rounds: int, limits: TimingLimits, watch: Stopwatch
) -> list[tuple[float, ...]]:
    """Time every program in each of *rounds* rounds, each starting with another.

    After `limits.rounds_at_least`, there are no more once `limits.rounds_seconds` are
    over.
    """
    calls = [warm_up(subject, limits, watch) for subject in subjects]
    samples: list[list[float]] = [[] for _ in subjects]
    start = watch.clock()
    for number in range(rounds):
        late = watch.clock() - start > limits.rounds_seconds
        if number >= limits.rounds_at_least and late:
            break
        order = [(number + offset) % len(subjects) for offset in range(len(subjects))]
        for index in reversed(order) if number % 2 else order:
            samples[index].append(
                time_batch(subjects[index], calls[index], limits, watch)
            )
    return [tuple(values) for values in samples]


def _decided(
    before: list[float], after: list[float], limits: TimingLimits, spent: float
) -> str:
    """Return why timing may stop now, or an empty text."""
    found = ratios(before, after)
    if len(found) == 1 and found[0] > limits.hopeless_at_once:
        return "hopeless"
    if len(found) == 2 and min(found) > limits.hopeless:
        return "hopeless"
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
    if len(found) >= DECISIVE and spent > limits.longest_seconds:
        return "undecided"
    return ""


def limits_for(call_seconds: float, noise: float) -> TimingLimits:
    """Return how to time candidates whose calls take so long.

    Where each call takes long, few rounds must do to drop a slower candidate; to call
    one faster takes as many as ever.
    """
    if call_seconds < LONG_CALL:
        return TimingLimits(noise=noise)
    return TimingLimits(
        noise=noise,
        min_rounds=2,
        hopeless_at_once=1.0 + max(0.1, 4.0 * noise),
        ran_long=True,
    )
