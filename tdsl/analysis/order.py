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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..ir.affine import Affine, name
from ..ir.walk import chosen_accesses, loads
from .meeting import Touch, pairs_in_order, shared_loops
from .model import Access, Model, Occurrence
from .original import Original
from .points import Pair, Points
from .sets import (
    Map,
    Set,
    System,
    earlier_image,
    renamed,
    renamed_range,
    same_axis,
    same_prefix,
    without_images,
)

_FIRST, _SECOND = "first", "second"
_BEFORE, _AFTER = "<", ">"  # which no name of an axis starts with

Site = tuple[tuple[int, ...], tuple[int, ...], tuple[Affine, ...]]
"""The place of an occurrence, that of what it stands for, and at which iteration."""


def tensors_in_order(
    original: Original, model: Model, maps: dict[str, Map]
) -> frozenset[str]:
    """Return parameters whose accesses keep their order, among those easily shown.

    Each write of a parameter must be known to happen once. There are none where data
    choose elements: how they compare with others is for the dataflow.
    """
    functions = original.model.function, model.function
    if any(True for each in functions for _ in chosen_accesses(each)):
        return frozenset()
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
    mine += [(load.tensor, load.index) for load in loads(statement.value)]
    theirs: list[tuple[str, tuple[Affine, ...]]] = []
    if instance is not None:
        source = original.statements[instance.label]
        axes = dict(zip(source.axes, instance.coordinates, strict=True))
        theirs.append((source.statement.tensor, source.statement.index))
        theirs += [(r.tensor, r.index) for r in loads(source.statement.value)]
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
    _faults: dict[tuple[Site, Site], list[Map] | None] = field(default_factory=dict)
    _ties: dict[tuple[Site, Site], Map] = field(default_factory=dict)
    _shares: dict[tuple[str, str, str], list[Map]] = field(default_factory=dict)

    @cached_property
    def points(self) -> Points:
        """What the axes of the schedule mean."""
        return Points(self.original, self.model)

    @cached_property
    def ranges(self) -> dict[str, Set]:
        """The iterations that each occurrence stands for, where it is not all."""
        parts = [o for o in self.model.occurrences if o.name in self.maps]
        sources = [self.points.source(o).name for o in parts]
        return {
            o.name: self.maps[o.name].range()
            for o, source in zip(parts, sources, strict=True)
            if sources.count(source) > 1
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
        dependences = self._dependences(first, second, tensor)
        if not dependences:
            return True
        sites = self._site(first), self._site(second)
        if sites not in self._faults:
            self._faults[sites] = self._find_faults(first, second)
        faults = self._faults[sites]
        sure = faults is not None and all(
            dependence.is_disjoint(fault)
            or self._in_part(dependence, first, second).is_disjoint(fault)
            for fault in faults
            for dependence in dependences
        )
        start = shared_loops(first, second) if sure else 0
        if sure:
            if first.sequence <= second.sequence:
                return True
            if sites not in self._ties:
                self._ties[sites] = self._together(first, second)
            tie = self._ties[sites]
            dependences = [each for each in dependences if not each.is_disjoint(tie)]
        return all(self._is_kept(each, first, second, start) for each in dependences)

    def _site(self, occurrence: Occurrence) -> Site:
        instance = occurrence.statement.instance
        assert instance is not None
        around = tuple(map(id, self.points.paths[occurrence.name]))
        return around, self.points.source(occurrence).path, instance.coordinates

    def _is_kept(
        self, pairs: Map, first: Occurrence, second: Occurrence, start: int
    ) -> bool:
        """Whether none of *pairs* runs in the other order: exact, but slow.

        Axes before *start* are known to be in order.
        """
        pairs = self._in_part(pairs, first, second)
        runs = renamed_range(self.maps[first.name], _FIRST)
        back = renamed(self.maps[second.name].reverse(), _SECOND)
        runs = runs.apply_range(pairs).apply_range(back)
        runs = same_prefix(runs, start)
        for level in range(start, shared_loops(first, second)):
            if not earlier_image(runs, level).is_empty():
                return False
            runs = same_axis(runs, level)
        return first.sequence <= second.sequence or bool(runs.is_empty())

    def _dependences(
        self, first: Occurrence, second: Occurrence, tensor: str
    ) -> list[Map]:
        """Return the pairs of original iterations that share an element, in order."""
        one, other = self.points.source(first), self.points.source(second)
        key = one.name, other.name, tensor
        if key not in self._shares:
            self._shares[key] = [
                renamed_range(renamed(pairs, _FIRST), _SECOND)
                for pairs in _sharing(one, other, tensor)
            ]
        return self._shares[key]

    def _in_part(self, pairs: Map, first: Occurrence, second: Occurrence) -> Map:
        """Return those of *pairs* that *first* and *second* stand for."""
        if first.name in self.ranges:
            mine = self.ranges[first.name].set_tuple_name(_FIRST)
            pairs = pairs.intersect_domain(mine)
        if second.name in self.ranges:
            theirs = self.ranges[second.name].set_tuple_name(_SECOND)
            pairs = pairs.intersect_range(theirs)
        return pairs

    def _find_faults(self, first: Occurrence, second: Occurrence) -> list[Map] | None:
        """Return pairs of iterations that loops may run in the other order.

        None if there is an axis whose values are not understood.
        """
        faults: list[Map] = []
        equal: list[str] = []
        mine, theirs = self.points[first], self.points[second]
        for level in range(shared_loops(first, second)):
            axis = first.axes[level]
            outer = frozenset(first.axes[:level])
            pairs = self.points.growing(first, second, (axis, axis), outer)
            if pairs is None:
                return None
            faults += [self._later(first, second, p, equal) for p in sorted(pairs)]
            if axis in mine and axis in theirs:
                equal.append(axis)
        return faults

    def _later(
        self, first: Occurrence, second: Occurrence, pair: Pair, equal: Sequence[str]
    ) -> Map:
        """Return the pairs whose first iteration is later in *pair*, *equal* before."""
        before = self.points.columns(first, _BEFORE)
        after = self.points.columns(second, _AFTER)
        system = System(self.model.params, [*before.values()], [*after.values()])

        def distance(one: str, other: str) -> Affine:
            here = self.points.value(first, one, _BEFORE)
            return here - self.points.value(second, other, _AFTER)

        for axis in equal:
            system.zero(distance(axis, axis))
        system.nonnegative(distance(*pair) - 1)
        return system.to_map(_FIRST, _SECOND)

    def _together(self, first: Occurrence, second: Occurrence) -> Map:
        """Return pairs whose shared loops all agree, and more: steps are ignored."""
        before = self.points.columns(first, _BEFORE)
        after = self.points.columns(second, _AFTER)
        axes = dict.fromkeys((*first.axes, *second.axes))  # the shared ones once
        images = [*after.values(), *axes]
        system = System(self.model.params, [*before.values()], images)
        for occurrence, side in ((first, _BEFORE), (second, _AFTER)):
            for axis in self.points[occurrence]:
                value = self.points.value(occurrence, axis, side)
                system.zero(name(axis) - value)
        held = (*self.points.held(first), *self.points.held(second))
        system.nonnegative(*dict.fromkeys(held))
        relation = system.to_map(_FIRST, _SECOND)
        return without_images(relation, len(after), len(axes), _SECOND)


def _sharing(one: Occurrence, other: Occurrence, tensor: str) -> Iterator[Map]:
    """Yield the pairs of iterations that share an element, the first one earlier."""
    for here in _accesses(one, tensor):
        for there in _accesses(other, tensor):
            if here is not one.write and there is not other.write:
                continue
            for level, pairs in pairs_in_order(Touch(one, here), Touch(other, there)):
                if one is not other or level < len(one.path):
                    yield pairs


def _accesses(occurrence: Occurrence, tensor: str) -> list[Access]:
    """Return the accesses of *tensor*, each element's once: the write first."""
    found: list[Access] = []
    for access in (occurrence.write, *occurrence.reads):
        known = (each.index for each in found)
        if access.tensor == tensor and access.index not in known:
            found.append(access)
    return found
