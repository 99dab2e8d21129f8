"""The bodies of parallel loops, as functions: they take what they need, and no more."""

from __future__ import annotations

import builtins
from symtable import Function, SymbolTable, symtable

import pytest

import tdsl
from examples.polybench import load
from tdsl import f32, i64
from tdsl.backends.source import emit_source
from tdsl.schedules.library import default_schedule
from tdsl.target import AVX512

N, M = tdsl.dims("N M")


@tdsl.kernel
def gathered(größe: f32[N], at: i64[M], é: f32) -> f32[M]:
    """Use names beyond ASCII, and elements that data choose, with their checks."""
    out = tdsl.empty((M,), f32)
    for ö in range(M):
        out[ö] = größe[at[ö]] * é + 0.5e-3
    return out


KERNELS = {
    "gathered": gathered,
    **{name: load(name).kernel for name in ("lu", "symm", "correlation", "adi")},
}


def parts(module: SymbolTable) -> list[Function]:
    """Return the functions that are called by a loop over the iterations."""
    functions = [each for each in module.get_children() if isinstance(each, Function)]
    return functions[:-1]


@pytest.mark.parametrize("name", KERNELS)
def test_parts_take_what_they_need(name: str) -> None:
    schedule = default_schedule(KERNELS[name].function, AVX512)
    source = emit_source(schedule.function, runtime_sizes=True)
    module = symtable(source.text, "module", "exec")
    found = parts(module)
    assert found, "the kernel has a parallel loop"
    defined = {*module.get_identifiers(), *dir(builtins)}
    for part in found:
        assert {*part.get_globals()} <= defined
        given = [part.lookup(parameter) for parameter in part.get_parameters()]
        assert all(each.is_referenced() for each in given)
        assert not any(each.is_assigned() for each in given)
