"""`tdsl check`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdsl import testing
from tdsl.backends.comparison import no_bound
from tdsl.cli import check as command
from tdsl.cli import main
from tdsl.errors import CheckError

FILE = Path(__file__).with_name("matmul_file.py")


def test_a_right_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", f"{FILE}:double", "--examples", "5"]) == 0
    assert "double: 5 examples" in capsys.readouterr().out


def test_a_failed_check(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **options: object) -> testing.Report:
        raise CheckError("double is wrong for N=3")

    monkeypatch.setattr(command, "check", fail)
    assert main(["check", f"{FILE}:double"]) == 1
    assert capsys.readouterr().err.endswith("tdsl: double is wrong for N=3\n")


def test_elements_without_a_bound_are_explained() -> None:
    assert no_bound(0) == ""
    assert no_bound(158) == (
        "; 158 elements were not compared, because no error bound exists there "
        "(numbers overflow, are infinite or NaN, or a divisor may be 0)"
    )
