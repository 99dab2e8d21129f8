"""Value-based dataflow: which write a read sees.

The writes that could reach a read are tried from the latest to the earliest. A *slot*
is a stretch of the program between two events at one nesting level: the statements
before the read in the same block, or the earlier iterations of a loop around it. Only
reads that no later slot has served go on to the next, so that most reads need one
small lexicographic maximum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .meeting import shared_loops
from .model import Model, Occurrence, Reader
from .sets import (
    Map,
    Set,
    earlier_image,
    later_coordinate,
    nothing_of,
    same_coordinate,
    same_prefix,
)


@dataclass(frozen=True, slots=True)
class Sources:
    """The last writers of a read, and the iterations that read nothing written."""

    writers: tuple[Map, ...]
    unwritten: Set


@dataclass(frozen=True, slots=True)
class _Slot:
    """Writers that may run between two events; *level* axes agree with the reader's.

    With *carried*, the next axis is smaller than the reader's.
    """

    level: int
    carried: bool
    writers: list[Occurrence]


def last_writers(
    model: Model, reader: Reader, writers: Sequence[Occurrence]
) -> Sources:
    """Return, for each iteration of *reader*, the last of *writers* before it.

    The *writers* are given in text order. A read has one source at most.
    """
    remaining = reader.domain
    found: list[Map] = []
    relations: dict[str, Map] = {}
    for slot in _slots(reader, writers, len(model.storage[reader.access.tensor].axes)):
        if _serves_all(reader, slot):
            (writer,) = slot.writers
            reverse = writer.write.relation.reverse()
            relation = reader.access.relation.apply_range(reverse)
            relation = same_prefix(relation, slot.level).intersect_domain(remaining)
            return Sources((*found, relation), nothing_of(remaining))
        candidates: list[tuple[Occurrence, Map]] = []
        for writer in slot.writers:
            if writer.name not in relations:
                reverse = writer.write.relation.reverse()
                relation = reader.access.relation.apply_range(reverse)
                relations[writer.name] = relation.remove_redundancies()
            relation = same_prefix(relations[writer.name], slot.level)
            if slot.carried:
                relation = earlier_image(relation, slot.level)
            if found:  # before, all of its domain remains
                relation = relation.intersect_domain(remaining)
            if not relation.is_empty():
                candidates.append((writer, relation))
        if not candidates:
            continue
        served, remaining = _latest(slot, candidates, remaining)
        found += served
        if remaining.is_empty():
            break
    return Sources(tuple(found), remaining)


def _slots(
    reader: Reader, writers: Sequence[Occurrence], private: int
) -> Iterator[_Slot]:
    """Yield the slots from the latest to the earliest.

    Iterations that differ in one of the *private* outer axes use other storage.
    """
    shared = {writer.name: shared_loops(reader, writer) for writer in writers}
    for level in range(len(reader.path), private - 1, -1):
        here = _head(reader, level)
        groups: dict[int, list[Occurrence]] = {}
        for writer in writers:
            if shared[writer.name] == level and _head(writer, level) < here:
                groups.setdefault(_head(writer, level), []).append(writer)
        for _, group in sorted(groups.items(), reverse=True):
            yield _Slot(level, False, group)
        around = [writer for writer in writers if shared[writer.name] >= level]
        if level > private and around:
            yield _Slot(level - 1, True, around)


def _serves_all(reader: Reader, slot: _Slot) -> bool:
    """Whether each iteration of *reader* reads what the same one of the slot writes."""
    if slot.carried or len(slot.writers) != 1:
        return False
    (writer,) = slot.writers
    return (
        slot.level == len(reader.path) == len(writer.path)
        and writer.cases == reader.cases
        and writer.write.index == reader.access.index
    )


def _head(place: Reader | Occurrence, level: int) -> int:
    """Return the number of the statement of the *level*-deep block it stands in."""
    return place.path[level] if level < len(place.path) else place.sequence


def _latest(
    slot: _Slot, candidates: list[tuple[Occurrence, Map]], remaining: Set
) -> tuple[list[Map], Set]:
    """Return the latest candidate for each iteration, and the iterations without.

    One candidate after the other, from the end of the text. Most of those before it in
    the text run before it too, and serve only what is not served yet: one small
    lexicographic maximum each, where that over all of them has many cases.
    """
    if len(candidates) == 1:  # which has some of what remains, and most slots have one
        last, remaining = candidates[0][1].partial_lexmax(remaining)
        return [last], remaining
    served: list[tuple[Occurrence, Map]] = []
    for writer, relation in reversed(candidates):
        wanted = remaining
        for number, (other, last) in enumerate(served):
            late = _overtaken(slot.level, (other, last), (writer, relation))
            if late is not None:
                served[number] = other, last.subtract_domain(late)
                wanted = wanted.union(late)
        if not wanted.is_empty():
            last, remaining = relation.partial_lexmax(wanted)
            served.append((writer, last))
    return [last for _, last in served if not last.is_empty()], remaining


def _overtaken(
    level: int, found: tuple[Occurrence, Map], more: tuple[Occurrence, Map]
) -> Set | None:
    """Return the reads for which *more* has a later writer than *found*, if any.

    Both agree with the reads in *level* axes, and *more* comes first in the text: it
    can only be later in a later iteration of a loop around both.
    """
    (first, last), (second, relation) = found, more
    pairs = last.flat_range_product(relation)
    rank = len(first.path)
    result: Set | None = None
    for position in range(level, shared_loops(first, second)):
        late = later_coordinate(pairs, position, rank + position)
        pairs = same_coordinate(pairs, position, rank + position)
        if not late.is_empty():
            reads = late.domain()
            result = reads if result is None else result.union(reads)
    return result
