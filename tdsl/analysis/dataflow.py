"""Same dataflow: every read sees what it sees in the original.

Staging copies (statements without an instance that move an element) are seen through,
so packing, register tiles and double buffers compare like direct reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .model import Model
from .sets import (
    Map,
    UnionMap,
    UnsupportedError,
    basic_pieces,
    domain_name,
    parted,
    pieces,
    range_name,
    single,
    union,
)

NAME = "same dataflow"
_STEPS = 100


@dataclass(frozen=True)
class Dataflow:
    """The dataflow of a scheduled function, seen through its staging copies.

    *flow* leads from reads ("occurrence rN", "occurrence acc", "out tensor") to
    occurrences and entry values, *actual* on to original iterations; *expected* is
    what *actual* has to be, and *nearest* the same before the copies of the kernel are
    seen through. Reads of *settled* tensors, which are known to see what they must,
    are in none of them.
    """

    model: Model
    maps: dict[str, Map]
    flow: UnionMap
    copies: UnionMap
    actual: UnionMap
    expected: UnionMap
    settled: frozenset[str]
    nearest: UnionMap

    @cached_property
    def in_order(self) -> bool:
        """Whether every read, of reductions too, sees what it sees originally."""
        # One inclusion is enough: *actual* gives a read one source, its last writer.
        return bool(self.expected.is_subset(self.actual))


def agrees(expected: UnionMap, actual: UnionMap) -> bool:
    """Whether *actual* is *expected* for all reads that *expected* is about."""
    return bool(actual.intersect_domain(expected.domain()).is_equal(expected))


def to_original(
    flow: UnionMap, maps: dict[str, Map], params: tuple[str, ...]
) -> UnionMap:
    """Name the occurrences that *flow* leads to after original iterations."""
    found: list[Map] = []
    for relation in pieces(flow):
        source = range_name(relation)
        if source.startswith("in "):
            found.append(relation)
        elif source in maps:
            found.append(relation.apply_range(maps[source]))
    return union(found, params)


def see_through(flow: UnionMap, copies: UnionMap) -> UnionMap:
    """Follow copies until none is left in the range of *flow*.

    *copies* must tell of every iteration of a copy what it copies: where it did not,
    reads would be left without a source.
    """
    names = {domain_name(piece) for piece in pieces(copies)}
    waiting, others = parted(flow, names)
    if waiting.is_empty():
        return flow
    if any(range_name(piece) in names for piece in pieces(copies)):
        copies = _settled(copies)
    return others.union(waiting.apply_range(copies))


def _settled(copies: UnionMap) -> UnionMap:
    """Follow chains of copies, whose length may depend on the sizes.

    Piece by piece: wherever a chain enters the domain of a piece, it continues where
    repeating that piece leaves its domain. Such a repetition has a closed form.
    """
    steps = [single(part) for part in basic_pieces(copies)]
    for number, step in enumerate(steps):
        domain = step.domain()
        leave = step
        if not step.intersect_range(domain).is_empty():
            repeated, exact = step.transitive_closure()
            if not exact:
                raise UnsupportedError("a chain of copies has no closed form")
            leave = repeated.subtract_range(domain)
        for other, relation in enumerate(steps):
            inside = relation.intersect_range(domain)
            if other != number and not inside.is_empty():
                rest = relation.subtract_range(domain)
                steps[other] = rest.union(inside.apply_range(leave))
        steps[number] = leave
    result = steps[0]
    for step in steps[1:]:
        result = result.union(step)
    return result


def follow(flow: UnionMap, copies: UnionMap) -> UnionMap:
    """Follow copies step by step, from single iterations."""
    through = copies.domain()
    for _ in range(_STEPS):
        waiting = flow.intersect_range(through)
        if waiting.is_empty():
            return flow
        flow = flow.subtract_range(through).union(waiting.apply_range(copies))
    raise UnsupportedError(f"a chain of copies is longer than {_STEPS}")
