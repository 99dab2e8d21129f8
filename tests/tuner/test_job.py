"""Whole jobs: real schedules and proofs, a fake engine in the workers."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdsl
from tdsl import f32
from tdsl.analysis.certificate import Certificate
from tdsl.entries import (
    Entry,
    entries,
    fingerprint,
    lookup,
    program_hash,
    situation,
    store,
)
from tdsl.errors import ArgumentError, CacheError, TuningError
from tdsl.target import host
from tdsl.tuner import contest, crew, ledger, requests, tune, workshop
from tdsl.tuner import fingerprint as fingerprint_module
from tdsl.tuner import job as jobs
from tdsl.tuner.candidates import Candidate, Failure, Measurement
from tdsl.tuner.contenders import ContenderSource
from tdsl.tuner.process import Worker
from tdsl.tuner.report import duration, report
from tdsl.tuner.results import TuningResult
from tdsl.tuner.scratch import scratch_folder, sweep
from tdsl.tuner.stopping import StopRequest
from tdsl.tuner.workshop import CpuWorkshop

M, N = tdsl.dims("M N", min=1)

PATIENCE = 60.0
"""Seconds after which a test fails that waits for something."""


@tdsl.kernel
def scale(x: f32[M, N]) -> f32[M, N]:
    y = tdsl.empty((M, N), f32)
    for i, j in tdsl.grid(M, N):
        y[i, j] = 2.0 * x[i, j] + 1.0
    return y


WHERE = situation(
    program_hash(scale.function),
    {"M": 30, "N": 40},
    1,
    "reassoc",
    fingerprint(host()),
)


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


@contextmanager
def time_until(
    monkeypatch: pytest.MonkeyPatch, enough: Callable[[], bool]
) -> Iterator[None]:
    """Let the clock of a job stand still until *enough*, and its time be over then.

    So a busy machine does as much in its budget as an idle one.
    """
    start = time.monotonic()

    def clock() -> float:
        late = time.monotonic() > start + PATIENCE
        return start + (2 * PATIENCE if late or enough() else 0.0)

    with monkeypatch.context() as patch:
        patch.setattr(jobs, "monotonic", clock)
        yield


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
    assert result.elapsed < 50.0  # a hang takes 60, and there are several


def test_leaking_workers_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "MEMORY_GROWTH", 50_000_000)
    starts: list[object] = []
    start = crew.Worker.start

    def counted(worker: crew.Worker) -> None:
        starts.append(worker)
        start(worker)

    monkeypatch.setattr(crew.Worker, "start", counted)
    with time_until(monkeypatch, lambda: len(starts) >= 4):
        result = job(monkeypatch, "leak", budget=PATIENCE)
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
    store(Entry(WHERE, '{"steps": []}', 1.0, 2.0, "proved"))

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
    assert lookup(WHERE) is not None


def test_a_failed_default_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are compared with one another then, and a stored schedule is kept."""
    store(Entry(WHERE, '{"steps": []}', 1.0, 2.0, "proved"))
    measure, first = CpuWorkshop.measure, []

    def failing(
        workshop: CpuWorkshop, candidate: Candidate, rival: Candidate, noise: float
    ) -> Measurement | Failure:
        first.append(candidate.identity)
        if candidate.identity == first[0]:
            return Failure("wrong result", "as planned")
        return measure(workshop, candidate, rival, noise)

    monkeypatch.setattr(CpuWorkshop, "measure", failing)
    result = job(monkeypatch, "fine")
    assert result.trials >= 1
    assert result.outcome != "default"
    assert result.exit_code == 1
    assert "the default schedule could not be measured" in report(result)
    assert lookup(WHERE) is not None


