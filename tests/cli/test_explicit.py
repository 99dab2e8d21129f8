"""Kernels with an explicit schedule, under a name of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdsl.cli import main

TEXT = """\
import tdsl
from tdsl import f32

N = tdsl.dim("N")

@tdsl.kernel
def double(x: f32[N]) -> f32[N]:
    y = tdsl.empty((N,), f32)
    for i in range(N):
        y[i] = 2 * x[i]
    return y

fast = double.with_schedule(double.schedule().split("i", 5))

@tdsl.kernel
def wrong(x: f32[N]) -> f32[N]:
    y = tdsl.empty((N,), f32)
    for i in range(1, N):
        y[i] = 2 * x[i]
    return y

again = wrong
del wrong
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "explicit.py"
    path.write_text(TEXT)
    return path


def test_show_has_what_runs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", f"{file}:fast", "N=64", "--threads", "1"]) == 0
    assert capsys.readouterr().out == (
        "# explicit: what with_schedule gave, for all sizes\n"
        "schedule\n"
        '    .split("i", 5)\n'
        "\n"
        "def double(x: f32[N], y: output f32[N]) for N:\n"
        "    for i_o in range(0, N, 5):\n"
        "        for i_i in range(i_o, min(i_o + 5, N)):\n"
        "            y[i_i] = (2.0 * x[i_i])  # S0[i_i]\n"
        "\n"
        "# proved: the same values as the kernel, in the same order\n"
    )


def test_show_compiles_what_runs(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def lowered(name: str) -> str:
        options = ["--threads", "1", "--stage", "lowered"]
        assert main(["show", f"{file}:{name}", *options]) == 0
        return capsys.readouterr().out

    assert "for i_o in range(0, N, 5):" in lowered("fast")
    assert "for i_o in range(0, N, 5):" not in lowered("double")


@pytest.mark.parametrize("name", ["fast", "double"])
def test_check_says_which_was_checked(
    name: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", f"{file}:{name}", "--examples", "2"]) == 0
    assert capsys.readouterr().out.startswith(f"{name}: 2 examples, ")


def test_a_fault_is_that_of_the_name_given(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", f"{file}:again"]) == 1
    assert "KernelFaultError: again: the kernel " in capsys.readouterr().err


def test_tuning_what_calls_would_never_use_is_refused(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = tmp_path / "ledger.jsonl"
    assert main(["tune", f"{file}:fast", "N=64", "--ledger", str(ledger)]) == 2
    assert (
        "tune: this double has an explicit schedule, which its calls run whatever is "
        "tuned; tune the kernel that with_schedule was called on"
    ) in capsys.readouterr().err
    assert not ledger.exists()
