"""Arguments of a call to arrays, numbers and dims, with every contradiction named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .arguments import (
    Array,
    as_array,
    as_number,
    check_disjoint,
    element_text,
)
from .errors import ArgumentError
from .ir.affine import Affine
from .ir.given import check_option
from .ir.nodes import Dim, Function, Param
from .ir.printer import print_condition
from .ir.ranges import LARGEST_DIM

Values = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """What a compiled kernel is called with.

    *values* has an array or a Python number for each parameter, in order; *dims* has
    the size of each dim, in the function's order.
    """

    values: Values
    dims: dict[str, int]
    results: tuple[Any, ...]

    @property
    def result(self) -> Any:
        """What the call returns: None, an array, or a tuple of arrays."""
        if len(self.results) > 1:
            return self.results
        return self.results[0] if self.results else None


def bind(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Bound:
    """Match arguments to parameters, infer the dims and check everything."""
    given = _match(function, args, kwargs)
    values: dict[str, Any] = {}
    for param in function.params:
        name = param.tensor.name
        if name not in given.values:
            continue
        if param.tensor.shape:
            values[name] = as_array(function, param, given.values[name])
        else:
            values[name] = as_number(function.name, param.tensor, given.values[name])
    shapes = {n: v.shape for n, v in values.items() if isinstance(v, np.ndarray)}
    dims = infer_dims(function, shapes, given.dims)
    for param in function.params:
        if param.tensor.name not in values:
            values[param.tensor.name] = _allocate(function, param, dims)
    check_disjoint(function, values)
    ordered = tuple(values[param.tensor.name] for param in function.params)
    names = [param.tensor.name for param in function.params if param.returned]
    # Storage that the caller passes is returned as it is, whatever its class.
    results = tuple(given.values.get(name, values[name]) for name in names)
    return Bound(ordered, dims, results)


@dataclass(slots=True)
class _Given:
    values: dict[str, Any] = field(default_factory=dict)
    dims: dict[str, int] = field(default_factory=dict)


def _match(
    function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> _Given:
    check_option(function.name, "args", args, Sequence, "a sequence of arguments")
    check_option(function.name, "kwargs", kwargs, Mapping, "arguments by name")
    names = [p.tensor.name for p in function.params if not p.returned]
    if len(args) > len(names):
        raise ArgumentError(
            f"{function.name} takes {_count(len(names))} ({', '.join(names)}), "
            f"but {len(args)} are given"
        )
    given = _Given(dict(zip(names, args, strict=False)))
    dims = {dim.name for dim in function.dims}
    for name, value in kwargs.items():
        if name in given.values:
            raise ArgumentError(f"{function.name}: {name} is given twice")
        if name in names:
            given.values[name] = value
        elif name in dims:
            given.dims[name] = _dim_argument(function, name, value)
        elif name == "out":
            given.values |= _out_argument(function, value)
        else:
            known = [*names, *sorted(dims)]
            raise ArgumentError(
                f"{function.name} has no parameter {name}: it has {', '.join(known)}"
            )
    missing = [name for name in names if name not in given.values]
    if missing:
        raise ArgumentError(
            f"{function.name} takes {_count(len(names))} ({', '.join(names)}): "
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        )
    return given


def _count(number: int) -> str:
    return f"{number} argument{'s' * (number != 1)}"


def _dim_argument(function: Function, name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ArgumentError(
            f"{function.name}: dim {name} is {value!r}, but a size is an integer"
        )
    return int(value)


def _out_argument(function: Function, value: Any) -> dict[str, Any]:
    names = [param.tensor.name for param in function.params if param.returned]
    if not names:
        raise ArgumentError(
            f"{function.name} returns nothing, so it takes no `out`: its results go "
            "into the arrays that are passed"
        )
    if value is None:
        return {}
    arrays = value if isinstance(value, tuple) else (value,)
    if len(arrays) != len(names):
        wanted = "an array" if len(names) == 1 else f"a tuple of {len(names)} arrays"
        raise ArgumentError(
            f"{function.name}: out has {len(arrays)}, but it is {wanted} for "
            f"{', '.join(names)}"
        )
    pairs = zip(names, arrays, strict=True)
    return {name: array for name, array in pairs if array is not None}


# --- dims -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Equation:
    """One dimension of an argument: *form* is *size*."""

    param: Param
    form: Affine
    size: int

    @property
    def text(self) -> str:
        return element_text(self.param.tensor)


def infer_dims(
    function: Function,
    shapes: Mapping[str, tuple[int, ...]],
    known: Mapping[str, int],
) -> dict[str, int]:
    """Return the size of each dim; *known* are sizes that the caller names.

    Equations with one unknown are solved until none is left; then every equation and
    every assumption is checked.
    """
    equations = [
        _Equation(param, form, size)
        for param in function.params
        if param.tensor.name in shapes
        for form, size in zip(
            param.tensor.shape, shapes[param.tensor.name], strict=True
        )
    ]
    solver = _Solver(function, shapes, dict(known), dict.fromkeys(known, "the call"))
    solver.solve(equations)
    solver.check_complete()
    for equation in equations:
        solver.check_equation(equation)
    for dim in function.dims:
        solver.check_dim(dim)
    for form in function.assumptions.conditions:
        solver.check_assumption(form)
    return {dim.name: solver.sizes[dim.name] for dim in function.dims}


@dataclass(slots=True)
class _Solver:
    function: Function
    shapes: Mapping[str, tuple[int, ...]]
    sizes: dict[str, int]
    origins: dict[str, str]

    def solve(self, equations: list[_Equation]) -> None:
        progress = True
        while progress:
            progress = sum(map(self._solve_one, equations)) > 0

    def _solve_one(self, equation: _Equation) -> bool:
        unknown = equation.form.names() - self.sizes.keys()
        if len(unknown) != 1:
            return False
        (name,) = unknown
        factor = equation.form.coefficient(name)
        rest = equation.form - Affine(((name, factor),)) if factor else equation.form
        if name in rest.names():
            return False  # inside a floor division: several sizes would fit
        size, remainder = divmod(equation.size - rest.evaluate(self.sizes), factor)
        if remainder:
            raise ArgumentError(
                f"{self._shape(equation)}: no integer {name} gives {equation.text} "
                "that shape"
            )
        self.sizes[name] = size
        self.origins[name] = equation.text
        return True

    def check_complete(self) -> None:
        missing = [d.name for d in self.function.dims if d.name not in self.sizes]
        if missing:
            example = ", ".join(f"{name}=..." for name in missing)
            raise ArgumentError(
                f"{self.function.name}: the shapes do not determine dim "
                f"{', '.join(missing)}: pass {example}"
            )

    def check_equation(self, equation: _Equation) -> None:
        form, text = equation.form, equation.text
        expected = form.evaluate(self.sizes)
        if expected == equation.size:
            return
        names = sorted(form.names())
        if names == [str(form)]:
            (name,) = names
            raise ArgumentError(self._twice(equation, name))
        if not names:
            raise ArgumentError(
                f"{self._shape(equation)}, but {text} has size {expected} there"
            )
        values = ", ".join(
            f"{name} = {self.sizes[name]} (from {self.origins[name]})" for name in names
        )
        raise ArgumentError(
            f"{self._shape(equation)}, but {form} in {text} is {expected} for {values}"
        )

    def _twice(self, equation: _Equation, name: str) -> str:
        origin, tensor = self.origins[name], equation.param.tensor.name
        sizes = (
            f"dim {name} would be both {self.sizes[name]} (from {origin}) and "
            f"{equation.size} (from {equation.text})"
        )
        first = origin.partition("[")[0]
        if first == tensor or first not in self.shapes:
            return f"{self._shape(equation)}: {sizes}"
        return (
            f"{self.function.name}: {first} has shape {self.shapes[first]} and "
            f"{tensor} has shape {self.shapes[tensor]}: {sizes}"
        )

    def _shape(self, equation: _Equation) -> str:
        name = equation.param.tensor.name
        return f"{self.function.name}: {name} has shape {self.shapes[name]}"

    def check_dim(self, dim: Dim) -> None:
        size = self.sizes[dim.name]
        if size < dim.min:
            fault = f"at least {dim.min}"
        elif dim.max is not None and size > dim.max:
            fault = f"at most {dim.max}"
        elif size % dim.multiple:
            fault = f"a multiple of {dim.multiple}"
        elif size > LARGEST_DIM:
            fault = "at most 2**31 - 1"
        else:
            return
        raise ArgumentError(
            f"{self.function.name}: dim {dim.name} is {size} "
            f"(from {self.origins[dim.name]}), but must be {fault}"
        )

    def check_assumption(self, form: Affine) -> None:
        if form.evaluate(self.sizes) >= 0:
            return
        values = " and ".join(
            f"{name} is {self.sizes[name]} (from {self.origins[name]})"
            for name in sorted(form.names())
        )
        raise ArgumentError(
            f"{self.function.name} assumes {print_condition(form)}, but {values}"
        )


# --- results ----------------------------------------------------------------------


def checked_shape(
    function: Function, param: Param, dims: Mapping[str, int]
) -> tuple[int, ...]:
    """Return the shape of *param* for *dims*; raise ArgumentError if none is legal."""
    tensor = param.tensor
    what = "the result" if param.returned else "the array"
    shape = tuple(form.evaluate(dims) for form in tensor.shape)
    for form, size in zip(tensor.shape, shape, strict=True):
        if size < 0:
            values = ", ".join(f"{n} = {dims[n]}" for n in sorted(form.names()))
            raise ArgumentError(
                f"{function.name}: {what} {element_text(tensor)} would have the "
                f"size {form} = {size} for {values}"
            )
        if size > LARGEST_DIM:
            raise ArgumentError(
                f"{function.name}: {what} {element_text(tensor)} would have shape "
                f"{shape}: a dim may not exceed 2**31 - 1"
            )
    return shape


def _allocate(function: Function, param: Param, dims: Mapping[str, int]) -> Array:
    tensor = param.tensor
    shape = checked_shape(function, param, dims)
    try:
        return np.empty(shape, tensor.dtype.numpy)
    except (MemoryError, ValueError) as error:
        raise ArgumentError(
            f"{function.name}: the result {element_text(tensor)} of shape {shape} "
            f"does not fit in memory ({error})"
        ) from error
