"""Storage of a result that compiled code may not write to takes the slow way."""

from __future__ import annotations

from typing import Any

import numpy as np

import tdsl
from tdsl import f32
from tdsl.dispatch import make_dispatcher
from tdsl.frontend.parser import parse

M = tdsl.dims("M")[0]


def double(A: f32[M]) -> f32[M]:
    C = tdsl.empty(M, f32)
    for i in range(M):
        C[i] = A[i] + A[i]
    return C


class Entries(dict[Any, Any]):
    """Have an entry for every key, which says so."""

    def get(self, key: Any, default: Any = None) -> Any:
        return lambda A, C, M: C.fill(1)


def takes_the_fast_way(out: np.ndarray) -> bool:
    called: list[str] = []

    def slow(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        called.append("slow")

    call = make_dispatcher(parse(double), Entries(), slow, by_size=False)
    call((np.zeros(3, np.float32),), {"out": out})
    return not called


def test_a_read_only_out_goes_the_slow_way() -> None:
    out = np.zeros(3, np.float32)
    assert takes_the_fast_way(out)
    out.flags.writeable = False
    assert not takes_the_fast_way(out)


def test_a_misaligned_out_goes_the_slow_way() -> None:
    assert not takes_the_fast_way(np.zeros(13, np.uint8)[1:].view(np.float32))


def test_an_out_that_meets_itself_goes_the_slow_way() -> None:
    repeated = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (3,), (0,))
    assert not takes_the_fast_way(repeated)
