"""In class `bitwise`, schedules, threads and vector widths do not change a bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from llvmlite import binding

from tdsl.target import target_named

REPOSITORY = Path(__file__).resolve().parents[2]
FEATURES = {key for key, on in binding.get_host_cpu_features().items() if on}


def digests(target: str, threads: int, count: int, seed: int) -> list[list[str]]:
    """Run `bits.py` in a process that compiles for *target*."""
    environment = dict(target_named(target).environment())
    numbers = [str(threads), str(count), str(seed)]
    finished = subprocess.run(
        [sys.executable, "-m", "tests.bounds.bits", target, *numbers],
        cwd=REPOSITORY,
        env={**os.environ, **environment, "NUMBA_NUM_THREADS": str(threads)},
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr
    found: list[list[str]] = json.loads(finished.stdout)
    return found


def assert_same_bits(count: int, seed: int) -> None:
    machines = [("cpu", 1), ("cpu", 2)]
    if "avx2" in FEATURES:
        machines.append(("avx2", 1))
    results = [digests(target, threads, count, seed) for target, threads in machines]
    compared = 0
    for number, rows in enumerate(zip(*results, strict=True)):
        bits = {each for row in rows for each in row if each}
        assert len(bits) == 1, f"program {number} of seed {seed}: {rows}"
        compared += sum(bool(each) for row in rows for each in row)
    assert compared >= 2 * count * len(machines)


def test_bits_do_not_depend_on_the_schedule_or_the_machine() -> None:
    assert_same_bits(3, seed=3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 16))
def test_bits_of_many_programs(seed: int) -> None:
    assert_same_bits(12, seed)
