"""Loops are cut around the iteration that all others read, and only if that helps."""

from __future__ import annotations

import pytest

from tdsl.schedules.crossings import without_crossings
from tdsl.schedules.schedule import Schedule

from ..ir_text import read_function

PATHS = """
def paths(P: inout f32[N, N]) for N:
    for k in range(N):
        for i in range(N):
            for j in range(N):
                P[i, j] = min(P[i, j], (P[i, k] + P[k, j]))  # S0[k, i, j]
"""
ENDS = """
def ends(C: inout f32[N]) for N:
    for i in range(N):
        for j in range(N):
            C[j] = (C[j] - {read})  # S0[i, j]
"""


def test_both_sides_of_what_is_read_are_concurrent() -> None:
    cut = without_crossings(Schedule(read_function(PATHS)))
    assert [str(step) for step in cut.steps][:2] == [
        'cut("i", "k")',
        'cut("i_2", "k + 1")',
    ]
    assert {step.primitive for step in cut.steps} == {"cut"}


@pytest.mark.parametrize(
    ("read", "steps"),
    [
        ("C[i]", ['cut("j", "i")', 'cut("j_2", "i + 1")']),
        ("(C[i] + C[N - 1])", []),
        ("(C[i] + C[0])", []),
        ("C[N - 1]", []),
    ],
)
def test_nothing_is_cut_where_one_side_still_runs_in_order(
    read: str, steps: list[str]
) -> None:
    """Cutting that side again would never end."""
    cut = without_crossings(Schedule(read_function(ENDS.format(read=read))))
    assert [str(step) for step in cut.steps] == steps
