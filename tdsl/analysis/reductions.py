"""Reductions in another order: the same updates, each exactly once.

A segment (see `segments`) is computed right when every use stays inside it or starts
at its root or at an identity constant, no node and no root is used twice, the root is
used, and one node only is left unused. That one has then accumulated everything, and
whoever reads the segment must read it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..ir.numerics import Numerics
from .certificate import Check, Witness
from .dataflow import NAME, Dataflow, agrees, see_through, to_original
from .instances import find_missing, find_repeated, has_effect
from .model import Model, all_reads
from .original import Family, Original
from .refutations import refute_dataflow, source_text
from .reversal import Reversal, parting
from .segments import Graph, as_segments, build_graph, label_of
from .sets import (
    Map,
    UnionMap,
    UnionSet,
    domain_name,
    identity_map,
    pairs_apart,
    pieces,
    range_name,
    renamed_range,
    sample,
    sample_pair,
    set_name,
    set_pieces,
    single,
    union,
    union_set,
)
from .witness import Concrete

_PASSES = 3
"""How many sums that start from one another are looked through if they are empty."""


def check_reordered(original: Original, flow: Dataflow, numerics: Numerics) -> Check:
    """Prove that *flow* differs from the original only in the order of reductions."""
    families = _touched(original, flow, flow.expected.subtract(flow.actual))
    if any(tensor in flow.settled for tensor, _ in families):
        reason = "a reduction in order is read in another order"
        return Check(NAME, "unknown", reason)
    if not families or families & original.observed:
        return refute_dataflow(original, flow, flow.expected, flow.actual)
    for tensor, op in sorted(families):
        if numerics == "bitwise" and not _order_free(original.model, tensor):
            read = _changed_read(original, flow, (tensor, op))
            check = refute_dataflow(original, flow, read, flow.actual)
            reason = f"the order of {tensor} {op}-updates changes (numerics is bitwise)"
            return Check(NAME, "refuted", reason, check.witness)
    labels = {name for name, family in original.families.items() if family in families}
    for label in sorted(labels):
        if has_effect(original, label):
            continue  # `check_once` has shown this
        if find_repeated(flow.model, label, flow.maps) is not None:
            reason = f"iterations of {label} are recomputed, and in another order"
            return Check(NAME, "unknown", reason)
        missing = find_missing(original, flow.model, label, flow.maps)
        if missing is not None:
            return missing
    graph = build_graph(original, flow, labels)
    fault = _graph_fault(flow.model, graph)
    if fault is not None:
        witness = _describe(original, flow, graph, fault.points)
        return Check(NAME, fault.verdict, fault.reason, witness)
    return _check_consumers(original, flow, graph, labels)


def _touched(original: Original, flow: Dataflow, missing: UnionMap) -> set[Family]:
    """Return the reductions that reads with another source belong to."""
    found: set[Family] = set()
    for relation in pieces(missing):
        labels = [range_name(relation)]
        owner, _, read = domain_name(relation).partition(" ")
        occurrence = flow.model.named(owner)
        if read == "acc" and occurrence is not None:
            labels.append(label_of(occurrence) or "")
        found |= {original.families[n] for n in labels if n in original.families}
    return found


def _changed_read(original: Original, flow: Dataflow, family: Family) -> UnionMap:
    """Return what one read of *family* must see, and does not: best, of its tensor."""
    tensor, _ = family
    readers = dict(all_reads(flow.model))
    found = [
        relation
        for relation in pieces(flow.expected.subtract(flow.actual))
        if family in _touched(original, flow, single(relation))
    ]
    own = (r for r in found if readers[domain_name(r)].access.tensor == tensor)
    return single(next(own, found[0]))


def _order_free(model: Model, tensor: str) -> bool:
    """Whether a reduction into *tensor* has the same bits in any order.

    It has for integers, which wrap around. The larger of floats can be either zero, or
    a NaN of either payload: which one depends on the order.
    """
    return model.dtype(tensor).kind in ("int", "bool")


@dataclass(frozen=True, slots=True)
class _Fault:
    """What is wrong with a graph, and the nodes, uses or segments that show it."""

    reason: str
    points: UnionMap | UnionSet
    verdict: Literal["refuted", "unknown"] = "refuted"


def _graph_fault(model: Model, graph: Graph) -> _Fault | None:
    params = model.params
    nodes = union_set((o.domain for o in graph.nodes.values()), params)
    lost = nodes.subtract(graph.segments.domain())
    if not lost.is_empty():
        leaked = graph.others.intersect_range(lost)
        if not leaked.is_empty():
            reason = "a read gets partial results of no reduction of the kernel"
            return _Fault(reason, leaked)
        reason = "a merge of partial results belongs to no reduction of the kernel"
        return _Fault(reason, lost, "unknown")
    for relation in pieces(graph.segments):
        if (
            range_name(relation).partition("+")[0]
            != graph.operations[domain_name(relation)]
        ):
            reason = "partial results are merged by another operation"
            return _Fault(reason, single(relation))
    starts = as_segments(graph.starts, graph.operations, params)
    stray = graph.inner.apply_range(graph.segments).union(starts).subtract(graph.users)
    if not stray.is_empty():
        reason = "an update continues from a value of another reduction"
        return _Fault(reason, stray.domain())
    sources = graph.inner.union(graph.starts)
    baseless = graph.users.domain().subtract(sources.union(graph.fresh).domain())
    if not baseless.is_empty():
        reason = "an update continues from a value that is not part of the reduction"
        return _Fault(reason, baseless)
    if not sources.is_injective():
        twice = pairs_apart(sources.apply_range(sources.reverse()), params)
        return _Fault("two updates continue from the same value: one is lost", twice)
    unused = graph.segments.range().subtract(starts.range())
    if not unused.is_empty():
        return _Fault("the value that a reduction starts from is lost", unused)
    ends = graph.segments.subtract_domain(graph.inner.range())
    if not ends.is_injective():
        apart = pairs_apart(ends.apply_range(ends.reverse()), params)
        return _Fault("partial results of a reduction are never merged", apart)
    return None


def _describe(
    original: Original, flow: Dataflow, graph: Graph, points: UnionMap | UnionSet
) -> Witness:
    """Return one point of *points* (nodes, uses, segments or pairs) as a witness."""
    readers = dict(all_reads(flow.model))
    if isinstance(points, UnionSet):
        point = set_pieces(points)[0]
        params, values = sample(point)
        found = [(set_name(point), values)]
    else:
        pair = pieces(points)[0]
        params, first, second = sample_pair(pair)
        found = [(domain_name(pair), first), (range_name(pair), second)]
    concrete = Concrete(flow.model, params)
    lines: list[str] = []
    element = ""
    for name, values in found:
        occurrence = graph.nodes.get(name)
        if name in readers:
            line, element = concrete.reading(readers[name], values)
        elif occurrence is not None:
            line = concrete.iteration(occurrence, values)
            element = element or concrete.element(occurrence.write, occurrence, values)
        else:
            line = source_text(original, params, name, values)
        lines.append(line)
    return concrete.witness(tuple(lines), element or "of that reduction")


def _check_consumers(
    original: Original, flow: Dataflow, graph: Graph, labels: set[str]
) -> Check:
    """Prove that whoever reads a reduction gets all of it."""
    params = flow.model.params
    early = graph.others.intersect_range(graph.inner.range())
    if not early.is_empty():
        return _refute_early(flow, graph, early)
    plain = {n: m for n, m in flow.maps.items() if range_name(m) not in labels}
    values = see_through(to_original(graph.others, plain, params), original.copies)
    actual = graph.others.apply_range(graph.segments).union(
        _in_segments(original, values, labels)
    )
    expected = _as_consumed(original, flow, graph, labels)
    updates = [m for m in pieces(original.segments) if domain_name(m) in labels]
    empty = graph.segments.range().subtract(union(updates, params).range())
    for _ in range(_PASSES):
        actual = _without_empty(original, actual, empty, labels)
        expected = _without_empty(original, expected, empty, labels)
    if agrees(expected, actual):
        return Check(NAME, "proved", "up to the order of reductions")
    return refute_dataflow(original, flow, expected, actual)


def _refute_early(flow: Dataflow, graph: Graph, early: UnionMap) -> Check:
    """Return the refutation that a read gets what an update still continues from."""
    relation = pieces(early.apply_range(graph.inner.reverse()))[0]
    params, counters, others = sample_pair(relation)
    reader = dict(all_reads(flow.model))[domain_name(relation)]
    update = graph.nodes[range_name(relation).partition(" ")[0]]
    concrete = Concrete(flow.model, params)
    where, element = concrete.reading(reader, counters)
    loop, inside = parting(reader, counters, (update, others))
    late = Reversal("flow", reader.access.tensor, loop, inside, (update, others))
    witness = concrete.witness((where, late.moving(concrete)), element)
    reason = f"{late}: a reduction is read before all its updates"
    return Check(NAME, "refuted", reason, witness)


def _as_consumed(
    original: Original, flow: Dataflow, graph: Graph, labels: set[str]
) -> UnionMap:
    """Return what reads other than those of the nodes must see, in segments."""
    params = flow.model.params
    uses = {domain_name(relation) for relation in pieces(graph.users)}
    found = [r for r in pieces(flow.expected) if domain_name(r) not in uses]
    return _in_segments(original, union(found, params), labels)


def _without_empty(
    original: Original, relation: UnionMap, empty: UnionSet, labels: set[str]
) -> UnionMap:
    """Put the value that it starts from in place of a segment without updates.

    That may be a copy, of another reduction perhaps.
    """
    params = original.model.params
    names = [
        renamed_range(identity_map(segment), set_name(segment).partition("+")[2])
        for segment in set_pieces(empty)
    ]
    naming = union(names, params)
    named = relation.apply_range(naming)
    if named.is_empty():
        return relation
    values = see_through(named, original.copies)
    values = _in_segments(original, values, labels)
    return relation.subtract_range(naming.domain()).union(values)


def _in_segments(original: Original, values: UnionMap, labels: set[str]) -> UnionMap:
    """Name the updates *labels* that *values* leads to after their segments."""
    found: list[Map] = []
    for piece in pieces(values):
        if range_name(piece) in labels:
            found += pieces(single(piece).apply_range(original.segments))
        else:
            found.append(piece)
    return union(found, original.model.params)
