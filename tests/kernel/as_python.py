"""Run the text of a kernel as the plain Python that it also is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from tdsl.executable import ReferenceBackend
from tdsl.frontend.parser import parse
from tdsl.ir.nodes import Function, Role
from tdsl.kernel import Kernel


def _saturate(value: Any, dtype: Any) -> Any:
    limits = np.iinfo(dtype)
    return dtype(min(max(int(value), limits.min), limits.max))


NAMES: dict[str, Any] = {
    "f32": np.float32,
    "f64": np.float64,
    "i32": np.int32,
    "i64": np.int64,
    "tdsl": SimpleNamespace(
        empty=np.empty,
        zeros=np.zeros,
        full=lambda shape, dtype, value: np.full(shape, value, dtype),
        saturate=_saturate,
        assume=lambda fact: None,
        argmax=lambda values: int(np.argmax([*values])),
        argmin=lambda values: int(np.argmin([*values])),
    ),
}
"""What the names of the language are in plain Python."""


def run_as_python(
    function: Callable[..., Any], arrays: Mapping[str, Any], dims: Mapping[str, int]
) -> None:
    """Run *function* on copies that it updates, with numbers in place of its dims."""
    assert isinstance(function, FunctionType)
    names = {**function.__globals__, **NAMES, **dims}
    plain = FunctionType(function.__code__, names)
    with np.errstate(all="ignore"):
        plain(**arrays)


def random_arrays(
    function: Function, dims: Mapping[str, int], seed: int
) -> dict[str, Any]:
    """Return arguments whose elements are small integers, so that sums are exact."""
    random = np.random.default_rng(seed)
    arrays: dict[str, Any] = {}
    for param in function.params:
        tensor = param.tensor
        shape = tuple(form.evaluate(dims) for form in tensor.shape)
        dtype = tensor.dtype.numpy
        drawn = random.integers(-3, 4, shape)
        arrays[tensor.name] = (
            drawn.astype(dtype) if tensor.shape else dtype.type(drawn).item()
        )
    return arrays


def check(function: Callable[..., Any], sizes: list[dict[str, int]]) -> None:
    """Compare plain Python with the interpreter and with compiled code."""
    parsed = parse(function)
    kernels = [Kernel(parsed, backend=ReferenceBackend()), Kernel(parsed)]
    for kernel in kernels:
        kernel.prove()
    for seed, dims in enumerate(sizes):
        arrays = random_arrays(parsed, dims, seed)
        expected = {name: np.copy(each) for name, each in arrays.items()}
        plain = {
            name: value if isinstance(arrays[name], np.ndarray) else arrays[name]
            for name, value in expected.items()
        }
        run_as_python(function, plain, dims)
        for kernel in kernels:
            given = {
                name: np.copy(each) if isinstance(each, np.ndarray) else each
                for name, each in arrays.items()
            }
            kernel(**given)
            for param in parsed.params:
                if param.role is not Role.INPUT:
                    name = param.tensor.name
                    np.testing.assert_array_equal(given[name], expected[name])
