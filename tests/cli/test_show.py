"""`tdsl show` and `tdsl doctor`."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tdsl.analysis.certificate import Certificate
from tdsl.backends.lower import lower
from tdsl.backends.peak import Peak
from tdsl.cli import doctor, main
from tdsl.cli.loading import load_kernel
from tdsl.entries import Entry, fingerprint, program_hash, situation, store
from tdsl.ir.nodes import Function
from tdsl.ir.printer import print_function
from tdsl.kernel import Kernel
from tdsl.plans import plan
from tdsl.schedules.schedule import Schedule
from tdsl.target import host

FILE = Path(__file__).with_name("matmul_file.py")
KERNEL = f"{FILE}:matmul"


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["show", KERNEL, *arguments]) == 0
    return capsys.readouterr().out


def test_parsed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "C[i, j] += (A[i, k] * B[k, j])" in shown(capsys, "--stage", "parsed")


def test_scheduled(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "--threads", "1")
    assert text.startswith("# default\nschedule\n    .split(")
    assert "# vectorized" in text
    assert "# proved" in text


def test_source(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "--stage", "source", "--threads", "1")
    compile(text, "source", "exec")
    assert "fma(" in text
    assert "prange" not in text
    assert "prange" in shown(capsys, "--stage", "source", "--threads", "2")


def test_lowered(capsys: pytest.CaptureFixture[str]) -> None:
    """All passes are shown, not only the first."""
    text = shown(capsys, "--stage", "lowered")
    kernel, _, _ = load_kernel(KERNEL)
    schedule = plan(kernel.function, host(), kernel.numerics)
    assert text.rstrip() == print_function(lower(schedule.function)).rstrip()


def test_machine_code_of_another_target(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "--stage", "asm", "--target", "avx2", "--threads", "1")
    assert "%ymm" in text
    assert "%zmm" not in text


def test_threads_are_counted_as_calls_count_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")
    assert "prange" not in shown(capsys, "--stage", "source")
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    assert "prange" in shown(capsys, "--stage", "source")


def test_a_tuned_schedule_without_proof_is_not_shown(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    store_tuned(monkeypatch, tmp_path)

    def undecided(function: Function, scheduled: Schedule, *_: object) -> Certificate:
        tuned = len(scheduled.steps) == 1
        return Certificate("unknown" if tuned else "proved", "gave up", ())

    module = sys.modules[Kernel.__module__]  # `tdsl.kernel` is the decorator
    monkeypatch.setattr(module, "prove", undecided)
    assert main(["show", KERNEL, "M=8", "N=8", "K=8", "--threads", "1"]) == 0
    found = capsys.readouterr()
    assert found.out.startswith("# default")
    assert "a tuned schedule is not used" in found.err


def test_a_tuned_schedule_is_shown(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    store_tuned(monkeypatch, tmp_path)
    capsys.readouterr()
    text = shown(capsys, "M=8", "N=8", "K=8", "--threads", "1")
    assert text.startswith('# tuned for M=8 K=8 N=8\nschedule\n    .split("k", 4)\n')
    assert shown(capsys, "M=9", "N=8", "K=8", "--threads", "1").startswith("# default")


def store_tuned(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    """Store a schedule for 8 by 8 by 8 on one thread."""
    monkeypatch.setenv("TDSL_CACHE", str(cache))
    kernel, _, _ = load_kernel(KERNEL)
    dims = {"M": 8, "N": 8, "K": 8}
    program = program_hash(kernel.function)
    where = situation(program, dims, 1, "reassoc", fingerprint(host()))
    steps = [{"primitive": "split", "arguments": {"axis": "k", "factor": 4}}]
    schedule = json.dumps({"function": "matmul", "steps": steps})
    store(Entry(where, schedule, 1.0, 2.0, "proved"))


def test_doctor_on_a_busy_machine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Peak(1, 50.0, 25.0, 10.0, 9.0)
    two = replace(one, threads=2, f32_gflops=40.0, reliable=False)
    monkeypatch.setattr(doctor, "measure_peaks", lambda *_, **__: (one, two))
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert "\npeak, 1 thread: 50 GFLOP/s f32, 25 GFLOP/s f64" in text
    assert "\npeak, 2 threads: busy machine: peak unreliable\n" in text


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["problems"] == []
    assert report["versions"]["numba"]
    assert report["peaks"][0]["f32_gflops"] > 1
    assert report["target"]["cores"] >= 1
