"""`tdsl reduce`: the shortest failing schedule, as a script that stands alone."""

from __future__ import annotations

import json
import os
import runpy
import signal
from pathlib import Path

import pytest

import tdsl
from tdsl.cli import main
from tdsl.errors import ProofError, ScheduleError
from tdsl.ir.dims import dim
from tdsl.ir.dtypes import f64
from tdsl.kernel import Kernel
from tdsl.testing import Case, FailedCheck
from tdsl.testing.isolation import CrashError, child
from tdsl.testing.kernel_text import NoTextError, kernel_text
from tdsl.testing.reduction import reduce_schedule
from tdsl.testing.scripts import read_schedule, script_of

from .altered import RIGHT, SCALE, WRONG_IF_UNROLLED, Altered

MATMUL = Path(__file__).parents[1] / "cli" / "matmul_file.py"
N = dim("N", min=1, max=4096, multiple=2)
FACTOR = 1.5
CASES = [Case({"M": 5, "N": 12}, seed) for seed in range(3)]

STEPS = """
schedule
    .split("j", 16, names=("j_t", "j_i"))
    .split("k", 8)
    .rfactor("k_i")
    .parallelize("j_t")
"""
"""The sum of `rfactor` has another order, which is no good in `bitwise`."""


@tdsl.kernel(numerics="bitwise")
def stretch(x: f64[N]) -> f64[N // 2]:
    y = tdsl.zeros((N // 2,), f64)
    for n in range(N // 2):
        y[n] = FACTOR * x[2 * n]
    return y


# --- reducing ---------------------------------------------------------------------


def test_a_wrong_result_needs_only_two_of_six_steps() -> None:
    schedule = (
        WRONG_IF_UNROLLED.schedule()
        .split("i", 4)
        .parallelize("i_o")
        .split("j", 12)
        .split("j_o", 3, names=("u", "v"))
        .unroll("j_i")
        .cache_read("X", "v")
    )
    found = reduce_schedule(WRONG_IF_UNROLLED, schedule, CASES)
    assert found is not None
    assert str(found.schedule) == 'schedule.split("j", 2).unroll("j_i")'
    assert found.symptom.kind == "wrong result"
    assert found.symptom.case.dims == {"M": 2, "N": 8}
    assert "Y[1, 7] is " in found.symptom.text


def test_loops_of_a_step_left_out_are_those_that_it_divided() -> None:
    schedule = WRONG_IF_UNROLLED.schedule().split("j", 4).split("j_o", 2)
    found = reduce_schedule(WRONG_IF_UNROLLED, schedule.unroll("j_o_i"), CASES)
    assert found is not None
    assert str(found.schedule) == 'schedule.split("j", 2).unroll("j_i")'


def test_a_right_schedule_does_not_fail() -> None:
    assert reduce_schedule(RIGHT, RIGHT.schedule().split("i", 4), CASES) is None


def test_a_backend_that_crashes_is_a_symptom_too() -> None:
    def crash(*arguments: object) -> None:
        raise ZeroDivisionError("in the backend")

    def when(function: object) -> bool:
        return "parallel" in str(function)

    crashing = Kernel(SCALE, backend=Altered(change=crash, when=when))
    schedule = crashing.schedule().split("i", 4).split("j", 4).parallelize("i_o")
    found = reduce_schedule(crashing, schedule, CASES)
    assert found is not None
    assert str(found.schedule) == 'schedule.parallelize("i")'
    assert found.symptom.text == "ZeroDivisionError: in the backend"


def test_a_process_that_crashes_is_a_symptom_too() -> None:
    def crash(*arguments: object) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    def when(function: object) -> bool:
        return "parallel" in str(function)

    crashing = Kernel(SCALE, backend=Altered(change=crash, when=when))
    schedule = crashing.schedule().split("i", 4).split("j", 4).parallelize("i_o")
    found = reduce_schedule(crashing, schedule, CASES, apart=True)
    assert found is not None
    assert str(found.schedule) == 'schedule.parallelize("i")'
    assert found.symptom.kind == "crash"
    assert found.symptom.text == "crash: killed by SIGSEGV while its code ran"


def test_a_wrong_result_is_as_small_in_another_process() -> None:
    schedule = WRONG_IF_UNROLLED.schedule().split("i", 4).split("j", 4).unroll("j_i")
    here = reduce_schedule(WRONG_IF_UNROLLED, schedule, CASES)
    there = reduce_schedule(WRONG_IF_UNROLLED, schedule, CASES, apart=True)
    assert here is not None and there is not None
    assert here.schedule == there.schedule
    assert here.symptom.text == there.symptom.text


def test_errors_that_cannot_be_sent_are_told() -> None:
    class LocalError(Exception):
        pass

    def fail() -> None:
        raise LocalError("here")

    with child(fail) as made, pytest.raises(CrashError, match="LocalError: here"):
        assert made is not None
        made.call()


# --- the command ------------------------------------------------------------------


def test_the_command_writes_a_script_that_fails_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "long.py").write_text(STEPS, encoding="utf-8")
    output = tmp_path / "short.py"
    command = ["reduce", f"{MATMUL}:matmul", str(tmp_path / "long.py")]
    assert main([*command, "--numerics", "bitwise", "-o", str(output)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("refuted: same dataflow: the order of C add-updates")
    assert 'reduced from 4 to 1 steps: schedule.rfactor("k")' in printed
    text = output.read_text(encoding="utf-8")
    assert "matmul_file" not in text and '.rfactor("k")' in text
    with pytest.raises(ProofError, match="numerics is bitwise"):
        runpy.run_path(str(output), run_name="__main__")


def test_a_schedule_that_does_not_fail_is_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "good.json"
    path.write_text('{"steps": []}', encoding="utf-8")
    command = ["reduce", f"{MATMUL}:double", str(path), "N=5", "--examples", "2"]
    assert main(command) == 1
    assert "the schedule does not fail: it is proved, and right in 2 examples" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["nothing.json"],
            "no such file: nothing.json; the schedule is a .json or .py",
        ),
        ([str(MATMUL), "Q=3"], "double has no dim 'Q'; its dims are N"),
        ([str(MATMUL), "M"], "'M' is not DIM=VALUE"),
    ],
)
def test_wrong_usage_is_exit_code_2(
    words: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    empty = tmp_path / "s.json"
    empty.write_text('{"steps": []}', encoding="utf-8")
    words = [str(empty) if word == str(MATMUL) else word for word in words]
    assert main(["reduce", f"{MATMUL}:double", *words]) == 2
    assert message in capsys.readouterr().err


# --- files ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        'schedule.split("i", 4).unroll("i_i")',
        'schedule\n    .split("i", 4)\n    .unroll("i_i")\n',
        'x = 4\nschedule = scale.schedule().split("i", x)\n'
        'schedule = schedule.unroll("i_i")\n',
        "JSON",
        "RECORD",
    ],
)
def test_schedules_are_read_from_all_that_prints_them(
    text: str, tmp_path: Path
) -> None:
    wanted = RIGHT.schedule().split("i", 4).unroll("i_i")
    if text == "JSON":
        text = wanted.to_json()
    if text == "RECORD":
        text = json.dumps({"dims": {}, "schedule": json.loads(wanted.to_json())})
    path = tmp_path / ("s.json" if text.startswith("{") else "s.py")
    path.write_text(text, encoding="utf-8")
    assert read_schedule(RIGHT, path) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4", "makes no schedule: its last line, or its variable `schedule`, is 4"),
        ("schedule.split(", "cannot be run: SyntaxError: "),
        ("1/0", "cannot be run: ZeroDivisionError: "),
        ('schedule.split("q", 4)', 'no axis "q"'),
    ],
)
def test_a_file_without_a_schedule_is_explained(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "s.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ScheduleError) as error:
        read_schedule(RIGHT, path)
    assert message in str(error.value)


# --- scripts ----------------------------------------------------------------------


def test_the_text_of_a_kernel_makes_the_same_kernel(tmp_path: Path) -> None:
    text = kernel_text(stretch)
    assert 'N = tdsl.dim("N", min=1, max=4096, multiple=2)' in text
    assert "FACTOR = 1.5" in text and "f32" not in text
    path = tmp_path / "copy.py"
    path.write_text(text, encoding="utf-8")
    copy = runpy.run_path(str(path))["stretch"]
    assert copy.function == stretch.function and copy.numerics == "bitwise"


def test_a_kernel_without_text_is_loaded_from_its_file(tmp_path: Path) -> None:
    with pytest.raises(NoTextError):
        kernel_text(WRONG_IF_UNROLLED)
    schedule = WRONG_IF_UNROLLED.schedule().split("i", 2).unroll("i_i")
    found = reduce_schedule(WRONG_IF_UNROLLED, schedule, CASES)
    assert found is not None
    origin = tmp_path / "origin.py"
    origin.write_text(
        "from importlib import import_module\n"
        f"import sys\nsys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "scale = sys.modules['tests.testing.altered'].WRONG_IF_UNROLLED\n",
        encoding="utf-8",
    )
    script = tmp_path / "script.py"
    script.write_text(script_of(found, origin), encoding="utf-8")
    with pytest.raises(FailedCheck, match=r"Y\[1, 7\] is "):
        runpy.run_path(str(script), run_name="__main__")
