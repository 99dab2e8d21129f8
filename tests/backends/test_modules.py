"""Generated modules on disk: one compilation for all processes, and bad disks."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tdsl.backends import modules
from tdsl.backends.modules import load_module
from tdsl.backends.vocabulary import OFFERED

SCRIPT = """
import sys
import numpy as np
from tdsl.backends.cpu import compile_function
from tdsl.target import host
from tests.backends.scheduled import TWO_STAGES
from tests.ir_text import read_function

compiled = compile_function(read_function(TWO_STAGES), host())
x, y, z = np.arange(9, dtype=np.float32), *np.zeros((2, 9), np.float32)
compiled.entry(x, y, z, 9)
assert (z == 16).all() and (y == 2 * x).all()
stats = compiled.entry.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), compiled.path)
"""
REPOSITORY = Path(__file__).parents[2]
MODULE = """
import numba

@numba.njit(cache=True)
def double(x):
    return x + x
"""


def run(cache: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "TDSL_CACHE": str(cache), **environment},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    first = run(tmp_path).stdout.split()
    assert first[:2] == ["0", "1"]
    assert Path(first[2]).parent == tmp_path / "modules"
    assert run(tmp_path).stdout.split()[:2] == ["1", "0"]
    # Damage everything: source, index and machine code are made again.
    for file in (tmp_path / "modules").rglob("*.*"):
        file.write_bytes(b"\\x00damaged")
    damaged = run(tmp_path)
    assert damaged.stdout.split()[:2] == ["0", "1"]


def test_damaged_machine_code_is_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TDSL_CACHE", str(tmp_path))
    module = load_module("double", MODULE)
    assert module.double(2) == 4
    damaged = [*tmp_path.rglob("*.nbi"), *tmp_path.rglob("*.nbc")]
    assert len(damaged) == 2
    for file in damaged:
        file.write_bytes(b"not a pickle")
    monkeypatch.delitem(sys.modules, module.__name__)
    again = load_module("double", MODULE)
    assert again is not module
    assert again.double(3) == 6


SCALED = """
import numba

@numba.njit(cache=True)
def scaled(x):
    return x * 0.123456789
"""


def test_machine_code_with_a_wrong_bit_is_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could be loaded, and would compute something else."""
    monkeypatch.setenv("TDSL_CACHE", str(tmp_path))
    module = load_module("scaled", SCALED)
    expected = module.scaled(1.0)
    (code,) = tmp_path.rglob("*.nbc")
    saved, constant = code.read_bytes(), struct.pack("<d", expected)
    assert constant in saved
    code.write_bytes(saved.replace(constant, struct.pack("<d", 2 * expected)))
    for hits in (0, 1):
        monkeypatch.delitem(sys.modules, module.__name__)
        again = load_module("scaled", SCALED)
        assert again.scaled(1.0) == expected
        assert sum(again.scaled.stats.cache_hits.values()) == hits


def test_python_keeps_no_bytecode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would run as it is, damaged or not."""
    monkeypatch.setenv("TDSL_CACHE", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert load_module("scaled", SCALED.replace("scaled", "again")).again(2.0) > 0
    assert [*tmp_path.rglob("*.nbc")] and not [*tmp_path.rglob("*.pyc")]


def test_code_for_other_arguments_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As two processes that save at once could leave it behind."""
    monkeypatch.setenv("TDSL_CACHE", str(tmp_path))
    module = load_module("twice", MODULE)
    module.double(1), module.double(1.5)
    one, other = tmp_path.rglob("*.nbc")
    saved = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(saved)
    monkeypatch.delitem(sys.modules, module.__name__)
    again = load_module("twice", MODULE)
    assert again is not module
    assert again.double(2**53 + 1) == 2**54 + 2


