"""Whatever a kernel calls its variables, generated code means something else by it."""

from __future__ import annotations

import re
from symtable import SymbolTable, symtable

import numpy as np
import pytest

import tdsl
from tdsl import f32
from tdsl.backends.source import emit_source
from tdsl.backends.vocabulary import OPERATIONS

from ..ir_text import read_function
from .scheduled import AXPY, PACKED_MATMUL

N = tdsl.dim("N")


@tdsl.kernel
def vectors(f32x64: f32[N], f32x16: f32) -> f32[N]:
    f32x32 = tdsl.empty((N,), f32)
    for f32x8 in range(N):
        f32x4 = f32x64[f32x8] * f32x16
        f32x32[f32x8] = f32x4 + 1
    return f32x32


def tables(text: str) -> tuple[SymbolTable, list[SymbolTable]]:
    module = symtable(text, "module", "exec")
    return module, module.get_children()


def global_names(text: str) -> set[str]:
    """Return what a module defines, and what its functions expect of Python."""
    module, functions = tables(text)
    found = {each.get_name() for each in module.get_symbols()}
    for function in functions:
        found |= {s.get_name() for s in function.get_symbols() if s.is_global()}
    return found


def local_names(text: str) -> set[str]:
    """Return the parameters and variables of the functions of a module."""
    symbols = [s for function in tables(text)[1] for s in function.get_symbols()]
    return {each.get_name() for each in symbols if each.is_local()}


@pytest.mark.parametrize(
    "program, variables",
    [(AXPY, ("alpha", "x", "i", "N")), (PACKED_MATMUL, ("A", "A_pack"))],
    ids=["axpy", "packed_matmul"],
)
def test_no_name_has_two_meanings(program: str, variables: tuple[str, ...]) -> None:
    function = read_function(program)
    # Generated functions do not call themselves: their own name means nothing in them.
    ours = global_names(emit_source(function).text) - {function.name}
    for variable in variables:
        for name in sorted(ours | OPERATIONS | {"f64x2", "boolx16", "prange"}):
            renamed = re.sub(rf"\b{variable}\b", name, program)
            text = emit_source(read_function(renamed)).text
            assert not global_names(text) & local_names(text), (variable, name)


def test_names_of_users_stay_apart() -> None:
    program = AXPY
    for old, new in {"alpha": "store", "x": "store_", "y": "store__"}.items():
        program = re.sub(rf"\b{old}\b", new, program)
    text = emit_source(read_function(program)).text
    for name in ("store_", "store__", "store___"):
        assert len(re.findall(rf"^    {name} = ", text, re.MULTILINE)) == 1


def test_variables_named_like_vectors() -> None:
    x = np.arange(100, dtype=np.float32)
    np.testing.assert_array_equal(vectors(x, 2.0), 2 * x + 1)
