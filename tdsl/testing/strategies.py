"""Hypothesis strategies for the arguments and the schedules of a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import MissingPackageError
from ..ir.given import check_option
from ..ir.nodes import Function, Role
from ..kernel import Kernel
from ..schedules.schedule import Schedule
from .case import DATA, LAYOUTS, Case, Data, Layout, draw_dims, is_finite, kinds
from .choices import Choices
from .layouts import placed
from .moves import random_schedule
from .values import make_array
from .wanted import check_kernel, check_sizes

try:
    from hypothesis import strategies as st
    from hypothesis.strategies import SearchStrategy
except ModuleNotFoundError as error:
    raise MissingPackageError(
        "the strategies of tdsl.testing need Hypothesis, which is not installed: run "
        "`pip install hypothesis`; tdsl.testing.check works without it"
    ) from error

MOVES = 10
"""How many moves a schedule has, at most."""

_NUMBERS_PER_MOVE = 10
_NUMBERS = st.integers(0, 1 << 12)


def dims(
    kernel: Kernel, *, largest: int | None = None
) -> SearchStrategy[dict[str, int]]:
    """Generate sizes of the dims, which satisfy their assumptions.

    0, 1, primes and the neighbours of powers of two are likely; *largest* limits the
    product of all. They shrink towards 0.
    """
    check_kernel("dims", kernel)
    if largest is not None:
        check_option("dims", "largest", largest, int, "a size, from 0 up", least=0)
    function = kernel.function
    count = 3 * len(function.dims)
    numbers = st.lists(_NUMBERS, min_size=count, max_size=count)
    found = numbers.map(lambda given: _sizes(function, given, largest))
    return found.filter(lambda each: each is not None)  # type: ignore[return-value]


def _sizes(
    function: Function, numbers: list[int], largest: int | None
) -> dict[str, int] | None:
    return draw_dims(function, Choices(numbers), largest=largest)


def cases(kernel: Kernel) -> SearchStrategy[Case]:
    """Generate what `run_case` takes."""
    check_kernel("cases", kernel)
    data = _data(kernel, kinds(kernel.function))
    return st.builds(Case, dims(kernel), _NUMBERS, data, _layouts())


def arrays(
    kernel: Kernel, dims: Mapping[str, int]
) -> SearchStrategy[dict[str, NDArray[Any]]]:
    """Generate the arguments of *kernel* for the sizes *dims*, by name.

    Each has its own kind of values (special ones, tiny and huge ones, small integers
    among them) and its own layout: C or Fortran order, with steps, reversed. Scalars
    are NumPy scalars. Outputs that the kernel takes as arguments hold NaN, or 0.
    """
    check_kernel("arrays", kernel)
    check_sizes("arrays", kernel.function, dims)
    names = [p.tensor.name for p in kernel.function.params if not p.returned]
    chosen = st.tuples(_NUMBERS, _data(kernel), _layouts())
    return st.fixed_dictionaries(dict.fromkeys(names, chosen)).map(
        lambda choices: _made(kernel.function, dims, choices)
    )


def inputs(kernel: Kernel) -> SearchStrategy[dict[str, Any]]:
    """Generate all keywords of a call, arrays and sizes: `kernel(**inputs)`."""
    return dims(kernel).flatmap(
        lambda sizes: arrays(kernel, sizes).map(lambda made: {**made, **sizes})
    )


def schedules(kernel: Kernel, *, moves: int = MOVES) -> SearchStrategy[Schedule]:
    """Generate schedules of *kernel* that are proved; they shrink to few, plain steps.

    Every schedule is made of up to *moves* moves, primitives with random arguments, of
    which those that are refused or not proved are left out.
    """
    check_kernel("schedules", kernel)
    check_option("schedules", "moves", moves, int, "a whole number", least=0)
    move = st.lists(_NUMBERS, max_size=_NUMBERS_PER_MOVE)
    start = kernel.schedule()
    return st.lists(move, max_size=moves).map(
        lambda drawn: random_schedule(
            start, map(Choices, drawn), kernel.numerics, 2 * moves
        )
    )


def _data(kernel: Kernel, data: Sequence[Data] = DATA) -> SearchStrategy[Data]:
    fast = kernel.numerics == "fast"
    return st.sampled_from([d for d in data if not fast or is_finite(d)])


def _layouts() -> SearchStrategy[Layout]:
    return st.sampled_from([layout for layout in LAYOUTS if layout != "mixed"])


def _made(
    function: Function,
    dims: Mapping[str, int],
    choices: Mapping[str, tuple[int, Data, Layout]],
) -> dict[str, NDArray[Any]]:
    made: dict[str, NDArray[Any]] = {}
    for param in function.params:
        name = param.tensor.name
        if name not in choices:
            continue
        seed, data, layout = choices[name]
        random = np.random.default_rng(seed)
        array = make_array(function, param, dims, data, random)
        if param.role is Role.OUTPUT:
            array = np.full_like(array, np.nan if array.dtype.kind in "fcV" else 0)
        made[name] = placed(array, layout).value
    return made
