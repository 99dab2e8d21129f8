"""Tensors during the evaluation with bounds, and reductions in any order.

A reduction keeps a few arrays, the *parts*, that do not depend on the order of the
terms, and derives the bound from them only when the tensor is read:

* sum: value, sum of the terms' errors, sum of |terms|, number of terms. Any order of
  n additions is within gamma(n) * sum|terms| of the exact sum, gamma(n) = nu/(1 - nu);
* product: value, product of |term| + error, sum of log(1 + error/|term|), product of
  the sizes above 1, number of factors;
* maximum: value, the largest term + error, the largest error. Where the result moves,
  it does to the end of a term's interval, and by no more than the largest error;
* minimum: likewise, with the smallest term - error.

A tensor that reductions update may also be assigned: that is a term of number 0, and
reading it gives the very bound that was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from ..ir.affine import Affine
from ..ir.dtypes import DType
from ..ir.nodes import ReduceOp
from .grid import Array, Grid, Location, VectorAxis, locate, private_subscripts
from .uncertain import EXACT, Rounding, Uncertain, rounding

Parts = tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class _Rule:
    """How the parts of many terms combine; *identity* is the empty reduction's."""

    combine: tuple[np.ufunc, ...]
    identity: tuple[float, ...]


_RULES: Mapping[ReduceOp, _Rule] = {
    ReduceOp.ADD: _Rule((np.add,) * 4, (0, 0, 0, 0)),
    ReduceOp.MUL: _Rule(
        (np.multiply, np.multiply, np.add, np.multiply, np.add), (1, 1, 0, 1, 0)
    ),
    ReduceOp.MAX: _Rule((np.maximum, np.fmax, np.fmax), (-np.inf, -np.inf, 0)),
    ReduceOp.MIN: _Rule((np.minimum, np.fmin, np.fmax), (np.inf, np.inf, 0)),
}
_INTEGER_COMBINE: Mapping[ReduceOp, np.ufunc] = {
    ReduceOp.ADD: np.add,
    ReduceOp.MUL: np.multiply,
    ReduceOp.MAX: np.maximum,
    ReduceOp.MIN: np.minimum,
}


def rule_of(op: ReduceOp, dtype: DType) -> _Rule:
    """Return how parts combine; integers have just a value and an error."""
    if dtype.kind != "int":
        return _RULES[op]
    identity = op.identity(dtype)
    assert isinstance(identity, int)
    return _Rule((_INTEGER_COMBINE[op], np.add), (identity, 0))


def lift(op: ReduceOp, term: Uncertain, dtype: DType, count: int) -> Parts:
    """Return the parts of one term, which counts as *count* operations."""
    value, error = term.value, term.error
    if dtype.kind == "int":
        if op is not ReduceOp.ADD and not term.is_exact:
            error = np.where(error > 0, np.inf, 0.0)
        return value, error
    number = np.asarray(float(count))
    match op:
        case ReduceOp.ADD:
            size = np.where(np.isfinite(value), np.abs(value), 0.0)
            return value, error, size, number
        case ReduceOp.MUL:
            size = np.abs(value) + error
            growth = np.where(error > 0, np.log1p(error / np.abs(value)), 0.0)
            return value, size, growth, np.maximum(size, 1.0), number
        case _:
            side = 1.0 if op is ReduceOp.MAX else -1.0
            end = np.nextafter(value + side * error, side * np.inf)
            known = np.where(error < np.inf, error, np.inf)
            return value, np.where(error > 0, end, value), known


def settle(op: ReduceOp, parts: Parts, dtype: DType) -> Uncertain:
    """Return the value of a reduction with the bound that its *parts* give."""
    if dtype.kind == "int":
        value, error = parts
        return Uncertain(value, EXACT if not error.any() else error)
    rule = rounding(dtype)
    match op:
        case ReduceOp.ADD:
            return _settle_sum(rule, *parts)
        case ReduceOp.MUL:
            return _settle_product(rule, *parts)
        case _:
            return _settle_extreme(*parts)


def _settle_sum(
    rule: Rounding, value: Array, errors: Array, size: Array, number: Array
) -> Uncertain:
    sure = errors + _gamma(number, rule.unit) * (size + errors)
    sure = np.where(size + sure <= rule.limit, sure, np.inf)
    inevitable = ~np.isfinite(value) & np.isfinite(sure)
    claimed = np.where(inevitable, 0.0, sure)
    if rule.is_complex:  # one part is infinite or NaN, the other one rounded
        claimed = np.where(inevitable & (number > 0), np.inf, claimed)
    return Uncertain(value, claimed)


