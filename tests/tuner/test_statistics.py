"""Ties are ties, and neither drift nor noise chooses a winner."""

from __future__ import annotations

import random

import pytest

from tdsl.tuner.statistics import (
    FLOOR,
    Interval,
    judge,
    median,
    median_interval,
    noise_floor,
    ratios,
)
from tdsl.tuner.timing import (
    PairTiming,
    Stopwatch,
    Subject,
    TimingLimits,
    limits_for,
    system_stopwatch,
    time_batch,
    time_pair,
    time_rounds,
    warm_up,
)


class Machine:
    """A clock that advances when programs run, on a machine that changes speed."""

    def __init__(self, drift: float = 0.0, spread: float = 0.0, seed: int = 0) -> None:
        self.now = 0.0
        self.calls = 0
        self.preemptions = 0
        self.greed = 0.0
        self.drift = drift
        self.spread = spread
        self.random = random.Random(seed)

    @property
    def watch(self) -> Stopwatch:
        return Stopwatch(lambda: self.now, lambda: self.preemptions)

    def program(self, seconds: float) -> Subject:
        def run() -> None:
            self.calls += 1
            if self.random.random() < self.greed:
                self.preemptions += 1
                self.now += 4e-3
            weather = max(0.2, 1.0 + self.drift * self.now)
            self.now += seconds * weather * (1.0 + self.spread * self.random.random())

        return Subject(run)


def verdict(machine: Machine, rival: float, candidate: float) -> str:
    limits = TimingLimits(noise=0.01)
    timing = time_pair(
        machine.program(rival), machine.program(candidate), limits, machine.watch
    )
    return judge(median_interval(ratios(timing.rival, timing.candidate)), limits.noise)


def test_median() -> None:
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([4.0, 1.0, 2.0, 3.0]) == 2.5


@pytest.mark.parametrize(
    ("count", "skipped"), [(5, None), (6, 0), (8, 0), (9, 1), (12, 2), (20, 5)]
)
def test_the_interval_is_that_of_the_sign_test(count: int, skipped: int | None) -> None:
    """Ranks from the usual table for the median at 95 %."""
    interval = median_interval([float(i) for i in range(count)])
    if skipped is None:
        assert (interval.low, interval.high) == (0.0, float("inf"))
    else:
        assert (interval.low, interval.high) == (skipped, count - 1 - skipped)


def test_the_interval_covers_the_truth() -> None:
    generator = random.Random(0)
    missed = 0
    for _ in range(400):
        values = [generator.lognormvariate(0.0, 0.3) for _ in range(11)]
        interval = median_interval(values)
        missed += not interval.low <= 1.0 <= interval.high
    assert missed <= 0.07 * 400


def test_judge() -> None:
    assert judge(Interval(0.90, 0.92, 0.95), 0.01) == "faster"
    assert judge(Interval(1.05, 1.06, 1.07), 0.01) == "slower"
    assert judge(Interval(0.97, 0.98, 0.995), 0.01) == "tie"
    assert judge(Interval(0.90, 0.92, 0.95), 0.06) == "tie"
    assert judge(Interval(0.996, 0.997, 0.998), 0.0) == "tie"
    assert judge(Interval(0.5, 0.6, 0.75), 0.25) == "tie"  # no more than the noise
    assert judge(Interval(1.25, 1.3, 1.5), 0.25) == "tie"


def test_noise_floor() -> None:
    assert noise_floor([1.0] * 9) == FLOOR
    assert noise_floor([0.97, 0.98, 1.0, 1.0, 1.0, 1.0, 1.0, 1.02, 1.04]) == (
        pytest.approx(0.02)
    )
    assert noise_floor([1.0, 1.0, 1.0, 1.0, 1.25, 1.25, 1.25]) == 0.25
    assert noise_floor([0.75, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0]) == 0.25


def test_few_rounds_show_all_the_noise_they_have() -> None:
    assert noise_floor([1.0, 1.25]) == 0.25
    assert noise_floor([1.25, 0.5, 1.0]) == 0.5
    assert noise_floor([1.0]) == FLOOR


@pytest.mark.parametrize("drift", [-2.0, -0.5, 0.0, 0.5, 2.0, 10.0])
@pytest.mark.parametrize("seed", range(5))
def test_drift_never_flips_the_winner(drift: float, seed: int) -> None:
    """The machine slows down, or speeds up, by as much as tenfold a second."""
    assert verdict(Machine(drift, 0.02, seed), 1e-3, 0.9e-3) != "slower"
    assert verdict(Machine(drift, 0.02, seed), 0.9e-3, 1e-3) != "faster"
    assert verdict(Machine(drift, 0.02, seed), 1e-3, 1e-3) == "tie"


def test_equal_programs_in_a_drift_are_timed_to_the_end() -> None:
    """Who goes second always suffers more: the two take turns at that."""
    machine = Machine(drift=10.0)
    programs = machine.program(1e-3), machine.program(1e-3)
    timing = time_pair(*programs, TimingLimits(pair_seconds=9.0), machine.watch)
    assert timing.stopped == ""
    assert len(timing.candidate) == 13


def test_a_clear_difference_is_found() -> None:
    assert verdict(Machine(0.5, 0.02), 1e-3, 0.9e-3) == "faster"
    machine = Machine(0.5, 0.02)
    programs = machine.program(0.9e-3), machine.program(1e-3)
    timing = time_pair(*programs, TimingLimits(), machine.watch)
    assert timing.stopped == "slower"
    assert len(timing.candidate) == 3  # enough to drop it, not to crown it


