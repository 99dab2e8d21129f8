"""Poisoned runs report what a wrong program does to memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tdsl.backends.poison import ALIGNMENT, poisoned_call

from ..ir_text import read_function

FUNCTION = read_function(
    """
def f(x: f32[N], s: f32, y: output f32[N], z: inout f32[N]) for N:
    for i in range(N):
        y[i] = x[i] * s
        z[i] += x[i]
"""
)
DIMS = {"N": 6}
ARRAYS = {
    "x": np.arange(6, dtype=np.float32),
    "s": 2.0,
    "z": np.ones(6, dtype=np.float32),
}


def right(x: Any, s: Any, y: Any, z: Any) -> None:
    y[:] = x * s
    z += x


def outside(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.lib.stride_tricks.as_strided(array, (array.size + 1,))


def faults(change: Callable[[Any, Any, Any, Any], None]) -> tuple[str, ...]:
    def run(x: Any, s: Any, y: Any, z: Any) -> None:
        right(x, s, y, z)
        change(x, s, y, z)

    return poisoned_call(run, FUNCTION, ARRAYS, DIMS).faults


def test_a_right_run_is_clean_and_leaves_the_arguments_alone() -> None:
    found = poisoned_call(right, FUNCTION, ARRAYS, DIMS)
    assert found.is_clean
    assert found.outputs["y"].tolist() == [0, 2, 4, 6, 8, 10]
    assert found.outputs["z"].tolist() == [1, 2, 3, 4, 5, 6]
    assert ARRAYS["z"].tolist() == [1] * 6


def test_arrays_are_aligned_and_scalars_have_the_dtype() -> None:
    def run(x: Any, s: Any, y: Any, z: Any) -> None:
        right(x, s, y, z)
        assert isinstance(s, np.float32)
        for array in (x, y, z):
            assert array.ctypes.data % ALIGNMENT == 0

    assert poisoned_call(run, FUNCTION, ARRAYS, DIMS).is_clean


def test_unwritten_elements_are_named() -> None:
    def run(x: Any, s: Any, y: Any, z: Any) -> None:
        y[:3] = x[:3]
        y[5] = 0

    found = poisoned_call(run, FUNCTION, ARRAYS, DIMS)
    assert found.faults == ("y[3] and 1 more elements: not written",)


def test_writes_outside_are_reported() -> None:
    def change(x: Any, s: Any, y: Any, z: Any) -> None:
        outside(y)[6] = 1

    assert faults(change) == ("memory outside the arrays was written (4 bytes)",)


def test_changed_inputs_are_named() -> None:
    def change(x: Any, s: Any, y: Any, z: Any) -> None:
        x[2] = 7

    assert faults(change) == ("x[2]: changed",)


def test_results_that_differ_between_runs_are_named() -> None:
    random = np.random.default_rng(0)

    def change(x: Any, s: Any, y: Any, z: Any) -> None:
        z[1] = random.random()

    assert faults(change) == ("z[1]: different in a second run",)


def test_results_that_depend_on_old_contents_are_named() -> None:
    def run(x: Any, s: Any, y: Any, z: Any) -> None:
        y += x

    found = poisoned_call(run, FUNCTION, ARRAYS, DIMS)
    assert any(fault.startswith("y[1]") for fault in found.faults)


def test_empty_arrays_are_fine() -> None:
    arrays = {"x": np.zeros(0, np.float32), "s": 1.0, "z": np.zeros(0, np.float32)}
    assert poisoned_call(right, FUNCTION, arrays, {"N": 0}).is_clean
