"""Whole jobs: real schedules and proofs, a fake engine in the workers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import tdsl
from tdsl import f32
from tdsl.entries import entries, program_hash
from tdsl.errors import ArgumentError, TuningError
from tdsl.tuner import crew, tune
from tdsl.tuner.report import duration, report
from tdsl.tuner.results import TuningResult

M, N = tdsl.dims("M N", min=1)


@tdsl.kernel
def scale(x: f32[M, N]) -> f32[M, N]:
    y = tdsl.empty((M, N), f32)
    for i, j in tdsl.grid(M, N):
        y[i, j] = 2.0 * x[i, j] + 1.0
    return y


@pytest.fixture(autouse=True)
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TDSL_CACHE", str(tmp_path))
    command = (sys.executable, str(Path(__file__).with_name("fake_worker.py")))
    monkeypatch.setattr(crew, "COMMAND", command)


def job(
    monkeypatch: pytest.MonkeyPatch, fate: str, budget: float = 2.0
) -> TuningResult:
    monkeypatch.setenv("TDSL_FAKE", fate)
    return tune(scale, {"M": 30, "N": 40}, budget_s=budget, threads=1)


def causes(result: TuningResult) -> set[str]:
    return {group.cause for group in result.failures if group.status == "failed"}


def test_a_job_that_goes_well(monkeypatch: pytest.MonkeyPatch) -> None:
    result = job(monkeypatch, "fine")
    assert result.exit_code == 0
    assert result.trials >= 1
    assert result.proof == "proved"
    assert result.max_error_over_bound == 0.5
    assert result.cost.flops == 2 * 30 * 40
    assert result.cost.traffic == 2 * 4 * 30 * 40
    text = report(result)
    assert "GB/s" in text
    assert "10 GB/s" in text
    json.dumps(result.to_json())
    stored = entries(program_hash(scale.function))
    assert len(stored) == (1 if result.outcome == "improved" else 0)


@pytest.mark.parametrize(
    ("fate", "cause"),
    [
        ("broken", "compilation: ValueError"),
        ("wrong", "wrong result"),
        ("crash", "crash (SIGSEGV)"),
    ],
)
def test_nothing_measured(
    monkeypatch: pytest.MonkeyPatch, fate: str, cause: str
) -> None:
    result = job(monkeypatch, fate, budget=1.0)
    assert result.exit_code == 4
    assert causes(result) == {cause}
    assert result.best_seconds is None
    text = report(result)
    assert "NOTHING WAS MEASURED" in text
    assert f"failed: {cause}" in text


def test_hangs_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    result = job(monkeypatch, "hang", budget=1.0)
    assert result.exit_code == 4
    assert result.elapsed < 10.0


def test_leaking_workers_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "MEMORY_GROWTH", 50_000_000)
    result = job(monkeypatch, "leak")
    assert result.exit_code == 0
    assert result.trials >= 1


def test_results_that_cannot_be_stored_are_still_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "entries").write_text("in the way")
    result = job(monkeypatch, "fine")
    if result.outcome == "improved":
        assert result.exit_code == 1
        assert "could not be stored" in report(result)


def test_a_child_of_a_job_does_not_tune(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(crew.INSIDE, "1")
    with pytest.raises(TuningError, match="cannot tune"):
        job(monkeypatch, "fine")


def test_dims_are_checked() -> None:
    with pytest.raises(ArgumentError, match="scale needs a size for N; add N=512"):
        tune(scale, {"M": 3})


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.5, "2.5 s"), (0.01234, "12.34 ms"), (3.2e-5, "32 us"), (5e-9, "5 ns")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
