"""Kernels in forked processes: threads that a fork has lost are no silent end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
import multiprocessing

import numpy as np
import tdsl
from tdsl.errors import BackendError

N = tdsl.dim("N")


@tdsl.kernel
def double(x: tdsl.f32[N]) -> tdsl.f32[N]:
    y = tdsl.empty((N,), tdsl.f32)
    for i in range(N):
        y[i] = 2 * x[i]
    return y


@tdsl.kernel
def alternate(x: tdsl.f32[N]) -> tdsl.f32[N]:
    y = tdsl.zeros((N,), tdsl.f32)
    for i in range(1, N):
        y[i] = x[i] - y[i - 1]
    return y


def called(kernel):
    x = np.ones(1 << 21, np.float32)
    try:
        return float(np.sum(kernel(x)))
    except BackendError as error:
        return str(error)


def in_child(method):
    with multiprocessing.get_context(method).Pool(1) as pool:
        print(method, *pool.map(called, [alternate, double]), sep="; ")


if __name__ == "__main__":
    in_child("fork")
    print("here", called(alternate), called(double), sep="; ")
    in_child("fork")
    in_child("spawn")
"""
REFUSED = (
    "double cannot run in this process, a fork of one in which kernels ran on several "
    'threads: start processes by multiprocessing.get_context("spawn")'
)


def test_what_has_lost_its_threads_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "forking.py"
    file.write_text(PROGRAM)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    monkeypatch.setenv("NUMBA_THREADING_LAYER", "omp")
    done = subprocess.run(
        [sys.executable, file], capture_output=True, text=True, timeout=300, check=True
    )
    right = "1048576.0; 4194304.0"
    assert done.stdout.splitlines() == [
        f"fork; {right}",
        f"here; {right}",
        f"fork; 1048576.0; {REFUSED}",
        f"spawn; {right}",
    ]
