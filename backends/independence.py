"""Whether the iterations of a loop touch different elements, so may run at once.

For two accesses of one tensor, at least one of them a write, the subscripts at
iterations x and x + d must differ in some dimension for every d != 0. The difference
of the two subscripts is an affine form; where the interval of its values excludes 0,
they differ. Everything else is answered "no", which only costs time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..ir.affine import Affine, name
from ..ir.nodes import (
    Alloc,
    For,
    Gather,
    Index,
    Load,
    Reduce,
    ReduceOp,
    Scatter,
    Store,
    Write,
)
from ..ir.walk import reads, walk
from .grid import Grid

Interval = tuple[int, int]
Names = Mapping[str, Affine]

_DISTANCE = "distance between iterations"


@dataclass(frozen=True, slots=True)
class _Access:
    tensor: str
    index: tuple[Affine | None, ...]  # None where data decides
    writes: bool
    op: ReduceOp | None
    source: Write


@dataclass(frozen=True, slots=True)
class Question:
    """What decides for one loop: the loops inside, and for each pair of accesses the
    differences of their subscripts. *private* locals belong to an iteration. *ordered*
    statements keep their order only if no other axis runs at once.
    """

    inner: tuple[For, ...]
    pairs: tuple[tuple[Affine, ...], ...]
    private: tuple[Alloc, ...]
    ordered: bool


def question(loop: For) -> Question:
    """Return what `is_independent` has to decide for *loop*, whatever the sizes."""
    inner = tuple(
        node for node in walk(loop) if isinstance(node, For) and node is not loop
    )
    private = tuple(node for node in walk(loop) if isinstance(node, Alloc))
    names = {alloc.tensor.name for alloc in private}
    accesses = [each for each in _accesses(loop) if each.tensor not in names]
    last = _overwriting(loop, accesses)
    away = {axis.axis: name(_primed(axis.axis)) for axis in (loop, *inner)}
    other = {**away, loop.axis: name(loop.axis) + name(_DISTANCE)}
    differences = {
        _differences(write, access, other, away)
        for write in accesses
        for access in accesses
        if write.writes
        and write.tensor == access.tensor
        and not _commute(write, access)
        and write.source not in last
    }
    pairs = tuple(forms for forms in differences if forms is not None)
    return Question(inner, pairs, private, bool(last))


def _overwriting(loop: For, accesses: list[_Access]) -> list[Write]:
    """Return the scatters of which the last iteration counts, if that is all to know.

    They stand in *loop* itself, and nothing else in it uses their tensor.
    """
    return [
        scatter
        for scatter in loop.body.statements
        if isinstance(scatter, Scatter)
        and scatter.op is None
        and sum(access.tensor == scatter.tensor for access in accesses) == 1
    ]


def is_independent(question: Question, loop: For, grid: Grid, span: Interval) -> bool:
    """Whether *loop*, running over *span* inside *grid*, may run all at once."""
    if question.ordered and grid.axes:
        return False
    if not question.pairs:
        return True
    ranges = {name: (value, value) for name, value in grid.scalars.items()}
    ranges |= {axis.name: (axis.start, axis.last) for axis in grid.axes}
    ranges[loop.axis] = ranges[_primed(loop.axis)] = span
    for inner in question.inner:
        hull = _loop_range(inner, ranges)
        ranges[inner.axis] = ranges[_primed(inner.axis)] = hull
    furthest = span[1] - span[0]
    for distance in ((loop.step, furthest), (-furthest, -loop.step)):
        ranges[_DISTANCE] = distance
        if not all(_differ(pair, ranges) for pair in question.pairs):
            return False
    return True


def _primed(axis: str) -> str:
    return f"{axis} elsewhere"


def _accesses(loop: For) -> Iterator[_Access]:
    for node in walk(loop):
        if isinstance(node, Store | Reduce | Scatter):
            op = None if isinstance(node, Store) else node.op
            yield _Access(node.tensor, _forms(node), True, op, node)
            for read in reads(node):
                yield _Access(read.tensor, _forms(read), False, None, node)


def _forms(access: Write | Load | Gather) -> tuple[Affine | None, ...]:
    if isinstance(access, Store | Reduce | Load):
        return access.index
    return tuple(
        part.value if isinstance(part, Index) else None for part in access.index
    )


def _commute(a: _Access, b: _Access) -> bool:
    return a.op is not None and a.op is b.op


def _differences(
    write: _Access, access: _Access, other: Names, away: Names
) -> tuple[Affine, ...] | None:
    """Return the subscript differences, or None if one is nonzero at any distance.

    The second iteration is described twice: by its distance (*other*), and by its
    own place in the loop's range (*away*).
    """
    pairs = [
        (a, b)
        for a, b in zip(write.index, access.index, strict=True)
        if a is not None and b is not None
    ]
    forms = tuple(a - b.substitute(n) for n in (other, away) for a, b in pairs)
    certain = any(
        form.names() == {_DISTANCE}
        and not form.constant
        and form.coefficient(_DISTANCE)
        for form in forms
    )
    return None if certain else forms


def _differ(forms: tuple[Affine, ...], ranges: Mapping[str, Interval]) -> bool:
    return any(
        low > 0 or high < 0 for low, high in (interval(f, ranges) for f in forms)
    )


def _loop_range(loop: For, ranges: Mapping[str, Interval]) -> Interval:
    start = max(interval(form, ranges)[0] for form in loop.starts)
    stop = min(interval(form, ranges)[1] for form in loop.stops)
    return start, max(stop - 1, start)


def interval(form: Affine, ranges: Mapping[str, Interval]) -> Interval:
    """Return bounds of *form*, given those of each name."""
    low = high = form.constant
    for atom, coefficient in form.terms:
        if isinstance(atom, str):
            ends = ranges[atom]
        else:
            first, last = interval(atom.numerator, ranges)
            ends = (first // atom.divisor, last // atom.divisor)
        scaled = sorted(coefficient * end for end in ends)
        low, high = low + scaled[0], high + scaled[1]
    return low, high
