"""What fills the arguments of a case: numbers of all kinds and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from math import log10, prod
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from ..backends.index_inputs import draw_subscripts, move_outside
from ..ir.dtypes import DType
from ..ir.nodes import Function, Param, Role
from .case import Case, Data, subscripts

_SPECIAL = (0.0, -0.0, 1.0, 1e-30, -1e30, np.inf, -np.inf, np.nan)
_SMALL_INTEGER = 9


def make_arrays(function: Function, case: Case) -> dict[str, NDArray[Any]]:
    """Return the arguments of *case* by name, without the outputs, in C order."""
    random = np.random.default_rng((case.seed, 1))
    arrays = {
        param.tensor.name: make_array(function, param, case.dims, case.data, random)
        for param in function.params
        if param.role is not Role.OUTPUT
    }
    if case.data == "outside":
        move_outside(function, arrays, case.dims, random)
    return arrays


def make_array(
    function: Function,
    param: Param,
    dims: Mapping[str, int],
    data: Data,
    random: np.random.Generator,
) -> NDArray[Any]:
    """Return the argument of *param*, which satisfies what *function* assumes of it.

    normal: of mean 0 and deviation 1. integers: from -9 to 9. magnitudes: over six
    decades to both sides of 1. tiny: around and below the smallest normal number. huge:
    from the root of the largest number to itself. special: normal numbers with zeros
    of both signs, infinities and NaN among them, extreme values among integers.
    outside: as normal; `make_arrays` then moves one subscript out of its range.
    """
    used = draw_subscripts(function, param, dims, random)
    if used is not None:
        return used
    shape = tuple(extent.evaluate(dims) for extent in param.tensor.shape)
    dtype = param.tensor.dtype
    allowed = subscripts(function, dims).get(param.tensor.name)
    if allowed is not None:
        return _subscripts(*allowed, shape, random).astype(dtype.numpy)
    match dtype.kind:
        case "bool":
            return random.integers(0, 2, shape).astype(np.bool_)
        case "int":
            return _integers(dtype, shape, data, random)
        case "float":
            with np.errstate(over="ignore"):
                return _floats(dtype, shape, data, random).astype(dtype.numpy)
        case "complex":
            numbers = np.empty(shape, dtype.numpy)
            numbers.real = _floats(dtype.part, shape, data, random)
            numbers.imag = _floats(dtype.part, shape, data, random)
            return numbers
        case _:
            assert_never(dtype.kind)


def _subscripts(
    values: range, distinct: bool, shape: tuple[int, ...], random: np.random.Generator
) -> NDArray[np.int64]:
    if distinct:
        chosen = random.permutation(len(values))[: prod(shape)].reshape(shape)
    else:
        chosen = random.integers(0, max(1, len(values)), shape)
    return np.asarray(chosen + values.start, np.int64)


def _integers(
    dtype: DType, shape: tuple[int, ...], data: Data, random: np.random.Generator
) -> NDArray[Any]:
    lowest = max(dtype.lowest, -_SMALL_INTEGER)
    values = random.integers(lowest, _SMALL_INTEGER + 1, shape).astype(dtype.numpy)
    if data != "special":
        return values
    limits = np.array([dtype.lowest, 0, dtype.highest], dtype.numpy)
    return np.where(_some(shape, random), random.choice(limits, shape), values)


def _floats(
    dtype: DType, shape: tuple[int, ...], data: Data, random: np.random.Generator
) -> NDArray[np.float64]:
    values: NDArray[np.float64] = np.asarray(random.standard_normal(shape))
    match data:
        case "normal" | "outside":
            return values
        case "integers":
            small = random.integers(-_SMALL_INTEGER, _SMALL_INTEGER + 1, shape)
            return np.asarray(small, np.float64)
        case "magnitudes":
            widest = min(6.0, log10(dtype.largest) / 4)
            return values * _powers(-widest, widest, shape, random)
        case "tiny":
            bits = dtype.precision - 1
            size = _powers(-bits * log10(2), 2, shape, random)
            return np.sign(values) * size * (dtype.smallest * 2.0**bits)
        case "huge":
            size = _powers(-log10(dtype.largest) / 2, 0, shape, random)
            return np.sign(values) * size * dtype.largest
        case "special":
            special = random.choice(_SPECIAL, shape)
            return np.where(_some(shape, random), special, values)
        case _:
            assert_never(data)


def _powers(
    low: float, high: float, shape: tuple[int, ...], random: np.random.Generator
) -> NDArray[np.float64]:
    """Return numbers from 10**low to 10**high, each decade as likely."""
    return np.asarray(10.0 ** random.uniform(low, high, shape))


def _some(shape: tuple[int, ...], random: np.random.Generator) -> NDArray[np.bool_]:
    """Choose a few elements, at most a quarter: more would leave no finite result."""
    where: NDArray[np.bool_] = np.asarray(
        random.random(shape) < 1 / max(4, prod(shape) / 2)
    )
    return where