def _settle_product(
    rule: Rounding,
    value: Array,
    size: Array,
    growth: Array,
    above: Array,
    number: Array,
) -> Uncertain:
    growth = np.where(value == 0, 0.0, growth)
    moved = np.where(value == 0, size, np.abs(value) * np.expm1(growth))
    underflow = number * rule.tiny * above
    rounded = 2 * _gamma(number, rule.unit) * (np.abs(value) + moved)
    error = moved + rounded + underflow * (1 + np.exp(growth))
    kept = (above <= rule.limit) & (error <= rule.limit)
    return Uncertain(value, np.where(kept, error, np.inf))


def _settle_extreme(value: Array, end: Array, largest: Array) -> Uncertain:
    error: Array = np.fmin(np.abs(end - value), largest)
    error = np.where((value == end) | np.isnan(value), 0.0, error)
    return Uncertain(value, np.where(np.isinf(largest), np.inf, error))


def _gamma(number: Array, unit: float) -> Array:
    """Return nu/(1 - nu), infinite where the sum is too long for its dtype."""
    product = number * unit
    inside = product < 1
    return np.where(inside, product / np.where(inside, 1 - product, 1.0), np.inf)


def reduce_parts(
    op: ReduceOp, parts: Parts, dtype: DType, grid: Grid, axes: tuple[int, ...]
) -> Parts:
    """Combine the parts of the terms of *grid* over its dimensions *axes*.

    Where the mask is false a term counts as the identity; along a dimension of
    length 1 the same term occurs as often as *grid* says.
    """
    rule = rule_of(op, dtype)
    result = []
    for part, combine, identity in zip(parts, rule.combine, rule.identity, strict=True):
        full = part if part.ndim else grid.full(part)
        if grid.mask is not None:
            full = np.where(grid.mask, full, np.asarray(identity, full.dtype))
        repeats = prod(grid.shape[axis] for axis in axes if full.shape[axis] == 1)
        full = combine.reduce(full, axis=axes, keepdims=True)
        if combine is np.add:
            full = full * repeats
        elif combine is np.multiply:
            full = full**repeats
        result.append(full)
    return tuple(result)


@dataclass(slots=True)
class Cells:
    """The elements of a tensor: (values, errors), or the parts of a reduction.

    The first dimensions of the arrays are the *private* axes.
    """

    dtype: DType
    parts: Parts
    private: tuple[VectorAxis, ...] = ()
    op: ReduceOp | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the arrays."""
        return self.parts[0].shape

    def locate(self, grid: Grid, tensor: str, index: tuple[Affine, ...]) -> Location:
        """Return where `tensor[index]` lies, for all of *grid*."""
        return locate(grid, tensor, self.shape, index, self.private)

    def private_subscripts(self, grid: Grid) -> tuple[Array, ...]:
        """Return the subscripts along the private axes, for all of *grid*."""
        return private_subscripts(grid, self.private)

    def doubt(self) -> None:
        """Claim nothing of any element from now on."""
        value = self.settled().value
        self.parts, self.op = (value, np.full(self.shape, np.inf)), None

    def read(self, location: Location) -> Uncertain:
        """Return elements with their bounds."""
        if self.op is not None:
            parts = tuple(location.read(part) for part in self.parts)
            return settle(self.op, parts, self.dtype)
        value, error = self.parts
        exact = error is EXACT
        return Uncertain(location.read(value), EXACT if exact else location.read(error))

    def store(self, location: Location, term: Uncertain) -> None:
        """Assign elements."""
        if self.op is None and self.parts[1] is EXACT:
            if term.is_exact:
                location.write(self.parts[0], term.value)
                return
            self.parts = (self.parts[0], np.zeros(self.shape))
        lifted: Parts = (term.value, term.error)
        if self.op is not None:
            lifted = lift(self.op, term, self.dtype, 0)
        for part, array in zip(self.parts, lifted, strict=True):
            location.write(part, array)

    def spread(self, op: ReduceOp | None) -> Parts:
        """Return an array for each part, as reductions by *op*, if any, need them."""
        if op is not None:
            self._begin(op)
        self.parts = tuple(np.array(np.broadcast_to(p, self.shape)) for p in self.parts)
        return self.parts

    def accumulate(self, op: ReduceOp, location: Location, terms: Parts) -> None:
        """Combine elements with terms that are reduced already."""
        self._begin(op)
        rule = rule_of(op, self.dtype)
        for part, array, combine in zip(self.parts, terms, rule.combine, strict=True):
            location.update(part, array, combine)
        if self.dtype.kind == "int" and self.dtype.bits < 64:
            self.parts[0][...] = self.parts[0].astype(self.dtype.numpy)

    def settled(self) -> Uncertain:
        """Return all elements with their bounds."""
        if self.op is None:
            return Uncertain(*self.parts)
        return settle(self.op, self.parts, self.dtype)

    def _begin(self, op: ReduceOp) -> None:
        if self.op is op:
            return
        lifted = lift(op, self.settled(), self.dtype, 0)
        self.parts = tuple(np.array(np.broadcast_to(p, self.shape)) for p in lifted)
        self.op = op
