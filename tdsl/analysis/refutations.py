"""What to say of a read that sees another value than in the original."""

from __future__ import annotations

from dataclasses import replace

from .certificate import Check
from .dataflow import NAME, Dataflow, agrees, follow, to_original
from .model import Model, Reader, all_reads
from .original import Original
from .reversal import Reading, Reversal, Run, find_reversal
from .sets import (
    IslError,
    Map,
    Set,
    UnionMap,
    UnionSet,
    domain_name,
    fixed,
    pieces,
    range_name,
    renamed_set,
    sample,
    sample_pair,
)
from .witness import Concrete, element_text, refute_unwritten

_EXAMPLES = 8


class UnwrittenError(Exception):
    """A reading, *label* in flow maps, of what nothing has written, over *domain*."""

    def __init__(self, label: str, reader: Reader, domain: Set) -> None:
        super().__init__(label)
        self.label, self.reader, self.domain = label, reader, domain


def find_example(original: Original, direct: Dataflow) -> Check | None:
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
        flow = follow(direct.flow.intersect_domain(point), direct.copies)
        found = follow(to_original(flow, direct.maps, params), original.copies)
        wanted = follow(direct.expected.intersect_domain(point), original.copies)
        updates = all(
            range_name(m) in original.families for m in pieces(found.union(wanted))
        )
        if not updates and not found.is_empty() and not agrees(wanted, found):
            return refute_dataflow(original, replace(direct, flow=flow), wanted, found)
    return None


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


def refute_reading(
    original: Original,
    model: Model,
    maps: dict[str, Map],
    expected: UnionMap,
    error: UnwrittenError,
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
