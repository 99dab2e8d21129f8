"""A candidate that crashes, hangs or leaks costs itself and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from tdsl.tuner.process import Interrupted, Worker, WorkerLost, pinned_environment
from tdsl.tuner.timing import TimingLimits

COMMAND = (sys.executable, str(Path(__file__).with_name("fake_worker.py")))
LIMITS = {"compile": 60.0, "check": 60.0, "time": 60.0}
"""Never reached, however busy the machine is."""


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(pinned_environment(2), COMMAND)
    worker.start()
    yield worker
    worker.close()


def load(worker: Worker, name: str) -> dict[str, object]:
    return worker.ask({"do": "load", "name": name}, LIMITS)


def check(worker: Worker, name: str) -> dict[str, object]:
    return worker.ask({"do": "check", "name": name, "sizes": []}, LIMITS)


def test_answers(worker: Worker) -> None:
    assert load(worker, "ok")["compile_seconds"] >= 0  # type: ignore[operator]
    assert check(worker, "ok")["max_error_over_bound"] == 0.5


def test_threads_are_pinned(worker: Worker) -> None:
    assert worker.ask({"do": "prepare"}, LIMITS)["threads"] == "2"


def test_libraries_are_pinned_but_not_slowed_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.setenv("NVPL_BLAS_DEBUG_CPU_TYPE", "1")
    environment = pinned_environment(3)
    assert "OPENBLAS_CORETYPE" not in environment
    assert "NVPL_BLAS_DEBUG_CPU_TYPE" not in environment
    for name in ("OPENBLAS", "OMP", "MKL", "NUMBA"):
        assert environment[f"{name}_NUM_THREADS"] == "3"


def test_an_exception_is_an_answer(worker: Worker) -> None:
    reply = load(worker, "broken")
    assert reply["cause"] == "ValueError"
    assert str(reply["detail"]).startswith("no such instruction (load, line")
    assert worker.alive


def test_prints_do_not_disturb_the_replies(worker: Worker) -> None:
    assert check(worker, "print")["max_error_over_bound"] == 0.5


def test_a_crash_is_named(worker: Worker) -> None:
    with pytest.raises(WorkerLost, match=r"crash \(SIGSEGV\)") as caught:
        check(worker, "crash")
    assert "check" in caught.value.detail  # the traceback that faulthandler printed
    worker.start()
    assert check(worker, "ok")["max_error_over_bound"] == 0.5


def test_an_exit_is_named(worker: Worker) -> None:
    with pytest.raises(WorkerLost, match=r"crash \(exit code 3\): the end"):
        check(worker, "exit")


def test_a_hang_is_killed(worker: Worker) -> None:
    pid = worker.pid
    assert pid is not None
    start = time.monotonic()
    with pytest.raises(WorkerLost, match=r"time limit \(compile\)"):
        worker.ask({"do": "load", "name": "hang"}, {"compile": 0.5})
    assert time.monotonic() - start < 50.0  # and the hang takes 60
    assert not Path(f"/proc/{pid}").exists()


def test_a_leak_is_reported(worker: Worker) -> None:
    before = load(worker, "ok")["resident"]
    after = load(worker, "leak")["resident"]
    assert after - before > 80e6  # type: ignore[operator]


def test_a_stop_interrupts_the_wait(worker: Worker) -> None:
    worker.should_stop = lambda: True
    with pytest.raises(Interrupted):
        load(worker, "hang")
    assert not worker.alive


def test_a_pair_is_timed(worker: Worker) -> None:
    load(worker, "ok")
    program = {"name": "ok", "sizes": []}
    never = float("inf")  # a busy machine may make one round of equals look hopeless
    limits = asdict(
        TimingLimits(pair_seconds=0.02, hopeless=never, hopeless_at_once=never)
    )
    message = {"do": "pair", "rival": program, "candidate": program, "limits": limits}
    reply = worker.ask(message, LIMITS)
    assert len(reply["rival"]) == len(reply["candidate"]) >= 3
    assert 0.0004 < min(reply["candidate"]) < 0.4  # a call, of at least 0.5 ms


def test_the_worker_dies_with_its_parent() -> None:
    program = (
        "import sys; from tdsl.tuner.process import Worker, pinned_environment\n"
        f"worker = Worker(pinned_environment(1), {COMMAND!r}); worker.start()\n"
        "worker.send({'do': 'load', 'name': 'hang'})\n"  # too busy to read on
        "print(worker.pid, flush=True); sys.stdin.read()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None and parent.stdin is not None
    pid = int(parent.stdout.readline())
    time.sleep(1.0)
    os.kill(pid, 0)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    parent.stdin.close()
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists() or "Z" in _state(pid):
            return
        time.sleep(0.02)
    pytest.fail("the worker outlived its parent")


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0]
    except OSError:
        return "Z"
