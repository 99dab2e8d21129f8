"""Outputs that happen to look like poison, and faults of the second run only."""

from __future__ import annotations

from typing import Any

import numpy as np

from tdsl.backends.poison import poisoned_call

from ..ir_text import read_function

FLAGS = read_function(
    """
def flags(x: f32[N], y: output bool[N]) for N:
    for i in range(N):
        y[i] = x[i] > 0.0
"""
)
DIMS = {"N": 4}
ARRAYS = {"x": np.float32([-1, 1, -1, 1])}


def test_an_output_equal_to_the_poison_of_one_run_is_written() -> None:
    def run(x: Any, y: Any) -> None:
        y[:] = x > 0

    found = poisoned_call(run, FLAGS, ARRAYS, DIMS)
    assert found.is_clean, found.faults
    assert found.outputs["y"].tolist() == [False, True, False, True]


def test_bools_are_poisoned_by_bools() -> None:
    seen: list[list[int]] = []

    def run(x: Any, y: Any) -> None:
        seen.append(y.view(np.uint8).tolist())

    found = poisoned_call(run, FLAGS, ARRAYS, DIMS)
    assert found.faults == ("y[0] and 3 more elements: not written",)
    assert seen == [[0] * 4, [1] * 4]


def test_what_only_the_second_run_does_wrong_counts() -> None:
    runs: list[None] = []

    def run(x: Any, y: Any) -> None:
        y[:] = x > 0
        runs.append(None)
        if len(runs) == 2:
            x[2] = 7

    assert poisoned_call(run, FLAGS, ARRAYS, DIMS).faults == ("x[2]: changed",)
