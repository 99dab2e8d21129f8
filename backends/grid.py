"""Loop axes as array axes: subscripts over a grid, and reads and writes through them.

A `Grid` holds the loops around a statement: some run as Python loops and have one
value (`scalars`), the others became axes of NumPy arrays. Every array over a grid
has one dimension for each of its axes, of length 1 where nothing depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CheckError
from ..ir.affine import Affine

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class VectorAxis:
    """A loop axis that takes *count* values at once."""

    name: str
    start: int
    step: int
    count: int

    @property
    def last(self) -> int:
        """The largest value."""
        return self.start + self.step * (self.count - 1)

    def part(self, first: int, count: int) -> VectorAxis:
        """Return *count* values from number *first* on."""
        return replace(self, start=self.start + first * self.step, count=count)


@dataclass(frozen=True)
class Grid:
    """The iterations that a statement runs for at once; *mask* None means all."""

    axes: tuple[VectorAxis, ...]
    scalars: Mapping[str, int]
    mask: Array | None = None

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The array dimension of each axis."""
        return {axis.name: number for number, axis in enumerate(self.axes)}

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each axis."""
        return tuple(axis.count for axis in self.axes)

    @property
    def size(self) -> int:
        """The number of iterations, masked ones included."""
        return prod(self.shape)

    def with_scalar(self, name: str, value: int) -> Grid:
        """Return this grid at one *value* of a further axis."""
        return Grid(self.axes, {**self.scalars, name: value}, self.mask)

    def with_axis(self, axis: VectorAxis) -> Grid:
        """Return this grid with a further, innermost axis."""
        mask = None if self.mask is None else self.mask[..., None]
        return Grid((*self.axes, axis), self.scalars, mask)

    def where(self, condition: Array | bool | np.bool_) -> Grid | None:
        """Return the part of this grid where *condition* holds, None if nowhere."""
        mask: Array = np.asarray(condition)
        if self.mask is not None:
            mask = mask & self.mask
        if not mask.any():
            return None
        if mask.all():
            return Grid(self.axes, self.scalars)
        return Grid(self.axes, self.scalars, mask)

    def halves(self) -> tuple[Grid, Grid]:
        """Return the two halves of this grid along its longest axis."""
        number = max(range(len(self.axes)), key=lambda each: self.shape[each])
        half = self.shape[number] // 2
        rest = self.shape[number] - half
        return self._part(number, 0, half), self._part(number, half, rest)

    def _part(self, number: int, first: int, count: int) -> Grid:
        axes = list(self.axes)
        axes[number] = axes[number].part(first, count)
        mask = self.mask
        if mask is not None and mask.shape[number] > 1:
            mask = mask.take(range(first, first + count), axis=number)
        return Grid(tuple(axes), self.scalars, mask)

    def values(self, number: int) -> Array:
        """Return the values of axis *number*, along its array dimension."""
        axis = self.axes[number]
        shape = [1] * len(self.axes)
        shape[number] = axis.count
        along: Array = np.arange(axis.start, axis.last + 1, axis.step).reshape(shape)
        return along

    def form(self, form: Affine) -> int | Array:
        """Return the value of an affine form: an array if a vector axis occurs."""
        total: int | Array = form.constant
        for atom, coefficient in form.terms:
            value: int | Array
            if not isinstance(atom, str):
                value = self.form(atom.numerator) // atom.divisor
            elif atom in self.numbers:
                value = self.values(self.numbers[atom])
            else:
                value = self.scalars[atom]
            total = total + coefficient * value
        return total

    def full(self, value: Any) -> Array:
        """Return *value* as an array over this grid that varies along no axis."""
        return np.asarray(value).reshape((1,) * len(self.axes))


@dataclass(frozen=True, slots=True)
class Line:
    """A subscript that follows one axis: `range(start, ..., step)`."""

    axis: int
    start: int
    step: int
    count: int

    @property
    def slice(self) -> slice:
        """The subscript of the array."""
        return slice(self.start, self.start + self.step * self.count, self.step)


Subscript = int | Line | Array


@dataclass(frozen=True, slots=True)
class Slices:
    """Elements that form a strided view: no element occurs twice."""

    subscripts: tuple[int | slice, ...]
    order: tuple[int, ...]
    expansion: tuple[Any, ...]
    axes: frozenset[int]
    mask: Array | None

    def view(self, array: Array) -> Array:
        """Return the elements of *array*, over the grid, without a copy."""
        picked: Array = array[(*self.subscripts, Ellipsis)].transpose(self.order)
        over_grid: Array = picked[(*self.expansion, Ellipsis)]
        return over_grid

    read = view

    def write(self, array: Array, value: Array) -> None:
        """Assign *value* where the grid's mask holds."""
        where: Any = True if self.mask is None else self.mask
        np.copyto(self.view(array), value, where=where)

    def update(self, array: Array, value: Array, combine: np.ufunc) -> None:
        """Combine the elements with *value*, which is the identity where masked."""
        target = self.view(array)
        combine(target, value, out=target)


