"""Which dependence a refuted schedule reverses, and the loop in which it does.

A read that sees another value than in the kernel sees it because two accesses to one
element have changed places: the write that it must see and itself (a flow dependence),
itself and the write that it sees (an anti-dependence), or the two writes (an output
dependence). Where none of these holds, as for a copy of the wrong element, no order is
at fault and there is nothing to name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .certificate import DEPENDENCES, DependenceKind
from .meeting import shared_loops
from .model import Access, Model, Occurrence, Reader
from .original import Original
from .sets import (
    Map,
    UnionSet,
    fixed,
    later_image,
    pairs_between,
    pieces,
    range_name,
    same_axis,
    sample,
    sample_pair,
    set_pieces,
    single,
)
from .witness import Concrete

Run = tuple[Occurrence, Sequence[int]]
"""A statement and the counters of the loops around it."""


@dataclass(frozen=True, slots=True)
class Reversal:
    """A dependence on *tensor* whose second iteration runs before its first.

    *loop* is the one in which the two change places, None where it is the order of
    statements in the loop *inside*, or in the whole kernel. *moved* is the run of the
    write that comes too late, or too early.
    """

    kind: DependenceKind
    tensor: str
    loop: str | None
    inside: str | None
    moved: Run

    def __str__(self) -> str:
        if self.loop is not None:
            place = f"loop {self.loop}"
        else:
            within = f" in loop {self.inside}" if self.inside is not None else ""
            place = f"the order of statements{within}"
        return f"{place} reverses {DEPENDENCES[self.kind]} {self.tensor}"

    def moving(self, concrete: Concrete) -> str:
        """Return the run of the write, and when it comes, for a witness."""
        when = "late" if self.kind == "flow" else "early"
        return f"comes too {when}: {concrete.iteration(*self.moved)}"


@dataclass(frozen=True, slots=True)
class Reading:
    """One run of *reader*, at sampled sizes."""

    reader: Reader
    params: dict[str, int]
    counters: list[int]


def find_reversal(
    original: Original,
    model: Model,
    maps: dict[str, Map],
    reading: Reading,
    wanted: UnionSet,
    seen: Run | None,
) -> Reversal | None:
    """Return what keeps *reading* from the value of the iterations *wanted*, or None.

    They are of the original. *seen* is the run whose value it sees instead.
    """
    tensor = reading.reader.access.tensor
    element = _element(reading.reader.access, reading.params, reading.counters)

    def writes_it(run: Run) -> bool:
        return _element(run[0].write, reading.params, run[1]) == element

    late = _later_run(model, maps, reading, wanted)
    if late is not None and writes_it(late):
        loop, inside = parting(reading.reader, reading.counters, late)
        return Reversal("flow", tensor, loop, inside, late)
    if seen is None or seen[0].name not in maps or not writes_it(seen):
        return None
    reader = model.named(reading.reader.name)
    if reader is not None and reader.name in maps:
        run = reader, reading.counters
        if _is_before(
            *(_origin(original, maps, reading.params, r) for r in (run, seen))
        ):
            loop, inside = parting(reading.reader, reading.counters, seen)
            return Reversal("anti", tensor, loop, inside, seen)
    early = _first_run(model, maps, reading.params, wanted)
    if early is None or not writes_it(early):
        return None
    loop, inside = parting(early[0], early[1], seen)
    return Reversal("output", tensor, loop, inside, early)


def _element(
    access: Access, params: dict[str, int], counters: Sequence[int]
) -> tuple[str, list[int]]:
    """Return the element that *access* touches, and which private copy of it."""
    here = fixed(access.domain, params, list(counters))
    (places,) = set_pieces(single(access.relation).intersect_domain(here).range())
    return access.tensor, sample(places)[1]


def _later_run(
    model: Model, maps: dict[str, Map], reading: Reading, wanted: UnionSet
) -> Run | None:
    """Return a run that stands for one of *wanted* and comes after *reading*."""
    reader = reading.reader
    here = fixed(reader.domain, reading.params, reading.counters)
    for occurrence in model.occurrences:
        if occurrence.name not in maps:
            continue
        runs = single(maps[occurrence.name]).intersect_range(wanted).domain()
        for pairs in pieces(pairs_between(here, runs)):
            for level in range(shared_loops(reader, occurrence)):
                later = later_image(pairs, level)
                if not later.is_empty():
                    return occurrence, sample_pair(later)[2]
                pairs = same_axis(pairs, level)
            if occurrence.sequence > reader.sequence and not pairs.is_empty():
                return occurrence, sample_pair(pairs)[2]
    return None


def _first_run(
    model: Model, maps: dict[str, Map], params: dict[str, int], wanted: UnionSet
) -> Run | None:
    """Return a run that stands for one of *wanted*."""
    for occurrence in model.occurrences:
        if occurrence.name not in maps:
            continue
        runs = single(maps[occurrence.name]).intersect_range(wanted).domain()
        for points in set_pieces(runs):
            here = fixed(points, params, [])
            for found in set_pieces(here):
                if not found.is_empty():
                    return occurrence, sample(found)[1]
    return None


def _origin(
    original: Original, maps: dict[str, Map], params: dict[str, int], run: Run
) -> Run:
    """Return the iteration of the original that *run* stands for."""
    occurrence, counters = run
    relation = maps[occurrence.name]
    here = fixed(relation.domain(), params, list(counters)[: len(occurrence.axes)])
    (image,) = pieces(single(relation).intersect_domain(here))
    _, _, values = sample_pair(image)
    return original.statements[range_name(image)], values


def _is_before(first: Run, second: Run) -> bool:
    (one, here), (other, there) = first, second
    shared = shared_loops(one, other)
    mine, theirs = list(here)[:shared], list(there)[:shared]
    return (mine, one.sequence) < (theirs, other.sequence)


def parting(
    reader: Reader | Occurrence, counters: Sequence[int], run: Run
) -> tuple[str | None, str | None]:
    """Return the loop in which the two part; if none, the innermost they share."""
    occurrence, others = run
    shared = shared_loops(reader, occurrence)
    for level in range(shared):
        if counters[level] != others[level]:
            return occurrence.axes[level], None
    return None, occurrence.axes[shared - 1] if shared else None
