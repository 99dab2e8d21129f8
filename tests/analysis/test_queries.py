"""The small questions that primitives ask before they rewrite anything."""

from __future__ import annotations

import pytest

from tdsl.analysis.bounds import is_divisible, is_nonnegative
from tdsl.analysis.dependence import check_parallel
from tdsl.ir.affine import Affine, constant, name

from .kernels import MATMUL, read

TILES = """
def tiles(A: f32[N], C: output f32[N]) for 4<=N<=64%4==0:
    for o in range(0, N, 4):
        for i in range(o, min(o + 4, N)):
            C[i] = A[i]  # S0[i]
"""


def test_check_parallel_names_two_iterations() -> None:
    function = read(MATMUL)
    assert check_parallel(function, "i") is None
    assert check_parallel(function, "j0") is None
    conflict = check_parallel(function, "k")
    assert conflict is not None and conflict.reduction
    assert str(conflict) == (
        "iterations of k share elements of C: use rfactor to give each its own partial "
        "result"
    )
    assert conflict.witness.element == "C[0, 0]"


@pytest.mark.parametrize(
    ("form", "axis", "expected"),
    [
        (name("N") - 4, None, True),
        (name("N") - 5, None, False),
        (64 - name("N"), None, True),
        (name("N") - name("o") - 4, "o", True),
        (name("N") - name("o") - 5, "o", False),
        (name("i") - name("o"), "i", True),
        (constant(3) - name("i") + name("o"), "i", True),
        (constant(2) - name("i") + name("o"), "i", False),
        (name("i") // 4 * 4 - name("o"), "i", True),
    ],
)
def test_is_nonnegative(form: Affine, axis: str | None, expected: bool) -> None:
    assert is_nonnegative(read(TILES), form, axis) is expected


def test_is_divisible() -> None:
    function = read(TILES)
    assert is_divisible(function, name("N"), 2)
    assert is_divisible(function, name("N") * 2, 8)
    assert not is_divisible(function, name("N"), 8)
    assert not is_divisible(function, name("N") + 1, 4)
