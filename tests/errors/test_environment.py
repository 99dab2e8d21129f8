"""What the files, the memory and the processes around a job refuse, in full words."""

from __future__ import annotations

import errno
import linecache
import os
import signal
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import tdsl
from tdsl import entries, f32
from tdsl.cli import main, reduce
from tdsl.errors import (
    CacheError,
    KernelSyntaxError,
    ScheduleError,
    TdslError,
    TuningError,
)
from tdsl.frontend.parser import parse
from tdsl.paths import cache_folder, make_folder
from tdsl.testing.isolation import Child, CrashError
from tdsl.testing.scripts import read_schedule
from tdsl.tuner import ledger
from tdsl.tuner.crew import INSIDE
from tdsl.tuner.scratch import scratch_folder
from tdsl.tuner.scripts import load_script

M = tdsl.dim("M")
anything: Any = None


@tdsl.kernel
def copy(x: f32[M]) -> f32[M]:
    y = tdsl.empty((M,), f32)
    for i in range(M):
        y[i] = x[i]
    return y


ONE_KERNEL = """\
import tdsl
M = tdsl.dim("M")

@tdsl.kernel
def clear(x: tdsl.out(tdsl.f32[M])):
    for i in range(M):
        x[i] = 0
"""


def failing(number: int) -> Callable[..., Any]:
    """Return a function that fails as the operating system does."""

    def fail(*_: object, **__: object) -> Any:
        raise OSError(number, os.strerror(number))

    return fail


def said(error: type[Exception], use: Callable[[], object]) -> str:
    with pytest.raises(error) as caught:
        use()
    return str(caught.value)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "cache"
    assert said(CacheError, lambda: make_folder(folder)) == (
        f"cannot create the folder {folder}: Not a directory; set TDSL_CACHE to a "
        "folder that can be written"
    )


def test_a_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert said(CacheError, lambda: make_folder(tmp_path)) == (
        f"cannot write to the folder {tmp_path}; set TDSL_CACHE to another one"
    )


def test_entries_that_cannot_be_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lock(path: Path) -> None:
        with entries._locked(path):
            pass

    missing = tmp_path / "missing" / "a.json"
    assert said(CacheError, lambda: lock(missing)) == (
        f"cannot lock {missing}: No such file or directory"
    )
    monkeypatch.setattr(entries.fcntl, "flock", failing(errno.ENOLCK))
    assert said(CacheError, lambda: lock(tmp_path / "a.json")) == (
        f"cannot lock {tmp_path / 'a.json'}: No locks available; set TDSL_CACHE to a "
        "folder on another file system"
    )


def test_entries_that_cannot_be_read(tmp_path: Path) -> None:
    assert said(CacheError, lambda: entries._kept(tmp_path)) == (
        f"cannot read {tmp_path}, which is therefore not rewritten: Is a directory"
    )


def test_a_ledger_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "_read_all", failing(errno.EIO))
    path = tmp_path / "ledger.jsonl"
    assert said(CacheError, lambda: ledger.Ledger.open(path, anything)) == (
        f"cannot read the ledger {path}: Input/output error; choose another with "
        "--ledger PATH"
    )


def test_no_room_for_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "mkdtemp", failing(errno.ENOSPC))

    def lend() -> None:
        with scratch_folder():
            pass

    assert said(CacheError, lend) == (
        f"cannot write to {tempfile.gettempdir()}: No space left on device; make room, "
        "or set TMPDIR to another folder"
    )


def test_a_job_inside_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(INSIDE, "1")
    assert said(TuningError, lambda: tdsl.tune(copy, {"M": 8})) == (
        "a process that measures for a tuning job cannot tune"
    )


def end(number: int) -> None:
    os._exit(number)


def die(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize(
    ("function", "number", "message"),
    [
        (end, 3, "ended with exit code 3 while its code ran"),
        (die, signal.SIGKILL, "killed by SIGKILL while its code ran"),
    ],
)
def test_a_process_that_ends(
    function: Callable[[int], None], number: int, message: str
) -> None:
    child = Child(function)
    assert said(CrashError, lambda: child.call(number)) == message
    child.close()


# --- files of the user ---------------------------------------------------------------


def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    file = tmp_path / "kernels.txt"
    file.write_text("")
    assert said(TdslError, lambda: load_script(file)) == (
        f"not a Python file: {file}; kernels are read from FILE.py"
    )


def test_a_file_that_ends_the_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ends.py"
    file.write_text("raise SystemExit(4)")
    assert main(["show", f"{file}:f"]) == 2
    assert capsys.readouterr().err == (
        f"tdsl: {file} ended the program while it was loaded (SystemExit 4); put its "
        'main part under `if __name__ == "__main__":`\n'
    )


def test_a_schedule_that_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "schedule.py"
    file.write_text("schedule = 1 / 0")
    assert said(ScheduleError, lambda: read_schedule(copy, file)) == (
        f"{file} cannot be run: ZeroDivisionError: division by zero"
    )
    file.write_text("3")
    assert said(ScheduleError, lambda: read_schedule(copy, file)) == (
        f"{file} makes no schedule: its last line, or its variable `schedule`, is 3; "
        "write copy.schedule().split(...)"
    )


@pytest.mark.parametrize(
    "text", ["", "import os", "final = copy.schedule()", 'my = schedule.split("i", 4)']
)
def test_a_program_that_leaves_the_schedule_as_it_was(
    text: str, tmp_path: Path
) -> None:
    file = tmp_path / "schedule.py"
    file.write_text(text)
    assert said(ScheduleError, lambda: read_schedule(copy, file)) == (
        f"{file} makes no schedule: its last line is none, and nothing sets the "
        "variable `schedule`; write copy.schedule().split(...)"
    )


@pytest.mark.parametrize("text", ["schedule", "x = 1\nschedule = copy.schedule()"])
def test_a_program_that_means_the_schedule_without_steps(
    text: str, tmp_path: Path
) -> None:
    file = tmp_path / "schedule.py"
    file.write_text(text)
    assert read_schedule(copy, file) == copy.schedule()


def test_a_script_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "failure.py"
    assert said(TdslError, lambda: reduce._save(path, "")) == (
        f"cannot write {path}: No such file or directory"
    )


def test_a_relative_cache_folder_stays_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inside").mkdir()
    monkeypatch.setenv("TDSL_CACHE", f"cache_of_{tmp_path.name}")
    monkeypatch.chdir(tmp_path)
    assert cache_folder() == tmp_path / f"cache_of_{tmp_path.name}"
    monkeypatch.chdir(tmp_path / "inside")
    assert cache_folder() == tmp_path / f"cache_of_{tmp_path.name}"


def test_no_schedule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kernels.py"
    file.write_text(ONE_KERNEL)
    assert main(["reduce", str(file), "missing.json"]) == 2
    assert capsys.readouterr().err == (
        "tdsl: no such file: missing.json; the schedule is a .json or .py file, such "
        "as `tdsl show` prints\n"
    )


def test_a_file_that_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "changed_since.py"
    file.write_text("def f(A):\n    pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    function = import_module("changed_since").f
    file.write_text("(((\n")
    linecache.checkcache(str(file))
    with pytest.raises(KernelSyntaxError) as caught:
        parse(function)
    assert caught.value.msg == (
        "f cannot be read: its file has changed since it was imported; reload it"
    )


def test_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([])
    assert caught.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "tdsl: error: a command is missing: tune, show, check, reduce, doctor"
    )
