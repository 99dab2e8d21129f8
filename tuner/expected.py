"""What a kernel's results ought to be, and how far a right program may be off.

The derived error bound decides wherever it says something. It cannot where it is larger
than the results (it lets errors grow that a stable recursion damps), nor in the time
given where each iteration needs the one before. There a tolerance stands in: a program
that computes something else is off by far more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.cpu import compile_function
from ..backends.error_bound import EvaluationTooSlow, evaluate_with_bound
from ..backends.uncertain_expr import wide
from ..ir.dtypes import from_numpy
from ..ir.nodes import Function, Role
from ..ir.numerics import Numerics
from ..target import Target

Array = NDArray[Any]
Expected = dict[str, tuple[Array, Array]]

DERIVED, STATED = "derived bound", "tolerance"


def expect(
    function: Function,
    inputs: Mapping[str, Any],
    dims: Mapping[str, int],
    numerics: Numerics,
    target: Target,
    seconds: float,
) -> tuple[Expected, str]:
    """Return (value, bound) by output, and what most loosely bounds an element.

    The derivation may take *seconds*; else the plain program's results are compared.
    """
    try:
        found = evaluate_with_bound(function, inputs, dims, numerics, seconds)
    except EvaluationTooSlow:
        exact = numerics == "bitwise"  # then any order gives the same bits
        results = plain_results(function, inputs, dims, target)
        return {
            name: (_wide(value), _tolerance(value) * (not exact))
            for name, value in results.items()
        }, STATED
    types = {p.tensor.name: p.tensor.dtype.numpy for p in function.params}
    criterion = DERIVED
    for name, (value, bound) in found.items():
        tolerance = _tolerance(value.astype(types[name]))
        silent = (bound > _largest(value)) & (tolerance < bound)
        if silent.any():
            found[name] = value, np.where(silent, tolerance, bound)
            criterion = STATED
    return found, criterion


def plain_results(
    function: Function,
    inputs: Mapping[str, Any],
    dims: Mapping[str, int],
    target: Target,
) -> dict[str, Array]:
    """Run *function* as it is written, in order and on one thread."""
    compiled = compile_function(function, target, numerics="bitwise", parallel=False)
    compiled.compile()
    values: list[Any] = []
    results: dict[str, Array] = {}
    for param in function.params:
        name, dtype = param.tensor.name, param.tensor.dtype.numpy
        if not param.tensor.shape:
            values.append(dtype.type(inputs[name]).item())
            continue
        shape = tuple(extent.evaluate(dims) for extent in param.tensor.shape)
        array = np.zeros(shape, dtype)
        if param.role is not Role.OUTPUT:
            array[...] = inputs[name]
        if param.role is not Role.INPUT:
            results[name] = array
        values.append(array)
    compiled.entry(*values, *dims.values())
    return results


def _wide(array: Array) -> Array:
    dtype = from_numpy(array.dtype)
    assert dtype is not None
    return array.astype(wide(dtype))


def _tolerance(value: Array) -> Array:
    """Return half the digits of the largest element; 0 for whole numbers."""
    dtype = from_numpy(value.dtype)
    if dtype is None or dtype.kind in ("int", "bool"):
        return np.zeros(value.shape)
    share = 2.0 ** ((1 - dtype.precision) / 2)
    return np.full(value.shape, share * _largest(_wide(value)))


def _largest(value: Array) -> float:
    finite = np.abs(value[np.isfinite(value)]) if value.dtype.kind in "fc" else value
    return float(np.max(np.abs(finite), initial=0.0))
