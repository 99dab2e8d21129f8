"""Kernels of large fixed sizes: few examples, or a message that says what to change."""

from __future__ import annotations

import pytest

import tdsl
from tdsl import f32
from tdsl.errors import ArgumentError
from tdsl.executable import ReferenceBackend
from tdsl.kernel import Kernel
from tdsl.testing import check, effort, moves
from tdsl.testing.effort import EXAMPLES, FEWEST, affordable

from ..ir_text import read_function
from .altered import RIGHT

LARGE = """
def large(X: f32[SIZE], Y: output f32[SIZE]):
    for i in range(SIZE):
        Y[i] = X[i] * 2.0  # S0[i]
"""


def large(size: int) -> Kernel:
    function = read_function(LARGE.replace("SIZE", str(size)))
    return Kernel(function, backend=ReferenceBackend())


def test_a_kernel_with_small_sizes_has_all_examples() -> None:
    assert affordable(RIGHT, 0) == (EXAMPLES, "")
    assert affordable(large(64), 0) == (EXAMPLES, "")


def test_large_fixed_sizes_have_fewer_examples() -> None:
    count, why = affordable(large(3_000_000), 0)
    assert FEWEST <= count < EXAMPLES / 4
    assert why.startswith(f"{count} examples, not 100, as one takes 0.24 billion")
    assert affordable(large(100_000_000), 0)[0] == FEWEST


def test_one_example_that_takes_minutes_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"an example takes 81 billion operations"):
        affordable(large(1_000_000_000), 0)


def test_the_report_says_why_there_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "MOST_WORK", 8e5)
    kernel = large(10_000)
    report = check(kernel)
    assert report.examples == FEWEST
    assert "6 examples, not 100, as one takes" in str(report)
    assert check(kernel, examples=7).examples == 7


def test_threads_start_rarely_where_sizes_are_fixed() -> None:
    start = large(100_000).schedule().split("i", 8)
    assert moves.is_small(start.parallelize("i_o").function)
    assert not moves.is_small(start.parallelize("i_i").function)
    assert not moves.is_small(large(30_000).schedule().vectorize("i").function)


def test_dims_that_start_large_count_as_fixed() -> None:
    M = tdsl.dim("M", min=2000)

    @tdsl.kernel
    def outer(x: f32[M]) -> f32[M, M]:
        y = tdsl.empty((M, M), f32)
        for i, j in tdsl.grid(M, M):
            y[i, j] = x[i] * x[j]
        return y

    count, why = affordable(outer, 0)
    assert count < EXAMPLES and "at the smallest sizes" in why