def test_one_process_at_a_time_saves_machine_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numba would give the files of two that do so at once the same name."""
    monkeypatch.setenv("TDSL_CACHE", str(tmp_path))
    module = load_module("alone", MODULE)
    folder = os.open(module.double._cache.cache_path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    call = threading.Thread(target=module.double, args=(1,))
    call.start()
    call.join(1.0)
    assert call.is_alive() and not [*tmp_path.rglob("*.nbi")]
    os.close(folder)
    call.join()
    assert len([*tmp_path.rglob("*.nbi")]) == 1


def test_a_folder_that_cannot_be_written_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("TDSL_CACHE", str(blocked))
    with pytest.warns(RuntimeWarning, match="Set TDSL_CACHE to a folder") as seen:
        module = load_module("elsewhere", MODULE)
    assert [warning.filename for warning in seen] == [__file__]
    assert module.double(4) == 8
    assert module.__file__ and not Path(module.__file__).is_relative_to(tmp_path)


def test_a_full_disk_only_costs_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TDSL_CACHE", str(tmp_path))
    module = load_module("full_disk", MODULE)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", fail)
    with pytest.warns(RuntimeWarning, match="No space left"):
        assert module.double(np.float32(1.5)) == 3


def test_equal_text_is_one_module_and_support_code_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TDSL_CACHE", str(tmp_path))
    module = load_module("same", MODULE)
    assert load_module("same", MODULE) is module
    monkeypatch.setattr(modules, "support_hash", lambda: "changed")
    assert load_module("same", MODULE) is not module


def test_machine_code_is_stale_where_support_code_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TDSL_CACHE", str(tmp_path))
    double = load_module("stale", MODULE.replace("double", "stale")).stale
    assert double(1.5) == 3
    (signature,) = double.signatures

    def stored() -> object:
        cache = modules.GuardedCache(double.py_func)
        return cache.load_overload(signature, double.targetctx)

    assert stored() is not None
    monkeypatch.setattr(modules, "support_hash", lambda: "changed")
    assert stored() is None


def test_threads_that_ask_for_one_text_get_one_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TDSL_CACHE", str(tmp_path))
    imported = []
    load = modules._import

    def slowly(name: str, path: Path) -> ModuleType:
        imported.append(name)
        module = load(name, path)
        time.sleep(0.05)
        return module

    monkeypatch.setattr(modules, "_import", slowly)
    text = MODULE.replace("double", "shared")
    together = threading.Barrier(4)

    def ask(_: int) -> tuple[ModuleType, bool]:
        together.wait()
        module = load_module("shared", text)
        return module, isinstance(module.shared._cache, modules.GuardedCache)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, range(4)))
    assert len(imported) == 1
    assert all(each == (found[0][0], True) for each in found)


def test_a_temporary_folder_goes_with_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaving = []
    monkeypatch.setattr(
        "atexit.register", lambda f, *a, **k: leaving.append(lambda: f(*a, **k))
    )
    monkeypatch.setattr(modules.tempfile, "tempdir", str(tmp_path))
    folder = modules._temporary_folder.__wrapped__()
    (folder / "module.py").write_text("")
    for action in leaving:
        action()
    assert not list(tmp_path.iterdir())


def test_a_moved_or_renamed_file_finds_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comment that names the user's line is no part of the code."""
    monkeypatch.setenv("TDSL_CACHE", str(tmp_path))
    text = MODULE.replace("double", "moved").replace("x + x", "x + x  # old.py:7")
    module = load_module("moved", text)
    stamp = Path(str(module.__file__)).stat().st_mtime_ns
    assert "# old.py:7" in Path(str(module.__file__)).read_text()
    monkeypatch.delitem(sys.modules, module.__name__)
    again = load_module("moved", text.replace("old.py:7", "new name.py:12"))
    assert again.__file__ == module.__file__
    assert Path(str(again.__file__)).stat().st_mtime_ns == stamp
    other = load_module("moved", text.replace("x + x", "x * 2"))
    assert other.__file__ != module.__file__


def test_the_hash_covers_what_generated_modules_import_and_its_imports() -> None:
    folder = Path(modules.__file__).parent
    assert {f"{module}.py" for module in OFFERED} <= set(modules._SUPPORT)
    for file in modules._SUPPORT:
        text = (folder / file).read_text()
        imported = re.findall(r"^from \.(\w+) import", text, re.MULTILINE)
        assert {f"{each}.py" for each in imported} <= set(modules._SUPPORT), file
