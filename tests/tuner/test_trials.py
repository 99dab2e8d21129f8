"""Which of several rows of one candidate counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tdsl.tuner.candidates import describe, rebuild
from tdsl.tuner.ledger import Ledger
from tdsl.tuner.records import Record

from .fakes import KEY, ROOMY, FakeWorkshop

MEASURED = Record(KEY.digest(), "trial", "c0", "measured", {"rows": 1}, samples=(1.0,))
FAILED = replace(MEASURED, status="failed", samples=(), cause="crash")
FINAL = replace(MEASURED, kind="final", seconds=9.0)


@pytest.mark.parametrize(
    ("rows", "counts"),
    [
        ((MEASURED, replace(MEASURED, seconds=2.0)), 0),
        ((MEASURED, FAILED), 0),
        ((FAILED, MEASURED), 1),
        ((FAILED, replace(FAILED, cause="wrong result")), 0),
        ((FINAL, FAILED), 1),
        ((FAILED, FINAL), 0),
    ],
)
def test_the_first_measurement_else_the_first_failure_counts(
    tmp_path: Path, rows: tuple[Record, ...], counts: int
) -> None:
    ledger = Ledger.open(tmp_path / "ledger.jsonl", KEY)
    for row in rows:
        ledger.append(row)
    again = Ledger.open(tmp_path / "ledger.jsonl", KEY)
    for each in (ledger, again):
        assert each.trials() == {"c0": rows[counts]}


def test_only_failed_trials_are_failures(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.jsonl", KEY)
    final = replace(FAILED, kind="final")
    for row in (FAILED, final, MEASURED, replace(FAILED, candidate="c1")):
        ledger.append(row)
    assert (ledger.failures("c0"), ledger.failures("c1")) == (1, 1)


@pytest.mark.parametrize(
    "change",
    [
        {"program": "p1"},
        {"dims": {"M": 9}},
        {"dtypes": {"A": "f64"}},
        {"threads": 2},
        {"numerics": "bitwise"},
        {"target": "t1"},
        {"versions": {"tdsl": "1"}},
        {"protocol": KEY.protocol + 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_rows_of_another_situation_do_not_count(
    tmp_path: Path, change: dict[str, object]
) -> None:
    ledger = Ledger.open(tmp_path / "ledger.jsonl", KEY)
    ledger.append(MEASURED)
    other = Ledger.open(tmp_path / "ledger.jsonl", replace(KEY, **change))
    assert (other.trials(), other.corruption) == ({}, None)


def test_a_record_whose_config_means_another_program_now_is_not_rebuilt() -> None:
    workshop = FakeWorkshop()
    record = describe(workshop.build(ROOMY.default()), "measured")
    found = rebuild(workshop, record)
    assert found is not None
    assert found.identity == record.candidate
    assert rebuild(FakeWorkshop(flavour="changed"), record) is None
    assert rebuild(FakeWorkshop(refuse=lambda config: True), record) is None
