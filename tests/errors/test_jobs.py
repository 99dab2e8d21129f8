"""What stops a tuning job or one of its candidates, in full words."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import tdsl
from tdsl import f32
from tdsl.analysis import validate
from tdsl.backends.vocabulary import FUNCTIONS
from tdsl.errors import TuningError
from tdsl.kernel import Kernel
from tdsl.schedules.schedule import Schedule
from tdsl.schedules.sketches import sketch
from tdsl.target import host
from tdsl.tuner import crew, tune
from tdsl.tuner.candidates import Refused
from tdsl.tuner.crew import Hand
from tdsl.tuner.process import Worker, pinned_environment
from tdsl.tuner.workshop import CpuWorkshop, Job

M, N = tdsl.dims("M N")
FAKE = str(Path(__file__).parents[1] / "tuner" / "fake_worker.py")
nobody: Any = None


@tdsl.kernel
def growth(x: f32[M]) -> f32[M]:
    y = tdsl.empty((M,), f32)
    for i in range(M):
        y[i] = tdsl.exp(x[i])
    return y


@tdsl.kernel
def sweep(A: tdsl.inout(f32[M, N])):
    for i in range(1, M):
        for j in range(1, N - 1):
            A[i, j] = A[i - 1, j + 1] * 0.5


@tdsl.kernel
def cube(x: f32) -> f32[M, M, M]:
    y = tdsl.empty((M, M, M), f32)
    for i, j, k in tdsl.grid(M, M, M):
        y[i, j, k] = x
    return y


@pytest.fixture(autouse=True)
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TDSL_CACHE", str(tmp_path))
    monkeypatch.setattr(crew, "COMMAND", (sys.executable, FAKE))


def workshop(kernel: Kernel, folder: Path) -> CpuWorkshop:
    """Return a workshop without workers: it builds, and measures nothing."""
    function = kernel.function
    job = Job(function, {"M": 8}, 1, "reassoc", host(), 0, folder)
    return CpuWorkshop(job, sketch(function, host(), "reassoc"), nobody)


def refusal(shop: CpuWorkshop) -> Refused:
    with pytest.raises(Refused) as caught:
        shop.build(shop.sketch.default())
    return caught.value


def test_a_candidate_that_is_refuted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wrong = Schedule(sweep.function).reorder("j", "i")
    monkeypatch.setattr(CpuWorkshop, "_schedule", lambda shop, config: wrong)
    refused = refusal(workshop(sweep, tmp_path))
    assert (refused.cause, refused.proof) == ("refuted by the proof", "refuted")
    assert "loop j reverses a flow dependence on A" in refused.detail


def test_a_candidate_without_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delitem(FUNCTIONS, "exp")
    refused = refusal(workshop(growth, tmp_path))
    assert (refused.cause, refused.proof) == ("no code", "proved")
    known = ", ".join(sorted(FUNCTIONS))
    assert refused.detail == f"the CPU backend has no function 'exp'; it has {known}"


def test_a_default_without_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validate, "OPERATIONS", 10)
    result = tune(growth, {"M": 8}, budget_s=2.0, threads=1)
    assert result.trouble == (
        "the default schedule has no proof: unknown: model: undecided after 10 steps "
        "of isl",
    )


def test_arrays_that_do_not_fit() -> None:
    with pytest.raises(TuningError) as caught:
        tune(cube, {"M": 2**18}, budget_s=2.0, threads=1)
    assert str(caught.value) == (
        "the arrays of cube for M=262144 do not fit in memory: Unable to allocate "
        "128. PiB for an array with shape (262144, 262144, 262144) and data type "
        "float64"
    )


def test_workers_that_end_at_once(tmp_path: Path) -> None:
    ending = "import sys; sys.stdin.readline(); sys.exit('no thread is left')"
    worker = Worker(pinned_environment(1), (sys.executable, "-c", ending))
    with pytest.raises(TuningError) as caught:
        Hand(worker, tmp_path).make_ready()
    assert str(caught.value) == (
        "no worker process can start: crash (exit code 1): no thread is left"
    )
