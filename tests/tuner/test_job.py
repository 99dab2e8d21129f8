"""Whole jobs: real schedules and proofs, a fake engine in the workers."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import tdsl
from tdsl import f32
from tdsl.entries import (
    Entry,
    entries,
    fingerprint,
    lookup,
    program_hash,
    situation,
    store,
)
from tdsl.errors import ArgumentError, TuningError
from tdsl.target import host
from tdsl.tuner import crew, ledger, tune
from tdsl.tuner import job as jobs
from tdsl.tuner.report import duration, report
from tdsl.tuner.results import TuningResult
from tdsl.tuner.stopping import StopRequest

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
    starts: list[object] = []
    start = crew.Worker.start

    def counted(worker: crew.Worker) -> None:
        starts.append(worker)
        start(worker)

    monkeypatch.setattr(crew.Worker, "start", counted)
    result = job(monkeypatch, "leak", budget=3.0)
    assert result.exit_code == 0
    assert result.trials >= 2
    assert len(starts) > 5  # two to search, two for the finalists, and replacements


def test_results_that_cannot_be_stored_are_still_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "entries").write_text("in the way")
    result = job(monkeypatch, "fine")
    if result.outcome == "improved":
        assert result.exit_code == 1
        assert "could not be stored" in report(result)


def test_a_full_disk_loses_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records no longer reach the ledger; the job says so and still ends well."""

    def full(handle: int, line: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(ledger, "_write_line", full)
    result = job(monkeypatch, "fine")
    assert result.trials >= 1
    assert result.best_seconds is not None
    assert result.exit_code == 1
    assert "Warning: the ledger is incomplete" in report(result)
    assert "No space left on device" in report(result)


def test_corrupt_lines_are_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "ledger.jsonl").write_text("garbage\n")
    result = job(monkeypatch, "fine")
    assert result.exit_code == 0
    assert "1 corrupt line(s) in the ledger (line 1)" in report(result)


def test_an_interruption_keeps_a_stored_schedule(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A job stopped after the default does not know better than an earlier one."""
    where = situation(
        program_hash(scale.function),
        {"M": 30, "N": 40},
        1,
        "reassoc",
        fingerprint(host()),
    )
    store(Entry(where, '{"steps": []}', 1.0, 2.0, "proved"))

    class Impatient(StopRequest):
        def __call__(self) -> bool:
            return path.exists() and b"measured" in path.read_bytes()

    @contextmanager
    def impatient() -> Iterator[StopRequest]:
        yield Impatient()

    path = tmp_path / "ledger.jsonl"
    monkeypatch.setattr(jobs, "stop_on_signals", impatient)
    result = job(monkeypatch, "fine")
    assert result.exit_code == 130
    assert result.trials == 1
    assert lookup(where) is not None


def test_a_contender_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TDSL_FAKE", "fine")
    dims = {"M": 30, "N": 40}
    result = tune(scale, dims, budget_s=1.0, threads=1, contender=np.positive)
    assert result.contender is not None
    assert result.contender.seconds is not None, result.contender.trouble
    assert 0 < result.contender.seconds < 0.1
    assert "NumPy" in report(result)


SCRIPT = """\
import tdsl
from tdsl import f32
from tdsl.tuner import crew
crew.COMMAND = {command!r}
N = tdsl.dim('N', min=1)

@tdsl.kernel
def twice(x: f32[N]) -> f32[N]:
    y = tdsl.empty((N,), f32)
    for i in range(N):
        y[i] = x[i] + x[i]
    return y

result = tdsl.tune(twice, {{'N': 4096}}, budget_s={budget}, threads=1)
print(result.exit_code, result.resumed, result.trials)
"""


def write_script(path: Path, budget: float) -> list[str]:
    command = (sys.executable, str(Path(__file__).with_name("fake_worker.py")))
    path.write_text(SCRIPT.format(command=command, budget=budget))
    return [sys.executable, str(path)]


def test_kill_9_in_the_middle_of_a_job(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No candidate is measured twice, and what was measured still counts."""
    monkeypatch.setenv("TDSL_FAKE", "fine")
    path = tmp_path / "ledger.jsonl"
    killed = subprocess.Popen(write_script(tmp_path / "script.py", 60.0))
    while not (path.exists() and path.read_bytes().count(b"\n") >= 4):
        assert killed.poll() is None
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    before = {row["candidate"] for row in rows}
    command = write_script(tmp_path / "script.py", 2.0)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    code, resumed, trials = map(int, done.stdout.split())
    assert code == 0
    assert resumed == len(before)
    assert trials >= len([row for row in rows if row["status"] == "measured"])
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    tried = [row["candidate"] for row in rows if row["kind"] == "trial"]
    assert len(tried) == len(set(tried)) >= len(before)


def test_a_script_without_a_main_guard(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Workers never import the script that started the job."""
    monkeypatch.setenv("TDSL_FAKE", "fine")
    command = write_script(tmp_path / "script.py", 1.0)
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("0 0 "), done.stderr


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
