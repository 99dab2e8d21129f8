"""A copied or pickled kernel keeps its explicit schedule and its numerics."""

from __future__ import annotations

import copy
import pickle

import pytest

import tdsl
from tdsl import f32
from tdsl.errors import ProofError
from tdsl.ir.numerics import Numerics

N = tdsl.dims("N")[0]


@tdsl.kernel
def total(A: f32[N]) -> f32[1]:
    C = tdsl.zeros(1, f32)
    for i in range(N):
        C[0] += A[i]
    return C


PARTS = total.schedule().split("i", 8).rfactor("i_i")


@pytest.mark.parametrize("numerics", ["reassoc", "bitwise"])
def test_the_copy_runs_what_the_kernel_would(numerics: Numerics) -> None:
    parts = total.with_schedule(PARTS).with_numerics(numerics)
    for copied in (parts, copy.copy(parts), pickle.loads(pickle.dumps(parts))):
        if numerics == "reassoc":
            assert copied.prove().reassociated
        else:
            with pytest.raises(ProofError, match="the order of C add-updates changes"):
                copied.prove()
