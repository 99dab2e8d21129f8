"""No overflow: affine forms stay in `i64`, which machine code computes them in.

The other checks are about whole numbers, so what they prove holds for machine code only
where none of these is too large. Intervals decide that: ordinary forms are far from it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.affine import Affine
from ..ir.dtypes import i64
from ..ir.nodes import Alloc, Block, For, Function, If, Index, Load, Scatter, Span, Stmt
from ..ir.ranges import (
    Range,
    Ranges,
    exact_range,
    range_of_axis,
    range_of_dim,
    range_of_dtype,
)
from ..ir.walk import walk
from .certificate import KERNEL, Check

NAME = "no overflow"
NUMBERS = range_of_dtype(i64)
PLACES = Range(-(2**62), 2**62)
"""What bounds, guards and subscripts may reach: lowering adds a tile to them."""

Use = tuple[Affine, Range, Span | None]
"""A form, what it may reach, and where it stands."""


def check_overflow(function: Function, name: str = NAME) -> Check:
    """Show that no bound, guard, subscript or number of *function* leaves `i64`."""
    dims = {dim.name: range_of_dim(dim) for dim in function.dims}
    for form, span in _too_large(function.body, dims):
        if name == KERNEL:
            reason = f"computes `{form}`, which may not fit in i64"
            return Check(name, "refuted", reason, span=span)
        return Check(name, "unknown", f"{form} may not fit in i64", span=span)
    return Check(name, "proved")


def _too_large(block: Block, ranges: Ranges) -> Iterator[tuple[Affine, Span | None]]:
    for statement in block.statements:
        for form, allowed, span in _forms(statement):
            reach = exact_range(form, ranges)
            if reach is None or reach | allowed != allowed:
                yield form, span
        match statement:
            case For():
                yield from _too_large(statement.body, _inside(statement, ranges))
            case If():
                yield from _too_large(statement.body, ranges)


def _inside(loop: For, ranges: Ranges) -> Ranges:
    return {**ranges, loop.axis: range_of_axis(loop.starts, loop.stops, ranges)}


def _forms(statement: Stmt) -> Iterator[Use]:
    """Yield the forms of *statement*, but for those of the statements inside."""
    forms: tuple[Affine, ...]
    match statement:
        case For():
            ends = (stop + statement.step for stop in statement.stops)
            forms = (*statement.starts, *ends)
        case If():
            forms = statement.conditions
        case Alloc():
            forms = statement.tensor.shape
        case Scatter():
            forms = ()
            yield from _values(statement)
        case _:
            forms = statement.index
            yield from _values(statement)
    yield from ((form, PLACES, statement.span) for form in forms)


def _values(statement: Stmt) -> Iterator[Use]:
    """Yield the subscripts and numbers in the expressions of a leaf."""
    for node in walk(statement):
        if isinstance(node, Load):
            yield from ((form, PLACES, node.span) for form in node.index)
        elif isinstance(node, Index):
            yield node.value, NUMBERS, node.span
