"""Sizes that contradict each other, or an assumption, never reach compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tdsl
from tdsl import f32
from tdsl.dispatch import make_dispatcher
from tdsl.frontend.parser import parse

M, N, K = tdsl.dims("M N K")
LARGE = tdsl.dim("LARGE", min=4)
SMALL = tdsl.dim("SMALL", max=64)
EVEN = tdsl.dim("EVEN", multiple=2)


def product(A: f32[M, K], B: f32[K, N], C: tdsl.inout(f32[M, N])):
    for i, j, k in tdsl.grid(M, N, K):
        C[i, j] += A[i, k] * B[k, j]


def squares(A: f32[M, M]) -> f32[M]:
    C = tdsl.empty(M, f32)
    for i in range(M):
        C[i] = A[i, i]
    return C


def padded(A: f32[M], B: f32[M + 2]) -> f32[M]:
    C = tdsl.empty(M, f32)
    for i in range(M):
        C[i] = A[i] + B[i + 2]
    return C


def shorter(A: f32[M + 3]) -> f32[1]:
    C = tdsl.zeros(1, f32)
    for i in range(M):
        C[0] += A[i]
    return C


def halves(A: f32[2 * M]) -> f32[M]:
    C = tdsl.empty(M, f32)
    for i in range(M):
        C[i] = A[2 * i]
    return C


def four(A: f32[4]) -> f32[4]:
    C = tdsl.empty(4, f32)
    for i in range(4):
        C[i] = A[i]
    return C


def large(A: f32[LARGE]) -> f32[1]:
    C = tdsl.empty(1, f32)
    for i in range(1):
        C[i] = A[i + 3]
    return C


def small(A: f32[SMALL]) -> f32[SMALL]:
    C = tdsl.empty(SMALL, f32)
    for i in range(SMALL):
        C[i] = A[i]
    return C


def even(A: f32[EVEN]) -> f32[EVEN // 2]:
    C = tdsl.empty(EVEN // 2, f32)
    for i in range(EVEN // 2):
        C[i] = A[2 * i + 1]
    return C


Shapes = tuple[tuple[int, ...], ...]

CASES: list[tuple[Callable[..., Any], Shapes, list[Shapes]]] = [
    (
        product,
        ((2, 3), (3, 4), (2, 4)),
        [
            ((2, 3), (2, 4), (2, 4)),
            ((2, 3), (3, 4), (3, 4)),
            ((2, 3), (3, 4), (2, 5)),
        ],
    ),
    (squares, ((3, 3),), [((3, 2),), ((2, 3),)]),
    (padded, ((3,), (5,)), [((3,), (4,)), ((3,), (6,))]),
    (shorter, ((3,),), [((2,),)]),
    (halves, ((4,),), [((3,),), ((5,),)]),
    (four, ((4,),), [((3,),), ((5,),)]),
    (large, ((4,),), [((3,),), ((0,),)]),
    (small, ((64,),), [((65,),)]),
    (even, ((4,),), [((3,),)]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_only_sizes_that_fit_take_the_fast_way(
    case: tuple[Callable[..., Any], Shapes, list[Shapes]],
) -> None:
    function, right, wrong = case
    assert is_fast(function, right)
    for shapes in wrong:
        assert not is_fast(function, shapes), shapes


def is_fast(function: Callable[..., Any], shapes: Shapes) -> bool:
    """Whether a call with arrays of *shapes* runs compiled code at once."""
    called: list[str] = []

    class Entries(dict[Any, Any]):
        def get(self, key: Any, default: Any = None) -> Any:
            return lambda *arguments: called.append("fast")

    def slow(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        called.append("slow")

    call = make_dispatcher(parse(function), Entries(), slow, by_size=False)
    call(tuple(np.zeros(shape, np.float32) for shape in shapes), {})
    (way,) = called
    return way == "fast"
