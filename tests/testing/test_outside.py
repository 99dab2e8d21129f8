"""Subscripts that data choose: drawn in range, and sometimes out of it on purpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

import tdsl
from tdsl import f32, i32, i64
from tdsl.errors import ArgumentError, SubscriptError
from tdsl.executable import Entry, ReferenceBackend, ReferenceExecutable
from tdsl.ir.nodes import Function
from tdsl.ir.numerics import Numerics
from tdsl.kernel import Kernel
from tdsl.testing import Case, FailedCheck, check, run_case
from tdsl.testing.case import kinds
from tdsl.testing.values import make_arrays

D, N, V = tdsl.dims("D N V")
OUTSIDE = Case({"D": 3, "N": 5, "V": 4}, 0, "outside")


@tdsl.kernel
def embed(table: f32[V, D], idx: i64[N]) -> f32[N, D]:
    out = tdsl.empty((N, D), f32)
    for i, j in tdsl.grid(N, D):
        out[i, j] = table[idx[i], j]
    return out


@tdsl.kernel
def assumed(x: f32[V], idx: i32[N]) -> f32[N]:
    tdsl.assume(0 <= idx < V)
    y = tdsl.empty(N, f32)
    for i in range(N):
        y[i] = x[idx[i]]
    return y


@tdsl.kernel
def chain(x: f32[V], outer: i64[D], inner: i32[N]) -> f32[N]:
    y = tdsl.empty(N, f32)
    for i in range(N):
        k = outer[inner[i]]
        y[i] = x[k] + 1.0
    return y


@tdsl.kernel
def behind(x: f32[V]) -> f32[N]:
    y = tdsl.empty(N, f32)
    for i in range(N):
        y[i] = x[(V + i) * (V + 1)]
    return y


@dataclass(frozen=True)
class Wrapped(ReferenceBackend):
    """The interpreter, whose runs are wrapped."""

    wrap: Callable[[Entry, tuple[Any, ...]], None] = lambda run, values: run(*values)

    def compile(self, function: Function, numerics: Numerics) -> Any:
        right, wrap = ReferenceExecutable(function), self.wrap

        class Executable:
            def entry_for(self, layouts: Sequence[str]) -> Entry:
                return lambda *values: wrap(right.entry_for(layouts), values)

        return Executable()


def silent(run: Entry, values: tuple[Any, ...]) -> None:
    try:
        run(*values)
    except SubscriptError:
        return


def spilling(run: Entry, values: tuple[Any, ...]) -> None:
    try:
        run(*values)
    except SubscriptError:
        values[1][...] = 7
        raise


def anxious(run: Entry, values: tuple[Any, ...]) -> None:
    raise SubscriptError("too far")


def wrapped(wrap: Any) -> Kernel:
    return Kernel(embed.function, backend=Wrapped(wrap=wrap))


def test_random_subscripts_are_in_range_but_for_some_examples() -> None:
    report = check(Kernel(embed.function, backend=ReferenceBackend()), examples=60)
    assert 1 <= report.outside <= 20
    assert f"{report.outside} examples had a subscript out of range" in str(report)


def test_compiled_code_refuses_what_the_kernel_refuses() -> None:
    found = run_case(embed, OUTSIDE)
    assert "the subscript `idx[i]` of `table`" in found.refused
    assert str(found).startswith("refused, as it ought to be: embed: the subscript")
    normal = run_case(embed, Case(OUTSIDE.dims, 0))
    assert not normal.refused and normal.elements == 15


@pytest.mark.parametrize(
    ("wrap", "message"),
    [
        (
            silent,
            "no error was raised, but the call ought to say: embed: the subscript",
        ),
        (spilling, r"idx\[.*: changed"),
    ],
)
def test_a_call_that_does_not_refuse_is_found(wrap: Any, message: str) -> None:
    with pytest.raises(FailedCheck, match=message):
        run_case(wrapped(wrap), OUTSIDE)


@pytest.mark.parametrize("size", [5, 2000])  # with and without the interpreter first
def test_a_call_that_refuses_what_is_right_is_found(size: int) -> None:
    case = Case({"D": 3, "N": size, "V": 4}, 0)
    with pytest.raises(FailedCheck, match="all subscripts are in range, but: too far"):
        run_case(wrapped(anxious), case)


def test_subscripts_of_subscripts_through_variables_are_in_range() -> None:
    for seed in range(5):
        arrays = make_arrays(chain.function, Case({"V": 4, "D": 6, "N": 20}, seed))
        assert (arrays["outer"] >= 0).all() and (arrays["outer"] < 4).all()
        assert (arrays["inner"] >= 0).all() and (arrays["inner"] < 6).all()
        assert len({*arrays["inner"].tolist()}) > 2


def test_what_is_assumed_always_holds() -> None:
    assert "outside" in kinds(embed.function)
    assert "outside" not in kinds(assumed.function)


def test_a_kernel_that_is_never_in_range_asks_for_help() -> None:
    kernel = Kernel(behind.function, backend=ReferenceBackend())
    with pytest.raises(ArgumentError) as caught:
        for seed in range(20):
            check(kernel, examples=1, seed=seed)
    assert "behind: all examples had a subscript out of range" in str(caught.value)
    assert "tdsl.assume" in str(caught.value)
