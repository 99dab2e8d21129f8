"""`pytest --tdsl`, run as a user runs it: in a process and a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tdsl.entries import Entry, fingerprint, program_hash, situation, store
from tdsl.errors import ArgumentError
from tdsl.kernel import Kernel
from tdsl.target import host
from tdsl.testing import checked
from tdsl.testing.marking import Marks, marks_of
from tdsl.tuner.scripts import load_script

from .altered import RIGHT

KERNELS = """
import tdsl
import tdsl.testing
from tdsl import f32
from tdsl.executable import ReferenceBackend, ReferenceExecutable
from tdsl.kernel import Kernel

N = tdsl.dim("N", min=1)

@tdsl.testing.checked(examples=6)
@tdsl.kernel
def double(x: f32[N]) -> f32[N]:
    y = tdsl.empty((N,), f32)
    for i in range(N):
        y[i] = 2.0 * x[i]
    return y

@tdsl.kernel
def not_marked(x: f32[N]) -> f32[N]:
    y = tdsl.empty((N,), f32)
    for i in range(N):
        y[i] = x[i]
    return y

class Wrong(ReferenceBackend):
    def compile(self, function, numerics):
        right = ReferenceExecutable(function)
        class Executable:
            def entry_for(self, layouts):
                def run(x, y, n):
                    right.entry_for(layouts)(x, y, n)
                    y[0] += 1
                return run
        return Executable()

wrong = Kernel(double.function, backend=Wrong())
tdsl.testing.checked(wrong)
"""


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "tdsl.testing.pytest_plugin"]
    command += ["-p", "no:cacheprovider", "-v", "--rootdir", str(folder), *options]
    return subprocess.run(
        [*command, str(folder)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "TDSL_CACHE": str(folder / "cache"), "COLUMNS": "200"},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_kernels.py").write_text(KERNELS, encoding="utf-8")
    (tmp_path / "unrelated.py").write_text("raise SystemExit", encoding="utf-8")
    return tmp_path


def test_marked_kernels_are_checked(folder: Path) -> None:
    result = run_pytest(folder, "--tdsl", "--tdsl-examples", "4", "--tdsl-seed", "7")
    output = result.stdout
    assert result.returncode == 1, output + result.stderr
    assert "my_kernels.py::double PASSED" in output
    assert "my_kernels.py::wrong FAILED" in output
    assert "not_marked" not in output and "1 failed, 1 passed" in output
    assert "double is wrong for N=1: y[0] is " in output
    assert "to repeat: tdsl.testing.run_case(double, " in output
    assert "Traceback" not in output


def test_without_the_option_nothing_is_collected(folder: Path) -> None:
    result = run_pytest(folder)
    assert result.returncode == 5 and "no tests ran" in result.stdout


def test_tuned_schedules_are_checked_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TDSL_CACHE", str(folder / "cache"))
    text = KERNELS.partition("class Wrong")[0]
    (folder / "my_kernels.py").write_text(text, encoding="utf-8")
    double: Kernel = load_script(folder / "my_kernels.py").double
    program = program_hash(double.function)
    where = situation(program, {"N": 33}, 1, "reassoc", fingerprint(host()))
    good = double.schedule().split("i", 4).unroll("i_i").to_json()
    store(Entry(where, good, 1.0, 2.0, "proved"))
    result = run_pytest(folder, "--tdsl", "--tdsl-examples", "4")
    assert "my_kernels.py::double[N=33] PASSED" in result.stdout, result.stdout
    bad = good.replace('"i_i"', '"j"')
    store(Entry(where, bad, 1.0, 2.0, "proved"))
    result = run_pytest(folder, "--tdsl", "--tdsl-examples", "4")
    assert "my_kernels.py::double[N=33] FAILED" in result.stdout
    assert 'unroll: no axis "j"' in result.stdout


def test_a_mark_is_kept_and_the_order_of_decorators_matters() -> None:
    assert marks_of(RIGHT) is None
    kernel = RIGHT.with_numerics("fast")
    assert checked(kernel) is kernel and marks_of(kernel) == Marks()
    assert checked(examples=3, seed=2)(kernel) is kernel
    assert marks_of(kernel) == Marks(3, 2)

    def plain() -> None:
        """No kernel yet."""

    with pytest.raises(ArgumentError, match="write @tdsl\\.testing"):
        checked(plain)  # type: ignore[call-overload]
