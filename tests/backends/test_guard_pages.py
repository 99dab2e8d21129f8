"""Machine code reads and writes nothing outside its tensors.

Programs run with their arrays, and then their local tensors too, beside pages without
access, in a process of their own: a read outside ends it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from llvmlite import binding

from tdsl.target import target_named

REPOSITORY = Path(__file__).parents[2]
FEATURES = {key for key, on in binding.get_host_cpu_features().items() if on}
READ_BEYOND = """
import numpy as np
from numpy.lib.stride_tricks import as_strided
from tests.backends.guard_pages import Guarded

guarded = Guarded()
guarded.edge = "EDGE"
array = guarded.copy(np.ones(3, np.float32))
assert array.sum() == 3
print("inside", flush=True)
as_strided(array[::STEP], (4,)).sum()
print("outside")
"""


def run(folder: Path, *arguments: str, target: str = "cpu") -> tuple[int, str, str]:
    """Run Python for *target*; return its exit code, last line and errors."""
    environment = dict(target_named(target).environment())
    finished = subprocess.run(
        [sys.executable, *arguments],
        cwd=REPOSITORY,
        env={
            **os.environ,
            **environment,
            "TDSL_CACHE": str(folder),
            "NUMBA_NUM_THREADS": "1",
        },
        capture_output=True,
        text=True,
    )
    lines = finished.stdout.splitlines()
    return finished.returncode, lines[-1] if lines else "", finished.stderr


@pytest.mark.parametrize(("edge", "step"), [("last", "1"), ("first", "-1")])
def test_a_read_outside_ends_the_process(edge: str, step: str, tmp_path: Path) -> None:
    script = READ_BEYOND.replace("EDGE", edge).replace("STEP", step)
    code, last, _ = run(tmp_path, "-c", script)
    assert code < 0
    assert last == "inside"


@pytest.mark.parametrize(("half", "target"), [(0, "cpu"), (1, "avx2")])
def test_programs_stay_inside_their_tensors(
    half: int, target: str, tmp_path: Path
) -> None:
    if target not in {"cpu", *FEATURES}:
        pytest.skip(f"this machine has no {target}")
    module = "tests.backends.guarded_programs"
    code, last, errors = run(tmp_path, "-m", module, target, str(half), target=target)
    assert code == 0, f"{last}\n{errors}"
