"""`tdsl check`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tdsl import testing
from tdsl.backends.comparison import no_bound
from tdsl.cli import check as command
from tdsl.cli import main
from tdsl.errors import CheckError
from tdsl.kernel import Kernel

FILE = Path(__file__).with_name("matmul_file.py")


def test_a_right_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", f"{FILE}:double", "--examples", "5"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("double: 5 examples, ")
    assert printed[1] == "  schedules: 2 compiled, 1 interpreted, all proved"


def test_a_failed_check(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **options: object) -> testing.Report:
        raise CheckError("double is wrong for N=3")

    monkeypatch.setattr(command, "check", fail)
    assert main(["check", f"{FILE}:double"]) == 1
    assert capsys.readouterr().err.endswith("tdsl: double is wrong for N=3\n")


def test_the_options_win_over_the_mark_and_the_mark_over_the_defaults(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[dict[str, Any]] = []

    def note(kernel: Kernel, **options: Any) -> str:
        asked.append({"numerics": kernel.numerics, **options})
        return "done"

    monkeypatch.setattr(command, "check", note)
    text = FILE.read_text(encoding="utf-8")
    marked = tmp_path / "marked.py"
    mark = "import tdsl.testing\n\n@tdsl.testing.checked(examples=7, seed=3)\n"
    place = text.rindex("@tdsl.kernel")
    marked.write_text(text[:place] + mark + text[place:], encoding="utf-8")
    assert main(["check", f"{FILE}:double"]) == 0
    assert main(["check", f"{marked}:double"]) == 0
    options = ["--examples", "9", "--seed", "0", "--numerics", "bitwise"]
    assert main(["check", f"{marked}:double", *options]) == 0
    prepare = {"prepare": None}
    assert asked == [
        {"numerics": "reassoc", "examples": None, "seed": 0, **prepare},
        {"numerics": "reassoc", "examples": 7, "seed": 3, **prepare},
        {"numerics": "bitwise", "examples": 9, "seed": 0, **prepare},
    ]


def test_elements_without_a_bound_are_explained() -> None:
    assert no_bound(0) == ""
    assert no_bound(158) == (
        "; 158 elements were not compared, because no error bound exists there "
        "(numbers overflow, are infinite or NaN, or a divisor may be 0)"
    )
