"""`assert_within_bound` compares any results with what a kernel means."""

from __future__ import annotations

import numpy as np
import pytest

from tdsl.errors import ArgumentError, CheckError
from tdsl.executable import ReferenceBackend
from tdsl.kernel import Kernel
from tdsl.testing import assert_within_bound

from .altered import NEGATE, RIGHT

X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(3, 8)
Y = (X * np.float32(3) + 1).astype(np.float32)
INPUTS = {"X": X, "a": 3.0, "Y": np.empty_like(X)}


@pytest.mark.parametrize("actual", [Y, (Y,), {"Y": Y}])
@pytest.mark.parametrize("inputs", [INPUTS, list(INPUTS.values())])
def test_right_results_pass(actual: object, inputs: object) -> None:
    comparison = assert_within_bound(actual, RIGHT, inputs)  # type: ignore[arg-type]
    assert comparison.passed and comparison.elements == 24


def test_a_result_just_outside_its_bound_is_an_assertion_error() -> None:
    wrong = Y.copy()
    wrong[2, 5] *= 1 + 1e-6
    with pytest.raises(AssertionError, match=r"scale: Y\[2, 5\] is .* bound ") as error:
        assert_within_bound(wrong, RIGHT, INPUTS)
    assert isinstance(error.value, CheckError)


def test_a_wrong_kind_of_result_is_explained() -> None:
    with pytest.raises(ArgumentError) as error:
        assert_within_bound((Y, Y), RIGHT, INPUTS)
    assert str(error.value) == (
        "scale: the results are Y: pass an array for each, as a tuple in this order "
        "or as a mapping by name"
    )
    with pytest.raises(
        CheckError, match=r"Y has shape \(3, 4\), but the kernel's is \(3, 8\)"
    ):
        assert_within_bound(Y[:, ::2], RIGHT, INPUTS)


def test_arrays_updated_in_place_are_results() -> None:
    kernel = Kernel(NEGATE, backend=ReferenceBackend())
    before = {"X": np.ones((2, 4)), "Y": np.full((2, 4), 3.0)}
    assert assert_within_bound(np.full((2, 4), 2.0), kernel, before).passed
    with pytest.raises(CheckError):
        assert_within_bound(before["Y"], kernel, before)
