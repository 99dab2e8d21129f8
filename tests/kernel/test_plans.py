"""Default schedules and proofs that another process finds again, and bad files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tdsl
from tdsl import f32, plans
from tdsl.errors import ProofError
from tdsl.target import AVX2, AVX512

M, N = tdsl.dims("M N")
REPOSITORY = Path(__file__).resolve().parents[2]


@tdsl.kernel
def doubled(X: f32[M, N]) -> f32[M, N]:
    Y = tdsl.empty((M, N), f32)
    for i, j in tdsl.grid(M, N):
        Y[i, j] = X[i, j] * 2.0
    return Y


FUNCTION = doubled.function
TILED = doubled.schedule().split("i", 4)
RUNNING = doubled.schedule().parallelize("i")


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Return what is done rather than found, in a cache that begins empty."""
    done: list[str] = []

    def watched(name: str) -> None:
        original = getattr(plans, name)

        def run(*args: object) -> object:
            done.append(name)
            return original(*args)

        monkeypatch.setattr(plans, name, run)

    monkeypatch.setenv("TDSL_CACHE", str(tmp_path / "cache"))
    watched("validate")
    watched("default_schedule")
    return done


def kept_files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "plans").iterdir())


def test_a_proof_is_done_once(work: list[str]) -> None:
    first = plans.prove(FUNCTION, TILED, "reassoc")
    assert first.verdict == "proved"
    assert len(first.checks) > 3
    assert plans.prove(FUNCTION, TILED, "reassoc") == first
    assert work == ["validate"]


def test_each_situation_has_a_proof_of_its_own(work: list[str]) -> None:
    plans.prove(FUNCTION, TILED, "reassoc")
    plans.prove(FUNCTION, TILED, "bitwise")
    plans.prove(FUNCTION, RUNNING, "reassoc")
    assert work == ["validate"] * 3


def test_a_plan_is_made_once_for_each_target(work: list[str]) -> None:
    first = plans.plan(FUNCTION, AVX512, "reassoc")
    assert first.steps
    assert plans.plan(FUNCTION, AVX512, "reassoc") == first
    assert plans.plan(FUNCTION, AVX2, "reassoc").steps
    assert work == ["default_schedule"] * 2


def test_a_schedule_of_another_function_is_no_hit(work: list[str]) -> None:
    @tdsl.kernel
    def doubled(X: f32[M, N]) -> f32[M, N]:
        Y = tdsl.empty((M, N), f32)
        for i, j in tdsl.grid(M, N):
            Y[i, j] = X[i, j] * 3.0
        return Y

    plans.prove(doubled.function, doubled.schedule().split("i", 4), "reassoc")
    assert plans.prove(doubled.function, TILED, "reassoc").verdict == "refuted"
    assert plans.prove(doubled.function, TILED, "reassoc").verdict == "refuted"
    assert work == ["validate"] * 3


def test_what_is_refuted_is_not_kept(work: list[str], tmp_path: Path) -> None:
    @tdsl.kernel
    def running(X: tdsl.inout(f32[M])):
        for i in range(1, M):
            X[i] = X[i] + X[i - 1]

    schedule = running.schedule().parallelize("i")
    for _ in range(2):
        assert plans.prove(running.function, schedule, "reassoc").verdict == "refuted"
        with pytest.raises(ProofError, match="refuted"):
            running.prove(schedule)
    assert work == ["validate"] * 4
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("damage", ["empty", "shortened", "flipped", "binary", "other"])
def test_damaged_files_are_made_again(
    work: list[str], tmp_path: Path, damage: str
) -> None:
    schedule = plans.plan(FUNCTION, AVX512, "reassoc")
    proof = plans.prove(FUNCTION, schedule, "reassoc")
    files = kept_files(tmp_path)
    assert len(files) == 2
    contents = [file.read_bytes() for file in files]
    for file, content, other in zip(files, contents, contents[::-1], strict=True):
        file.write_bytes(
            {
                "empty": b"",
                "shortened": content[:-1],
                "flipped": content.replace(b'"', b"'", 1),
                "binary": b"\xff\x00" + content,
                "other": other,
            }[damage]
        )
    work.clear()
    assert plans.plan(FUNCTION, AVX512, "reassoc") == schedule
    assert plans.prove(FUNCTION, schedule, "reassoc") == proof
    assert work == ["default_schedule", "validate"]
    assert [file.read_bytes() for file in files] == contents


