"""Sums of products through BLAS: the fast path of the evaluation with bounds.

A sum over a grid of a product whose factors each vary along some of its axes needs
no array over the whole grid: the values, the sizes of the terms and their bounds are
one contraction each.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from ..ir.dtypes import DType
from ..ir.nodes import Binary, Expr, Unary
from .accumulate import Parts
from .grid import Array, Grid
from .uncertain import EXACT, Rounding, Uncertain, rounding

_LARGEST_EXACT = 2.0**53

_SLACK = 2.0**-48
"""More than the relative error of a difference of nearly equal float64 products."""


def factors_of(expr: Expr, dtype: DType) -> tuple[int, list[Expr]]:
    """Return the sign and the factors of a product in *dtype*."""
    if isinstance(expr, Unary) and expr.op == "neg" and expr.dtype == dtype:
        sign, factors = factors_of(expr.operand, dtype)
        return -sign, factors
    if isinstance(expr, Binary) and expr.op == "mul" and expr.dtype == dtype:
        left_sign, left = factors_of(expr.left, dtype)
        right_sign, right = factors_of(expr.right, dtype)
        return left_sign * right_sign, left + right
    return 1, [expr]


@dataclass(frozen=True, slots=True)
class Contraction:
    """The sum over the array dimensions not in *kept* of a product of *factors*.

    A mask that varies only along kept dimensions is left to the caller.
    """

    grid: Grid
    kept: frozenset[int]
    sign: int
    factors: tuple[Uncertain, ...]

    def parts(self, dtype: DType) -> Parts | None:
        """Return the parts of the sum, None where this way would not be sound."""
        values = [factor.value for factor in self.factors]
        if dtype.kind == "int":
            return self._integer_parts(values, dtype)
        if not all(np.isfinite(f.magnitude).all() for f in self.factors):
            return None
        masked = self._masked(values)
        if masked is None:
            return None
        rule = rounding(dtype)
        number = self._count()
        largest = prod(max(1.0, float(f.magnitude.max())) for f in self.factors)
        if largest > rule.limit:
            return None
        value = self.sign * self._sum(masked)
        size = self._sum([np.abs(each) for each in masked])
        error = self._error(size, number, rule, largest)
        return value, error, size, number

    def _error(
        self, size: Array, number: Array, rule: Rounding, largest: float
    ) -> Array:
        """Return the sum of the terms' errors: operands, multiplications, underflow."""
        upper = size
        if not all(factor.is_exact for factor in self.factors):
            masked = self._masked([factor.magnitude for factor in self.factors])
            assert masked is not None
            upper = self._sum(masked) * (1 + _SLACK * (1 + number.max()))
        roundings = (1 + rule.unit) ** (len(self.factors) - 1) - 1
        underflow = number * rule.tiny * largest * (upper > 0)
        error: Array = (upper - size) + roundings * upper + underflow
        return error

    def _integer_parts(self, values: list[Array], dtype: DType) -> Parts | None:
        if not all(factor.is_exact for factor in self.factors):
            return None
        floats = self._masked([value.astype(np.float64) for value in values])
        if floats is None:
            return None
        largest = prod(float(np.abs(each).max(initial=0)) for each in floats)
        if largest * self.grid.size > _LARGEST_EXACT:
            return None
        total = (self.sign * self._sum(floats)).astype(np.int64)
        return total.astype(np.uint64) if dtype.name == "u64" else total, EXACT

    def _masked(self, values: list[Array]) -> list[Array] | None:
        """Return *values* with zeros where the mask is false, None if none can be."""
        mask = self.grid.mask
        if mask is None:
            return values
        for number, value in enumerate(values):
            shape = np.broadcast_shapes(value.shape, mask.shape)
            if shape == value.shape:
                masked = np.where(mask, value, np.zeros((), value.dtype))
                return [*values[:number], masked, *values[number + 1 :]]
        return None

    def _count(self) -> Array:
        mask = self.grid.mask
        reduced = tuple(set(range(len(self.grid.axes))) - self.kept)
        counted = self.grid.full(1.0) if mask is None else mask.astype(np.float64)
        repeats = prod(self.grid.shape[a] for a in reduced if counted.shape[a] == 1)
        total: Array = counted.sum(axis=reduced, keepdims=True) * repeats
        return total

    def _sum(self, values: list[Array]) -> Array:
        """Return the contraction of arrays over the grid, with reduced axes of 1."""
        spread = [
            axis
            for axis in range(len(self.grid.axes))
            if any(value.shape[axis] > 1 for value in values)
        ]
        operands: list[Array | list[int]] = []
        for value in values:
            axes = [axis for axis in spread if value.shape[axis] > 1]
            operands += [value.reshape([value.shape[axis] for axis in axes]), axes]
        out = [axis for axis in spread if axis in self.kept]
        total = contract(operands, out)
        shape = [
            self.grid.shape[axis] if axis in out else 1
            for axis in range(len(self.grid.axes))
        ]
        repeats = prod(
            count
            for axis, count in enumerate(self.grid.shape)
            if axis not in self.kept and axis not in spread
        )
        result: Array = total.reshape(shape) * repeats
        return result


def contract(operands: list[Array | list[int]], out: list[int]) -> Array:
    """Return `numpy.einsum(*operands, out)`, through matrix products for two."""
    if len(operands) != 4:
        result: Array = np.einsum(*operands, out, optimize=True)
        return result
    left, left_axes, right, right_axes = operands
    assert isinstance(left, np.ndarray) and isinstance(right, np.ndarray)
    assert isinstance(left_axes, list) and isinstance(right_axes, list)
    both = [axis for axis in left_axes if axis in right_axes]
    batch = [axis for axis in both if axis in out]
    summed = [axis for axis in both if axis not in out]
    left, rows = _free(left, left_axes, both, out)
    right, columns = _free(right, right_axes, both, out)
    a = _matrices(left, rows + both, (batch, rows, summed))
    b = _matrices(right, columns + both, (batch, summed, columns))
    extents = dict(zip(rows + both, left.shape, strict=True))
    extents |= dict(zip(columns + both, right.shape, strict=True))
    found = batch + rows + columns
    product: Array = (a @ b).reshape([extents[axis] for axis in found])
    return product.transpose([found.index(axis) for axis in out])


def _free(
    array: Array, axes: list[int], both: list[int], out: list[int]
) -> tuple[Array, list[int]]:
    """Sum away axes that nobody else has; order the rest as (own, shared)."""
    own = [axis for axis in axes if axis not in both and axis in out]
    gone = tuple(n for n, a in enumerate(axes) if a not in both and a not in out)
    left = [axis for axis in axes if axis in both or axis in out]
    array = array.sum(axis=gone)
    return array.transpose([left.index(axis) for axis in own + both]), own


def _matrices(array: Array, axes: list[int], groups: tuple[list[int], ...]) -> Array:
    """Reorder *axes* into *groups* and make one dimension of each group."""
    order = [axes.index(axis) for group in groups for axis in group]
    extents = dict(zip(axes, array.shape, strict=True))
    shape = [prod(extents[axis] for axis in group) for group in groups]
    matrices: Array = array.transpose(order).reshape(shape)
    return matrices
