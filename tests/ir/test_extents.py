"""Extents that constants tell, and the identities of reductions."""

from __future__ import annotations

import math

import pytest

from tdsl.ir.affine import Affine, constant, name
from tdsl.ir.dtypes import DType, f32, f64, i32, i64
from tdsl.ir.extents import exact_iterations, fixed_extent
from tdsl.ir.nodes import Block, For, LoopKind, ReduceOp

M, o = name("M"), name("o")


def loop(starts: tuple[Affine, ...], stops: tuple[Affine, ...], step: int = 1) -> For:
    return For("i", starts, stops, step, LoopKind.SERIAL, Block(()))


@pytest.mark.parametrize(
    ("one", "extent", "exact"),
    [
        (loop((o,), (M, o + 4, o + 6)), 4, None),
        (loop((o,), (o + 7,), 2), 7, 4),
        (loop((constant(5),), (constant(2),)), -3, 0),
        (loop((o,), (M,)), None, None),
        (loop((o, M), (o + 4,)), None, None),
    ],
)
def test_extents(one: For, extent: int | None, exact: int | None) -> None:
    assert fixed_extent(one) == extent
    assert exact_iterations(one) == exact


@pytest.mark.parametrize(
    ("op", "dtype", "expected"),
    [
        (ReduceOp.ADD, f32, 0.0),
        (ReduceOp.ADD, i32, 0),
        (ReduceOp.MUL, f64, 1.0),
        (ReduceOp.MUL, i64, 1),
        (ReduceOp.MAX, f32, -math.inf),
        (ReduceOp.MAX, i32, -(2**31)),
        (ReduceOp.MIN, f64, math.inf),
        (ReduceOp.MIN, i64, 2**63 - 1),
    ],
)
def test_identities(op: ReduceOp, dtype: DType, expected: float | int) -> None:
    found = op.identity(dtype)
    assert (type(found), found) == (type(expected), expected)
