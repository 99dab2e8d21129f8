"""The search over an abstract space: order, repeats, failures, time, resumption."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tdsl.tuner.candidates import Candidate, Measurement, Refused
from tdsl.tuner.process import Interrupted
from tdsl.tuner.records import Config
from tdsl.tuner.search import HOPELESS

from .fakes import ROOMY, FakeParam, FakeSketch, FakeWorkshop, search, steady


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


def test_finds_the_best_point(ledger: Path) -> None:
    found = search(FakeWorkshop(), ledger).run()
    assert found.best is not None
    assert found.best.config == {"rows": 4, "vectors": 2, "block": 64}
    assert found.best_ratio == pytest.approx(1 / 3, rel=0.1)


def test_measures_the_default_first(ledger: Path) -> None:
    search(FakeWorkshop(), ledger).run()
    assert rows(ledger)[0]["config"] == ROOMY.default()


def test_measures_nothing_twice(ledger: Path) -> None:
    workshop = FakeWorkshop()
    search(workshop, ledger, budget=1e6).run()
    tried = [row["candidate"] for row in rows(ledger)]
    assert len(tried) == len(set(tried)) == 60  # the whole space, each point once


def test_an_exhausted_space_is_a_success(ledger: Path) -> None:
    assert search(FakeWorkshop(), ledger, budget=1e6).run().stop == "exhausted"


def test_points_with_one_program_are_one_candidate(ledger: Path) -> None:
    """A point whose program was measured is answered from memory."""
    workshop = FakeWorkshop(sizes=())
    real_build = workshop.build
    workshop.build = lambda config: real_build({**config, "block": 64})  # type: ignore[method-assign]
    search(workshop, ledger, budget=1e6).run()
    assert len(rows(ledger)) == 12


@pytest.mark.parametrize("choices", [(), ((8,),), ((8, 16),)])
def test_tiny_spaces(ledger: Path, choices: tuple[tuple[int, ...], ...]) -> None:
    sketch = FakeSketch(tuple(FakeParam("rows", c) for c in choices))
    workshop = FakeWorkshop(seconds=lambda config: 1.0, sizes=())
    found = search(workshop, ledger, sketch=sketch).run()
    assert found.stop == "exhausted"
    assert found.tried == max(1, len(choices and choices[0]))


def test_infeasible_points_are_refused_not_failed(ledger: Path) -> None:
    workshop = FakeWorkshop(refuse=lambda config: int(config["rows"]) == 8)
    found = search(workshop, ledger, budget=1e6).run()
    refused = [row for row in rows(ledger) if row["status"] == "refused"]
    assert len(refused) == 15
    assert {row["config"]["rows"] for row in refused} == {8}  # type: ignore[index]
    assert found.best is not None and found.best.config["rows"] == 4


def test_a_refused_default_is_replaced_by_the_plain_program(ledger: Path) -> None:
    workshop = FakeWorkshop(refuse=lambda config: config == ROOMY.default())
    found = search(workshop, ledger, budget=1e6).run()
    assert found.default is not None and found.default.config == {}
    assert found.best is not None
    assert found.best.config == {"rows": 4, "vectors": 2, "block": 64}
    again = search(FakeWorkshop(refuse=workshop.refuse), ledger, budget=1e6).run()
    tried = [row["candidate"] for row in rows(ledger)]
    assert len(tried) == len(set(tried)) == 61
    assert again.default is not None and again.default.config == {}
    assert again.best is not None and again.best.config == found.best.config


def test_where_all_is_refused_the_plain_program_is_best(ledger: Path) -> None:
    workshop = FakeWorkshop(refuse=lambda config: True)
    found = search(workshop, ledger, budget=1e6).run()
    assert found.best is found.default is not None
    assert found.stop == "nothing else builds"
    assert sum(row["status"] == "refused" for row in rows(ledger)) == 1 + HOPELESS


def test_refusals_do_not_end_a_search_that_measured_something(ledger: Path) -> None:
    first = search(FakeWorkshop(), ledger, budget=4).run()
    assert 1 < first.tried < 10
    workshop = FakeWorkshop(refuse=lambda config: config != ROOMY.default())
    found = search(workshop, ledger, budget=1e6).run()
    assert found.stop == "exhausted" and found.tried == 60


def test_a_failing_candidate_costs_only_itself(ledger: Path) -> None:
    def fail(config: Config) -> str:
        return "crash (SIGSEGV)" if config["vectors"] == 4 else ""

    found = search(FakeWorkshop(fail=fail), ledger, budget=1e6).run()
    failed = [row for row in rows(ledger) if row["status"] == "failed"]
    assert {row["cause"] for row in failed} == {"crash (SIGSEGV)"}
    assert found.best is not None and found.best.config["vectors"] == 2


def test_all_failing(ledger: Path) -> None:
    found = search(FakeWorkshop(fail=lambda config: "wrong"), ledger, budget=30).run()
    assert found.best is None
    assert {row["status"] for row in rows(ledger)} == {"failed"}


def test_a_failing_default_is_replaced_as_the_baseline(ledger: Path) -> None:
    def fail(config: Config) -> str:
        return "wrong" if config == ROOMY.default() else ""

    found = search(FakeWorkshop(fail=fail), ledger, budget=1e6).run()
    assert found.best is not None
    assert found.best.config == {"rows": 4, "vectors": 2, "block": 64}
    assert found.default is None  # the baseline of ratios is not the default


@pytest.mark.parametrize(
    ("cause", "times"), [("time limit (check)", 2), ("out of memory", 2), ("wrong", 1)]
)
def test_an_accidental_failure_is_retried_once(
    ledger: Path, cause: str, times: int
) -> None:
    bad = {"rows": 4, "vectors": 2, "block": 64}

    def fail(config: Config) -> str:
        return cause if config == bad else ""

    for _ in range(3):
        search(FakeWorkshop(fail=fail), ledger, budget=1e6).run()
    assert sum(row["config"] == bad for row in rows(ledger)) == times


def test_a_full_disk_ends_the_search_with_what_is_known(ledger: Path) -> None:
    workshop = FakeWorkshop()
    measure = workshop.measure

    def full(*arguments: object) -> object:
        if len(workshop.measured) == 6:
            raise OSError(28, "No space left on device")
        return measure(*arguments)  # type: ignore[arg-type]

    workshop.measure = full  # type: ignore[assignment, method-assign]
    found = search(workshop, ledger).run()
    assert found.stop == "trouble"
    assert "No space left on device" in found.trouble
    assert found.best is not None and found.default is not None


def test_without_a_proof_of_the_default_nothing_runs(ledger: Path) -> None:
    workshop = FakeWorkshop()

    def build(config: Config) -> Candidate:
        raise Refused("no proof", "gave up: too many cases", "unknown")

    workshop.build = build  # type: ignore[method-assign]
    found = search(workshop, ledger).run()
    assert found.stop == "unproved"
    assert "too many cases" in found.trouble
    assert workshop.measured == []


def test_the_rate_of_each_phase_is_known(ledger: Path) -> None:
    found = search(FakeWorkshop(), ledger, budget=60.0).run()
    assert 0.1 < found.rates["structure"] < 5.0  # a second for two programs, and so on
    assert found.rates["size"] > found.rates["structure"]  # sizes need no compilation


def test_a_size_that_changes_the_program_is_rated_as_a_structure(ledger: Path) -> None:
    """Whoever has to be compiled says nothing about how fast sizes are searched."""
    workshop = FakeWorkshop(seconds=lambda config: 1.0)
    plain = workshop.build

    def build(config: Config) -> Candidate:
        built = plain(config)
        own = config.get("block") in (16, 256)
        return replace(built, structure=f"{built.structure} alone") if own else built

    workshop.build = build  # type: ignore[method-assign]
    found = search(workshop, ledger, budget=60.0).run()
    step = workshop.measure_seconds + 0.01
    assert found.rates["size"] == pytest.approx(1.0 / step, rel=0.15)
    assert found.rates["structure"] < 1.0 / (step + workshop.compile_seconds / 2)


def test_a_default_that_failed_once_is_tried_again(ledger: Path) -> None:
    """A crowded machine may have made it miss a time limit; others get one chance."""

    def fail(config: Config) -> str:
        return "time limit (check)" if config == ROOMY.default() else ""

    search(FakeWorkshop(fail=fail), ledger, budget=10.0).run()
    again = search(FakeWorkshop(fail=fail), ledger, budget=10.0).run()
    assert again.default is None or again.default.config != ROOMY.default()
    search(FakeWorkshop(fail=fail), ledger, budget=10.0).run()
    assert sum(row["config"] == ROOMY.default() for row in rows(ledger)) == 2
    found = search(FakeWorkshop(), ledger, budget=10.0).run()
    assert found.default is not None and found.default.config == ROOMY.default()


def test_stays_within_the_budget(ledger: Path) -> None:
    workshop = FakeWorkshop(compile_seconds=3.0)
    found = search(workshop, ledger, budget=20.0).run()
    assert found.stop == "budget"
    assert 20.0 <= workshop.clock.now <= 24.0


def test_a_slow_compilation_is_cut_by_the_budget(ledger: Path) -> None:
    workshop = FakeWorkshop(compile_seconds=1000.0)
    search(workshop, ledger, budget=20.0).run()
    assert workshop.clock.now <= 24.0


def test_an_interruption_keeps_everything(ledger: Path) -> None:
    job = search(FakeWorkshop(), ledger, budget=1e6)
    job.should_stop = lambda: len(job.workshop.measured) > 7  # type: ignore[attr-defined]
    found = job.run()
    assert found.stop == "interrupted"
    assert found.best is not None
    assert len(rows(ledger)) == found.tried > 3


def test_an_interruption_inside_a_measurement(ledger: Path) -> None:
    workshop = FakeWorkshop()
    measure = workshop.measure

    def interrupted(*arguments: object) -> object:
        if len(workshop.measured) == 4:
            raise Interrupted
        return measure(*arguments)  # type: ignore[arg-type]

    workshop.measure = interrupted  # type: ignore[assignment, method-assign]
    assert search(workshop, ledger).run().stop == "interrupted"
    recorded = {row["candidate"] for row in rows(ledger)}
    assert recorded >= set(workshop.measured[:-1])  # all but the one in flight


def test_resumption_measures_nothing_again(ledger: Path) -> None:
    first = search(FakeWorkshop(), ledger, budget=15.0).run()
    done = {row["candidate"] for row in rows(ledger)}
    second = search(FakeWorkshop(), ledger, budget=1e6).run()
    assert second.resumed == len(done) > 3
    tried = [row["candidate"] for row in rows(ledger)]
    assert len(tried) == len(set(tried)) == 60
    assert second.best_ratio <= first.best_ratio * 1.05


def test_resumption_keeps_the_best(ledger: Path) -> None:
    search(FakeWorkshop(), ledger, budget=1e6).run()
    workshop = FakeWorkshop()
    found = search(workshop, ledger, budget=5.0).run()
    assert found.best is not None
    assert found.best.config == {"rows": 4, "vectors": 2, "block": 64}
    assert len(workshop.measured) == 2  # the default and the best, for this session


def test_a_new_space_trusts_programs_but_not_configs(ledger: Path) -> None:
    """After a change of the sketches a config may mean another schedule."""
    search(FakeWorkshop(), ledger, budget=1e6, version="1").run()
    same = FakeWorkshop()
    search(same, ledger, budget=1e6, version="2").run()
    assert len(rows(ledger)) == 60  # built anew, and recognised
    assert len(same.built) >= 60
    other = FakeWorkshop(flavour="new")
    search(other, ledger, budget=1e6, version="3").run()
    assert len(rows(ledger)) == 120


def test_drift_does_not_choose_the_winner(ledger: Path) -> None:
    """A machine that gets ever slower makes no later candidate lose, or win."""
    for drift in (0.05, -0.004):
        path = ledger.with_name(f"{drift}.jsonl")
        found = search(FakeWorkshop(drift=drift), path, budget=200.0).run()
        assert found.best is not None
        assert found.best.config == {"rows": 4, "vectors": 2, "block": 64}


def test_a_lucky_first_look_wins_nothing(ledger: Path) -> None:
    """Everybody looks twice as fast once, and like the default afterwards."""
    workshop = FakeWorkshop(seconds=lambda config: 1.0)
    measure = workshop.measure

    def lucky(*arguments: object) -> object:
        result = measure(*arguments)  # type: ignore[arg-type]
        assert isinstance(result, Measurement)
        if workshop.measured.count(workshop.measured[-1]) > 1:
            return result
        return replace(result, samples=tuple(s / 2 for s in result.samples))

    workshop.measure = lucky  # type: ignore[assignment, method-assign]
    found = search(workshop, ledger, budget=60).run()
    assert found.tried > 5
    assert found.best is found.default
    assert found.best_ratio == 1.0


def test_equal_candidates_never_replace_the_default(ledger: Path) -> None:
    workshop = FakeWorkshop(seconds=lambda config: 1.0, spread=0.05)
    found = search(workshop, ledger, budget=1e6).run()
    assert found.best is found.default


def test_a_large_space_starts_at_once(ledger: Path) -> None:
    params = [FakeParam(f"p{i}", tuple(range(50)), "size") for i in range(12)]
    workshop = FakeWorkshop(seconds=lambda config: 1.0, sizes=[p.name for p in params])
    found = search(workshop, ledger, sketch=FakeSketch(params), budget=5.0).run()
    assert found.tried > 10


def test_the_seed_decides_the_order(tmp_path: Path) -> None:
    def order(name: str, seed: int) -> list[object]:
        path = tmp_path / name
        search(FakeWorkshop(), path, seed=seed).run()
        return [row["candidate"] for row in rows(path)]

    assert order("a", 1) == order("b", 1) != order("c", 2)


def test_steady_is_least_where_the_tests_say() -> None:
    assert steady({"rows": 4, "vectors": 2, "block": 64}) == 1e-3
