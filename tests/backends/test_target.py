"""Targets as data, and AVX2 code made on any x86-64 machine."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tdsl.backends.cpu import compile_function
from tdsl.errors import BackendError
from tdsl.ir.dtypes import f32, f64, i64
from tdsl.target import AVX2, AVX512, NEON, PRESETS, host, target_named

from ..ir_text import read_function
from .scheduled import AXPY

REPOSITORY = Path(__file__).parents[2]
AVX2_SCRIPT = """
import numpy as np
from tdsl.backends.cpu import compile_function
from tdsl.target import AVX2
from tests.backends.scheduled import AXPY, DIRECT_MATMUL
from tests.ir_text import read_function

compiled = compile_function(read_function(DIRECT_MATMUL), AVX2, parallel=False)
a, b = np.random.default_rng(0).integers(-4, 5, (2, 30, 30)).astype(np.float32)
c = np.zeros((30, 30), np.float32)
compiled.entry(a, b, c, 30, 30, 30)
assert (c == a @ b).all()
axpy = compile_function(read_function(AXPY), AVX2)
x, y = a[0].copy(), b[0].copy()
axpy.entry(2.0, x, y, 30)
assert (y == 2 * x + b[0]).all()
print(compiled.assembly())
"""


def test_lanes_follow_the_vector_width() -> None:
    assert [AVX512.lanes(f32), AVX512.lanes(f64), AVX2.lanes(f32)] == [16, 8, 8]
    assert [NEON.lanes(f32), NEON.lanes(i64)] == [4, 2]


def test_the_host_is_described() -> None:
    machine = host()
    assert machine.lanes(f32) >= 4
    assert machine.cores >= 1
    assert 0 < machine.l1 <= machine.l2
    assert not machine.environment()
    assert target_named(machine.name) is machine and machine.name == "cpu"


def test_unknown_targets_are_refused() -> None:
    with pytest.raises(BackendError, match="choose one of cpu, avx2, avx512, neon"):
        target_named("sse9")
    assert sorted(PRESETS) == ["avx2", "avx512", "neon"]


def test_another_cpu_needs_a_process_of_its_own() -> None:
    with pytest.raises(BackendError, match="with NUMBA_CPU_NAME='haswell'"):
        compile_function(read_function(AXPY), AVX2)


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="makes x86-64 code"
)
def test_avx2_code_uses_its_vectors_and_no_wider_ones() -> None:
    made = subprocess.run(
        [sys.executable, "-c", AVX2_SCRIPT],
        env={**os.environ, **AVX2.environment()},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    blocks = re.split(r"\n(?=\.LBB)", made.stdout)
    inner = max(blocks, key=lambda block: block.count("vfmadd"))
    assert len(re.findall(r"vfmadd\w*ps\s.*%ymm", inner)) >= 9
    assert "%zmm" not in made.stdout