def test_other_sources_of_tdsl_make_everything_anew(
    work: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for stamp in ("one version", "another version", "one version"):
        monkeypatch.setattr(plans, "sources_stamp", lambda stamp=stamp: stamp)
        plans.prove(FUNCTION, plans.plan(FUNCTION, AVX512, "reassoc"), "reassoc")
    assert work == ["default_schedule", "validate"] * 2


def test_the_stamp_covers_the_sources_and_versions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stamp = plans.sources_stamp()
    names = {"/".join(file.parts[-2:]) for file in plans._sources()}
    assert {"analysis/validate.py", "schedules/loops.py", "ir/nodes.py"} <= names
    assert {"tdsl/plans.py", "tdsl/entries.py", "tdsl/target.py"} <= names
    plans.sources_stamp.cache_clear()
    monkeypatch.setattr(plans, "version", lambda name: "next")
    try:
        assert plans.sources_stamp() != stamp
    finally:
        plans.sources_stamp.cache_clear()


def test_a_folder_that_cannot_be_made_costs_only_time(
    work: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("TDSL_CACHE", str(blocked))
    for _ in range(2):
        schedule = plans.plan(FUNCTION, AVX512, "reassoc")
        assert plans.prove(FUNCTION, schedule, "reassoc").verdict == "proved"
    assert work == ["default_schedule", "validate"] * 2


def test_a_full_disk_costs_only_time(
    work: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    for _ in range(2):
        assert plans.prove(FUNCTION, TILED, "reassoc").verdict == "proved"
    assert work == ["validate"] * 2
    assert not kept_files(tmp_path)


PROCESS = """
import sys
import numpy as np, tdsl
from tdsl import f32, plans

M, N = tdsl.dims("M N")

@tdsl.kernel
def doubled(X: f32[M, N]) -> f32[M, N]:
    Y = tdsl.empty((M, N), f32)
    for i, j in tdsl.grid(M, N):
        Y[i, j] = X[i, j] * 2.0
    return Y

@tdsl.kernel
def exponential(X: f32[M, N]) -> f32[M, N]:
    Y = tdsl.empty((M, N), f32)
    for i, j in tdsl.grid(M, N):
        Y[i, j] = tdsl.exp(X[i, j] + {extra})
    return Y

ran = []
for name in ("validate", "default_schedule"):
    def watched(*args, name=name, original=getattr(plans, name)):
        ran.append(name)
        return original(*args)
    setattr(plans, name, watched)

x = np.ones((50, 70), np.float32)
assert (doubled(x) == 2).all()
compiler = "numba.np.arraymath" in sys.modules
print(len(ran), compiler)
assert np.allclose(exponential(x), np.exp(x + {extra}))
assert (doubled(x[:, ::2]) == 2).all() and (doubled(x) == 2).all()
"""


def run(program: str, tmp_path: Path) -> list[str]:
    file = tmp_path / "script.py"
    file.write_text(program, encoding="utf-8")
    finished = subprocess.run(
        [sys.executable, str(file)],
        env={**os.environ, "TDSL_CACHE": str(tmp_path / "cache")},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.split()


def test_a_second_process_proves_nothing_and_loads_no_compiler(tmp_path: Path) -> None:
    """And it can still compile afterwards, and call what it had loaded."""
    assert run(PROCESS.format(extra="0.0"), tmp_path) == ["2", "True"]
    assert run(PROCESS.format(extra="1.0"), tmp_path) == ["0", "False"]
