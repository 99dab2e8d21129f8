"""Sums of the lanes of a register are one operation, and near misses are not."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tdsl.backends.cpu import compile_function
from tdsl.backends.poison import poisoned_call
from tdsl.backends.reference import interpret
from tdsl.target import host

from ..ir_text import read_function

NUMPY = {"f32": np.float32, "i64": np.int64}
ROWS = """
def rows(X: T[M, 16], S: inout T[M], Y: inout T[M, 16]) for M:
    for i in range(M):
        part = local T[16] in registers
        for g in range(0, 16, 8):  # unrolled
            for v in range(g, g + 8):  # vectorized
                part[v] = X[i, v]
        for l in range(16):  # unrolled
            S[i] += part[l]
"""
TILES = """
def tiles(X: T[M, 16], S: inout T[M], Y: inout T[M, 16]) for M:
    for i_o in range(0, M, 4):
        part = local T[4, 8] in registers
        for r in range(i_o, min(i_o + 4, M)):  # unrolled
            for v in range(8):  # vectorized
                part[r - i_o, v] = X[r, v]
        for i in range(i_o, min(i_o + 4, M)):  # unrolled
            for l in range(8):  # unrolled
                S[i] += part[i - i_o, l]
"""
SQUARE = """
def square(X: T[M, 16], S: inout T[M], Y: inout T[M, 16]) for M:
    for i in range(M):
        part = local T[8, 8] in registers
        for c in range(8):  # unrolled
            for v in range(8):  # vectorized
                part[v, c] = X[i, v + c]
        for l in range(8):  # unrolled
            S[i] += part[l, 2]
"""


def rows(end: str, value: str = "part[l]") -> str:
    """Return `rows` with another range for its sum, or another term."""
    text = ROWS.replace("range(16):  # unrolled", f"range({end}):  # unrolled")
    return text.replace("+= part[l]", f"+= {value}")


IN_LANES = """
def lanes(X: T[M, 16], S: inout T[M], Y: inout T[M, 16]) for M:
    for i in range(M):
        part = local T[8] in registers
        for v in range(8):  # vectorized
            part[v] = X[i, v]
        for j in range(16):  # vectorized
            for l in range(8):  # unrolled
                Y[i, j] += part[l]
"""
WHOLE = {
    "rows": (ROWS, 1),
    "product": (ROWS.replace("S[i] += part[l]", "S[i] *= part[l]"), 1),
    "least": (ROWS.replace("S[i] += part[l]", "S[i] = min(S[i], part[l])"), 1),
    "greatest": (ROWS.replace("S[i] += part[l]", "S[i] = max(S[i], part[l])"), 1),
    "second half": (rows("8", "part[l + 8]"), 1),
    "from eight on": (rows("8, 16"), 1),
    "from eight, less eight": (rows("8, 16", "part[l - 8]"), 1),
    "a column": (SQUARE, 1),
    "tiles, full and cut off": (TILES, 8),
    "for every lane": (IN_LANES, 1),
    "all that exist": (rows("min(16, M)"), 1),
}
"""Programs, and how many operations on all lanes of a vector they have."""

NEAR_MISSES = {
    "two statements": ROWS + "            Y[i, 0] += part[l]\n",
    "an element each": ROWS.replace("S[i] +=", "Y[i, l] +="),
    "twice": rows("16", "part[l] + part[l]"),
    "stored": ROWS.replace("S[i] += part[l]", "S[i] = part[l]"),
    "every other": rows("0, 16, 2"),
    "part of a group": rows("12"),
    "across groups": rows("8", "part[l + 4]"),
    "backwards": rows("16", "part[15 - l]"),
    "no lanes": ROWS.replace("# vectorized", "# unrolled"),
    "memory": ROWS.replace(" in registers", ""),
    "diagonal": SQUARE.replace("part[l, 2]", "part[l, l]"),
    "along rows": SQUARE.replace("part[l, 2]", "part[2, l]"),
    "in lanes": """
def lanes(X: T[M, 16], S: inout T[M], Y: inout T[M, 16]) for M:
    for i in range(M):
        for j in range(16):  # vectorized
            part = local T[8] in registers
            for v in range(8):  # unrolled
                part[v] = X[i, v]
            for l in range(8):  # unrolled
                Y[i, j] += part[l]
""",
}


def check(text: str, dtype: str, numerics: str = "reassoc") -> int:
    """Compare with the interpreter; return how many reductions of lanes there are."""
    function = read_function(text.replace("T[", f"{dtype}["))
    compiled = compile_function(function, host(), numerics=numerics, parallel=False)
    random = np.random.default_rng(0)
    for m in (0, 1, 4, 6, 17):
        shapes = {"X": (m, 16), "S": (m,), "Y": (m, 16)}
        arrays = {
            each: random.integers(1, 3, shape).astype(NUMPY[dtype])
            for each, shape in shapes.items()
        }
        wanted = {name: array.copy() for name, array in arrays.items()}
        interpret(function, wanted, {"M": m})

        def run(*arguments: Any, m: int = m) -> None:
            compiled.entry(*arguments, m)

        found = poisoned_call(run, function, arrays, {"M": m})
        assert found.is_clean, (m, found.faults)
        for name, array in found.outputs.items():
            np.testing.assert_array_equal(array, wanted[name], f"{name}, M={m}")
    return len(re.findall(r"reduce_\w+\(", compiled.source))


@pytest.mark.parametrize("dtype", ["f32", "i64"])
@pytest.mark.parametrize("case", WHOLE)
def test_a_reduction_of_all_lanes_is_one_operation(case: str, dtype: str) -> None:
    text, count = WHOLE[case]
    assert check(text, dtype) == count


@pytest.mark.parametrize("case", NEAR_MISSES)
def test_a_near_miss_is_written_out(case: str) -> None:
    assert check(NEAR_MISSES[case], "f32") == 0


def test_the_order_of_a_bitwise_reduction_is_kept() -> None:
    assert check(ROWS, "f32", "bitwise") == 0
