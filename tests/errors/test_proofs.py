"""What a proof says where it finds no answer, or where none can be, in full words."""

from __future__ import annotations

import pytest

import tdsl
from tdsl import f32
from tdsl.analysis.building import build_model
from tdsl.analysis.sets import UnsupportedError
from tdsl.analysis.validate import validate
from tdsl.errors import ProofError, ScheduleError
from tdsl.schedules.library import default_schedule
from tdsl.schedules.schedule import Schedule
from tdsl.target import target_named

from ..ir_text import read_function

M, N = tdsl.dims("M N", min=1)

DOUBLING = """
def doubling(X: inout f32[2*N], Y: output f32[N]) for N:
    for i in range(1, N):
        X[2*i] = X[i]  # S0[i]
    for j in range(N):
        Y[j] = X[2*j]  # S1[j]
"""
"""Each copy copies a copy, of half its subscript."""

HALVING = """
def halving(X: inout f32[300, N], Y: inout f32[N]) for N:
    for i in range(1, 300):
        for j in range(N):
            X[i, j] = X[i - 1, j//2]  # S0[i, j]
    for k in range((N + 1)//2):
        Y[k] = X[299, 2*k]  # S1[k]
"""
"""A value is copied 299 times."""

UNDECIDED: dict[str, tuple[str, tuple[str, str], str]] = {
    "copies without a closed form": (
        DOUBLING,
        ("Y[j] = X[2*j]", "Y[j] = X[j]"),
        "unknown: model: a chain of copies has no closed form",
    ),
    "many copies": (
        HALVING,
        ("Y[k] = X[299, 2*k]", "Y[k] = X[298, k]"),
        "unknown: model: a chain of copies is longer than 100",
    ),
}


@pytest.mark.parametrize("name", UNDECIDED)
def test_undecided(name: str) -> None:
    kernel, change, text = UNDECIDED[name]
    original = read_function(kernel)
    scheduled = read_function(kernel.replace(*change))
    assert scheduled != original
    assert str(validate(original, scheduled)) == text


@tdsl.kernel
def softmax(X: f32[M, N]) -> f32[M, N]:
    Y = tdsl.empty((M, N), f32)
    for i in range(M):
        top = X[i, 0]
        for j in range(N):
            top = max(top, X[i, j])
        total = f32(0)
        for j in range(N):
            Y[i, j] = tdsl.exp(X[i, j] - top)
            total += Y[i, j]
        for j in range(N):
            Y[i, j] = Y[i, j] / total
    return Y


def test_a_sum_in_another_order_is_shown_by_its_own_updates() -> None:
    schedule = softmax.schedule().split("j", 4).rfactor("j_i")
    schedule = schedule.split("j_1", 4).rfactor("j_1_i")
    with pytest.raises(ProofError) as caught:
        softmax.with_numerics("bitwise").prove(schedule)
    assert str(caught.value) == (
        "softmax: the schedule is refuted: same dataflow: the order of top max-updates "
        "changes (numerics is bitwise)\nwith M=1, N=1:\n"
        "  Y[i, j_1_i] = exp((X[i, j_1_i] - top))  at i=0, j_1_o=0, j_1_i=0\n"
        "  must see top = max(top, X[i, j])  at i=0, j=0\n"
        "  sees top = max(top, top_part[j_i_combine])  at i=0, j_i_combine=3\n"
        '  element top\n  since step 2 of 4: rfactor("j_i")'
    )


MALFORMED = {
    "T is not declared around its uses": """
def f(X: f32[N], Y: output f32[N]) for N:
    for i in range(N):
        T = local f32[1]
        T[0] = X[i]
    for j in range(N):
        Y[j] = T[0]
""",
    "i is used outside its loop": """
def f(X: f32[N], Y: output f32[N]) for N:
    for i in range(N):
        Y[i] = X[i]
    Y[0] = X[i]
""",
}


@pytest.mark.parametrize("text", MALFORMED)
def test_a_program_without_a_model(text: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        build_model(read_function(MALFORMED[text]))
    assert str(caught.value) == text


UNLABELLED = """
def scale(X: f32[M], Y: output f32[M]) for M:
    for i in range(M):
        Y[i] = (X[i] * 2.0)
"""


def test_a_default_schedule_needs_labels() -> None:
    target = target_named("avx2")
    with pytest.raises(ScheduleError) as caught:
        default_schedule(read_function(UNLABELLED), target)
    assert str(caught.value) == (
        "scale: the statement `Y[i] = (X[i] * 2.0)` has no label, so no schedule can "
        "be proved: pass the function of a kernel, `kernel.function`, or give each "
        "statement an Instance"
    )
    packed = Schedule(softmax).cache_read("X", "i").function
    with pytest.raises(ScheduleError, match=r"X_tile.* has no label"):
        default_schedule(packed, target)
