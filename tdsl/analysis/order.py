"""Kept order: tensors whose accesses run in the order of the original.

Where every two accesses to one element, one of them a write, keep their order, every
read sees what it sees in the original, and no last writer need be computed. This is
what tiles of skewed loops are proved by: their many bounds cost nothing, because only
*points* are compared, the loops that stand for loops of the original. The rest are
*tiles*: a loop whose step covers the range of one inside takes values that grow with
that one's.

What is not shown here may hold all the same: then `dataflow` decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..ir.affine import Affine, name
from ..ir.inequalities import is_linear, known_residue
from ..ir.nodes import Alloc, For, If
from ..ir.walk import walk_nest
from .model import Access, Model, Occurrence
from .original import Original, coordinate_counters
from .sets import Map, Set, System, later_image, same_prefix

Pair = tuple[str, str]
"""A point of one occurrence and the one of another that it is compared with."""


def tensors_in_order(
    original: Original, model: Model, maps: dict[str, Map]
) -> frozenset[str]:
    """Return parameters whose accesses keep their order, among those easily shown.

    Each write of a parameter must be known to happen once.
    """
    uses = _uses(original, model)
    comparison = _Comparison(original, model, maps)
    return frozenset(
        tensor for tensor, users in uses.items() if comparison.keeps(tensor, users)
    )


def _uses(original: Original, model: Model) -> dict[str, list[Occurrence]]:
    """Return who touches each parameter, where all touch what the original does."""
    params = {p.tensor.name for p in model.function.params}
    users: dict[str, list[Occurrence]] = {tensor: [] for tensor in params}
    for occurrence in model.occurrences:
        touched = {occurrence.statement.tensor}
        touched |= {load.tensor for load in occurrence.loads}
        for tensor in touched & users.keys():
            users[tensor].append(occurrence)
        for tensor in _changed(original, occurrence):
            users.pop(tensor, None)
    return users


def _changed(original: Original, occurrence: Occurrence) -> Iterator[str]:
    """Yield the tensors that *occurrence* may touch elsewhere than the original."""
    statement, instance = occurrence.statement, occurrence.statement.instance
    mine = [(statement.tensor, statement.index)]
    mine += [(load.tensor, load.index) for load in occurrence.loads]
    theirs: list[tuple[str, tuple[Affine, ...]]] = []
    if instance is not None:
        source = original.statements[instance.label]
        axes = dict(zip(source.axes, instance.coordinates, strict=True))
        theirs.append((source.statement.tensor, source.statement.index))
        theirs += [(load.tensor, load.index) for load in source.loads]
        theirs = [(t, tuple(f.substitute(axes) for f in index)) for t, index in theirs]
    if len(mine) != len(theirs):
        yield from (tensor for tensor, _ in (*mine, *theirs))
        return
    for one, other in zip(mine, theirs, strict=True):
        if one != other:
            yield from (one[0], other[0])


@dataclass(frozen=True)
class _Comparison:
    """Compares the order of accesses in a schedule with that in the original."""

    original: Original
    model: Model
    maps: dict[str, Map]

    @cached_property
    def points(self) -> dict[str, dict[str, Affine]]:
        """The axes of each occurrence that the original's iteration fixes.

        They are given over the axes of the original and the dims.
        """
        found: dict[str, dict[str, Affine]] = {}
        nest = walk_nest(self.model.function.body)
        guarded = ((leaf, path) for leaf, path in nest if not isinstance(leaf, Alloc))
        for occurrence, (leaf, path) in zip(
            self.model.occurrences, guarded, strict=True
        ):
            assert leaf is occurrence.statement
            if leaf.instance is not None:
                source = self.original.statements[leaf.instance.label]
                found[occurrence.name] = _solved(occurrence, source, path)
        return found

    @cached_property
    def ranges(self) -> dict[str, Set]:
        """The iterations that each occurrence stands for, where it is not all."""
        sources = [
            self._source(o).name for o in self.model.occurrences if o.name in self.maps
        ]
        return {
            o.name: self.maps[o.name].range()
            for o in self.model.occurrences
            if o.name in self.maps and sources.count(self._source(o).name) > 1
        }

    def keeps(self, tensor: str, users: Sequence[Occurrence]) -> bool:
        """Whether accesses to *tensor* keep their order; its *users* do all of them."""
        return all(
            self._keeps_pair(first, second, tensor)
            for first in users
            for second in users
            if tensor in (first.statement.tensor, second.statement.tensor)
        )

    def _keeps_pair(self, first: Occurrence, second: Occurrence, tensor: str) -> bool:
        """Whether what *first* did before *second* originally, it does before it."""
        dependences = [
            self._in_part(dependence, first, second)
            for dependence in self._dependences(first, second, tensor)
        ]
        if not dependences:
            return True
        faults = self._faults(first, second)
        if faults is None:
            return False
        return all(
            dependence.intersect(fault).is_empty()
            for fault in faults
            for dependence in dependences
        )

    def _in_part(self, pairs: Map, first: Occurrence, second: Occurrence) -> Map:
        """Return those of *pairs* that the two occurrences stand for."""
        if first.name in self.ranges:
            pairs = pairs.intersect_domain(self.ranges[first.name])
        if second.name in self.ranges:
            pairs = pairs.intersect_range(self.ranges[second.name])
        return pairs

    def _dependences(
        self, first: Occurrence, second: Occurrence, tensor: str
    ) -> Iterator[Map]:
        """Yield the pairs of original iterations, one before the other, that share."""
        one, other = self._source(first), self._source(second)
        shared = _shared(one, other)
        for here in _accesses(one, tensor):
            for there in _accesses(other, tensor):
                if here is not one.write and there is not other.write:
                    continue
                pairs = here.relation.apply_range(there.relation.reverse())
                for level in range(shared):
                    later = later_image(same_prefix(pairs, level), level)
                    if not later.is_empty():
                        yield later
                if one.sequence < other.sequence:
                    together = same_prefix(pairs, shared)
                    if not together.is_empty():
                        yield together

    def _source(self, occurrence: Occurrence) -> Occurrence:
        instance = occurrence.statement.instance
        assert instance is not None
        return self.original.statements[instance.label]

    def _faults(self, first: Occurrence, second: Occurrence) -> list[Map] | None:
        """Return pairs of iterations that may run in the other order, *second* first.

        None if there is an axis whose values are not understood.
        """
        shared = _shared(first, second)
        faults: list[Map] = []
        equal: list[str] = []
        mine, theirs = self.points[first.name], self.points[second.name]
        for level in range(shared):
            axis = first.axes[level]
            outer = frozenset(first.axes[:level])
            pairs = self._growing(first, second, axis, axis, outer)
            if pairs is None:
                return None
            for pair in sorted(pairs):
                faults.append(self._later(first, second, pair, equal))
            if axis in mine and axis in theirs:
                equal.append(axis)
        if first is not second and first.sequence > second.sequence:
            faults.append(self._later(first, second, None, equal))
        return faults

    def _later(
        self,
        first: Occurrence,
        second: Occurrence,
        pair: Pair | None,
        equal: Sequence[str],
    ) -> Map:
        """Return the pairs whose first iteration is later in *pair*, or just equal."""
        one, other = self._source(first), self._source(second)
        before = {axis: f"<{axis}" for axis in one.axes}
        after = {axis: f">{axis}" for axis in other.axes}
        model = self.original.model
        system = System(model.params, [*before.values()], [*after.values()])

        def value(occurrence: Occurrence, axis: str) -> Affine:
            source, columns = (one, before) if occurrence is first else (other, after)
            return self._value(occurrence, axis, source, columns)

        for axis in equal:
            here = self._value(first, axis, one, before)
            system.zero(here - self._value(second, axis, other, after))
        if pair is not None:
            here = self._value(first, pair[0], one, before)
            there = self._value(second, pair[1], other, after)
            system.nonnegative(here - there - 1)
        return system.to_map(one.name, other.name)

    def _value(
        self,
        occurrence: Occurrence,
        axis: str,
        source: Occurrence,
        columns: dict[str, str],
    ) -> Affine:
        model = self.original.model
        counters = coordinate_counters(model, source, columns)
        values = dict(zip(source.axes, counters, strict=True))
        form = self.points[occurrence.name][axis]
        sizes = {n: v for n, v in model.counters.items() if n in model.params}
        return form.substitute({**sizes, **values})

    def _growing(
        self,
        first: Occurrence,
        second: Occurrence,
        axis: str,
        other: str,
        fixed: frozenset[str],
    ) -> frozenset[Pair] | None:
        """Return points such that *axis* is <= *other* where the points are.

        *fixed* axes are the same for both. None if there are no such points.
        """
        if axis in self.points[first.name] and other in self.points[second.name]:
            return frozenset({(axis, other)})
        for inner, offset, step in self._covered(first, axis):
            for same, shift, width in self._covered(second, other):
                if (offset, step) != (shift, width):
                    continue
                found = self._growing(first, second, inner, same, fixed)
                if found is None or not self._aligned(
                    first, second, axis, other, offset, fixed
                ):
                    continue
                rest = self._moving(first, second, offset, fixed)
                if rest is not None:
                    return found | rest
        return None

    def _aligned(
        self,
        first: Occurrence,
        second: Occurrence,
        axis: str,
        other: str,
        offset: Affine,
        fixed: frozenset[str],
    ) -> bool:
        """Whether tiles that start *offset* after both axes start at the same places.

        These may vary with axes and dims that are the same for both.
        """
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
    ) -> frozenset[Pair] | None:
        """Return the points that lower *offset*, all that varies in it does so."""
        result: frozenset[Pair] = frozenset()
        for axis in sorted(offset.names() - fixed - set(self.model.params)):
            if offset.coefficient(axis) > 0 or not is_linear(offset, axis):
                return None
            found = self._growing(first, second, axis, axis, fixed)
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
        for loop in occurrence.loops[occurrence.axes.index(axis) + 1 :]:
            for start in loop.starts:
                offset = start - name(axis)
                if axis in offset.names():
                    continue
                spans = [stop - start for stop in loop.stops]
                if any(s.is_constant and s.constant <= step for s in spans):
                    yield loop.axis, offset, step


def _shared(first: Occurrence, second: Occurrence) -> int:
    """Return how many loops the two have in common."""
    count = 0
    for loop, same in zip(first.path, second.path, strict=False):
        if loop != same:
            break
        count += 1
    return count


def _loop(occurrence: Occurrence, axis: str) -> For:
    return occurrence.loops[occurrence.axes.index(axis)]


def _names(forms: Iterable[Affine]) -> set[str]:
    return {each for form in forms for each in form.names()}


def _accesses(occurrence: Occurrence, tensor: str) -> list[Access]:
    """Return the accesses of *tensor*, each element's once: the write first."""
    found: list[Access] = []
    for access in (occurrence.write, *occurrence.reads):
        known = (each.index for each in found)
        if access.tensor == tensor and access.index not in known:
            found.append(access)
    return found


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
