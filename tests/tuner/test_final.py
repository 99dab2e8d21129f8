"""Who is timed again at the end of a job, and who wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from tdsl.tuner.candidates import Candidate, Failure
from tdsl.tuner.final import (
    FINALISTS,
    FinalTiming,
    Verdict,
    choose_finalists,
    recheck,
    unconfirmed,
)
from tdsl.tuner.records import Record
from tdsl.tuner.search import Found
from tdsl.tuner.statistics import Interval

DEFAULT, FIRST, SECOND = (Candidate({}, name, ()) for name in ("d", "first", "second"))
LOST = Failure("crash (SIGSEGV)", "as planned")
ROUNDS = 12


@dataclass
class Bench:
    """Times by structure; a candidate without one has failed."""

    seconds: Mapping[str, float | Sequence[float]]
    asked: list[str] = field(default_factory=list)

    def time_finalists(
        self, candidates: Sequence[Candidate]
    ) -> list[FinalTiming | Failure]:
        self.asked = [candidate.structure for candidate in candidates]
        return [self._timing(name) for name in self.asked]

    def _timing(self, name: str) -> FinalTiming | Failure:
        if name not in self.seconds:
            return LOST
        given = self.seconds[name]
        samples = [given] * ROUNDS if isinstance(given, float) else given
        return FinalTiming(tuple(samples), 0.5)


def winner(noise: float = 0.005, **seconds: float) -> str:
    found = recheck(Bench(seconds), DEFAULT, [FIRST, SECOND], noise)
    assert found is not None
    return found.winner.structure


def record(name: str, ratio: float | None) -> Record:
    status = "failed" if ratio is None else "measured"
    return replace(Record("", "trial", name, status, {}), ratio=ratio)


def test_the_best_few_that_may_win_are_finalists() -> None:
    ratios = {"a": 1.02, "b": 0.9, "c": None, "d": 1.5, "e": 0.8, "f": 1.04}
    records = [record(name, ratio) for name, ratio in ratios.items()]
    chosen = [each.candidate for each in choose_finalists(records, 0.03)]
    assert chosen == ["e", "b", "a"]
    assert [each.candidate for each in choose_finalists(records, 0.01)] == ["e", "b"]
    chosen = [each.candidate for each in choose_finalists(records, 1.0)]
    assert chosen == ["e", "b", "a"] and len(chosen) == FINALISTS
    assert [each.candidate for each in choose_finalists(records, 1.0, 1)] == ["e"]


def test_no_advantage_is_none_beyond_the_noise() -> None:
    assert choose_finalists([record("a", 1.25)], 0.25) == []


def test_the_default_wins_a_tie() -> None:
    assert winner(d=1.0, first=1.0, second=1.0) == "d"
    assert winner(d=1.0, first=0.996, second=1.1) == "d"


def test_the_earlier_finalist_wins_a_tie_with_a_later_one() -> None:
    assert winner(d=1.0, first=0.9, second=0.899) == "first"
    assert winner(d=1.0, first=0.9, second=0.8) == "second"
    assert winner(d=1.0, first=0.8, second=0.9) == "first"


def test_the_noise_of_a_search_hides_no_more_than_one_percent_here() -> None:
    assert winner(noise=0.03, d=1.0, first=0.98, second=1.0) == "first"
    assert winner(noise=0.03, d=1.0, first=0.992, second=1.0) == "d"
    assert winner(noise=0.005, d=1.0, first=0.992, second=1.0) == "first"


def test_a_verdict_has_times_and_what_was_gained() -> None:
    bench = Bench({"d": [4.0, 2.0, 6.0, 4.0, 4.0, 4.0], "first": [2.0, 1.0, 3.0] * 2})
    found = recheck(bench, DEFAULT, [FIRST, SECOND], 0.005)
    assert found is not None and found.winner is FIRST and found.sure
    assert (found.default_seconds, found.seconds) == (4.0, 2.0)
    assert found.timing.max_error_over_bound == 0.5
    assert found.speedup is not None and found.speedup.median == 2.0
    assert [candidate for candidate, _ in found.timings] == [DEFAULT, FIRST, SECOND]
    assert found.timings[2][1] is LOST


def test_a_default_that_wins_has_gained_nothing() -> None:
    found = recheck(Bench({"d": 1.0, "first": 2.0}), DEFAULT, [FIRST], 0.005)
    assert found is not None and found.winner is DEFAULT
    assert found.speedup is None and found.default_seconds == 1.0


def test_the_default_is_timed_once_and_first() -> None:
    bench = Bench({"d": 1.0, "first": 2.0})
    recheck(bench, DEFAULT, [FIRST, replace(DEFAULT, text="the same")], 0.005)
    assert bench.asked == ["d", "first"]
    recheck(bench, None, [FIRST, SECOND], 0.005)
    assert bench.asked == ["first", "second"]


@pytest.mark.parametrize("default", [DEFAULT, None])
def test_without_a_time_of_the_default_nothing_is_gained(
    default: Candidate | None,
) -> None:
    bench = Bench({"first": 2.0, "second": 1.0})
    found = recheck(bench, default, [FIRST, SECOND], 0.005)
    assert found is not None and found.winner is SECOND
    assert found.default_seconds is None and found.speedup is None


def test_where_nothing_ran_there_is_no_verdict() -> None:
    assert recheck(Bench({}), DEFAULT, [FIRST], 0.005) is None
    assert recheck(Bench({}), None, [], 0.005) is None


def found_by_search(default: Candidate | None, best: Candidate | None) -> Found:
    return Found("budget", default, best, 0.25, 0.01, 9, 0)


def judged(seconds: float | None, speedup: Interval | None) -> Verdict:
    return Verdict(FIRST, FinalTiming((1.0,), None), seconds, speedup, ())


def test_only_a_leader_over_a_timed_default_can_stay_unconfirmed() -> None:
    verdict = judged(1.0, None)
    assert unconfirmed(found_by_search(DEFAULT, FIRST), verdict) == 4.0
    assert unconfirmed(found_by_search(DEFAULT, None), verdict) is None
    assert unconfirmed(found_by_search(None, FIRST), verdict) is None
    assert unconfirmed(found_by_search(DEFAULT, FIRST), judged(None, None)) is None


def test_a_speedup_is_confirmed_by_the_upper_end_of_its_interval() -> None:
    found = found_by_search(DEFAULT, FIRST)
    for high, claim in ((2.5, 4.0), (4.0 / 1.5, None), (3.0, None)):
        assert unconfirmed(found, judged(1.0, Interval(1.0, 1.1, high))) == claim
