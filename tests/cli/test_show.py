"""`tdsl show` and `tdsl doctor`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tdsl.cli import main
from tdsl.entries import Entry, fingerprint, program_hash, situation, store
from tdsl.target import host

FILE = Path(__file__).with_name("matmul_file.py")
KERNEL = f"{FILE}:matmul"


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["show", KERNEL, *arguments]) == 0
    return capsys.readouterr().out.removeprefix("loaded\n")


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
    assert "for " in shown(capsys, "--stage", "lowered")


def test_a_tuned_schedule_is_shown(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    from tdsl.cli.loading import load_kernel

    monkeypatch.setenv("TDSL_CACHE", str(tmp_path))
    kernel, _, _ = load_kernel(KERNEL)
    dims = {"M": 8, "N": 8, "K": 8}
    program = program_hash(kernel.function)
    where = situation(program, dims, 1, "reassoc", fingerprint(host()))
    steps = [{"primitive": "split", "arguments": {"axis": "k", "factor": 4}}]
    schedule = json.dumps({"function": "matmul", "steps": steps})
    store(Entry(where, schedule, 1.0, 2.0, "proved"))
    capsys.readouterr()
    text = shown(capsys, "M=8", "N=8", "K=8", "--threads", "1")
    assert text.startswith('# tuned for M=8 K=8 N=8\nschedule\n    .split("k", 4)\n')
    assert shown(capsys, "M=9", "N=8", "K=8", "--threads", "1").startswith("# default")


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["problems"] == []
    assert report["versions"]["numba"]
    assert report["peaks"][0]["f32_gflops"] > 1
    assert report["target"]["cores"] >= 1
