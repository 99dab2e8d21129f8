"""Cases: all that the arguments of one run depend on, and how they are drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal, get_args

from ..backends.index_inputs import have_checked_subscripts, have_subscripts
from ..errors import ArgumentError
from ..ir.given import check_option
from ..ir.nodes import Dim, Function
from ..ir.numerics import Numerics
from ..ir.programs import no_program
from .choices import Choices, random_choices

Data = Literal["normal", "integers", "magnitudes", "tiny", "huge", "special", "outside"]
"""What fills the arrays, see `values.py`."""

Layout = Literal["contiguous", "fortran", "stepped", "reversed", "mixed"]
"""How the arrays lie in memory, see `layouts.py`."""

SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 15, 16, 17, 23, 31, 32, 33, 37)
LARGER_SIZES = (47, 48, 49, 61, 63, 64, 65, 96, 97, 100, 127, 128, 129, 257)
"""Empty, tiny, prime, and around the usual vector and tile sizes."""

LARGEST_PRODUCT = 1 << 16
"""What the product of all dims may be, at most."""

LARGEST_OUTSIDE = 600
"""The same where a subscript is out of range: only the interpreter knows the answer."""

_ATTEMPTS = 200
DATA: tuple[Data, ...] = tuple(d for d in get_args(Data) if d != "outside")
"""What makes arguments that each kernel takes."""

LAYOUTS: tuple[Layout, ...] = get_args(Layout)
_LIKELY: tuple[Data, ...] = ("normal", "normal", "normal", *DATA)


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


def draw_case(
    function: Function,
    seed: int,
    numerics: Numerics = "reassoc",
    *,
    layout: Layout | None = None,
    near: Sequence[int] = (),
    largest: int | None = None,
) -> Case:
    """Return a random case whose sizes satisfy the assumptions of the dims.

    Sizes around those of *near*, the tile sizes of a schedule, are drawn more often.
    With a *layout* other than "contiguous" each extent is at least 2 where that can be,
    so that the arrays really have it. *largest* limits the product of all dims.
    """
    if not isinstance(function, Function):
        raise ArgumentError(f"draw_case: {no_program(function)}")
    check_option("draw_case", "seed", seed, int, "a whole number from 0 up", least=0)
    choices = random_choices(seed)
    data = choices.pick(
        [d for d in kinds(function, _LIKELY) if numerics != "fast" or is_finite(d)]
    )
    chosen = choices.pick(LAYOUTS) if layout is None else layout
    limit = largest or LARGEST_PRODUCT
    wide = layout not in (None, "contiguous")
    dims = None
    if data == "outside":
        dims = _fitting(function, choices, near, min(limit, LARGEST_OUTSIDE), wide)
        data = "normal" if dims is None else data
    if dims is None:
        dims = _fitting(function, choices, near, limit, wide)
    if dims is None:
        raise ArgumentError(no_sizes(function))
    return Case(dims, seed, data, chosen)


def _fitting(
    function: Function, choices: Choices, near: Sequence[int], largest: int, wide: bool
) -> dict[str, int] | None:
    """Return sizes that are possible, if *wide* with extents of at least 2."""
    best = None
    for _ in range(_ATTEMPTS):
        dims = draw_dims(function, choices, near, largest)
        if dims is None:
            continue
        best = dims
        if not wide or smallest_extent(function, dims) > 1:
            break
    return best


def kinds(function: Function, data: Sequence[Data] = DATA) -> list[Data]:
    """Return *data*, with "outside" where a call finds subscripts out of range."""
    return [*data, "outside"] if have_checked_subscripts(function) else [*data]


def is_finite(data: Data) -> bool:
    """Whether *data* keeps clear of infinities, NaN and overflow."""
    return data not in ("huge", "special")


def no_sizes(function: Function) -> str:
    """Return the message for a kernel whose dims allow no small sizes."""
    return (
        f"{function.name}: no sizes with a product of at most {LARGEST_PRODUCT} were "
        "found that satisfy the dims' assumptions and give no negative extent; "
        "weaken the assumptions, or compare chosen sizes with run_case"
    )


def draw_dims(
    function: Function,
    choices: Choices,
    near: Sequence[int] = (),
    largest: int | None = None,
) -> dict[str, int] | None:
    """Return sizes that satisfy all assumptions, or None where the draw does not."""
    tails = {size for each in near for size in (each - 1, each, each + 1, 2 * each + 1)}
    around = sorted(size for size in tails if 0 <= size <= LARGER_SIZES[-1])
    pools = (SIZES, SIZES, around, LARGER_SIZES)
    budget = largest or LARGEST_PRODUCT
    drawn: dict[str, int] = {}
    for dim in choices.several(function.dims, len(function.dims)):
        pool = choices.pick(pools)
        fitting = [each for each in pool if each * dim.multiple <= budget]
        size = nearest(dim, choices.pick(fitting or SIZES[:1]))
        if size is None or size > budget:
            return None
        drawn[dim.name] = size
        budget //= max(size, 1)
    dims = {dim.name: drawn[dim.name] for dim in function.dims}
    return dims if is_possible(function, dims) else None


def nearest(dim: Dim, size: int) -> int | None:
    """Return the size near *size* that satisfies the assumptions of *dim*.

    Small sizes count in multiples of the dim's, so that tiny examples exist.
    """
    lowest = -(-dim.min // dim.multiple) * dim.multiple
    near = max(lowest, size * dim.multiple)
    if dim.max is not None:
        near = min(near, dim.max // dim.multiple * dim.multiple)
    return near if near >= lowest else None


def is_possible(function: Function, dims: dict[str, int]) -> bool:
    """Whether the kernel's assumptions hold, and no extent is negative or very large.

    A tensor of subscripts must have room for its elements in the range assumed of them.
    """
    shapes = {
        param.tensor.name: [form.evaluate(dims) for form in param.tensor.shape]
        for param in function.params
    }
    conditions = function.assumptions.conditions
    return (
        all(form.evaluate(dims) >= 0 for form in conditions)
        and all(n >= 0 for shape in shapes.values() for n in shape)
        and all(n <= LARGEST_PRODUCT for n in _varying_extents(function, dims))
        and all(
            prod(shapes[name]) <= (len(found) if distinct else len(found) and 1 << 62)
            for name, (found, distinct) in subscripts(function, dims).items()
        )
        and have_subscripts(function, dims)
    )


def _varying_extents(function: Function, dims: Mapping[str, int]) -> Iterator[int]:
    for param in function.params:
        for form in param.tensor.shape:
            if not form.is_constant:
                yield form.evaluate(dims)


def subscripts(
    function: Function, dims: Mapping[str, int]
) -> dict[str, tuple[range, bool]]:
    """Return the values that a tensor of subscripts may hold, and if all must differ.

    They are what the kernel assumes of the tensor. A tensor of which it only assumes
    that no two elements are equal holds a permutation.
    """
    known = function.assumptions
    found = {
        name: (range(lower.evaluate(dims), upper.evaluate(dims)), False)
        for name, lower, upper in known.in_range
    }
    for param in function.params:
        name = param.tensor.name
        if name in known.injective:
            size = prod(form.evaluate(dims) for form in param.tensor.shape)
            values, _ = found.get(name, (range(max(0, size)), True))
            found[name] = (values, True)
    return found


def smallest_extent(function: Function, dims: dict[str, int]) -> int:
    """Return the smallest extent of all arguments."""
    forms = [form for param in function.params for form in param.tensor.shape]
    return min((form.evaluate(dims) for form in forms), default=2)


def smaller(function: Function, case: Case) -> Iterator[Case]:
    """Yield cases that are a little simpler than *case*, the simplest first."""
    if case.layout != "contiguous":
        yield replace(case, layout="contiguous")
    if case.data not in ("normal", "integers"):
        yield replace(case, data="normal")
    for dim in function.dims:
        size = case.dims[dim.name]
        for wanted in (0, 1, size // 2, size - dim.multiple):
            near = nearest(dim, wanted // dim.multiple)
            if near is not None and near < size:
                dims = {**case.dims, dim.name: near}
                if is_possible(function, dims):
                    yield replace(case, dims=dims)
