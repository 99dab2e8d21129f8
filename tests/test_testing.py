"""`check` passes right kernels and reports wrong ones with a small failing case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tdsl import testing
from tdsl.errors import ArgumentError, CheckError
from tdsl.executable import Entry, ReferenceBackend, ReferenceExecutable
from tdsl.ir.nodes import Dim, Function
from tdsl.ir.numerics import Numerics
from tdsl.kernel import Kernel

from .ir_text import read_function

SCALE = read_function(
    """
def scale(X: f32[M, N], a: f32, Y: output f32[M, N]) for 1<=M, N%4==0:
    for i in range(M):
        for j in range(N):
            Y[i, j] = X[i, j] * a + 1.0  # S0[i, j]
"""
)


@dataclass(frozen=True)
class AlteredExecutable:
    """The interpreter, then *change* on the same arguments."""

    right: ReferenceExecutable
    change: Callable[..., None]

    def entry_for(self, layouts: Sequence[str]) -> Entry:
        def run(*values: Any) -> None:
            self.right.entry_for(layouts)(*values)
            self.change(*values)

        return run


@dataclass(frozen=True)
class Altered(ReferenceBackend):
    """A backend that is wrong by *change*."""

    change: Callable[..., None] = lambda *_: None

    def compile(self, function: Function, numerics: Numerics) -> AlteredExecutable:
        return AlteredExecutable(ReferenceExecutable(function), self.change)


RIGHT = Kernel(SCALE, backend=ReferenceBackend())


@pytest.fixture(autouse=True)
def small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the interpreter, which stands in for compiled code, quick."""
    monkeypatch.setattr(testing, "LARGEST_PRODUCT", 256)
    monkeypatch.setattr(testing, "LARGER_SIZES", testing.SIZES)


def failure(change: Callable[..., None]) -> str:
    with pytest.raises(CheckError) as error:
        testing.check(Kernel(SCALE, backend=Altered(change=change)), examples=30)
    return str(error.value)


def test_a_right_kernel_passes_and_the_report_says_how_well() -> None:
    report = testing.check(RIGHT, examples=25)
    assert report.examples == 25 and report.elements > 100
    assert 0.01 < report.worst.max_error_over_bound <= 1
    assert str(report).startswith("scale: 25 examples, ")


def test_a_wrong_last_column_is_found_and_made_small() -> None:
    def change(x: Any, a: Any, y: Any, m: int, n: int) -> None:
        if m >= 2 and n >= 8:
            y[m - 1, n - 1] += 1

    message = failure(change)
    assert message.startswith("scale is wrong for M=2, N=8 (")
    assert "Y[1, 7] is " in message and "to repeat: tdsl.testing.run_case(" in message


def test_the_printed_case_repeats_the_failure() -> None:
    def change(x: Any, a: Any, y: Any, m: int, n: int) -> None:
        y[...] = x

    message = failure(change)
    text = message.rpartition("tdsl.testing.")[2][:-1]
    case = eval(text, {"Case": testing.Case})
    wrong = Kernel(SCALE, backend=Altered(change=change))
    with pytest.raises(CheckError, match=r"Y\[.* is "):
        testing.run_case(wrong, case)
    assert testing.run_case(RIGHT, case).passed


def test_changed_inputs_are_found() -> None:
    def spoil(x: Any, a: Any, y: Any, m: int, n: int) -> None:
        x[...] = 0

    assert "X[0, 0]" in failure(spoil) and ": changed" in failure(spoil)


def test_sizes_satisfy_the_assumptions_and_vary() -> None:
    cases = [testing.draw_case(SCALE, seed) for seed in range(200)]
    assert all(case.dims["M"] >= 1 and case.dims["N"] % 4 == 0 for case in cases)
    assert {0, 4, 8} <= {case.dims["N"] for case in cases}
    assert len({(case.data, case.layout) for case in cases}) == 12
    assert testing.draw_case(SCALE, 7) == testing.draw_case(SCALE, 7)


def test_a_negative_extent_is_no_example_and_impossible_dims_are_refused() -> None:
    text = """
def valid(X: f32[N], Y: output f32[N - K + 1]) for N, 1<=K:
    for i in range(N - K + 1):
        Y[i] = X[i + K - 1]
"""
    function = read_function(text)
    for seed in range(30):
        dims = testing.draw_case(function, seed).dims
        assert dims["N"] + 1 >= dims["K"]
    huge = Function("huge", SCALE.params, (Dim("M", 10**6), Dim("N")), SCALE.body)
    with pytest.raises(ArgumentError, match="huge: no sizes with a product of at most"):
        testing.draw_case(huge, 0)


@pytest.mark.parametrize("layout", ["contiguous", "fortran", "stepped"])
def test_every_layout_holds_the_same_values(layout: testing.Layout) -> None:
    array = np.arange(12.0).reshape(3, 4)
    other = testing._laid_out(array, layout)
    assert (other == array).all()
    assert other.flags.c_contiguous == (layout == "contiguous")
