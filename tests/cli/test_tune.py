"""`tdsl tune` from end to end, on small sizes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from .conftest import FILE, Command

KERNEL = f"{FILE}:matmul"
DIMS = ("M=64", "N=64", "K=64")


BUDGETS = ("6s", "40s", "200s")
"""Seconds to measure the default at least: the first is enough on an idle machine."""


def tuned(
    tdsl: Command, folder: Path, *arguments: str
) -> tuple[subprocess.CompletedProcess[str], Callable[[], Any]]:
    """Tune with a budget in which something is measured; return how to do it again."""
    for budget in BUDGETS:
        run = partial(
            tdsl,
            "tune",
            *arguments,
            *("--budget", budget, "--threads", "1"),
            environment={"TDSL_CACHE": str(folder / budget)},
        )
        done = run()
        if not (
            done.returncode == 4 and "ended by: budget" in done.stdout + done.stderr
        ):
            break
    return done, run


def test_tune_and_tune_again(tdsl: Command, tmp_path: Path) -> None:
    """One JSON object on standard output; a second job continues the first."""
    first, again_with = tuned(tdsl, tmp_path, KERNEL, *DIMS, "--json")
    assert first.returncode == 0, first.stderr
    (text,) = first.stdout.splitlines()
    assert "loaded" in first.stderr  # what the user's file prints
    result = json.loads(text)
    assert {"structure_rate", "size_rate"} <= result.keys()
    assert result["kernel"] == "matmul"
    assert result["dims"] == {"M": 64, "N": 64, "K": 64}
    assert result["threads"] == 1
    assert result["target"] == "cpu"  # as the option calls it
    assert result["trials"] >= 1
    assert 0 < result["best_seconds"] <= result["default_seconds"] < 1
    assert result["proof"] == "proved"
    assert 0 <= result["max_error_over_bound"] <= 1
    assert result["contender_seconds"] > 0
    assert result["best_schedule"]["steps"]
    assert result["outcome"] in ("improved", "default")
    ledger = Path(result["ledger"])
    rows = [json.loads(r) for r in ledger.read_text().splitlines()]
    tried = [row["candidate"] for row in rows if row["kind"] == "trial"]
    assert len(tried) == len(set(tried)) >= result["trials"]
    assert "default" in first.stderr and "NumPy" in first.stderr
    assert (result["entry"] is not None) == (result["outcome"] == "improved")

    second = again_with()
    assert second.returncode == 0, second.stderr
    again = json.loads(second.stdout.splitlines()[-1])
    assert again["resumed"] == len(tried)
    rows = [json.loads(r) for r in ledger.read_text().splitlines()]
    tried = [row["candidate"] for row in rows if row["kind"] == "trial"]
    assert len(tried) == len(set(tried))


def test_inputs_come_from_the_table_of_the_file(tdsl: Command, tmp_path: Path) -> None:
    file = tmp_path / "given.py"
    text = Path(FILE).read_text(encoding="utf-8")
    file.write_text(f"{text}\ntdsl_inputs = {{'double': lambda dims: list(dims)}}\n")
    done = tdsl("tune", f"{file}:double", "N=8", "--budget", "2s", "--threads", "1")
    assert done.returncode == 1
    assert (
        "double: the function of inputs returned list, but it returns a dict of "
        "arguments by name" in done.stderr
    )


def test_the_closing_table_is_the_output(tdsl: Command, tmp_path: Path) -> None:
    """Dims may stand behind options."""
    words = ("--seed", "1", KERNEL, "M=8", "--numerics", "reassoc", *DIMS[1:])
    done, _ = tuned(tdsl, tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert "matmul  M=8 K=64 N=64" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("Ledger: ")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_keeps_everything(tmp_path: Path, number: int) -> None:
    ledger = tmp_path / "ledger.jsonl"
    command = [sys.executable, "-m", "tdsl.cli", "tune", KERNEL, *DIMS]
    command += ["--budget", "120s", "--ledger", str(ledger), "--threads", "1", "--json"]
    environment = {**os.environ, "TDSL_CACHE": str(tmp_path)}
    job = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while not (ledger.exists() and b"measured" in ledger.read_bytes()):
        assert job.poll() is None, job.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    job.send_signal(number)
    output, error = job.communicate(timeout=30)
    assert job.returncode == 130, error
    result = json.loads(output.splitlines()[-1])
    assert result["stop"] == "interrupted"
    assert result["trials"] >= 1
    assert result["best_seconds"] > 0
