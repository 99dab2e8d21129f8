"""Points and tiles: which loops of a schedule stand for loops of the original.

A *point* is an axis whose value follows from the iteration of the original. A *tile* is
an axis whose step covers the range of a loop inside, so that its values grow with that
one's. Loops of strips, skewed, and tiles of tiles are all of these two kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

from ..ir.affine import Affine, constant, name
from ..ir.inequalities import is_linear, known_residue, unfloored
from ..ir.nodes import Alloc, For, If
from ..ir.walk import walk_nest
from .model import Model, Occurrence
from .original import Original, coordinate_counters
from .sets import System

Pair = tuple[str, str]
"""A point of one occurrence and the one of another that it is compared with."""


@dataclass(frozen=True)
class Points:
    """The points of every occurrence, and how tiles grow with them."""

    original: Original
    model: Model
    within: dict[tuple[str, Affine, int], bool] = field(default_factory=dict)
    counted: dict[tuple[str, str], dict[str, Affine]] = field(default_factory=dict)
    bounds: dict[int, tuple[Affine, ...]] = field(default_factory=dict)

    @cached_property
    def sizes(self) -> dict[str, Affine]:
        """The dims in counters."""
        counters, params = self.model.counters, self.model.params
        return {dim: counters[dim] for dim in params if dim in counters}

    @cached_property
    def paths(self) -> dict[str, tuple[For | If, ...]]:
        """The loops and guards around each occurrence."""
        nest = walk_nest(self.model.function.body)
        around = [path for leaf, path in nest if not isinstance(leaf, Alloc)]
        pairs = zip(self.model.occurrences, around, strict=True)
        return {occurrence.name: path for occurrence, path in pairs}

    @cached_property
    def points(self) -> dict[str, dict[str, Affine]]:
        """The axes of each occurrence that the original's iteration fixes.

        They are given over the axes of the original and the dims.
        """
        return {
            o.name: _solved(o, self.source(o), self.paths[o.name])
            for o in self.model.occurrences
            if o.statement.instance is not None
        }

    def source(self, occurrence: Occurrence) -> Occurrence:
        """Return the statement that *occurrence* stands for."""
        instance = occurrence.statement.instance
        assert instance is not None
        return self.original.statements[instance.label]

    def __getitem__(self, occurrence: Occurrence) -> dict[str, Affine]:
        """Return the points of *occurrence*, over the original axes and the dims."""
        return self.points[occurrence.name]

    def value(self, occurrence: Occurrence, axis: str, side: str) -> Affine:
        """Return the point *axis* over the columns of *side*."""
        return self[occurrence][axis].substitute(self._counters(occurrence, side))

    def columns(self, occurrence: Occurrence, side: str) -> dict[str, str]:
        """Return the columns for the original's counters, which start with *side*."""
        return {axis: f"{side}{axis}" for axis in self.source(occurrence).axes}

    def _counters(self, occurrence: Occurrence, side: str) -> dict[str, Affine]:
        """Return the dims and the original's axes over the columns of *side*."""
        source = self.source(occurrence)
        key = source.name, side
        if key not in self.counted:
            columns = self.columns(occurrence, side)
            counters = coordinate_counters(self.original.model, source, columns)
            values = dict(zip(source.axes, counters, strict=True))
            self.counted[key] = {**self.sizes, **values}
        return self.counted[key]

    def held(self, occurrence: Occurrence) -> Iterator[Affine]:
        """Yield what bounds and guards keep >= 0, over the axes and dims."""
        for node in self.paths[occurrence.name]:
            if id(node) not in self.bounds:
                forms = (form.substitute(self.sizes) for form in _held(node))
                self.bounds[id(node)] = tuple(map(unfloored, forms))
            yield from self.bounds[id(node)]

    def growing(
        self,
        first: Occurrence,
        second: Occurrence,
        axes: Pair,
        fixed: frozenset[str],
        asked: frozenset[Pair] = frozenset(),
    ) -> frozenset[Pair] | None:
        """Return points such that the first of *axes* is <= the other where they are.

        *fixed* axes are the same for both. None if there are no such points, or if
        the answer follows from that about *asked* pairs, which waits for this one.
        """
        axis, other = axes
        if axis in self[first] and other in self[second]:
            return frozenset({(axis, other)})
        if axes in asked:
            return None
        asked |= {axes}
        for inner, offset, step in self._covered(first, axis):
            for same, shift, width in self._covered(second, other):
                if (offset, step) != (shift, width):
                    continue
                found = self.growing(first, second, (inner, same), fixed, asked)
                if found is None or not self._aligned(
                    first, second, axes, offset, fixed
                ):
                    continue
                rest = self._moving(first, second, offset, fixed, asked)
                if rest is not None:
                    return found | rest
        return None

    def _aligned(
        self,
        first: Occurrence,
        second: Occurrence,
        axes: Pair,
        offset: Affine,
        fixed: frozenset[str],
    ) -> bool:
        """Whether tiles that start *offset* after both axes start at the same places.

        These may vary with axes and dims that are the same for both.
        """
        axis, other = axes
        loop, same = _loop(first, axis), _loop(second, other)
        known = fixed | set(self.model.params)
        starts = {*loop.starts, *same.starts}
        if axis == other and offset.names() | _names(starts) <= known:
            return True
        if offset.names() - known and axis != other:
            return False
        remainders = {
            known_residue(self.model.in_counters(start + offset), loop.step)
            for start in starts
        }
        return len(remainders) == 1 and _names(remainders) <= known

    def _moving(
        self,
        first: Occurrence,
        second: Occurrence,
        offset: Affine,
        fixed: frozenset[str],
        asked: frozenset[Pair],
    ) -> frozenset[Pair] | None:
        """Return the points that lower *offset*, all that varies in it does so."""
        result: frozenset[Pair] = frozenset()
        for axis in sorted(offset.names() - fixed - set(self.model.params)):
            if offset.coefficient(axis) > 0 or not is_linear(offset, axis):
                return None
            found = self.growing(first, second, (axis, axis), fixed, asked)
            if found is None:
                return None
            result |= found
        return result

    def _covered(
        self, occurrence: Occurrence, axis: str
    ) -> Iterator[tuple[str, Affine, int]]:
        """Yield loops inside that run over at most one step of *axis*, and from where.

        The distance from *axis* to their start is an affine form.
        """
        step = _loop(occurrence, axis).step
        inside = occurrence.loops[occurrence.axes.index(axis) + 1 :]
        offsets = {constant(0): True}
        for loop in inside:
            for start in loop.starts:
                offset = start - name(axis)
                if axis in offset.names():
                    continue
                spans = [stop - start for stop in loop.stops]
                if any(s.is_constant and s.constant <= step for s in spans):
                    offsets[offset] = True
                    yield loop.axis, offset, step
        points = [loop.axis for loop in inside if loop.axis in self[occurrence]]
        for inner, offset in product(points, offsets):
            distance = name(inner) - name(axis) - offset
            if self._is_within(occurrence, distance, step):
                yield inner, offset, step

    def _is_within(self, occurrence: Occurrence, distance: Affine, step: int) -> bool:
        """Whether *distance* is from 0 to below *step*, by all the bounds there are."""
        key = occurrence.name, distance, step
        if key not in self.within:
            self.within[key] = self._find_within(occurrence, distance, step)
        return self.within[key]

    def _find_within(self, occurrence: Occurrence, distance: Affine, step: int) -> bool:
        model = self.model
        for outside in (-distance - 1, distance - step):
            system = System(model.params, occurrence.axes)
            system.nonnegative(model.in_counters(outside))
            found = system.to_set(occurrence.name)
            if not found.is_disjoint(occurrence.domain):
                return False
        return True


