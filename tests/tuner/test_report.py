"""What a user reads while a job runs and when it ends."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tdsl.analysis.cost import Cost
from tdsl.tuner.progress import Progress
from tdsl.tuner.report import report
from tdsl.tuner.results import Contender, FailureGroup, Peak, TuningResult
from tdsl.tuner.search import View
from tdsl.tuner.statistics import Interval

RESULT = TuningResult(
    kernel="matmul",
    dims={"M": 512, "N": 512, "K": 512},
    dtype="f32",
    threads=2,
    numerics="reassoc",
    target="cpu",
    outcome="improved",
    stop="budget",
    schedule={"steps": []},
    schedule_text="schedule",
    proof="proved",
    default_seconds=1.2e-3,
    best_seconds=1.0e-3,
    speedup=Interval(1.18, 1.20, 1.23),
    max_error_over_bound=0.02,
    trials=57,
    proved=57,
    refused=12,
    failed=1,
    resumed=20,
    failures=(
        FailureGroup("refused", "vectorize refused", 12, "j is a reduction"),
        FailureGroup("failed", "crash (SIGSEGV)", 1, ""),
    ),
    cost=Cost(2 * 512**3, 3 * 4 * 512**2),
    peak=Peak(500.0, 20.0),
    contender=Contender("NumPy", 1.1e-3),
    ledger=Path("ledger.jsonl"),
    entry=Path("entries/p.json"),
    trouble=(),
    warnings=(),
    elapsed=45.4,
    budget=45.0,
    seed=0,
)

EXPECTED = """\
matmul  M=512 N=512 K=512  f32  2 threads  numerics reassoc

             time          speed  of peak     against default
  default  1.2 ms  223.7 GFLOP/s      45%               1.00x
  best       1 ms  268.4 GFLOP/s      54%  1.20x [1.18, 1.23]
  NumPy    1.1 ms    244 GFLOP/s      49%               1.09x

57 candidates measured (20 by earlier jobs), 57 proved; 12 refused, 1 failed; \
45 s, ended by: budget
  12 refused: vectorize refused, for example: j is a reduction
  1 failed: crash (SIGSEGV)
Largest error: 0.02 of the derived bound; schedule proved.
Peak measured on this machine: 500 GFLOP/s, 20 GB/s.
A better schedule is stored: entries/p.json
Ledger: ledger.jsonl
"""


def test_the_closing_report() -> None:
    assert report(RESULT) == EXPECTED


def test_the_default_confirmed() -> None:
    text = report(replace(RESULT, outcome="default", speedup=None, entry=None))
    assert "best       1 ms  268.4 GFLOP/s      54%      the default\n" in text
    assert "The default schedule is confirmed as the best one found." in text


def test_an_interrupted_job_confirms_nothing() -> None:
    stopped = replace(
        RESULT, outcome="default", speedup=None, entry=None, stop="interrupted"
    )
    text = report(stopped)
    assert "Interrupted before anything was confirmed: the default stays." in text
    assert "is confirmed" not in text


DEFAULT_ALONE = replace(RESULT, outcome="default", trials=1, speedup=None, entry=None)


@pytest.mark.parametrize(
    ("refused", "failed", "expected"),
    [
        (566, 0, "No other candidate could be built: 566 refused"),
        (566, 3, "No other candidate could be measured: 566 refused, 3 failed"),
        (0, 0, "No other candidate was tried"),
    ],
)
def test_a_default_without_rivals_is_not_confirmed(
    refused: int, failed: int, expected: str
) -> None:
    text = report(replace(DEFAULT_ALONE, refused=refused, failed=failed))
    assert f"\n{expected}; nothing was compared with the default.\n" in text
    assert "is confirmed" not in text


def test_a_leader_that_was_not_confirmed() -> None:
    said = (
        "A candidate looked 54.85x faster during the search but was not confirmed; "
        "the machine may have been busy.\n"
    )
    result = replace(RESULT, outcome="default", speedup=None, entry=None)
    assert said in report(replace(result, unconfirmed=54.85))
    assert "was not confirmed" not in report(result)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"peak": Peak(500.0, 20.0, False)}, "busy machine: peak unreliable"),
        (
            {"peak": Peak(200.0, 20.0)},
            "faster than the measured peak, so the machine was busy meanwhile",
        ),
        (
            {"peak": Peak(None, 20.0), "dtype": "i32"},
            "no peak is measured but those of f32 and of f64 arithmetic",
        ),
        (
            {"cost": Cost(1000, 10**9)},
            "faster than the measured memory, so the arrays stay in a cache",
        ),
    ],
)
def test_why_a_share_of_the_peak_is_left_out(
    change: dict[str, Any], reason: str
) -> None:
    text = report(replace(RESULT, **change))
    assert text.count(f"Share of peak left out: {reason}.\n") == 1
    assert "%" not in text


def test_what_could_not_be_stored_is_printed() -> None:
    text = report(replace(RESULT, entry=None, trouble=("disk full",)))
    assert "Warning: disk full\n" in text
    assert "NOT stored:\nschedule\n" in text


def test_memory_bound_kernels_are_rated_in_bytes() -> None:
    result = replace(RESULT, cost=Cost(1000, 8000))
    speed = result.speed(1e-6)
    assert (speed.value, speed.unit, speed.share) == (pytest.approx(8), "GB/s", 0.4)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({}, 0),
        ({"outcome": "default"}, 0),
        ({"outcome": "nothing"}, 4),
        ({"trouble": ("x",)}, 1),
        ({"warnings": ("x",)}, 0),
        ({"stop": "interrupted"}, 130),
        ({"stop": "interrupted", "outcome": "nothing"}, 130),
    ],
)
def test_exit_codes(change: dict[str, object], code: int) -> None:
    assert replace(RESULT, **change).exit_code == code  # type: ignore[arg-type]


VIEW = View(10.0, 40.0, 5, 2, 1, 1e-3, 1.25, "structure")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_of_progress() -> None:
    progress = Progress(io.StringIO(), 2 * 10**8, "GFLOP/s")
    assert progress.line(VIEW) == (
        "[#####               ] 10/40 s, structure, 5 measured, 2 refused, 1 failed, "
        "best 200 GFLOP/s (1 ms), 1.25x default"
    )


def test_a_log_gets_sparse_lines() -> None:
    stream = io.StringIO()
    progress = Progress(stream, 1, "GFLOP/s")
    for tenth in range(300):
        progress(replace(VIEW, elapsed=tenth / 10))
    progress.close()
    assert stream.getvalue().count("\n") == 3
    assert "\r" not in stream.getvalue()


def test_a_better_schedule_is_news() -> None:
    stream = io.StringIO()
    progress = Progress(stream, 1, "GFLOP/s")
    progress(replace(VIEW, elapsed=0.0))
    progress(replace(VIEW, elapsed=2.0, speedup=1.5))
    assert stream.getvalue().count("\n") == 2


def test_a_terminal_keeps_one_line() -> None:
    stream = Terminal()
    progress = Progress(stream, 1, "GFLOP/s")
    progress(VIEW)
    progress(VIEW)
    progress.close()
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().endswith(" \r")