@dataclass(frozen=True, slots=True)
class Elements:
    """Elements by index arrays over the grid; several may be the same."""

    subscripts: tuple[Array, ...]
    grid: Grid

    @property
    def axes(self) -> frozenset[int]:
        """The dimensions of the grid along which the subscripts vary."""
        counts = np.broadcast_shapes(*(each.shape for each in self.subscripts))
        return frozenset(axis for axis, count in enumerate(counts) if count > 1)

    def read(self, array: Array) -> Array:
        """Return a copy of the elements of *array*, over the grid."""
        picked: Array = array[self.subscripts]
        return picked

    def write(self, array: Array, value: Array) -> None:
        """Assign *value* where the grid's mask holds."""
        shape = np.broadcast_shapes(value.shape, *(s.shape for s in self.subscripts))
        mask = self.grid.mask
        if mask is None:
            array[self.subscripts] = np.broadcast_to(value, shape)
            return
        shape = np.broadcast_shapes(shape, mask.shape)
        chosen = np.broadcast_to(mask, shape)
        places = tuple(np.broadcast_to(s, shape)[chosen] for s in self.subscripts)
        array[places] = np.broadcast_to(value, shape)[chosen]

    def update(self, array: Array, value: Array, combine: np.ufunc) -> None:
        """Combine the elements with *value* (the identity where masked), as often
        as each occurs.
        """
        shape = np.broadcast_shapes(value.shape, *(s.shape for s in self.subscripts))
        combine.at(array, self.subscripts, np.broadcast_to(value, shape))


Location = Slices | Elements


def locate(
    grid: Grid,
    tensor: str,
    shape: tuple[int, ...],
    index: tuple[Affine, ...],
    private: tuple[VectorAxis, ...] = (),
) -> Location:
    """Return where `tensor[index]` lies in an array of *shape*, for all of *grid*.

    The array's first dimensions stand for the *private* axes, if any.
    """
    subscripts = [_private_line(grid, axis) for axis in private]
    subscripts += [_subscript(grid, form) for form in index]
    lines = [each for each in subscripts if isinstance(each, Line)]
    plain = not any(isinstance(each, np.ndarray) for each in subscripts)
    distinct = len({line.axis for line in lines}) == len(lines)
    if plain and distinct and all(map(_inside, subscripts, shape)):
        order = tuple(sorted(range(len(lines)), key=lambda each: lines[each].axis))
        axes = frozenset(line.axis for line in lines)
        expansion = tuple(
            slice(None) if number in axes else None for number in range(len(grid.axes))
        )
        slices = tuple(
            s.slice if isinstance(s, Line) else _as_int(s) for s in subscripts
        )
        return Slices(slices, order, expansion, axes, grid.mask)
    arrays = [_array(grid, subscript) for subscript in subscripts]
    checked = tuple(
        _checked(grid, tensor, array, extent)
        for array, extent in zip(arrays, shape, strict=True)
    )
    return Elements(checked, grid)


def private_subscripts(
    grid: Grid, private: tuple[VectorAxis, ...]
) -> tuple[Array, ...]:
    """Return the subscripts along *private* axes, for all of *grid*."""
    return tuple(_array(grid, _private_line(grid, axis)) for axis in private)


def _private_line(grid: Grid, axis: VectorAxis) -> Subscript:
    number = grid.numbers[axis.name]
    now = grid.axes[number]
    return Line(number, (now.start - axis.start) // axis.step, 1, now.count)


def _subscript(grid: Grid, form: Affine) -> Subscript:
    vector = [name for name in form.names() if name in grid.numbers]
    if not vector:
        return _as_int(grid.form(form))
    coefficient = form.coefficient(vector[0])
    if len(vector) == 1 and coefficient > 0 and not _divides(form, vector[0]):
        axis = grid.axes[grid.numbers[vector[0]]]
        start = form.evaluate({**grid.scalars, axis.name: axis.start})
        step = coefficient * axis.step
        return Line(grid.numbers[axis.name], start, step, axis.count)
    return np.asarray(grid.form(form))


def _divides(form: Affine, name: str) -> bool:
    """Whether *name* occurs inside a floor division."""
    return any(
        name in atom.numerator.names()
        for atom, _ in form.terms
        if not isinstance(atom, str)
    )


def _as_int(value: Subscript) -> int:
    assert isinstance(value, int), value
    return value


def _inside(subscript: Subscript, extent: int) -> bool:
    if isinstance(subscript, int):
        return 0 <= subscript < extent
    assert isinstance(subscript, Line)
    last = subscript.start + subscript.step * (subscript.count - 1)
    return subscript.start >= 0 and last < extent


def _array(grid: Grid, subscript: Subscript) -> Array:
    match subscript:
        case int():
            return grid.full(subscript)
        case Line():
            shape = [1] * len(grid.axes)
            shape[subscript.axis] = subscript.count
            counts = np.arange(subscript.count).reshape(shape)
            return np.asarray(subscript.start + subscript.step * counts)
        case _:
            return subscript


def _checked(grid: Grid, tensor: str, subscript: Array, extent: int) -> Array:
    """Return *subscript*, clipped where the mask says that it is not used."""
    outside = (subscript < 0) | (subscript >= extent)
    if not outside.any():
        return subscript
    if grid.mask is None or (outside & grid.mask).any():
        raise CheckError(
            f"{tensor} is accessed outside its shape: a subscript takes values from "
            f"{subscript.min()} to {subscript.max()} where 0 to {extent - 1} exist"
        )
    return np.clip(subscript, 0, max(extent - 1, 0))
