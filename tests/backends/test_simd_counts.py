"""Masks of the first lanes, for counts far outside the lanes."""

from __future__ import annotations

import numpy as np
import pytest

from tdsl.backends.modules import load_module

TEXT = """\
import numba

from tdsl.backends.simd import *
from tdsl.backends.simd_memory import *

B = vector("bool", 8)

@numba.njit
def run(count, out):
    store(address(out), 0, first_lanes(count, B))
    keep(out)
"""


@pytest.mark.parametrize(
    ("count", "lanes"),
    [
        *((-1, 0), (0, 0), (1, 1), (7, 7), (8, 8), (9, 8)),
        *((2**31, 8), (2**32, 8), (2**32 + 3, 8), (2**62, 8)),
        *((-(2**31) - 1, 0), (5 - 2**32, 0), (-(2**62), 0)),
    ],
)
def test_a_count_of_any_size_is_no_more_than_all_lanes(count: int, lanes: int) -> None:
    out = np.zeros(8, np.bool_)
    load_module("lanes", TEXT).run(count, out)
    assert out.tolist() == [True] * lanes + [False] * (8 - lanes)
