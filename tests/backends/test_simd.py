"""SIMD operations against NumPy, on special values, as vectors and as scalars."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tdsl.backends.modules import load_module
from tdsl.backends.vocabulary import OFFERED

LANES = 8
SIZES = {"f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64"}
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
COMMON = ("add", "sub", "mul", "minimum", "maximum", "floordiv", "mod")
NUMPY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}


def module(dtype: str, lanes: int, operations: tuple[str, ...]) -> Any:
    """Return a module with `run(x, y, out)`: a row of *out* an operation."""
    token = f"vector('{dtype}', {lanes})" if lanes else SIZES[dtype]
    lines = ["import numba", "from numba import float32, float64, int32, int64"]
    for part in ("simd", "simd_memory"):
        lines.append(f"from tdsl.backends.{part} import *")
    lines += [f"T = {token}", "@numba.njit(error_model='numpy')", "def run(x, y, out):"]
    lines += ["    for i in range(0, x.size, STEP):"]
    lines += ["        a, b = load(address(x), i, T), load(address(y), i, T)"]
    for row, name in enumerate(operations):
        value = f"{name}(a, b)"
        if name in COMPARISONS:
            value = f"convert({value}, T)"
        lines.append(f"        store(address(out[{row}]), i, {value})")
    text = "\n".join(lines).replace("STEP", str(max(1, lanes)))
    return load_module("simd_test", text + "\n")


def specials(dtype: str) -> NDArray[Any]:
    kind = np.dtype(SIZES[dtype])
    if kind.kind == "f":
        limits = np.finfo(kind)
        values = [0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, 7.25, -0.1, 1e30]
        values += [limits.tiny, limits.max, limits.smallest_subnormal, 3.0, -3.0, 0.7]
        return np.array(values, kind)
    bounds = np.iinfo(kind)
    return np.array([0, 1, -1, 7, -7, 3, -3, 12, bounds.min, bounds.max, 5, -5], kind)


@pytest.mark.parametrize("lanes", [0, LANES])
@pytest.mark.parametrize("dtype", SIZES)
def test_arithmetic_and_comparison(dtype: str, lanes: int) -> None:
    values = specials(dtype)
    x, y = (a.ravel().copy() for a in np.meshgrid(values, values))
    count = x.size // LANES * LANES
    x, y = x[:count], y[:count]
    is_float = dtype[0] == "f"
    operations = (*COMMON, *COMPARISONS, *(("div",) if is_float else ()))
    out = np.zeros((len(operations), count), x.dtype)
    module(dtype, lanes, operations).run(x, y, out)
    for row, name in enumerate(operations):
        with np.errstate(all="ignore"):
            if name in ("floordiv", "mod") and dtype == "f32":
                wide = NUMPY[name](x.astype(np.float64), y.astype(np.float64))
                expected = wide.astype(np.float32)
            else:
                expected = NUMPY[name](x, y).astype(x.dtype)
        np.testing.assert_array_equal(out[row], expected, err_msg=name)


def test_nan_and_order_of_extremes() -> None:
    """The left operand wins a tie, so bits do not depend on the vector width."""
    x = np.array([0.0, -0.0, np.nan, 1.0] * 2, np.float32)
    y = np.array([-0.0, 0.0, 1.0, np.nan] * 2, np.float32)
    out = np.zeros((2, 8), np.float32)
    module("f32", LANES, ("minimum", "maximum")).run(x, y, out)
    assert np.isnan(out[:, 2:4]).all()
    for row in out:
        np.testing.assert_array_equal(np.signbit(row[:2]), [False, True])


CONVERSIONS = """
import numba
from numba import boolean, int32, int64, float32, float64
from tdsl.backends.simd import *
from tdsl.backends.simd_memory import *
from tdsl.backends.simd_scattered import *

F, D = vector("f32", 8), vector("f64", 8)
I, L, B = vector("i32", 8), vector("i64", 8), vector("bool", 8)

@numba.njit(error_model="numpy")
def run(x, d, i, long, b):
    a = load(address(x), 0, F)
    store(address(d), 0, convert(a, D))
    store(address(i), 0, convert(a, I))
    store(address(long), 0, convert(convert(a, D), L))
    store(address(b), 0, convert(a, B))
    store(address(x), 0, convert(load(address(b), 0, B), F))