def test_blocked_rounds_would_be_fooled_by_drift() -> None:
    """What interleaving is for: one after the other, equal programs look different."""
    machine = Machine(drift=10.0)
    first, second = machine.program(1e-3), machine.program(1e-3)
    times = []
    for run in (first, second):
        start = machine.now
        for _ in range(100):
            run.run()
        times.append(machine.now - start)
    assert times[1] > 1.5 * times[0]


def test_hopeless_candidates_are_given_up_at_once() -> None:
    machine = Machine()
    limits = TimingLimits()
    timing = time_pair(
        machine.program(1e-3), machine.program(2e-3), limits, machine.watch
    )
    assert timing.stopped == "hopeless"
    assert len(timing.candidate) == 2
    awful = machine.program(9e-3)
    timing = time_pair(machine.program(1e-3), awful, limits, machine.watch)
    assert timing.stopped == "hopeless"
    assert len(timing.candidate) == 1


def test_promising_candidates_get_all_their_rounds() -> None:
    machine = Machine(spread=0.0)
    limits = TimingLimits(pair_seconds=0.0, batch_seconds=0.1)
    timing = time_pair(
        machine.program(1e-3), machine.program(0.97e-3), limits, machine.watch
    )
    assert timing.stopped == "faster"
    assert len(timing.candidate) == 6


@pytest.mark.parametrize("seed", range(5))
def test_time_taken_by_others_does_not_count(seed: int) -> None:
    """Others take a time slice in every third call; the faster program still wins."""
    machine = Machine(spread=0.02, seed=seed)
    machine.greed = 0.3
    assert verdict(machine, 3e-3, 2.7e-3) == "faster"
    assert verdict(machine, 2.7e-3, 3e-3) != "faster"


def test_where_every_batch_is_disturbed_the_shortest_counts() -> None:
    machine = Machine()
    machine.greed = 1.0
    limits = TimingLimits()
    seconds = time_batch(machine.program(1e-3), 1, limits, machine.watch)
    assert seconds == pytest.approx(5e-3)
    assert machine.calls == limits.attempts


def test_long_batches_are_not_repeated_for_ever() -> None:
    machine = Machine()
    machine.greed = 1.0
    time_batch(machine.program(1.0), 1, TimingLimits(), machine.watch)
    assert machine.calls == 1


def timed_beside_long_calls(
    seconds: float, noise: float = FLOOR
) -> tuple[Machine, PairTiming]:
    """Time a candidate beside a rival whose calls take 0.2 s."""
    machine, limits = Machine(), limits_for(0.2, noise)
    rival, candidate = machine.program(0.2), machine.program(seconds)
    return machine, time_pair(rival, candidate, limits, machine.watch)


def test_long_calls_are_dropped_after_one_round() -> None:
    """One call each, where short calls get three rounds or more."""
    machine, timing = timed_beside_long_calls(0.25)
    assert timing.stopped == "hopeless"
    assert machine.calls == 3  # the rival's warm-up, and a round


def test_slower_long_calls_are_dropped_after_two_rounds() -> None:
    machine, timing = timed_beside_long_calls(0.21)
    assert timing.stopped == "slower"
    assert machine.calls == 5


def test_long_calls_win_by_as_many_rounds_as_ever() -> None:
    machine, timing = timed_beside_long_calls(0.18)
    assert timing.stopped == "faster"
    assert len(timing.candidate) == 6
    assert machine.calls == 13


def test_noise_keeps_one_round_from_deciding() -> None:
    _, timing = timed_beside_long_calls(0.236, noise=0.05)
    assert len(timing.candidate) > 1


def test_the_system_stopwatch_counts_up() -> None:
    watch = system_stopwatch()
    assert watch.clock() < watch.clock()
    assert watch.preemptions() >= 0


def test_the_warm_up_is_capped_in_time_and_calls() -> None:
    machine = Machine()
    limits = TimingLimits(warm_up_seconds=0.01, warm_up_calls=50)
    warm_up(machine.program(1.0), limits, machine.watch)
    assert machine.calls == 1
    warm_up(machine.program(1e-6), limits, machine.watch)
    assert machine.calls == 51


def test_arrays_are_restored_before_each_batch() -> None:
    machine = Machine()
    log: list[str] = []

    def run() -> None:
        log.append("run")
        machine.now += 1e-3

    subject = Subject(run, lambda: log.append("restore"), calls=2)
    limits = TimingLimits(batch_seconds=1.0)
    calls = warm_up(subject, limits, machine.watch)
    time_batch(subject, calls, limits, machine.watch)
    assert log == ["run", "run", "restore", "run", "run"]


def test_rounds_are_bounded_in_time() -> None:
    machine = Machine()
    programs = [machine.program(1.0), machine.program(2.0)]
    samples = time_rounds(programs, 50, TimingLimits(), machine.watch)
    assert [len(values) for values in samples] == [6, 6]


def test_rounds_interleave_all_programs() -> None:
    machine = Machine(drift=3.0)
    programs = [machine.program(seconds) for seconds in (1e-3, 1.2e-3, 0.8e-3)]
    samples = time_rounds(programs, 9, TimingLimits(), machine.watch)
    assert [len(values) for values in samples] == [9, 9, 9]
    assert median(ratios(samples[0], samples[1])) == pytest.approx(1.2, rel=0.05)
    assert median(ratios(samples[0], samples[2])) == pytest.approx(0.8, rel=0.05)
