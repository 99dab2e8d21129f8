"""Rows copied to columns are stored by columns, and near misses one by one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tdsl.backends.cpu import compile_function
from tdsl.backends.poison import poisoned_call
from tdsl.backends.reference import interpret
from tdsl.errors import BackendError
from tdsl.target import host

from ..ir_text import read_function

TURNED = """
def turned(X: f32[M, N], Y: inout f32[P, Q], Z: inout f32[Q]) for M, N, P, Q:
    for i_o in range(0, M, 4):
        for j_o in range(0, N, 8):
            for i in range(i_o, min(i_o + 4, M)):  # unrolled
                for j in range(j_o, min(j_o + 8, N)):  # vectorized
                    Y[j, i] = X[i, j]
"""
READ_AGAIN = """
def again(X: f32[M, N], Y: inout f32[P, Q], Z: inout f32[Q]) for M, N, P, Q:
    for i_o in range(0, M, 4):
        for j_o in range(0, N, 8):
            Z[i_o] += Y[j_o, i_o]
            for i in range(i_o, min(i_o + 4, M)):  # unrolled
                for j in range(j_o, min(j_o + 8, N)):  # vectorized
                    Y[j, i] = X[i, j]
            Z[i_o + 1] += Y[j_o, i_o]
"""


def rows(count: int) -> str:
    """Return `turned` in tiles of *count* rows."""
    return TURNED.replace("4", str(count))


def stored(target: str, value: str = "X[i, j]") -> str:
    """Return `turned` with another statement."""
    return TURNED.replace("Y[j, i] = X[i, j]", f"{target} {value}")


REGISTERS = """
def kept(X: f32[M, N], Y: inout f32[P, Q], Z: inout f32[Q]) for M, N, P, Q:
    for i_o in range(0, M, 4):
        for j_o in range(0, N, 8):
            T = local f32[8, 4] in registers
            for i in range(i_o, min(i_o + 4, M)):  # unrolled
                for j in range(j_o, min(j_o + 8, N)):  # vectorized
                    T[j - j_o, i - i_o] = X[i, j]
            for i_s in range(i_o, min(i_o + 4, M)):  # unrolled
                for j_s in range(j_o, min(j_o + 8, N)):  # vectorized
                    Y[i_s, j_s] = T[j_s - j_o, i_s - i_o]
"""


def perfect(text: str, dim: str) -> str:
    """Return *text* with a *dim* that the tiles divide."""
    width = {"M": 4, "N": 8}[dim]
    text = re.sub(rf"min\((\w+ \+ {width}), {dim}\)", r"\1", text)
    header, body = text.split(" for ", 1)
    dims, rest = body.split(":", 1)
    return f"{header} for {dims.replace(dim, f'{dim}%{width}==0')}:{rest}"


TWO_LANES = TURNED.replace("N, 8", "N, 2").replace("+ 8, N", "+ 2, N")
BY_COLUMNS = {
    "one row": (rows(1), []),
    "two rows": (rows(2), ["pairs"]),
    "three rows": (rows(3), ["pairs"]),
    "four rows": (rows(4), ["quads"]),
    "seven rows": (rows(7), ["quads", "pairs"]),
    "two lanes": (
        TURNED.replace("N, 8", "N, 2").replace("+ 8, N", "+ 2, N"),
        ["quads"],
    ),
    "whole rows": (perfect(TURNED, "N"), ["quads"]),
    "all rows": (perfect(TURNED, "M"), ["quads"]),
    "a sum": (stored("Y[j, i] =", "X[i, j] + X[i, 0]"), ["quads"]),
    "shifted": (stored("Y[2*j + 1, i + 3] ="), ["quads"]),
    "read again": (perfect(perfect(READ_AGAIN, "M"), "N"), ["quads"]),
}
"""Programs, and the stores of several rows that they have."""

NEAR_MISSES = {
    "every other": TURNED.replace("M)):  # unrolled", "M), 2):  # unrolled"),
    "two statements": TURNED + "                Z[i] = X[i, 0]\n",
    "two stores": TURNED + "                    Y[j + N, i] = X[i, j]\n",
    "an update": stored("Y[j, i] +="),
    "one lane": TURNED.replace("8, N", "1, N").replace("N, 8", "N, 1"),
    "slanted": stored("Y[j - i, i] =", "X[i, j_o]").replace(
        "range(j_o, min(j_o + 8, N))", "range(i, i + 8)"
    ),
    "unrolled": TURNED.replace("vectorized", "unrolled"),
    "serial": TURNED.replace("  # vectorized", ""),
    "in registers": REGISTERS,
    "of itself": stored("Y[j, i + 1] =", "Y[j, i] + X[i, j]"),
    "both subscripts": stored("Y[j + i, i] ="),
    "columns apart": stored("Y[j, 2*i] ="),
    "uneven columns": stored("Y[j, i + i//2] ="),
    "a diagonal": stored("Y[j, i + j] ="),
    "uneven rows": stored("Y[j + j//2, i] ="),
    "rows": stored("Y[i, j] ="),
}


def check(text: str, layout: str = "C") -> list[str]:
    """Compare with the interpreter; return the stores of several rows, in order."""
    function = read_function(text)
    compiled = compile_function(function, host(), parallel=False)
    layouts = ["C", layout, "C"]
    entry = compiled.entry_for(layouts)
    random = np.random.default_rng(0)
    for m, n in ((0, 3), (8, 16), (8, 13), (7, 13), (6, 8), (1, 1)):
        if ("M%4" in text and m % 4) or ("N%8" in text and n % 8):
            continue
        p, q = 2 * n + 8, 2 * m + 8  # room for what the near misses write
        dims = {"M": m, "N": n, "P": p, "Q": q}
        shapes = {"X": (m, n), "Y": (p, q), "Z": (q,)}
        arrays = {
            each: random.integers(-9, 10, shape).astype(np.float32)
            for each, shape in shapes.items()
        }
        wanted = {each: array.copy() for each, array in arrays.items()}
        interpret(function, wanted, dims)

        def run(x: Any, y: Any, z: Any, dims: dict[str, int] = dims) -> None:
            given = np.asfortranarray(y) if layout == "F" else y
            entry(x, given, z, *dims.values())
            y[...] = given

        found = poisoned_call(run, function, arrays, dims)
        assert found.is_clean, (dims, found.faults)
        for each, array in found.outputs.items():
            np.testing.assert_array_equal(array, wanted[each], f"{each} {dims}")
    text = compiled.source_for(layouts).text
    return re.findall(r"store_(quads|pairs)\(", text)


@pytest.mark.parametrize("case", BY_COLUMNS)
def test_rows_become_columns(case: str) -> None:
    text, stores = BY_COLUMNS[case]
    assert check(text) == stores


@pytest.mark.parametrize("case", NEAR_MISSES)
def test_a_near_miss_is_stored_by_rows(case: str) -> None:
    assert check(NEAR_MISSES[case]) == []


@pytest.mark.parametrize("layout", ["F", "A"])
def test_columns_that_are_not_neighbours_are_stored_by_rows(layout: str) -> None:
    assert check(TURNED, layout) == []


def test_lanes_that_all_write_one_element_are_refused() -> None:
    with pytest.raises(BackendError, match="all write one element"):
        check(stored("Y[0, i] ="))
