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

from ..ir.affine import Affine, constant, name
from .model import Model, Occurrence, Reader
from .sets import Map, Set, System, earlier_image, nothing_of, same_prefix


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
    """Return, for each iteration of *reader*, the last of *writers* before it."""
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
                relations[writer.name] = reader.access.relation.apply_range(reverse)
            relation = same_prefix(relations[writer.name], slot.level)
            if slot.carried:
                relation = earlier_image(relation, slot.level)
            relation = relation.intersect_domain(remaining)
            if not relation.is_empty():
                candidates.append((writer, relation))
        if not candidates:
            continue
        served, remaining = _latest(model, slot, candidates, remaining)
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
    shared = {writer.name: _common(reader.path, writer.path) for writer in writers}
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


def _common(path: tuple[int, ...], other: tuple[int, ...]) -> int:
    count = 0
    for a, b in zip(path, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _head(place: Reader | Occurrence, level: int) -> int:
    """Return the number of the statement of the *level*-deep block it stands in."""
    return place.path[level] if level < len(place.path) else place.sequence


def _latest(
    model: Model,
    slot: _Slot,
    candidates: list[tuple[Occurrence, Map]],
    remaining: Set,
) -> tuple[list[Map], Set]:
    """Return the latest candidate for each iteration, and the iterations without."""
    if len(candidates) == 1:
        last, rest = candidates[0][1].partial_lexmax(remaining)
        return [last], rest
    depth = max(len(writer.path) for writer, _ in candidates)
    times = [_time(model, writer, slot.level, depth) for writer, _ in candidates]
    union: Map | None = None
    for (_, relation), time in zip(candidates, times, strict=True):
        timed = relation.apply_range(time)
        union = timed if union is None else union.union(timed)
    assert union is not None
    last, rest = union.partial_lexmax(remaining)
    served = [  # times leave out the shared outer axes, which the candidates fix
        last.apply_range(time.reverse()).intersect(relation)
        for (_, relation), time in zip(candidates, times, strict=True)
    ]
    return [relation for relation in served if not relation.is_empty()], rest


def _time(model: Model, writer: Occurrence, level: int, depth: int) -> Map:
    """Return the map from *writer*'s axes to its time inside the *level*-deep block."""
    axes = writer.axes
    moments: list[Affine] = []
    for number, axis in zip(writer.path[level:], axes[level:], strict=True):
        moments += [constant(number), name(axis)]
    moments.append(constant(writer.sequence))
    moments += [constant(0)] * (2 * (depth - level) + 1 - len(moments))
    columns = [f"%{position}" for position in range(len(moments))]
    system = System(model.params, axes, columns)
    for column, moment in zip(columns, moments, strict=True):
        system.equal(column, moment)
    return system.to_map(writer.name, "").intersect_domain(writer.domain)
