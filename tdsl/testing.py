"""Property tests of kernels: random sizes, layouts and data against derived bounds.

`check(kernel)` is what `tdsl check` runs. Each case is small enough to repeat: its
`repr` in a failure's message, given to `run_case`, does exactly the same again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal, assert_never, get_args

import numpy as np
from numpy.typing import NDArray

from .backends.comparison import Comparison, compare, no_bound
from .backends.error_bound import evaluate_with_bound
from .backends.poison import poisoned_call
from .errors import ArgumentError, CheckError
from .ir.nodes import Dim, Function, Param, Role
from .ir.numerics import Numerics
from .kernel import Kernel
from .schedules.schedule import Schedule

Data = Literal["normal", "magnitudes", "integers", "special"]
"""Normal numbers; all magnitudes; small integers; with zeros, infinities and NaN."""

Layout = Literal["contiguous", "fortran", "stepped"]
"""C order; Fortran order; every other element of a larger array."""

SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 15, 16, 17, 23, 31, 32, 33, 37)
LARGER_SIZES = (47, 48, 49, 61, 63, 64, 65, 96, 97, 100, 127, 128, 129, 257)
"""Empty, tiny, prime, and around the usual vector and tile sizes."""

LARGEST_PRODUCT = 1 << 16
"""What the product of all dims may be, at most."""

SHRINKING_RUNS = 60

_ATTEMPTS = 200
_SPECIAL_VALUES = (0.0, -0.0, 1e-30, -1e30, np.inf, -np.inf, np.nan)


@dataclass(frozen=True, slots=True)
class Case:
    """One example: everything that its run depends on."""

    dims: dict[str, int]
    seed: int
    data: Data = "normal"
    layout: Layout = "contiguous"

    def __str__(self) -> str:
        """Return the sizes and how the arguments are made."""
        sizes = ", ".join(f"{name}={size}" for name, size in self.dims.items())
        return f"{sizes or 'no dims'} ({self.data} data, {self.layout} arrays)"


@dataclass(frozen=True, slots=True)
class Report:
    """What a passed check has seen; *void* elements had no finite bound."""

    kernel: str
    examples: int
    elements: int
    void: int
    worst: Comparison

    def __str__(self) -> str:
        """Return a sentence."""
        text = (
            f"{self.kernel}: {self.examples} examples, {self.elements} elements, "
            f"largest error {self.worst.max_error_over_bound:.3g} of the bound"
        )
        return text + no_bound(self.void)


def check(
    kernel: Kernel,
    *,
    examples: int = 50,
    seed: int = 0,
    schedule: Schedule | None = None,
) -> Report:
    """Run *kernel* on random arguments; raise `CheckError` at the first wrong result.

    Each run is private and poisoned, and compared with an evaluation of the kernel's
    own text within the derived error bound. A failing case is made smaller first.
    """
    tested = kernel if schedule is None else kernel.with_schedule(schedule)
    comparisons = []
    for number in range(examples):
        case = draw_case(kernel.function, seed + number, kernel.numerics)
        try:
            comparisons.append(run_case(tested, case))
        except CheckError as error:
            smallest, reason = _shrunk(tested, case, error)
            raise CheckError(
                f"{kernel.name} is wrong for {smallest}: {reason}\n"
                f"to repeat: tdsl.testing.run_case({kernel.name}, tdsl.testing."
                f"{smallest!r})"
            ) from error
    return Report(
        kernel.name,
        examples,
        sum(each.elements for each in comparisons),
        sum(each.void for each in comparisons),
        max(comparisons, key=lambda each: each.max_error_over_bound),
    )


def run_case(kernel: Kernel, case: Case) -> Comparison:
    """Run *kernel* once on *case* and compare; raise `CheckError` where it is wrong."""
    function = kernel.function
    arrays = make_arrays(function, case)
    expected = evaluate_with_bound(function, arrays, case.dims, kernel.numerics)

    def run(*arguments: Any) -> None:
        laid_out = [_laid_out(each, case.layout) for each in arguments]
        pairs = list(zip(function.params, laid_out, strict=True))
        given = [value for param, value in pairs if not param.returned]
        returned = tuple(value for param, value in pairs if param.returned)
        if returned:
            kernel(*given, out=returned, **case.dims)
        else:
            kernel(*given, **case.dims)
        for original, used in zip(arguments, laid_out, strict=True):
            if used is not original:
                original[...] = used

    outcome = poisoned_call(run, function, arrays, case.dims)
    if not outcome.is_clean:
        raise CheckError("; ".join(outcome.faults))
    comparison = compare(outcome.outputs, expected)
    if not comparison.passed:
        raise CheckError(str(comparison))
    return comparison


# --- sizes ------------------------------------------------------------------------


def draw_case(function: Function, seed: int, numerics: Numerics = "reassoc") -> Case:
    """Return a random case whose sizes satisfy the assumptions of the dims."""
    random = np.random.default_rng(seed)
    kinds: list[Data] = list(get_args(Data))
    if numerics == "fast":
        kinds.remove("special")
    data = kinds[int(random.choice(len(kinds), p=_weights(len(kinds))))]
    layouts: tuple[Layout, ...] = get_args(Layout)
    layout = layouts[int(random.choice(len(layouts), p=_weights(len(layouts))))]
    for _ in range(_ATTEMPTS):
        dims = _draw_dims(function, random)
        if dims is not None and _is_possible(function, dims):
            return Case(dims, seed, data, layout)
    raise ArgumentError(
        f"{function.name}: no sizes with a product of at most {LARGEST_PRODUCT} were "
        "found that satisfy the dims' assumptions and give no negative extent; "
        "weaken the assumptions, or compare chosen sizes with run_case"
    )


def _weights(count: int) -> list[float]:
    """Give the first of *count* kinds half of the probability."""
    return [0.5] + [0.5 / (count - 1)] * (count - 1)


def _draw_dims(
    function: Function, random: np.random.Generator
) -> dict[str, int] | None:
    budget = LARGEST_PRODUCT
    drawn: dict[str, int] = {}
    for number in random.permutation(len(function.dims)):
        dim = function.dims[number]
        sizes = SIZES if random.random() < 0.7 else LARGER_SIZES
        size = _nearest(dim, int(random.choice(sizes)))
        if size is None or size > budget:
            size = _nearest(dim, 0)
        if size is None or size > budget:
            return None
        drawn[dim.name] = size
        budget //= max(size, 1)
    return {dim.name: drawn[dim.name] for dim in function.dims}


def _nearest(dim: Dim, size: int) -> int | None:
    """Return the size near *size* that satisfies the assumptions of *dim*."""
    lowest = -(-dim.min // dim.multiple) * dim.multiple
    near = max(lowest, size * dim.multiple)
    if dim.max is not None:
        near = min(near, dim.max // dim.multiple * dim.multiple)
    return near if near >= lowest else None


def _is_possible(function: Function, dims: dict[str, int]) -> bool:
    extents = [e.evaluate(dims) for p in function.params for e in p.tensor.shape]
    return all(0 <= extent <= LARGEST_PRODUCT for extent in extents)


# --- arrays -----------------------------------------------------------------------


def make_arrays(function: Function, case: Case) -> dict[str, NDArray[Any]]:
    """Return the arguments of *case* by name, without the outputs."""
    random = np.random.default_rng((case.seed, 1))
    return {
        param.tensor.name: _make_array(param, case, random)
        for param in function.params
        if param.role is not Role.OUTPUT
    }


def _make_array(param: Param, case: Case, random: np.random.Generator) -> NDArray[Any]:
    shape = tuple(extent.evaluate(case.dims) for extent in param.tensor.shape)
    dtype = param.tensor.dtype
    if dtype.kind == "bool":
        return random.integers(0, 2, shape).astype(np.bool_)
    if dtype.kind == "int" or case.data == "integers":
        return random.integers(-9, 10, shape).astype(dtype.numpy)
    values = np.asarray(random.standard_normal(shape))
    match case.data:
        case "normal":
            pass
        case "magnitudes":
            values = values * 10.0 ** random.uniform(-6, 6, shape)
        case "special":
            where = random.random(shape) < 1 / max(4, prod(shape) / 2)
            special = random.choice(_SPECIAL_VALUES, shape)
            values = np.where(where, special, values)
        case _:
            assert_never(case.data)
    return values.astype(dtype.numpy)


def _laid_out(value: Any, layout: Layout) -> Any:
    """Return *value* in another memory layout; scalars and C order are unchanged."""
    if not isinstance(value, np.ndarray) or not value.ndim:
        return value
    match layout:
        case "contiguous":
            return value
        case "fortran":
            return np.asfortranarray(value)
        case "stepped":
            larger = np.zeros([2 * extent for extent in value.shape], value.dtype)
            view = larger[(slice(None, None, 2),) * value.ndim]
            view[...] = value
            return view
        case _:
            assert_never(layout)


# --- shrinking --------------------------------------------------------------------


def _shrunk(kernel: Kernel, case: Case, error: CheckError) -> tuple[Case, CheckError]:
    """Return a smaller case that fails too, and its failure."""
    runs = 0
    smaller = _smaller(kernel.function, case)
    while runs < SHRINKING_RUNS:
        candidate = next(smaller, None)
        if candidate is None:
            break
        runs += 1
        try:
            run_case(kernel, candidate)
        except CheckError as found:
            case, error = candidate, found
            smaller = _smaller(kernel.function, case)
    return case, error


def _smaller(function: Function, case: Case) -> Iterator[Case]:
    if case.layout != "contiguous":
        yield replace(case, layout="contiguous")
    for dim in function.dims:
        size = case.dims[dim.name]
        for wanted in (0, 1, size // 2, size - dim.multiple):
            near = _nearest(dim, wanted // dim.multiple)
            if near is not None and near < size:
                dims = {**case.dims, dim.name: near}
                if _is_possible(function, dims):
                    yield replace(case, dims=dims)
