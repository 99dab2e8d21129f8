"""Cases that the reference interpreter runs in a fraction of a second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ..analysis.cost import cost
from ..errors import ArgumentError
from ..ir.nodes import Function
from ..ir.numerics import Numerics
from .case import Case, Layout, draw_case

LARGEST_PRODUCT = 600
"""What the product of all dims may be."""

MOST_WORK = 8000
"""How many operations, and 8 bytes of arguments, a run may take."""

_ATTEMPTS = 10


def is_quick(function: Function, dims: Mapping[str, int]) -> bool:
    """Whether the interpreter takes little time for these sizes."""
    if prod(dims.values()) > LARGEST_PRODUCT:
        return False
    found = cost(function, dims)
    return found.flops + found.traffic // 8 <= MOST_WORK


def draw_quick_case(
    function: Function,
    seed: int,
    numerics: Numerics,
    *,
    layout: Layout | None = None,
    near: Sequence[int] = (),
) -> Case | None:
    """Return a random case for the interpreter, None where a few draws give none."""
    for attempt in range(_ATTEMPTS):
        try:
            case = draw_case(
                function,
                seed + 100_003 * attempt,
                numerics,
                layout=layout,
                near=near,
                largest=LARGEST_PRODUCT,
            )
        except ArgumentError:  # there are only larger sizes
            return None
        if is_quick(function, case.dims):
            return case
    return None
