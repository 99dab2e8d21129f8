"""A kernel is read from its file, which has to say what it said when imported."""

from __future__ import annotations

import importlib
import inspect
import linecache
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tdsl.errors import KernelSyntaxError
from tdsl.frontend import edited
from tdsl.frontend.edited import edited_since_import

FACTORIES = """\
import tdsl
M = tdsl.dim("M")

def make(c):
    @tdsl.kernel
    def k(A: tdsl.f32[M]) -> tdsl.f32[M]:
        C = tdsl.empty((M,), tdsl.f32)
        for i in range(M):
            C[i] = A[i] * c
        return C
    return k
"""
ODD = '''\
"""Text whose bytecode depends on how it is compiled."""
from __future__ import annotations
import functools

def passing(f):
    return f

def wrapping(f):
    @functools.wraps(f)
    def inner(*args):
        return f(*args)
    return inner

class Owner:
    @passing
    def method(self, x: "nothing" = 1):
        """Return a private name."""
        return self.__hidden, __class__

def outer(free):
    also = free + 1
    @passing
    @wrapping
    def inner(x):
        """Say nothing."""
        assert x, "stripped by -O"
        def innermost():
            return x, also, free
        return innermost, x in {"b", "a", "c"}, (1e309 - 1e309, -0.0, 2 * 3.5, "\\xe9")
    return inner

def generic(n):
    return [i + j for i in range(n) for j in range(i) if not __debug__]

both = [lambda x: x, lambda x: (yield x)]
FUNCTIONS = [Owner.method, outer(1), generic, passing, wrapping, outer]
'''
EDITS = {
    "another operation": ("A[i] * c", "A[i] - c"),
    "another constant": ("A[i] * c", "A[i] * 2"),
    "another captured variable": ("A[i] * c", "A[i] * d"),
    "one line more above": ("def make", "# a comment\\ndef make"),
    "another function": ("def k(", "def other("),
    "parameters of other names": ("def k(A", "def k(B"),
    "an error elsewhere": ("return k", "return (k"),
}


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Return a function that imports a text as a module of its own."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def load(text: str) -> ModuleType:
        name = f"edited_{len(sys.modules)}"
        (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    return load


@pytest.mark.parametrize("before, after", EDITS.values(), ids=EDITS)
def test_an_edited_kernel_is_refused(imported: Any, before: str, after: str) -> None:
    module = imported(FACTORIES)
    module.make(2.0)
    file = Path(module.__file__)
    assert before in FACTORIES
    file.write_text(FACTORIES.replace(before, after.replace("\\n", "\n")))
    with pytest.raises(KernelSyntaxError) as caught:
        module.make(2.0)
    assert caught.value.msg == (
        "k cannot be read: its file has changed since it was imported; reload it"
    )


def test_other_edits_of_the_file_do_no_harm(imported: Any) -> None:
    module = imported(FACTORIES)
    file = Path(module.__file__)
    file.write_text(FACTORIES.replace("empty((M,)", "empty( (M,)") + "\nx = 1\n")
    assert module.make(2.0)(np.ones(3, np.float32)).tolist() == [2, 2, 2]


def test_a_number_of_another_type_is_another_number(imported: Any) -> None:
    module = imported("def f(x):\n    return x * 1, x * 0.0\n")
    file = Path(module.__file__)
    for text in ("x * 1.0, x * 0.0", "x * 1, x * -0.0", "x * True, x * 0.0"):
        file.write_text(f"def f(x):\n    return {text}\n")
        linecache.checkcache(str(file))
        assert edited_since_import(module.f), text


def test_text_that_was_not_edited_is_accepted(imported: Any) -> None:
    module = imported(ODD)
    assert [f for f in module.FUNCTIONS if edited_since_import(f)] == []


@pytest.mark.parametrize("options", [[], ["-O"], ["-OO"]], ids=str)
def test_options_of_python_and_stored_bytecode_make_no_difference(
    tmp_path: Path, options: list[str]
) -> None:
    (tmp_path / "odd.py").write_text(ODD)
    program = (
        "import odd; from tdsl.frontend.edited import edited_since_import as e; "
        "print([f.__name__ for f in odd.FUNCTIONS if e(f)])"
    )
    for _ in range(2):  # the second process loads the bytecode of the first
        done = subprocess.run(
            [sys.executable, *options, "-c", program],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "[]\n"


def test_code_under_the_name_of_another_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "executed.py"
    file.write_text(FACTORIES.replace("* c", "- c"))
    os.utime(file, (0, 0))
    names: dict[str, Any] = {}
    exec(compile(FACTORIES, str(file), "exec"), names)
    with pytest.raises(KernelSyntaxError, match="k cannot be read"):
        names["make"](2.0)


def test_text_outside_files_is_accepted() -> None:
    name, text = "<cell 1>", "def f(x):\n    return x\n"
    names: dict[str, Any] = {}
    exec(compile(text, name, "exec"), names)
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    assert not edited_since_import(names["f"])


def test_where_pytest_rewrote_an_assertion(monkeypatch: pytest.MonkeyPatch) -> None:
    """This file is loaded by pytest, whose bytecode for assertions is another."""
    monkeypatch.setattr(edited, "_STARTED", os.stat(__file__).st_ctime + 60)
    assert not edited_since_import(test_where_pytest_rewrote_an_assertion)
    monkeypatch.setattr(edited, "_STARTED", 0.0)
    assert edited_since_import(test_where_pytest_rewrote_an_assertion)
    assert not edited_since_import(inspect.unwrap(without_assertion))


def without_assertion(x: float) -> float:
    return x + 1 if np.isnan(x) else -x
