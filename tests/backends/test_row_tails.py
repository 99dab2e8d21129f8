"""Tiles that reach past the end write to nothing there, not even to memory beyond."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tdsl.backends.cpu import compile_function
from tdsl.backends.poison import poisoned_call
from tdsl.target import host

from ..ir_text import read_function

WHOLE_LANES = """
def scaled(x: f32[M, N], y: output f32[M, N]) for M, N%8==0:
    for i_o in range(0, M, 4):
        for j_o in range(0, N, 8):
            for i in range(i_o, min(i_o + 4, M)):  # unrolled
                for j in range(j_o, j_o + 8):  # vectorized
                    y[i, j] = x[i, j] + x[i, j]  # S0[i, j]
"""
ADDED = """
def scaled(x: f32[M, N], y: inout f32[M, N]) for M, N%8==0:
    for i_o in range(0, M, 4):
        for j_o in range(0, N, 8):
            for i in range(i_o, min(i_o + 4, M)):  # unrolled
                for j in range(j_o, j_o + 8):  # vectorized
                    y[i, j] += x[i, j]  # S0[i, j]
"""
BOTH = WHOLE_LANES.replace("N%8==0", "N").replace(
    "range(j_o, j_o + 8)", "range(j_o, min(j_o + 8, N))"
)
COLUMNS = BOTH.replace("y: output f32[M, N]", "y: output f32[N, M]").replace(
    "y[i, j] =", "y[j, i] ="
)

REGISTERS = """
def scaled(x: f32[M, N], y: output f32[M, N]) for M, N%8==0:
    for i_o in range(0, M, 4):
        for j_o in range(0, N, 8):
            T = local f32[4, 8] in registers
            for i_l in range(i_o, min(i_o + 4, M)):  # unrolled
                for j_l in range(j_o, j_o + 8):  # vectorized
                    T[i_l - i_o, j_l - j_o] = x[i_l, j_l]
            for i in range(i_o, min(i_o + 4, M)):  # unrolled
                for j in range(j_o, j_o + 8):  # vectorized
                    y[i, j] = T[i - i_o, j - j_o] + T[i - i_o, j - j_o]  # S0[i, j]
"""
PARTIAL = REGISTERS.replace("N%8==0", "N").replace(
    "range(j_o, j_o + 8)", "range(j_o, min(j_o + 8, N))"
)


def test_lanes_that_do_not_exist_are_not_read() -> None:
    for text in (BOTH, COLUMNS, PARTIAL):
        source = compile_function(read_function(text), host()).source_for(["C", "C"])
        assert "load_masked(x," in source.text


@pytest.mark.parametrize("runtime_sizes", [False, True])
@pytest.mark.parametrize(
    "text", [WHOLE_LANES, ADDED, BOTH, COLUMNS, REGISTERS, PARTIAL]
)
def test_rows_beyond_the_last_are_left_alone(text: str, runtime_sizes: bool) -> None:
    function = read_function(text)
    compiled = compile_function(function, host(), runtime_sizes=runtime_sizes)
    entry = compiled.entry_for(["C", "C"])
    sizes = compiled.source_for(["C", "C"]).sizes
    columns = (8, 16) if "N%8" in text else (1, 8, 13)
    for m, n in product((0, 1, 3, 4, 6), columns):
        dims = {"M": m, "N": n}

        def run(*arguments: Any, dims: dict[str, int] = dims) -> None:
            entry(*arguments, *dims.values(), *sizes)

        x = np.arange(m * n, dtype=np.float32).reshape(m, n) + 1
        found = poisoned_call(run, function, {"x": x, "y": x}, dims)
        assert found.is_clean, (dims, found.faults)
        wanted = 2 * x.T if text is COLUMNS else 2 * x
        assert found.outputs["y"].tolist() == wanted.tolist()