@pytest.mark.parametrize("error", [KeyError("samples"), TuningError("no"), OSError(28)])
def test_the_winner_is_stored_before_anything_is_compared(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    stored: list[Entry] = []

    def fail(*arguments: object) -> None:
        assert stored
        raise error

    monkeypatch.setattr(jobs, "_outcome", lambda found, verdict: "improved")
    monkeypatch.setattr(jobs, "store", lambda entry: stored.append(entry) or Path("e"))
    monkeypatch.setattr(CpuWorkshop, "time_contender", fail)
    monkeypatch.setattr(CpuWorkshop, "peak", fail)
    monkeypatch.setenv("TDSL_FAKE", "fine")
    result = tune(
        scale, {"M": 30, "N": 40}, budget_s=1.0, threads=1, contender=np.positive
    )
    assert stored and result.entry == Path("e")
    assert result.exit_code == 1
    assert "the library was not timed" in report(result)
    assert "peak was not measured" in report(result)


def test_an_undecided_schedule_never_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def undecided(*arguments: object) -> Certificate:
        return Certificate("unknown", "gave up", ())

    monkeypatch.setattr(workshop, "validate", undecided)
    result = job(monkeypatch, "fine")
    assert result.exit_code == 4
    assert result.trials == 0
    assert "the default schedule has no proof" in report(result)


def test_no_room_for_the_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(workshop, "save_problem", full)
    with pytest.raises(CacheError, match=r"cannot write to .*tdsl_tune_.*No space"):
        job(monkeypatch, "fine")


def test_no_room_for_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk fills up while the search runs: it ends with what it knows."""
    pickle_program, count = CpuWorkshop._program_file, [0]

    def full(shop: CpuWorkshop, candidate: Candidate, *, final: bool = False) -> Path:
        count[0] += 1
        if count[0] > 8:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return pickle_program(shop, candidate, final=final)

    monkeypatch.setattr(CpuWorkshop, "_program_file", full)
    result = job(monkeypatch, "fine", budget=20.0)
    assert result.stop == "trouble"
    assert result.exit_code == 1
    assert result.best_seconds is not None
    assert "No space left on device" in report(result)


def test_a_contender_that_fails_while_it_is_timed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "tired.py"
    file.write_text(
        "calls = []\n"
        "def fail(x):\n"
        "    calls.append(1)\n"
        "    assert len(calls) < 2, 'tired'\n"
        "tdsl_numpy = {'scale': fail}\n"
    )
    monkeypatch.setenv("TDSL_FAKE", "fine")
    source = ContenderSource("NumPy", "scale", file=file)
    result = tune(scale, {"M": 30, "N": 40}, budget_s=1.0, threads=1, contender=source)
    assert result.contender is not None and result.contender.seconds is None
    assert "tired" in report(result)


def test_a_job_measures_with_the_inputs_it_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TDSL_FAKE", "fine")
    asked: list[dict[str, int]] = []

    def inputs(dims: dict[str, int]) -> dict[str, Any]:
        asked.append(dims)
        return {"x": np.ones((dims["M"], dims["N"]), np.float32)}

    dims = {"M": 30, "N": 40}
    result = tune(scale, dims, budget_s=1.0, threads=1, inputs=inputs)
    assert asked == [dims]
    assert "of the derived bound" in report(result)
    with pytest.raises(ArgumentError, match="x is missing"):
        tune(scale, dims, budget_s=1.0, threads=1, inputs=lambda dims: {})


def test_each_candidate_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second look at its time is no second check of the same machine code."""
    checked: list[str] = []
    ask = crew.Crew.ask

    def recorded(self: crew.Crew, message: Mapping[str, Any]) -> dict[str, Any]:
        if message["do"] == "check":
            checked.append(json.dumps([message["name"], message["sizes"]]))
        return ask(self, message)

    monkeypatch.setattr(crew.Crew, "ask", recorded)
    monkeypatch.setattr(contest, "judge", lambda *arguments: "faster")
    with time_until(monkeypatch, lambda: len(checked) >= 4):
        result = job(monkeypatch, "fine", budget=PATIENCE)
    assert result.trials >= 2
    assert len(checked) == len(set(checked)) == result.trials


def test_folders_of_killed_jobs_are_swept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed = subprocess.run(
        [sys.executable, "-c", KILLED],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / killed.stdout / "worker.log").exists()
    with scratch_folder() as folder:
        assert list(tmp_path.iterdir()) == [folder]
        worker = Worker({}, (sys.executable, "-c", ""), folder=folder)
        worker.start()
        assert len(list(folder.iterdir())) == 2  # what it prints, and the lock
        worker.close()
    assert not list(tmp_path.iterdir())


KILLED = """
import os, signal
from tdsl.tuner.scratch import scratch_folder

with scratch_folder() as folder:
    (folder / "worker.log").touch()
    print(folder.name, end="", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_folders_of_other_containers_stay(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Process ids there mean nothing here."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def unknown(pid: int, number: int) -> None:
        raise ProcessLookupError

    monkeypatch.setattr(os, "kill", unknown)
    with scratch_folder() as folder:
        sweep()
        with scratch_folder() as other:
            assert other != folder
        assert folder.is_dir()
    assert not folder.exists()


def test_other_code_starts_a_ledger_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint_module.code_stamp()
    read = Path.read_bytes

    def changed(path: Path) -> bytes:
        return read(path) + (b"#" if path.name == "emit.py" else b"")

    monkeypatch.setattr(Path, "read_bytes", changed)
    after = fingerprint_module.code_stamp.__wrapped__()
    assert after != before
    monkeypatch.setattr(requests, "code_stamp", lambda: after)
    request = requests.Request(
        "scale",
        scale.function,
        {"M": 1, "N": 1},
        1,
        "reassoc",
        host(),
        1.0,
        0,
        Path("x"),
        None,
    )
    assert request.key.versions["sources"] == after


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
