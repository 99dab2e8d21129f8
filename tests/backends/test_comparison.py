"""What counts as a difference, in integers, NaN and several arrays."""

from __future__ import annotations

import numpy as np
import pytest

from tdsl.backends.comparison import compare, error_over_bound
from tdsl.errors import CheckError


def test_integers_that_one_float_stands_for_differ() -> None:
    large = np.array([2**60])
    assert error_over_bound(large, large, np.zeros(1)).tolist() == [0]
    assert error_over_bound(large + 1, large, np.zeros(1)).tolist() == [np.inf]


def test_nan_is_within_no_bound_but_equals_nan() -> None:
    value, bound = np.array([1.0, np.nan]), np.array([0.5, 0.0])
    assert error_over_bound(np.array([np.nan, np.nan]), value, bound).tolist() == [
        np.inf,
        0,
    ]
    assert error_over_bound(np.array([1.25, 2.0]), value, bound).tolist() == [
        0.5,
        np.inf,
    ]


def test_the_worst_of_several_arrays_counts() -> None:
    expected = {name: (np.zeros(3), np.ones(3)) for name in "AB"}
    right, wrong = np.array([0.0, 0.5, 0.0]), np.array([0.0, 0.0, 2.0])
    for names in ("AB", "BA"):
        found = compare(dict(zip(names, (right, wrong), strict=True)), expected)
        assert (found.tensor, found.index) == (names[1], (2,))
        assert (found.max_error_over_bound, found.passed) == (2.0, False)


def test_elements_without_a_bound_are_counted() -> None:
    bound = np.array([np.inf, 1.0, np.inf])
    found = compare({"A": np.full(3, 9.0)}, {"A": (np.full(3, 9.0), bound)})
    assert (found.elements, found.void, found.passed) == (3, 2, True)


def test_another_shape_is_refused() -> None:
    with pytest.raises(
        CheckError, match=r"A has shape \(2,\), but the kernel's is \(3,\)"
    ):
        compare({"A": np.zeros(2)}, {"A": (np.zeros(3), np.zeros(3))})
