"""Mathematical functions: errors in units in the last place, and special values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tdsl.backends.modules import load_module
from tdsl.backends.uncertain_calls import FUNCTION_ULPS

TEXT = """
import numba
from numba import float32, float64, int32, int64
from tdsl.backends.simd import vector
from tdsl.backends.simd_memory import address, load, store
from tdsl.backends.vector_math import *

T = TOKEN

@numba.njit(error_model="numpy")
def run(x, out):
    for i in range(0, x.size, STEP):
        a = load(address(x), i, T)
BODY
"""
POWER = """
import numba
from tdsl.backends.simd import vector
from tdsl.backends.simd_memory import address, load, store
from tdsl.backends.vector_math import power

T = vector("DTYPE", 8)

@numba.njit(error_model="numpy")
def run(x, y, out):
    for i in range(0, x.size, 8):
        a, b = load(address(x), i, T), load(address(y), i, T)
        store(address(out), i, power(a, b))
"""


def sigmoid(x: Any) -> Any:
    tail = np.exp(-abs(x))
    return np.where(x >= 0, 1 / (1 + tail), tail / (1 + tail))


def erf(x: Any) -> Any:
    return np.vectorize(math.erf, otypes=[np.float64])(np.asarray(x, np.float64))


REFERENCE: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "erf": erf,
    "sigmoid": sigmoid,
    "floor": np.floor,
    "ceil": np.ceil,
    "absolute": np.abs,
}
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, 0.5, 100.0, 1e-40, 88.7]


def arguments(dtype: type) -> NDArray[Any]:
    random = np.random.default_rng(1)
    limits = np.finfo(dtype)
    edge = [limits.tiny, limits.max, limits.min, limits.smallest_subnormal]
    parts = [
        np.array([*SPECIAL, *edge]),
        random.standard_normal(2048),
        30 * random.standard_normal(2048),
        np.exp(random.uniform(-80, 80, 2048)),
        -np.exp(random.uniform(-80, 60, 2048)),
        1 + 1e-3 * random.standard_normal(2048),
    ]
    return np.concatenate(parts).astype(dtype)


def errors(got: NDArray[Any], wanted: NDArray[Any]) -> NDArray[Any]:
    """Return the distance in units in the last place; infinite where kinds differ."""
    rounded = wanted.astype(got.dtype)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    unit = np.spacing(np.abs(rounded)).astype(wanted.dtype)
    distance = np.abs(got.astype(wanted.dtype) - wanted) / unit
    distance = np.where(np.isfinite(got) & np.isfinite(rounded), distance, np.inf)
    return np.where(same, 0, distance)


@pytest.mark.parametrize(
    ("dtype", "token", "step"),
    [
        (np.float32, "vector('f32', 16)", 16),
        (np.float64, "vector('f64', 8)", 8),
        (np.float32, "float32", 1),
    ],
)
def test_errors_stay_within_the_contract(dtype: type, token: str, step: int) -> None:
    x = arguments(dtype)
    out = np.zeros((len(REFERENCE), x.size), dtype)
    body = "\n".join(
        f"        store(address(out[{row}]), i, {name}(a))"
        for row, name in enumerate(REFERENCE)
    )
    text = TEXT.replace("TOKEN", token).replace("STEP", str(step)).replace("BODY", body)
    load_module("math_test", text).run(x, out)
    for row, (name, function) in enumerate(REFERENCE.items()):
        with np.errstate(all="ignore"):
            wanted = np.asarray(function(x.astype(np.longdouble)), np.longdouble)
            distance = errors(out[row], wanted)
        worst = int(np.argmax(distance))
        assert distance[worst] <= FUNCTION_ULPS.get(name, 0.5), (name, x[worst])
        zero = wanted == 0
        np.testing.assert_array_equal(
            np.signbit(out[row][zero]), np.signbit(wanted[zero]), err_msg=name
        )


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_powers(name: str) -> None:
    dtype = {"f32": np.float32, "f64": np.float64}[name]
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.0, -2.0, 0.5, 3.0, -3.0]
    special += [2.5, -2.5, 1e10, 1e-3]
    x, y = (a.ravel().astype(dtype) for a in np.meshgrid(special, special))
    random = np.random.default_rng(0)
    x = np.concatenate([x, np.exp(random.uniform(-9, 9, 1024)).astype(dtype)])
    y = np.concatenate([y, random.uniform(-9, 9, 1024).astype(dtype)])
    out = np.zeros_like(x)
    load_module("math_test", POWER.replace("DTYPE", name)).run(x, y, out)
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
        distance = errors(out, wanted)
    worst = int(np.argmax(distance))
    assert distance[worst] <= FUNCTION_ULPS["pow"], (x[worst], y[worst], out[worst])


def test_integer_powers_wrap_and_negative_exponents_divide() -> None:
    x = np.array([0, 1, -1, 2, -3, 7, -1, 2, 3, 0, 1, -1, 10, 2, -2, 5], np.int32)
    y = np.array([0, 5, 3, 10, 3, 40, -3, -1, 0, -2, -7, -2, 9, 31, 31, 2], np.int32)
    out = np.zeros_like(x)
    load_module("math_test", POWER.replace("DTYPE", "i32")).run(x, y, out)
    exact = [
        (int(a) ** int(b) if b >= 0 else int(1 / int(a)) ** -int(b) if a else 0)
        for a, b in zip(x, y, strict=True)
    ]
    wrapped = [(value + 2**31) % 2**32 - 2**31 for value in exact]
    np.testing.assert_array_equal(out, wrapped)