"""


def test_conversions_are_those_of_astype() -> None:
    x = np.array([0.0, -1.9, 2.9, np.nan, 1e20, -1e20, -0.0, 2147483520.0], np.float32)
    source = x.copy()
    d, i = np.zeros(8), np.zeros(8, np.int32)
    long, b = np.zeros(8, np.int64), np.zeros(8, np.bool_)
    load_module("simd_test", CONVERSIONS).run(x, d, i, long, b)
    least = np.iinfo(np.int32).min, np.iinfo(np.int64).min
    np.testing.assert_array_equal(d, source.astype(np.float64))
    np.testing.assert_array_equal(i, [0, -1, 2, *[least[0]] * 3, 0, 2147483520])
    np.testing.assert_array_equal(long, [0, -1, 2, *[least[1]] * 3, 0, 2147483520])
    np.testing.assert_array_equal(b, source != 0)
    np.testing.assert_array_equal(x, b.astype(np.float32))


MEMORY = """
import numba
from numba import int64
from tdsl.backends.simd import *
from tdsl.backends.simd_memory import *
from tdsl.backends.simd_scattered import *

F, B, L = vector("f32", 8), vector("bool", 8), vector("i64", 8)

@numba.njit(error_model="numpy")
def run(x, out, count, stride):
    base, to = address(x), address(out)
    mask = first_lanes(count, B)
    every = mul(iota(L), splat(stride, L))
    store(to, 0, load_masked(base, 1, mask, F))
    store(to, 8, load_strided(base, 1, stride, F))
    store(to, 16, load_strided_masked(base, 1, stride, mask, F))
    store(to, 24, gather(base, every, F))
    store(to, 32, gather_masked(base, every, mask, F))
    v = load(base, 0, F)
    store_masked(to, 40, mask, v)
    store_strided(to, 48, 2, v)
    store_strided_masked(to, 64, 2, mask, v)
    scatter(to, add(splat(80, L), mul(iota(L), splat(3, L))), v)
    scatter_masked(to, add(splat(104, L), mul(iota(L), splat(3, L))), mask, v)
    store(to, 128, load_splat(base, 3, F))
    store(to, 136, reduce_add(v))
    store(to, 137, reduce_max(v))
    store(to, 138, reduce_min(v))
    store(to, 139, extract(insert(v, extract(v, 5), 2), 2))
    store(to, 140, select(any_lane(mask), extract(v, 0), extract(v, 1)))
    store(to, 141, select(any_lane(mask_where(-1, mask)), extract(v, 0), extract(v, 1)))
    store(to, 142, load_reversed(base, 20, F))
    store(to, 150, load_reversed_masked(base, 20, mask, F))
"""


@pytest.mark.parametrize("count", [0, 3, 8, 100, -2])
def test_memory_operations(count: int) -> None:
    x = np.random.default_rng(count + 2).standard_normal(64).astype(np.float32)
    out = np.full(160, 9, np.float32)
    load_module("simd_test", MEMORY).run(x, out, count, 5)
    live = np.arange(8) < count

    def where(values: NDArray[Any], other: float) -> NDArray[Any]:
        return np.where(live, values, np.float32(other))

    expected = np.full(160, 9, np.float32)
    expected[:8] = where(x[1:9], 0)
    expected[8:16] = x[1::5][:8]
    expected[16:24] = where(x[1::5][:8], 0)
    expected[24:32] = x[::5][:8]
    expected[32:40] = where(x[::5][:8], 0)
    expected[40:48] = where(x[:8], 9)
    expected[48:64:2] = x[:8]
    expected[64:80:2] = where(x[:8], 9)
    expected[80:104:3] = x[:8]
    expected[104:128:3] = where(x[:8], 9)
    expected[128:136] = x[3]
    pairs = x[:4] + x[4:8]
    expected[136] = (pairs[0] + pairs[2]) + (pairs[1] + pairs[3])
    expected[137:142] = [x[:8].max(), x[:8].min(), x[5], x[int(count <= 0)], x[1]]
    expected[142:150] = x[13:21][::-1]
    expected[150:158] = where(x[13:21][::-1], 0)
    np.testing.assert_array_equal(out, expected)


def test_the_vocabulary_names_what_the_modules_offer() -> None:
    for module, names in OFFERED.items():
        offered = import_module(f"tdsl.backends.{module}")
        assert [name for name in names if not hasattr(offered, name)] == []
