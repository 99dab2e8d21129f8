"""Who leads, by which ratio, and what is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tdsl.tuner.candidates import COMPILE_LIMIT, Candidate, Failure, Measurement
from tdsl.tuner.contest import NOISE_CAP, Contest
from tdsl.tuner.deadline import Deadline, OutOfTime
from tdsl.tuner.journal import Journal
from tdsl.tuner.ledger import Ledger
from tdsl.tuner.records import Config
from tdsl.tuner.statistics import FLOOR

from .fakes import KEY, FakeClock

LOST = Failure("crash (SIGSEGV)", "as planned")
DEFAULT, ONE, TWO = (Candidate({"at": n}, f"p{n}", ()) for n in range(3))


@dataclass
class Script:
    """A workshop whose measurements are given, in the order of the looks."""

    looks: Sequence[tuple[float, float] | Measurement | Failure]
    compiling: Sequence[float | Failure] = ()
    parallel: int = 1
    refused: bool = False
    asked: list[tuple[str, str, float]] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)

    def build(self, config: Config) -> Candidate:
        return Candidate(config, "another" if self.refused else f"p{config['at']}", ())

    def compile(
        self, candidates: Sequence[Candidate], limit: float
    ) -> list[float | Failure]:
        self.limits.append(limit)
        given = self.compiling[len(self.limits) - 1] if self.compiling else 1.0
        return [given for _ in candidates]

    def measure(
        self, candidate: Candidate, rival: Candidate, noise: float
    ) -> Measurement | Failure:
        look = self.looks[len(self.asked)]
        self.asked.append((candidate.structure, rival.structure, noise))
        if isinstance(look, tuple):
            return Measurement((look[0],) * 9, (look[1],) * 9, 0.25)
        return look


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


def contest(ledger: Path, script: Script, clock: FakeClock | None = None) -> Contest:
    journal = Journal(Ledger.open(ledger, KEY), "", 0)
    journal.replay()
    deadline = Deadline(100.0, clock or FakeClock(), lambda: False)
    return Contest(script, journal, deadline)


def opened(ledger: Path, *looks: tuple[float, float] | Failure) -> Contest:
    """Return a contest with a default of one second, without noise."""
    made = contest(ledger, Script([(1.0, 1.0), *looks]))
    made.open_with(DEFAULT)
    return made


def test_the_default_is_the_first_incumbent(ledger: Path) -> None:
    made = opened(ledger)
    assert made.default is made.best is made.reference is DEFAULT
    assert (made.best_ratio, made.best_seconds, made.noise) == (1.0, 1.0, FLOOR)
    (record,) = made.journal.trials.values()
    assert (record.ratio, record.compile_seconds, record.status) == (
        *(1.0, 1.0),
        "measured",
    )


def test_the_noise_of_equals_is_bounded(ledger: Path) -> None:
    wild = Measurement((1.0, 1.5) * 5, (1.0,) * 10)
    made = contest(ledger, Script([wild]))
    made.open_with(DEFAULT)
    assert made.noise == NOISE_CAP
    mild = Measurement((1.0, 1.02) * 5, (1.0,) * 10)
    made = contest(ledger.with_name("other"), Script([mild]))
    made.open_with(DEFAULT)
    assert made.noise == pytest.approx(0.02)


@pytest.mark.parametrize("where", ["compile", "measure"])
def test_a_default_that_fails_leads_nothing(where: str, ledger: Path) -> None:
    compiling = [LOST] if where == "compile" else [2.0]
    made = contest(ledger, Script([LOST], compiling))
    made.open_with(DEFAULT)
    assert made.default is made.best is made.reference is None
    assert (made.best_ratio, made.best_seconds) == (1.0, None)
    (record,) = made.journal.trials.values()
    assert record.status == "failed"
    assert record.compile_seconds == (0.0 if where == "compile" else 2.0)


def test_a_default_is_recorded_once(ledger: Path) -> None:
    for _ in range(2):
        opened(ledger)
    assert len(ledger.read_text().splitlines()) == 1


def test_a_default_that_failed_before_is_recorded_when_it_does_not(
    ledger: Path,
) -> None:
    contest(ledger, Script([LOST])).open_with(DEFAULT)
    opened(ledger)
    assert len(ledger.read_text().splitlines()) == 2
    assert contest(ledger, Script([])).journal.trials[DEFAULT.identity].ratio == 1.0


def test_a_winner_is_looked_at_twice_and_takes_the_second_ratio(ledger: Path) -> None:
    made = opened(ledger, (0.5, 1.0), (0.6, 1.0))
    assert made.enter(ONE, 3.0) == 0.6
    assert (made.best, made.best_ratio, made.best_seconds) == (ONE, 0.6, 0.5)
    record = made.journal.trials[ONE.identity]
    assert (record.ratio, record.compile_seconds) == (0.6, 3.0)
    assert record.rival == DEFAULT.identity


def test_later_candidates_run_beside_the_incumbent(ledger: Path) -> None:
    made = opened(ledger, (0.5, 1.0), (0.5, 1.0), (1.0, 0.5), (0.4, 0.5), (0.3, 1.0))
    made.enter(ONE, 0.0)
    assert made.enter(TWO, 0.0) == 1.0  # twice as slow as what takes half
    assert made.best is ONE
    three = Candidate({"at": 3}, "p3", ())
    assert made.enter(three, 0.0) == 0.3 and made.best is three
    script = made.workshop
    assert isinstance(script, Script)
    assert [pair[:2] for pair in script.asked] == [
        *(("p0", "p0"), ("p1", "p0"), ("p1", "p0")),
        *(("p2", "p1"), ("p3", "p1"), ("p3", "p0")),
    ]


@pytest.mark.parametrize(
    ("second", "ratio"), [((1.2, 1.0), 1.2), (LOST, 1.0), ((0.999, 1.0), 0.999)]
)
def test_who_wins_one_look_only_does_not_lead(
    second: tuple[float, float] | Failure, ratio: float, ledger: Path
) -> None:
    made = opened(ledger, (0.5, 1.0), second)
    assert made.enter(ONE, 0.0) == ratio
    assert made.best is DEFAULT and made.best_ratio == 1.0
    assert made.journal.trials[ONE.identity].ratio == ratio


@pytest.mark.parametrize(("second", "leads"), [(0.98, True), (0.987, False)])
def test_the_second_look_wins_by_half_the_noise(
    second: float, leads: bool, ledger: Path
) -> None:
    wild = Measurement((1.0, 1.5) * 5, (1.0,) * 10)
    made = contest(ledger, Script([wild, (0.5, 1.0), (second, 1.0)]))
    made.open_with(DEFAULT)
    made.enter(ONE, 0.0)
    assert made.noise == 0.03 and (made.best is ONE) == leads


def test_a_tie_is_not_looked_at_again(ledger: Path) -> None:
    made = opened(ledger, (0.997, 1.0))
    assert made.enter(ONE, 0.0) == 0.997 and made.best is DEFAULT


@pytest.mark.parametrize("where", ["compile", "measure"])
def test_a_failure_is_recorded_and_has_no_ratio(where: str, ledger: Path) -> None:
    made = opened(ledger, LOST)
    assert made.enter(ONE, LOST if where == "compile" else 2.0) is None
    record = made.journal.trials[ONE.identity]
    assert (record.status, record.ratio, record.cause) == ("failed", None, LOST.cause)
    assert record.compile_seconds == (0.0 if where == "compile" else 2.0)


def test_nobodys_failure_is_recorded_when_the_time_is_up(ledger: Path) -> None:
    clock = FakeClock()
    made = contest(ledger, Script([]), clock)
    clock.now = 100.0
    with pytest.raises(OutOfTime):
        made.enter(ONE, LOST)
    assert made.journal.trials == {}


def test_without_a_default_the_first_with_a_time_is_the_reference(
    ledger: Path,
) -> None:
    made = contest(ledger, Script([(1.0, 1.0), (0.5, 1.0), (0.5, 1.0)]))
    assert made.enter(ONE, 0.0) == 1.0
    assert made.reference is made.best is ONE and made.default is None
    assert made.enter(TWO, 0.0) == 0.5 and made.best is TWO


def resumed(
    ledger: Path, *looks: tuple[float, float] | Failure, **how: object
) -> Contest:
    """Return a contest after a job in which ONE took 0.5 and TWO 0.8 of the default."""
    first = opened(ledger, (0.8, 1.0), (0.8, 1.0), (0.5, 0.8), (0.5, 1.0))
    first.enter(TWO, 0.0)
    first.enter(ONE, 0.0)
    assert first.best is ONE
    again = contest(ledger, Script([(1.0, 1.0), *looks], **how))  # type: ignore[arg-type]
    again.open_with(DEFAULT)
    again.resume()
    return again


def test_the_best_of_earlier_jobs_leads_by_its_ratio_of_today(ledger: Path) -> None:
    made = resumed(ledger, (0.6, 1.0))
    assert (made.best, made.best_ratio, made.best_seconds) == (ONE, 0.6, 0.6)


@pytest.mark.parametrize("look", [(1.0, 1.0), (1.2, 1.0), LOST])
def test_the_best_of_earlier_jobs_leads_only_if_it_still_is_faster(
    look: tuple[float, float] | Failure, ledger: Path
) -> None:
    made = resumed(ledger, look, *[(0.8, 1.0)] * isinstance(look, Failure))
    if isinstance(look, Failure):
        assert made.best is not None and made.best.structure == "p2"
    else:
        assert made.best is DEFAULT and made.best_ratio == 1.0


def test_what_no_longer_compiles_makes_way_for_the_next(ledger: Path) -> None:
    made = resumed(ledger, (0.7, 1.0), compiling=[1.0, LOST, 1.0])
    assert made.best is not None and made.best.structure == "p2"


def test_what_means_another_program_now_does_not_come_back(ledger: Path) -> None:
    assert resumed(ledger, refused=True).best is DEFAULT


def test_an_advantage_within_the_noise_does_not_come_back(ledger: Path) -> None:
    first = opened(ledger, (0.996, 1.0))
    first.enter(ONE, 0.0)
    again = opened(ledger)
    again.resume()
    assert again.best is DEFAULT


def test_without_a_reference_nothing_comes_back(ledger: Path) -> None:
    made = contest(ledger, Script([]))
    made.resume()
    assert made.best is None


def test_patience_with_a_compilation_is_learnt(ledger: Path) -> None:
    script = Script([], [2.0, LOST, 3.0, 0.0, 1.0, 4.0])
    made = contest(ledger, script)
    for _ in range(6):
        made.compile([ONE])
    # What failed, or was there already, teaches nothing.
    assert script.limits == [COMPILE_LIMIT] * 5 + [5.0 + 8.0 * 2.0]


def test_patience_with_a_compilation_has_an_end(ledger: Path) -> None:
    clock = FakeClock()
    script = Script([], [50.0] * 5)
    made = contest(ledger, script, clock)
    for _ in range(4):
        made.compile([ONE])
    assert script.limits[-1] == COMPILE_LIMIT
    clock.now = 95.0
    made.compile([ONE])
    assert script.limits[-1] == pytest.approx(10.0)  # the budget is 100, and some grace
