"""Whatever becomes of one finalist, the others are timed in the same rounds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tdsl.target import AVX2
from tdsl.tuner import crew
from tdsl.tuner.candidates import Candidate, Failure
from tdsl.tuner.final import FinalTiming, Verdict, recheck, unconfirmed
from tdsl.tuner.finalists import Finalists
from tdsl.tuner.process import WorkerLost
from tdsl.tuner.search import Found
from tdsl.tuner.statistics import Interval


@pytest.fixture
def workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[crew.Crew]:
    command = (sys.executable, str(Path(__file__).with_name("fake_worker.py")))
    monkeypatch.setattr(crew, "COMMAND", command)
    made = crew.Crew(1, AVX2, tmp_path, lambda: False)
    yield made
    made.close()


def timed(workers: crew.Crew, *names: str) -> dict[str, FinalTiming | Failure]:
    programs = {name: Path(name) for name in names}
    return Finalists(workers, programs, 20.0).time()


def test_a_crash_in_a_check_drops_nobody_else(workers: crew.Crew) -> None:
    """The second check kills the process that had already checked the first."""
    found = timed(workers, "first", "crash", "last")
    assert isinstance(found["crash"], Failure)
    first, last = found["first"], found["last"]
    assert isinstance(first, FinalTiming) and isinstance(last, FinalTiming)
    assert len(first.samples) == len(last.samples) == 24


@pytest.mark.parametrize("name", ["crash-timed", "broken-timed"])
def test_a_crash_in_a_round_is_blamed_on_its_program(
    workers: crew.Crew, name: str
) -> None:
    found = timed(workers, "first", name, "last")
    assert isinstance(found[name], Failure)
    first, last = found["first"], found["last"]
    assert isinstance(first, FinalTiming) and isinstance(last, FinalTiming)
    assert len(first.samples) == len(last.samples) == 24


def test_a_crash_in_the_second_process_only(
    workers: crew.Crew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TDSL_FAKE_SEEN", str(tmp_path / "seen"))
    found = timed(workers, "first", "second-check", "last")
    assert isinstance(found["second-check"], Failure)
    lengths = {len(t.samples) for t in found.values() if isinstance(t, FinalTiming)}
    assert lengths == {24}


def test_what_a_lost_process_takes_along_may_not_load_again(
    workers: crew.Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    load, hands = crew.Hand.load, []
    gone = Failure("compilation: crash", "gone")

    def once(
        hand: crew.Hand, name: str, program: Path, limit: float
    ) -> float | Failure:
        if name == "fragile":
            if any(hand is each for each in hands):
                return gone
            hands.append(hand)
        return load(hand, name, program, limit)

    monkeypatch.setattr(crew.Hand, "load", once)
    found = timed(workers, "fragile", "crash", "last")
    assert found["fragile"] == gone
    last = found["last"]
    assert isinstance(last, FinalTiming) and len(last.samples) == 24


def test_long_calls_are_checked_in_one_process(
    workers: crew.Crew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TDSL_FAKE_SEEN", str(tmp_path / "seen"))
    workers.call_seconds = 0.1
    found = timed(workers, "second-check")["second-check"]
    assert isinstance(found, FinalTiming)
    assert len(found.samples) == 24


def test_a_worker_lost_before_it_hears_of_a_program(
    workers: crew.Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = crew.Worker.send

    def lose(worker: crew.Worker, message: dict[str, object]) -> None:
        if message["do"] == "load" and message["name"] in ("first", "second"):
            raise WorkerLost("crash", "gone")
        send(worker, message)

    monkeypatch.setattr(crew.Worker, "send", lose)
    programs = {name: Path(name) for name in ("first", "second", "third")}
    found = workers.load(programs, 5.0)
    assert found["first"] == found["second"] == Failure("crash", "gone")
    assert not isinstance(found["third"], Failure)


def test_a_verdict_survives_the_crash_of_a_finalist(workers: crew.Crew) -> None:
    everyone = [Candidate({}, name, ()) for name in ("default", "crash", "other")]

    class Bench:
        def time_finalists(self, candidates: object) -> list[FinalTiming | Failure]:
            return list(timed(workers, *(c.structure for c in everyone)).values())

    verdict = recheck(Bench(), everyone[0], everyone[1:], 0.01)
    assert verdict is not None and verdict.default_seconds is not None


def test_the_rounds_are_bounded_in_time(workers: crew.Crew) -> None:
    found = Finalists(workers, {"slow": Path("slow")}, 0.2).time()["slow"]
    assert isinstance(found, FinalTiming)
    assert len(found.samples) == 6  # the fewest that decide anything, both together


DEFAULT, LEADER = (Candidate({}, name, ()) for name in ("default", "leader"))


@pytest.mark.parametrize(
    ("best", "winner", "gain", "expected"),
    [
        (LEADER, DEFAULT, None, 4.0),
        (LEADER, LEADER, 1.2, 4.0),
        (LEADER, LEADER, 3.0, None),
        (DEFAULT, DEFAULT, None, None),
    ],
)
def test_what_the_search_believed_and_the_recheck_did_not(
    best: Candidate, winner: Candidate, gain: float | None, expected: float | None
) -> None:
    found = Found("budget", DEFAULT, best, 0.25, 0.01, 9, 0)
    speedup = None if gain is None else Interval(gain, gain, gain)
    verdict = Verdict(winner, FinalTiming((1.0,), None), 1.0, speedup, ())
    assert unconfirmed(found, verdict) == expected
    assert unconfirmed(found, None) is None
