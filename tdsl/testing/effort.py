"""How many examples are worth their time, where not even the smallest are quick."""

from __future__ import annotations

from ..analysis.cost import cost
from ..errors import ArgumentError
from ..kernel import Kernel
from .case import draw_case
from .quick import draw_quick_case

EXAMPLES = 100
"""How many examples a check has, unless told otherwise."""

FEWEST = 6
MOST_WORK = 4e9
"""What the examples may take together, unless they are few: about 20 seconds."""

MOST_WORK_OF_ONE = 2e10
"""What one may take: a minute or two."""

WORK_PER_BYTE = 10
"""An operation of a contraction takes that much less than the move of a byte does."""

_DRAWS = 8


def affordable(kernel: Kernel, seed: int) -> tuple[int, str]:
    """Return how many examples of *kernel* to run, and why not all `EXAMPLES`.

    Raise ArgumentError where one alone would take very long.
    """
    if draw_quick_case(kernel.function, seed, kernel.numerics) is not None:
        return EXAMPLES, ""
    work = smallest_work(kernel, seed)
    if work > MOST_WORK_OF_ONE:
        raise ArgumentError(
            f"{kernel.name}: an example takes {_size(work)} even at the smallest "
            "sizes: make large extents dims (tdsl.dim), so that small examples exist, "
            "or compare chosen sizes with tdsl.testing.run_case"
        )
    count = max(FEWEST, int(MOST_WORK / max(work, 1.0)))
    if count >= EXAMPLES:
        return EXAMPLES, ""
    return count, (
        f"{count} examples, not {EXAMPLES}, as one takes {_size(work)} at the "
        "smallest sizes; say examples= (--examples) for more, or make large extents "
        "dims (tdsl.dim), of which small examples are quick"
    )


def smallest_work(kernel: Kernel, seed: int) -> float:
    """Return how much work the smallest of a few examples is."""
    function = kernel.function
    found = []
    for number in range(seed, seed + _DRAWS):
        drawn = draw_case(function, number, kernel.numerics)
        spent = cost(function, drawn.dims)
        found.append(spent.flops + WORK_PER_BYTE * spent.traffic)
        if not function.dims:
            break
    return float(min(found))


def _size(work: float) -> str:
    return f"{work / 1e9:.2g} billion operations"
