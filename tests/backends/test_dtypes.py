"""Every operation on every dtype: the interpreter against NumPy, code against it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tdsl.backends.reference import interpret
from tdsl.ir.dtypes import DTYPES, DType
from tdsl.kernel import Kernel

from .dtype_kernels import arithmetic, as_written, casts, comparisons, vectorized

REAL = [each for each in DTYPES.values() if each.kind in ("int", "float")]
CODE: dict[str, Callable[[Kernel], Kernel]] = {
    "scalar": as_written,
    "vectors": vectorized,
}
COUNT = 37  # two vectors and a tail
Array = NDArray[Any]


@cache
def interesting(dtype: DType) -> Array:
    """Return numbers at which something changes, as *dtype*."""
    if dtype.kind == "int":
        near = {0, 1, -1, 2, 3, 7, 100, 127, 128, 255, 256, 32767, 65535, 2**31, 2**53}
        near |= {dtype.lowest, dtype.lowest + 1, dtype.highest, dtype.highest - 1}
        kept = [n for n in sorted(near) if dtype.lowest <= n <= dtype.highest]
        return np.array(kept, dtype.numpy)
    powers = [0.0, 2.0**-149, 2.0**-24, 2.0**-14, 0.5, 1.0, 1.5, 127.0, 128.0, 255.0]
    powers += [256.0, 2.0**15, 65504.0, 65519.0, 65520.0, 2.0**24, 2.0**31, 2.0**32]
    powers += [2.0**63, 2.0**64, 3.3e38, 1e300, np.inf, np.nan]
    steps = [np.nextafter(each, to) for each in powers for to in (-np.inf, np.inf)]
    both = np.array([sign * each for each in powers + steps for sign in (1, -1)])
    with np.errstate(all="ignore"):
        return both.astype(np.float64).astype(dtype.numpy)


def arrays(dtype: DType) -> st.SearchStrategy[Array]:
    """Return arrays of any bits, and of numbers at which something changes."""

    def build(seed: int) -> Array:
        random = np.random.default_rng(seed)
        bits = random.integers(0, 256, COUNT * dtype.bytes, np.uint8).view(dtype.numpy)
        special = random.choice(interesting(dtype), COUNT)
        small = random.integers(-20 if dtype.signed else 0, 20, COUNT)
        kind = random.integers(0, 3, COUNT)
        with np.errstate(all="ignore"):
            return np.choose(kind, [bits, special, small.astype(dtype.numpy)])

    return st.integers(0, 2**32 - 1).map(build)


def same(actual: Array, expected: Array) -> bool:
    """Whether all bits agree, where NaN is NaN and zeros of min and max are open."""
    if actual.dtype != expected.dtype:
        return False
    if expected.dtype.kind not in "fcV":
        return bool((actual == expected).all())
    with np.errstate(invalid="ignore"):  # signalling NaN
        one, other = (each.astype(np.float64) for each in (actual, expected))
    return bool(((one == other) | (np.isnan(one) & np.isnan(other))).all())


def interpreted(kernel: Kernel, *given_: Array) -> list[Array]:
    function = kernel.function
    arrays = {
        param.tensor.name: value
        for param, value in zip(function.params, given_, strict=False)
    }
    results = {}
    for param in function.params[len(given_) :]:
        shape = tuple(e.evaluate({"M": COUNT}) for e in param.tensor.shape)
        results[param.tensor.name] = np.empty(shape, param.tensor.dtype.numpy)
    interpret(function, arrays | results, {"M": COUNT})
    return list(results.values())


def compiled(kernel: Kernel, *given_: Array) -> list[Array]:
    outputs = [param for param in kernel.function.params if not param.returned]
    results = [
        np.empty(COUNT, param.tensor.dtype.numpy) for param in outputs[len(given_) :]
    ]
    returned = kernel(*given_, *results)
    return [returned] if returned is not None else results


def by_numpy(dtype: DType, a: Array, b: Array) -> list[Array]:
    """Return the rows of `arithmetic`, by NumPy."""
    wide = dtype.computed.numpy
    x, y = a.astype(wide), b.astype(wide)
    rows = [x + y, x - y, x * y, *_divided(x, y), np.minimum(x, y), np.maximum(x, y)]
    rows += [-x, np.abs(x), np.where(x < y, a, b), x + wide.type(3)]
    return [row.astype(dtype.numpy) for row in rows]


def _divided(x: Array, y: Array) -> tuple[Array, Array]:
    if x.dtype == np.float32:  # by way of f64, which the language has
        whole, rest = _divided(x.astype(np.float64), y.astype(np.float64))
        return whole.astype(np.float32), rest.astype(np.float32)
    return np.floor_divide(x, y), np.remainder(x, y)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@given(data=st.data())
@settings(max_examples=10)
def test_arithmetic(dtype: DType, data: st.DataObject) -> None:
    kernel = arithmetic(dtype)
    a, b = data.draw(arrays(dtype)), data.draw(arrays(dtype))
    (meaning,) = interpreted(kernel, a, b)
    with np.errstate(all="ignore"):
        expected = by_numpy(dtype, a, b)
    for number, row in enumerate(expected):
        assert same(meaning[number], row), f"row {number} of the interpreter"
    for name, code in CODE.items():
        (actual,) = compiled(code(kernel), a, b)
        for number, row in enumerate(meaning):
            assert same(actual[number], row), f"row {number}, {name}"


@pytest.mark.parametrize("dtype", REAL, ids=str)
@given(data=st.data())
@settings(max_examples=10)
def test_comparisons(dtype: DType, data: st.DataObject) -> None:
    kernel = comparisons(dtype)
    a, b = data.draw(arrays(dtype)), data.draw(arrays(dtype))
    wide = dtype.computed.numpy
    x, y = a.astype(wide), b.astype(wide)
    expected = np.array([x < y, x <= y, x > y, x >= y, x == y, x != y])
    (meaning,) = interpreted(kernel, a, b)
    assert (meaning == expected).all()
    for name, code in CODE.items():
        (actual,) = compiled(code(kernel), a, b)
        assert (actual == expected).all(), name


@pytest.mark.parametrize("dtype", REAL, ids=str)
@given(data=st.data())
@settings(max_examples=10)
def test_casts(dtype: DType, data: st.DataObject) -> None:
    kernel = casts(dtype)
    values = data.draw(arrays(dtype))
    meaning = interpreted(kernel, values)
    targets = [param.tensor.dtype for param in kernel.function.params[1:]]
    for target, row in zip(targets, meaning, strict=True):
        assert same(row, cast_by_numpy(values, dtype, target)), target
    for name, code in CODE.items():
        for target, row, actual in zip(
            targets, meaning, compiled(code(kernel), values), strict=True
        ):
            assert same(actual, row), f"{target}, {name}"


def cast_by_numpy(values: Array, source: DType, target: DType) -> Array:
    """Return what `astype` gives, and the smallest integer where that is undefined."""
    with np.errstate(all="ignore"):
        if source.kind == "int" or target.kind == "float":
            return values.astype(target.numpy)
        exact = [float(each) for each in values]
        fits = [
            np.isfinite(each) and target.lowest <= int(each) <= target.highest
            for each in exact
        ]
        kept = [
            int(n) if ok else target.lowest for n, ok in zip(exact, fits, strict=True)
        ]
        return np.array(kept, target.numpy)
