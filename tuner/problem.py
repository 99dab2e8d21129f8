"""The arrays of a tuning job: inputs, and what the outputs ought to be.

The parent makes them once and leaves them in a folder, from which every worker reads.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.index_inputs import draw_subscripts
from ..binding import bind
from ..errors import ArgumentError
from ..ir.dtypes import bf16
from ..ir.nodes import Call, Function, Param, Role
from ..ir.numerics import Numerics
from ..ir.walk import walk
from ..target import Target
from .expected import DERIVED, expect

Array = NDArray[Any]
Inputs = Callable[[dict[str, int]], Mapping[str, Any]]
"""Makes a kernel's arguments, by name, for given dims."""

_POSITIVE = {"log", "log2", "log1p", "sqrt", "rsqrt"}
_HEADER = "problem.pickle"


@dataclass(frozen=True, slots=True)
class Problem:
    """A kernel with concrete dims, inputs by name, and (value, bound) by output.

    *criterion* says what bounds the errors: where the derived bound says nothing, or
    takes too long to derive, a tolerance does.
    """

    function: Function
    dims: dict[str, int]
    inputs: dict[str, Any]
    expected: dict[str, tuple[Array, Array]]
    criterion: str = DERIVED


@dataclass(frozen=True, slots=True)
class Program:
    """What a request asks to compile, as the parent pickled it."""

    function: Function
    target: Target
    numerics: Numerics
    parallel: bool
    runtime_sizes: bool


def make_problem(
    function: Function,
    dims: Mapping[str, int],
    numerics: Numerics,
    seed: int,
    target: Target,
    inputs: Inputs | None = None,
    patience: float = inf,
) -> Problem:
    """Return *inputs*, or random ones, for *function* and its results with bounds.

    Bounds may take *patience* seconds to derive.
    """
    if inputs is None:
        chosen = random_inputs(function, dims, seed)
    else:
        chosen = given_inputs(function, dims, inputs)
    expected, criterion = expect(function, chosen, dims, numerics, target, patience)
    return Problem(function, dict(dims), chosen, expected, criterion)


def random_inputs(
    function: Function, dims: Mapping[str, int], seed: int
) -> dict[str, Any]:
    """Return random arguments by name."""
    generator = np.random.default_rng(seed)
    return {
        param.tensor.name: _draw(function, param, dims, generator)
        for param in function.params
        if param.role is not Role.OUTPUT
    }


def given_inputs(
    function: Function, dims: Mapping[str, int], inputs: Inputs
) -> dict[str, Any]:
    """Return the arguments that *inputs* makes for *dims*, checked as in a call."""
    try:
        made = inputs(dict(dims))
    except Exception as error:
        sizes = " ".join(f"{name}={size}" for name, size in dims.items())
        raise ArgumentError(
            f"{function.name}: the function of inputs failed for {sizes}: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not isinstance(made, Mapping):
        raise ArgumentError(
            f"{function.name}: the function of inputs returned "
            f"{type(made).__name__}, but it returns a dict of arguments by name"
        )
    bound = bind(function, (), {**dims, **made})
    return {
        param.tensor.name: np.array(value, param.tensor.dtype.numpy)
        for param, value in zip(function.params, bound.values, strict=True)
        if param.role is not Role.OUTPUT
    }


def save_problem(problem: Problem, folder: Path) -> None:
    """Write *problem* into *folder*; big arrays are files of their own."""
    for name, value in problem.inputs.items():
        np.save(input_file(folder, name), value)
    for name, (value, bound) in problem.expected.items():
        np.save(folder / f"value_{name}.npy", value)
        np.save(folder / f"bound_{name}.npy", bound)
    names = list(problem.inputs), list(problem.expected)
    with (folder / _HEADER).open("wb") as stream:
        pickle.dump((problem.function, problem.dims, names), stream)


def load_problem(folder: Path) -> Problem:
    """Read what `save_problem` wrote."""
    with (folder / _HEADER).open("rb") as stream:
        function, dims, (inputs, outputs) = pickle.load(stream)
    return Problem(
        function,
        dims,
        {name: load_input(input_file(folder, name)) for name in inputs},
        {
            name: (
                np.load(folder / f"value_{name}.npy", mmap_mode="r"),
                np.load(folder / f"bound_{name}.npy", mmap_mode="r"),
            )
            for name in outputs
        },
    )


def load_input(file: Path) -> Array:
    """Read one input; files have no name for bf16, only its size."""
    array: Array = np.load(file)
    return array.view(bf16.numpy) if array.dtype.kind == "V" else array


def input_file(folder: Path, name: str) -> Path:
    """Return the file of one input."""
    return folder / f"input_{name}.npy"


def _draw(
    function: Function,
    param: Param,
    dims: Mapping[str, int],
    generator: np.random.Generator,
) -> Array:
    """Return random values: about one in size; whole numbers small, or subscripts."""
    subscripts = draw_subscripts(function, param, dims, generator)
    if subscripts is not None:
        return subscripts
    tensor, positive = param.tensor, _needs_positive(function)
    shape = tuple(extent.evaluate(dims) for extent in tensor.shape)
    values: Array
    match tensor.dtype.kind:
        case "float":
            low = 0.25 if positive else -1.0
            values = generator.uniform(low, 1.0, shape)
        case "int":
            lowest = 0 if not tensor.dtype.signed else -4
            values = generator.integers(1 if positive else lowest, 5, shape)
        case "complex":
            parts = generator.uniform(-1.0, 1.0, (2, *shape))
            values = parts[0] + 1j * parts[1]
        case "bool":
            values = generator.integers(0, 2, shape)
    return np.asarray(values).astype(tensor.dtype.numpy)


def _needs_positive(function: Function) -> bool:
    """Whether a function is defined, or tame, for positive numbers only."""
    return any(
        (isinstance(node, Call) and node.function in _POSITIVE)
        or getattr(node, "op", "") in ("div", "floordiv", "mod", "pow")
        for node in walk(function)
    )