def _loop(occurrence: Occurrence, axis: str) -> For:
    return occurrence.loops[occurrence.axes.index(axis)]


def _names(forms: Iterable[Affine]) -> set[str]:
    return {each for form in forms for each in form.names()}


def _held(node: For | If) -> Iterator[Affine]:
    """Yield what is >= 0 inside *node*."""
    match node:
        case If():
            yield from node.conditions
        case For():
            axis = name(node.axis)
            yield from (axis - start for start in node.starts)
            yield from (stop - axis - 1 for stop in node.stops)


def _solved(
    occurrence: Occurrence, source: Occurrence, path: Sequence[For | If]
) -> dict[str, Affine]:
    """Solve for the axes that are affine in those of *source*, or fixed on *path*."""
    instance = occurrence.statement.instance
    assert instance is not None
    marks = {axis: f"@{axis}" for axis in source.axes}
    equations = [
        form - name(marks[axis])
        for axis, form in zip(source.axes, instance.coordinates, strict=True)
    ]
    held = {form for node in path for form in _held(node)}
    equations += sorted((form for form in held if -form in held), key=str)
    found: dict[str, Affine] = {}
    unknown = set(occurrence.axes)
    progress = True
    while progress:
        progress = False
        for equation in equations:
            form = equation.substitute(found)
            left = form.names() & unknown
            if len(left) != 1:
                continue
            (axis,) = left
            coefficient = form.coefficient(axis)
            if abs(coefficient) != 1 or not is_linear(form, axis):
                continue
            found[axis] = name(axis) - form * coefficient
            unknown.discard(axis)
            progress = True
    original_names = {mark: name(axis) for axis, mark in marks.items()}
    return {axis: form.substitute(original_names) for axis, form in found.items()}
