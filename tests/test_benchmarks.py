"""The benchmarks run, measure what they say, and report who is absent and why."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))
try:
    from benchmarks import gemm, harness, options, polybench, report, worker
    from benchmarks.arrays import contraction_error, normal_arrays
finally:
    sys.path.remove(str(REPOSITORY))

QUICK = harness.Pace(rounds=3, seconds=0.002)
SIZE = (24, 40, 32)


def numpy_contender(name: str = "numpy", **changes: object) -> harness.Contender:
    arguments = {"shapes": gemm.shapes_of(SIZE), "threads": 1}
    contender = harness.Contender(name, "benchmarks.libraries:numpy_matmul", arguments)
    return replace(contender, **changes) if changes else contender


def race_parser() -> argparse.ArgumentParser:
    return options.add_options(argparse.ArgumentParser(), ["numpy"])


@pytest.mark.parametrize("parser", [race_parser, polybench.parser])
@pytest.mark.parametrize(
    ("text", "value"), [("0", 0), ("40", 40), ("40s", 40), ("1.5m", 90), ("1h", 3600)]
)
def test_budgets_are_written_as_for_tdsl_tune(
    parser: Callable[[], argparse.ArgumentParser], text: str, value: float
) -> None:
    assert parser().parse_args(["--budget", text]).budget == value


@pytest.mark.parametrize("parser", [race_parser, polybench.parser])
def test_a_wrong_budget_is_refused_as_by_tdsl_tune(
    parser: Callable[[], argparse.ArgumentParser], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["--budget", "soon"])
    assert "'soon' is not a duration; write seconds" in capsys.readouterr().err


def test_a_race_measures_and_checks_everyone() -> None:
    contenders = [numpy_contender("numpy"), numpy_contender("again")]
    errors = []

    def inspect(result: np.ndarray) -> float:
        errors.append(gemm.error_of(SIZE, result))
        return errors[-1]

    outcome = harness.race(contenders, 1, QUICK, inspect)
    assert not outcome.absent
    assert list(outcome.measured) == ["numpy", "again"]
    for measured in outcome.measured.values():
        assert len(measured.rounds) == 3
        assert 0 < measured.spread[0] <= measured.seconds <= measured.spread[1]
    assert 0 < max(errors) < SIZE[2] + 1


@pytest.mark.parametrize(
    ("contender", "reason"),
    [
        (
            numpy_contender("x", needs="no_such_package"),
            "skipped: the package no_such_package is not installed",
        ),
        (
            numpy_contender("x", factory="benchmarks.libraries:missing"),
            "AttributeError: module 'benchmarks.libraries' has no attribute 'missing'",
        ),
        (
            numpy_contender("x", arguments={"shapes": [[2, 3], [4, 5]]}),
            "ValueError: matmul: Input operand 1 has a mismatch",
        ),
        (numpy_contender("x", factory="sys:exit"), "its process died"),
    ],
)
def test_an_absent_contender_is_named_with_its_reason(
    contender: harness.Contender, reason: str
) -> None:
    outcome = harness.race([contender, numpy_contender()], 1, QUICK)
    assert list(outcome.measured) == ["numpy"]
    assert outcome.absent["x"].startswith(reason)


def test_a_silent_contender_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "PREPARE_LIMIT", 0.01)
    outcome = harness.race([numpy_contender()], 1, QUICK)
    assert outcome.absent["numpy"].startswith("its process gave no answer in 0.01 s")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_contenders_are_stopped_while_others_run() -> None:
    with harness._started(numpy_contender(), 1) as idle:
        stopped = os.waitid(os.P_PID, idle._process.pid, os.WSTOPPED)
        assert stopped is not None
        assert stopped.si_status == signal.SIGSTOP
        assert idle.round(0.001) > 0


def test_ratios_are_taken_round_by_round() -> None:
    drifting = harness.Measurement((1.0, 2.0, 4.0), None)
    faster = harness.Measurement((0.5, 1.0, 2.0), None)
    assert faster.speedup_over(drifting) == 2.0
    assert drifting.seconds == 2.0
    assert drifting.spread == (1.5, 3.0)


def test_rows_carry_the_figures() -> None:
    outcome = harness.Outcome(
        {
            "peak": harness.Measurement((1e-10,), None),  # seconds an operation
            "numpy": harness.Measurement((2e-3,), 0.25),
            "tdsl": harness.Measurement((1e-3,), 0.5),
        },
        {},
    )
    numpy_row, ours = report.rows_of(512, 5e6, 2, outcome)
    assert (ours.size, ours.threads, ours.contender) == (512, 2, "tdsl")
    assert ours.gflops == pytest.approx(5.0)
    assert ours.share_of_peak == pytest.approx(0.5)
    assert ours.ratio_to_numpy == pytest.approx(2.0)
    assert numpy_row.share_of_peak == pytest.approx(0.25)
    assert "50.0%" in report.table([numpy_row, ours], "ulp")
    assert json.loads(report.as_json([ours]))[0]["gflops"] == pytest.approx(5.0)


def test_the_error_of_a_contraction_is_in_roundoffs() -> None:
    exact = np.array([[1.0]])
    assert contraction_error(exact.astype(np.float32), exact, exact) == 0
    off = exact * (1 + 3 * 2.0**-24)
    assert contraction_error(off, exact, exact) == pytest.approx(3)


def test_inputs_are_the_same_everywhere() -> None:
    (first, second), (again, _) = normal_arrays([[3], [3]]), normal_arrays([[3], [9]])
    assert (first == again).all()
    assert (first != second).any()


@pytest.mark.parametrize(
    ("text", "size"), [("512", (512, 512, 512)), ("37x4096x129", (37, 4096, 129))]
)
def test_sizes_are_read(text: str, size: gemm.Size) -> None:
    assert gemm.parse_size(text) == size
    assert str(gemm.label(size)) == text


def test_short_calls_are_timed_in_groups() -> None:
    calls = []
    load = worker.Workload(lambda: calls.append(1), lambda: np.zeros(0))
    samples = worker.time_round(load, 0.001)
    assert worker.FEWEST_SAMPLES <= len(samples) <= worker.MOST_SAMPLES
    assert len(calls) > 100 * len(samples)


def run_module(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", name, *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)


def test_gemm_prints_json_rows() -> None:
    options = ["--sizes", "48,16x33x20", "--rounds", "2", "--seconds", "0.001"]
    names = ["tdsl-default", "numpy"]
    shown = [*names, "fma-peak"]
    finished = run_module(
        "benchmarks.gemm", *options, "--contenders", ",".join(names), "--json"
    )
    assert finished.returncode == 0, finished.stderr
    rows = json.loads(finished.stdout)
    assert [(row["size"], row["contender"]) for row in rows] == [
        (size, name) for size in (48, "16x33x20") for name in shown
    ]
    for row in rows:
        assert row["threads"] == 1
        assert row["seconds"] > 0
        assert row["gflops"] > 0
        assert 0 < row["share_of_peak"] < 2
        if row["contender"] == "fma-peak":
            assert row["share_of_peak"] == pytest.approx(1.0)
            assert row["error"] is None
        else:
            assert row["error"] < 64


def test_gemm_refuses_unknown_names() -> None:
    finished = run_module("benchmarks.gemm", "--contenders", "mkl")
    assert finished.returncode == 2
    assert "'mkl' is not one of tdsl, tdsl-default, numpy, torch" in finished.stderr


def test_contractions_print_a_table() -> None:
    options = ["--rounds", "1", "--seconds", "0.001", "--contenders", "numpy"]
    finished = run_module("benchmarks.contractions", *options)
    assert finished.returncode == 0, finished.stderr
    for name in ("batched_matmul", "conv3x3"):
        assert any(
            name in line and "numpy" in line for line in finished.stdout.split("\n")
        )


def test_the_overhead_is_reported() -> None:
    options = ["--only", "import", "--repeats", "1", "--json"]
    finished = run_module("benchmarks.overhead", *options)
    assert finished.returncode == 0, finished.stderr
    (cost,) = json.loads(finished.stdout)
    assert cost["what"] == "import tdsl, after numpy"
    assert cost["value"] > 0
    assert (cost["unit"], cost["limit"]) == ("s", 0.4)
