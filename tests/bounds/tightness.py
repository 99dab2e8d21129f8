"""How much larger than the errors the bounds are, on kernels that people use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tdsl.backends.comparison import error_over_bound
from tdsl.backends.cpu import compile_function
from tdsl.backends.error_bound import evaluate_with_bound
from tdsl.ir.nodes import Function, Role
from tdsl.schedules.library import default_schedule
from tdsl.target import host

from ..backends.programs import PROGRAMS
from .kernels import lu


@dataclass(frozen=True, slots=True)
class Row:
    """A kernel with sizes, and how its f32 data come about."""

    name: str
    function: Function
    dims: dict[str, int]
    dominant: bool = False


def rows() -> tuple[Row, ...]:
    """Return the kernels of the table."""
    matmul = PROGRAMS["matmul"].function
    return (
        Row("matmul", matmul, {"M": 64, "N": 64, "K": 64}),
        Row("matmul", matmul, {"M": 512, "N": 512, "K": 512}),
        Row("softmax", PROGRAMS["softmax"].function, {"M": 64, "N": 256}),
        Row("layer_norm", PROGRAMS["layer_norm"].function, {"M": 64, "N": 256}),
        Row("lu, dominant", lu.function, {"N": 32}, dominant=True),
        Row("lu, dominant", lu.function, {"N": 128}, dominant=True),
        Row("lu, random", lu.function, {"N": 32}),
    )


def tightness() -> Iterator[str]:
    """Yield the lines of a table: medians over the elements that are in error."""
    yield f"{'kernel':<14} {'dims':<20} {'bound/error':>12} {'bound/largest':>14}"
    for row in rows():
        ratio, size = measure(row)
        dims = " ".join(f"{name}={size}" for name, size in row.dims.items())
        yield f"{row.name:<14} {dims:<20} {ratio:>12.3g} {size:>14.1e}"


def measure(row: Row) -> tuple[float, float]:
    """Return the median ratio of bound to error, and of bound to largest result."""
    arrays = arguments(row)
    expected = evaluate_with_bound(row.function, arrays, row.dims)
    actual = run(row, arrays)
    ratios, sizes = [], []
    for name, (value, bound) in expected.items():
        found = error_over_bound(actual[name], value, bound)
        assert (found <= 1).all(), f"{row.name} leaves its bound"
        ratios.append((1 / found[(found > 0) & (bound > 0)]).ravel())
        sizes.append((bound[bound > 0] / np.abs(value).max()).ravel())
    return float(np.median(np.concatenate(ratios))), float(
        np.median(np.concatenate(sizes))
    )


def arguments(row: Row) -> dict[str, Any]:
    """Return normal numbers; a *dominant* matrix has a large diagonal."""
    random = np.random.default_rng(0)
    arrays: dict[str, Any] = {}
    for param in row.function.params:
        if param.role is Role.OUTPUT:
            continue
        shape = tuple(extent.evaluate(row.dims) for extent in param.tensor.shape)
        data = random.standard_normal(shape)
        if not shape:
            data = np.asarray(float(row.dims["N"]))
        if row.dominant:
            data = data + row.dims["N"] * np.eye(*shape)
        arrays[param.tensor.name] = np.array(data, param.tensor.dtype.numpy)
    return arrays


def run(row: Row, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the results of the default schedule."""
    schedule = default_schedule(row.function, host())
    compiled = compile_function(schedule.function, host(), parallel=False)
    values: list[Any] = []
    results: dict[str, Any] = {}
    for param in row.function.params:
        name, dtype = param.tensor.name, param.tensor.dtype.numpy
        shape = tuple(extent.evaluate(row.dims) for extent in param.tensor.shape)
        if not shape:
            values.append(float(arrays[name]))
            continue
        array = np.zeros(shape, dtype)
        if param.role is not Role.OUTPUT:
            array[...] = arrays[name]
        if param.role is not Role.INPUT:
            results[name] = array
        values.append(array)
    sizes = [row.dims[dim.name] for dim in row.function.dims]
    compiled.entry(*values, *sizes, *compiled.sizes)
    return results
