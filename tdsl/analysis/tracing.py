"""Reads of a scheduled function beside those of the original that they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..ir.affine import Affine
from ..ir.nodes import Reduce
from ..ir.walk import chosen_by_data
from .certificate import Check
from .dataflow import NAME, Dataflow, see_through, to_original
from .flow import last_writers
from .instances import instance_map
from .matching import Iteration, Matcher, MismatchError, Pairing
from .model import Model, Occurrence, all_reads, entry_values
from .original import Original
from .refutations import UnwrittenError, find_example, refute_reading
from .sets import (
    Map,
    System,
    UnionMap,
    UnsupportedError,
    domain_name,
    pieces,
    renamed,
    renamed_range,
    union,
    with_identity,
)
from .witness import statement_text


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
    except UnwrittenError as error:
        return refute_reading(original, model, maps, wanted, error)
    direct = Dataflow(model, maps, flow, copies, flow, wanted, settled, wanted)
    try:
        return _seen_through(original, direct)
    except UnsupportedError:
        example = find_example(original, direct)
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
                raise UnwrittenError(label, reader, sources.unwritten)
            found.append(entry)
        if label in staging:
            copies += found
        else:
            flow += [renamed(relation, label) for relation in found]
    return union(flow, model.params), union(copies, model.params)
