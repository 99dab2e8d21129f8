"""Same dataflow: every read sees what it sees in the original.

Staging copies (statements without an instance that move an element) are seen through,
so packing, register tiles and double buffers compare like direct reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ..ir.affine import Affine
from ..ir.nodes import Reduce
from ..ir.walk import chosen_by_data
from .certificate import Check
from .flow import last_writers
from .instances import instance_map
from .matching import Iteration, Matcher, MismatchError, Pairing
from .model import Model, Occurrence, Reader, all_reads, entry_values
from .original import Original
from .reversal import Reading, Reversal, Run, find_reversal
from .sets import (
    IslError,
    Map,
    Set,
    System,
    UnionMap,
    UnionSet,
    UnsupportedError,
    basic_pieces,
    domain_name,
    fixed,
    parted,
    pieces,
    range_name,
    renamed,
    renamed_range,
    renamed_set,
    sample,
    sample_pair,
    single,
    union,
    with_identity,
)
from .witness import Concrete, element_text, refute_unwritten, statement_text

NAME = "same dataflow"
_EXAMPLES = 8
_STEPS = 100


class _UnwrittenError(Exception):
    def __init__(self, label: str, reader: Reader, domain: Set) -> None:
        super().__init__(label)
        self.label, self.reader, self.domain = label, reader, domain


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


def trace_dataflow(
    original: Original,
    model: Model,
    maps: dict[str, Map],
    settled: frozenset[str] = frozenset(),
) -> Dataflow | Check:
    """Compute both sides of the comparison, or say why expressions do not match.

    Reads of *settled* tensors are left out, but for those of inlined producers.
    """
    outputs = pieces(original.final)
    expected = [m for m in outputs if domain_name(m)[len("out ") :] not in settled]
    for occurrence in model.occurrences:
        if occurrence.name not in maps:
            continue
        try:
            paired = [*_paired_reads(original, model, occurrence, maps, settled)]
        except MismatchError as error:
            return Check(NAME, "refuted", f"{statement_text(occurrence)} {error}")
        expected += pieces(union(paired, model.params).apply_range(original.flow))
    wanted = union(expected, model.params)
    try:
        flow, copies = _direct_flow(model, maps, settled)
    except _UnwrittenError as error:
        return _refute_unwritten(original, model, maps, wanted, error)
    direct = Dataflow(model, maps, flow, copies, flow, wanted, settled, wanted)
    try:
        return _seen_through(original, direct)
    except UnsupportedError:
        example = _find_example(original, direct)
        if example is None:
            raise
        return example


def _seen_through(original: Original, direct: Dataflow) -> Dataflow:
    """Return *direct* with copies followed, those of the kernel only if need be."""
    flow = see_through(direct.flow, direct.copies)
    actual = to_original(flow, direct.maps, direct.model.params)
    found = replace(direct, flow=flow, actual=actual)
    if original.copies.is_empty() or found.in_order:
        return found
    wanted = see_through(direct.expected, original.copies)
    return replace(found, actual=see_through(actual, original.copies), expected=wanted)


def _find_example(original: Original, direct: Dataflow) -> Check | None:
    """Return a refutation found by following the copies from single iterations.

    Seeing another update of a reduction, or a merge, is not always a fault.
    """
    params = direct.model.params
    actual = to_original(direct.flow, direct.maps, params)
    for relation in pieces(direct.expected.subtract(actual))[:_EXAMPLES]:
        if relation.is_empty():
            continue
        values, counters, _ = sample_pair(relation)
        point = fixed(relation.domain(), values, counters)
        flow = _follow(direct.flow.intersect_domain(point), direct.copies)
        found = _follow(to_original(flow, direct.maps, params), original.copies)
        wanted = _follow(direct.expected.intersect_domain(point), original.copies)
        updates = all(
            range_name(m) in original.families for m in pieces(found.union(wanted))
        )
        if not updates and not found.is_empty() and not agrees(wanted, found):
            return refute_dataflow(original, replace(direct, flow=flow), wanted, found)
    return None


def _follow(flow: UnionMap, copies: UnionMap) -> UnionMap:
    """Follow copies step by step, from single iterations."""
    through = copies.domain()
    for _ in range(_STEPS):
        waiting = flow.intersect_range(through)
        if waiting.is_empty():
            return flow
        flow = flow.subtract_range(through).union(waiting.apply_range(copies))
    raise UnsupportedError(f"a chain of copies is longer than {_STEPS}")


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
            if other != number:
                inside = relation.intersect_range(domain).apply_range(leave)
                steps[other] = relation.subtract_range(domain).union(inside)
        steps[number] = leave
    result = steps[0]
    for step in steps[1:]:
        result = result.union(step)
    return result


def _paired_reads(
    original: Original,
    model: Model,
    occurrence: Occurrence,
    maps: dict[str, Map],
    settled: frozenset[str],
) -> Iterator[Map]:
    instance = occurrence.statement.instance
    assert instance is not None
    statement = original.statements[instance.label]
    where = Iteration(instance.label, instance.coordinates)
    axes = dict(zip(statement.axes, instance.coordinates, strict=True))
    matcher = Matcher(original.producer)
    matcher.match(occurrence.statement.value, statement.statement.value, where, axes)
    _check_shapes(original, model, matcher.pairings)
    for form, other in matcher.equal_forms:
        if not _always_equal(model, occurrence, form, other):
            raise MismatchError(f"has the number {form} where the kernel has {other}")
    reads = [
        (f"r{p.load}", p.original, f"{p.original.label} r{p.read}", p.load)
        for p in matcher.pairings
        if occurrence.loads[p.load].tensor not in settled or not _in_place(p, where)
    ]
    written = occurrence.statement.tensor
    if isinstance(occurrence.statement, Reduce) and written not in settled:
        reads.append(("acc", where, f"{instance.label} acc", -1))
    for read, iteration, wanted, number in reads:
        relation = maps[occurrence.name]
        if iteration != where:
            relation = instance_map(original, model, occurrence, iteration)
        if number >= 0 and occurrence.reads[number].free:
            access = occurrence.reads[number]
            relation = with_identity(relation, len(access.free))
            relation = renamed(relation, occurrence.name)
            relation = relation.intersect_domain(access.domain)
        yield renamed_range(renamed(relation, f"{occurrence.name} {read}"), wanted)


def _in_place(pairing: Pairing, where: Iteration) -> bool:
    """Whether a read stands for the same one of the same iteration.

    One that came with an inlined producer stands for an earlier read: that the order of
    accesses is kept says nothing about it.
    """
    return pairing.original == where and pairing.read == pairing.load


def _check_shapes(
    original: Original, model: Model, pairings: Sequence[Pairing]
) -> None:
    """Require that paired gathers choose among as many elements."""
    for pairing in pairings:
        if pairing.gather is None:
            continue
        theirs = original.statements[pairing.original.label].loads[pairing.read]
        mine = model.storage[pairing.gather.tensor].tensor
        other = original.model.storage[theirs.tensor].tensor
        for position in chosen_by_data(pairing.gather.index):
            if mine.shape[position] != other.shape[position]:
                raise MismatchError(
                    f"gathers from {mine.name}, whose dimension {position} has another "
                    f"size than that of {other.name}"
                )


def _always_equal(
    model: Model, occurrence: Occurrence, form: Affine, other: Affine
) -> bool:
    difference = model.in_counters(form - other)
    for sign in (1, -1):
        system = System(model.params, occurrence.axes)
        system.nonnegative(difference * sign - 1)
        unequal = system.to_set(occurrence.name).intersect(occurrence.domain)
        if not unequal.is_empty():
            return False
    return True


def _direct_flow(
    model: Model, maps: dict[str, Map], settled: frozenset[str]
) -> tuple[UnionMap, UnionMap]:
    """Return the sources of all reads, and apart from them those of staging copies."""
    staging = {
        f"{o.name} r0": o.name
        for o in model.occurrences
        if o.name not in maps and model.is_copy(o)
    }
    flow: list[Map] = []
    copies: list[Map] = []
    for label, reader in all_reads(model):
        if reader.access.tensor in settled:
            continue
        sources = last_writers(model, reader, model.writers_of(reader))
        found = list(sources.writers)
        if not sources.unwritten.is_empty():
            entry = entry_values(model, reader, sources.unwritten)
            if entry is None:
                raise _UnwrittenError(label, reader, sources.unwritten)
            found.append(entry)
        if label in staging:
            copies += found
        else:
            flow += [renamed(relation, label) for relation in found]
    return union(flow, model.params), union(copies, model.params)


def refute_dataflow(
    original: Original, flow: Dataflow, expected: UnionMap, actual: UnionMap
) -> Check:
    """Return the refutation that a read which must see *expected* sees *actual*."""
    relation = pieces(expected.subtract(actual))[0]
    params, counters, wanted = sample_pair(relation)
    should = source_text(original, params, range_name(relation), wanted)
    concrete = Concrete(flow.model, params)
    reader = dict(all_reads(flow.model))[domain_name(relation)]
    where, element = concrete.reading(reader, counters)
    seen, run = f"{element} as it was at entry", None
    point = fixed(relation.domain(), params, counters)
    for source in pieces(flow.flow.intersect_domain(point)):
        occurrence = flow.model.named(range_name(source))
        if occurrence is not None:
            run = occurrence, sample(source.range())[1]
            seen = concrete.iteration(*run)
    sources = _iterations(original, fixed(relation.range(), params, wanted))
    sources = sources.union(flow.nearest.intersect_domain(point).range())
    reading = Reading(reader, params, counters)
    reversal = _reversal(original, flow.model, flow.maps, reading, sources, run)
    lines = [where, f"must see {should}", f"sees {seen}"]
    if reversal is not None and reversal.moved != run:
        lines.append(reversal.moving(concrete))
    witness = concrete.witness(tuple(lines), element)
    reason = _led_by(reversal, f"a read of {element} sees another value")
    return Check(NAME, "refuted", reason, witness)


def _refute_unwritten(
    original: Original,
    model: Model,
    maps: dict[str, Map],
    expected: UnionMap,
    error: _UnwrittenError,
) -> Check:
    """Return the refutation that a read comes before any write of its element.

    It names the write that must be there, where the kernel has it.
    """
    check = refute_unwritten(model, error.reader, error.domain, NAME)
    params, counters = sample(error.domain)
    point = fixed(renamed_set(error.domain, error.label), params, counters)
    sources = expected.intersect_domain(point).range()
    reading = Reading(error.reader, params, counters)
    reversal = _reversal(original, model, maps, reading, sources, None)
    if reversal is None or check.witness is None:
        return check
    moving = reversal.moving(Concrete(model, params))
    lines = (*check.witness.iterations, moving)
    witness = replace(check.witness, iterations=lines)
    return replace(check, reason=_led_by(reversal, check.reason), witness=witness)


def _iterations(original: Original, source: UnionSet) -> UnionSet:
    """Return the iterations that one *source* is: itself, or all of a segment."""
    return source.union(original.segments.intersect_range(source).domain())


def _reversal(
    original: Original,
    model: Model,
    maps: dict[str, Map],
    reading: Reading,
    wanted: UnionSet,
    seen: Run | None,
) -> Reversal | None:
    """Return the dependence at fault; None if that takes isl too long, too."""
    try:
        return find_reversal(original, model, maps, reading, wanted, seen)
    except IslError:
        return None


def _led_by(reversal: Reversal | None, reason: str) -> str:
    return f"{reversal}: {reason}" if reversal is not None else reason


def source_text(
    original: Original, params: dict[str, int], source: str, values: list[int]
) -> str:
    """Return the original iteration, entry value or segment that is meant."""
    if "+" in source:
        operation, _, root = source.partition("+")
        start = source_text(original, params, root, values)
        return f"all {operation}-updates after {start}"
    occurrence = original.statements.get(source)
    if occurrence is None:
        tensor = source.removeprefix("in ")
        return f"{element_text(tensor, values)} as it was at entry"
    return Concrete(original.model, params).iteration(occurrence, values)
