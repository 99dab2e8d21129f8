"""Run proved schedules as machine code, and compare with the interpreted kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdsl.backends.cpu import compile_function
from tdsl.backends.reference import interpret
from tdsl.errors import TdslError
from tdsl.ir.nodes import Cast, Function, Role
from tdsl.ir.numerics import Numerics
from tdsl.ir.walk import walk
from tdsl.target import host

Arrays = dict[str, NDArray[Any]]


def is_exact(function: Function) -> bool:
    """Whether every value is fixed to the bit: no float outside an int is cast."""
    return not any(
        isinstance(node, Cast) and node.operand.dtype.kind == "float"
        for node in walk(function)
    )


def find_compiled_difference(
    kernel: Function,
    scheduled: Function,
    numerics: Numerics,
    choices: Iterable[Mapping[str, int]],
) -> str:
    """Return how *scheduled*, compiled, and *kernel* differ at *choices* of dims."""
    try:
        compiled = compile_function(scheduled, host(), numerics=numerics)
        entry, sizes = compiled.entry, compiled.sizes
    except TdslError as error:
        return f"is not compiled: {error}"
    for dims in choices:
        wanted = random_arrays(kernel, dims)
        found = {label: array.copy() for label, array in wanted.items()}
        interpret(kernel, wanted, dims)
        values = [
            found[p.tensor.name] if p.tensor.shape else found[p.tensor.name].item()
            for p in scheduled.params
        ]
        entry(*values, *[dims[dim.name] for dim in scheduled.dims], *sizes)
        for label, array in wanted.items():
            same = array.dtype.kind == "f"
            if not np.array_equal(array, found[label], equal_nan=same):
                return f"{label} differs at {dict(dims)} in the compiled function"
    return ""


def random_arrays(function: Function, dims: Mapping[str, int]) -> Arrays:
    """Return small integers for every parameter; what is injective, a permutation."""
    rng = np.random.default_rng(2)
    arrays: Arrays = {}
    for param in function.params:
        shape = [size.evaluate(dims) for size in param.tensor.shape]
        values = rng.integers(-9, 10, shape)
        if param.tensor.name in function.assumptions.injective:
            values = rng.permutation(values.size)
        if param.role is Role.OUTPUT:
            values = np.full_like(values, 77)
        arrays[param.tensor.name] = np.array(values, param.tensor.dtype.numpy)
    return arrays
