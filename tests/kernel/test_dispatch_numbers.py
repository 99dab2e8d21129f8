"""What the generated call leaves to the slow path besides odd arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tdsl
from tdsl import f32, i32
from tdsl.dispatch import make_dispatcher
from tdsl.frontend.parser import parse

M, N = tdsl.dims("M N")


def chosen(on: tdsl.bool_, A: tdsl.inout(f32[M])):
    for i in range(M):
        A[i] = A[i] if on else 0.0


def shifted(n: i32, A: tdsl.inout(f32[M])):
    for i in range(M):
        A[i] = A[i] + f32(n)


def summed(A: tdsl.inout(f32[M + N])):
    for i in range(M):
        A[i] = 0.0


def halved(A: tdsl.inout(f32[(M + 1) // 2])):
    for i in range((M + 1) // 2):
        A[i] = 0.0


def slow(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    return "slow"


class Entries(dict[Any, Any]):
    """Have an entry for every key."""

    def get(self, key: Any, default: Any = None) -> Any:
        return lambda *arguments: None


def takes_the_fast_way(function: Callable[..., Any], number: Any) -> bool:
    call = make_dispatcher(parse(function), Entries(), slow, by_size=False)
    return call((number, np.zeros(3, np.float32)), {}) is None


def test_only_bools_are_bools() -> None:
    assert takes_the_fast_way(chosen, True)
    for odd in (1, 0, 2.0, "x", None, np.array([True])):
        assert not takes_the_fast_way(chosen, odd)


def test_the_largest_and_the_smallest_integer() -> None:
    assert takes_the_fast_way(shifted, 2**31 - 1)
    assert takes_the_fast_way(shifted, -(2**31))
    assert not takes_the_fast_way(shifted, 2**31)
    assert not takes_the_fast_way(shifted, -(2**31) - 1)


@pytest.mark.parametrize("function", [summed, halved])
def test_sizes_that_shapes_do_not_tell_go_the_slow_way(
    function: Callable[..., Any],
) -> None:
    call = make_dispatcher(parse(function), Entries(), slow, by_size=False)
    assert call is slow
