"""Reductions in another order: the same updates, each exactly once.

The updates of one element between two other writes form a *segment*, named after the
value it starts from, its *root*. In a schedule they are nodes of a graph: each update
uses the accumulated value that it reads, and an update that merges a partial result
(made by rfactor, without an instance) also uses that. The segment is computed right
when every use stays inside it or starts at its root or at an identity constant, no
node and no root is used twice, the root is used, and one node only is left unused. That
one has then accumulated everything, and whoever reads the segment must read it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import assert_never

from ..ir.dtypes import DType
from ..ir.nodes import Const, Load, Reduce, ReduceOp, Store
from .certificate import Check
from .dataflow import NAME, Dataflow, refute_dataflow, see_through, to_original
from .flow import last_writers
from .model import Model, Occurrence, entry_values
from .original import Family, Original
from .sets import (
    Map,
    UnionMap,
    UnionSet,
    as_union,
    as_union_map,
    domain_name,
    identity_map,
    pieces,
    range_name,
    renamed,
    renamed_range,
    set_name,
    set_pieces,
    union,
    union_set,
)


@dataclass(frozen=True, slots=True)
class _Graph:
    """Who uses what.

    *inner* leads from uses to nodes, *starts* to the original values that segments
    start from, *fresh* to identity constants; *others* is the rest of the dataflow.
    *segments* gives the segment of each node, *users* that of each use.
    """

    inner: UnionMap
    starts: UnionMap
    fresh: UnionMap
    others: UnionMap
    segments: UnionMap
    users: UnionMap


def check_reordered(original: Original, flow: Dataflow, numerics: str) -> Check:
    """Prove that *flow* differs from the original only in the order of reductions."""
    missing = flow.expected.subtract(flow.actual)
    families = _touched(original, flow, missing)
    if not families or families & original.observed:
        return refute_dataflow(original, flow, flow.expected, flow.actual)
    for tensor, op in sorted(families):
        if numerics == "bitwise" and not _order_free(original.model, tensor, op):
            check = refute_dataflow(original, flow, flow.expected, flow.actual)
            reason = f"the order of {tensor} {op}-updates changes (numerics is bitwise)"
            return Check(NAME, "refuted", reason, check.witness)
    labels = {name for name, family in original.families.items() if family in families}
    graph = _build_graph(original, flow, labels)
    reason = _graph_fault(flow.model, graph, labels)
    if reason:
        return Check(NAME, "refuted", reason)
    return _check_consumers(original, flow, graph, labels)


def _touched(original: Original, flow: Dataflow, missing: UnionMap) -> set[Family]:
    """Return the reductions that reads with another source belong to."""
    by_name = {o.name: o.statement.instance for o in flow.model.occurrences}
    found: set[Family] = set()
    for relation in pieces(missing):
        labels = [range_name(relation)]
        owner, _, read = domain_name(relation).partition(" ")
        instance = by_name.get(owner)
        if read == "acc" and instance is not None:
            labels.append(instance.label)
        found |= {original.families[la] for la in labels if la in original.families}
    return found


def _order_free(model: Model, tensor: str, op: str) -> bool:
    """Whether the result of *op* on *tensor* has the same bits in any order.

    It has for integers, which wrap around, and for the larger or smaller of floats,
    where NaN wins whatever the order (not its payload, nor the sign of a zero).
    """
    return model.dtype(tensor).kind != "float" or op in ("max", "min")


def _build_graph(original: Original, flow: Dataflow, labels: set[str]) -> _Graph:
    model = flow.model
    updates = [o for o in model.occurrences if _label(o) in labels]
    merges = [o for o in model.occurrences if _is_merge(o)]
    uses = {f"{o.name} acc": o for o in (*updates, *merges)}
    uses |= {f"{o.name} r0": o for o in merges}
    nodes = {o.name for o in (*updates, *merges)}
    constants = {o.name: o for o in model.occurrences if _is_constant(o)}
    inner: list[Map] = []
    starts: list[Map] = []
    fresh: list[Map] = []
    others: list[Map] = []
    for relation in pieces(flow.flow):
        user, source = uses.get(domain_name(relation)), range_name(relation)
        if user is None:
            others.append(relation)
        elif source in nodes:
            inner.append(relation)
        elif source in constants and _is_identity(user, constants[source]):
            fresh.append(relation)
        else:
            starts.append(relation)
    params = model.params
    roots = to_original(union(starts, params), flow.maps, params)
    segments = _segments(original, flow, updates, merges)
    users = [
        renamed(relation, use)
        for use, occurrence in uses.items()
        for relation in pieces(segments)
        if domain_name(relation) == occurrence.name
    ]
    return _Graph(
        union(inner, params),
        roots,
        union(fresh, params),
        union(others, params),
        segments,
        union(users, params),
    )


def _label(occurrence: Occurrence) -> str | None:
    instance = occurrence.statement.instance
    return instance and instance.label


def _is_merge(occurrence: Occurrence) -> bool:
    statement = occurrence.statement
    partial = isinstance(statement.value, Load)
    return isinstance(statement, Reduce) and statement.instance is None and partial


def _is_constant(occurrence: Occurrence) -> bool:
    statement = occurrence.statement
    constant = isinstance(statement.value, Const)
    return isinstance(statement, Store) and statement.instance is None and constant


def _is_identity(user: Occurrence, constant: Occurrence) -> bool:
    update, value = user.statement, constant.statement.value
    assert isinstance(update, Reduce) and isinstance(value, Const)
    return value.dtype == update.value.dtype and _same_number(
        value.value, identity(update.op, value.dtype)
    )


def _same_number(value: float, other: float) -> bool:
    return repr(value) == repr(other)


def identity(op: ReduceOp, dtype: DType) -> float | int:
    """Return the value that leaves every other one as it is under *op*."""
    floating = dtype.kind == "float"
    match op:
        case ReduceOp.ADD:
            return 0.0 if floating else 0
        case ReduceOp.MUL:
            return 1.0 if floating else 1
        case ReduceOp.MAX:
            return -math.inf if floating else -(1 << (dtype.bits - 1))
        case ReduceOp.MIN:
            return math.inf if floating else (1 << (dtype.bits - 1)) - 1
        case _:
            assert_never(op)


def _segments(
    original: Original,
    flow: Dataflow,
    updates: list[Occurrence],
    merges: list[Occurrence],
) -> UnionMap:
    """Return the segment of each node: a merge has that of what it merges.

    A merge of a partial result without updates has the segment that it merges into.
    """
    params = flow.model.params
    found = union((flow.maps[o.name] for o in updates), params)
    found = found.apply_range(original.segments)
    for _ in merges:
        for merge in merges:
            operand = [m for m in pieces(flow.flow) if domain_name(m) == f"{merge.name} r0"]
            found = _add_segments(found, merge, union(operand, params))
    nodes = {o.name for o in (*updates, *merges)}
    for merge in merges:
        if not as_union(merge.domain).is_subset(found.domain()):
            roots = _merge_roots(flow, merge, nodes)
            found = _add_segments(found, merge, roots)
            starts = pieces(to_original(roots, flow.maps, params))
            assert isinstance(merge.statement, Reduce)
            operation = {merge.name: merge.statement.op.value}
            named = union((_as_segment(m, operation) for m in starts), params)
            found = found.union(named.subtract_domain(found.domain()))
    return found


def _add_segments(found: UnionMap, merge: Occurrence, sources: UnionMap) -> UnionMap:
    """Give iterations of *merge* without a segment that of the node they lead to."""
    reached = sources.apply_range(found)
    for relation in pieces(reached):
        named = as_union_map(renamed(relation, merge.name))
        found = found.union(named.subtract_domain(found.domain()))
    return found


def _merge_roots(flow: Dataflow, merge: Occurrence, nodes: set[str]) -> UnionMap:
    """Return the value that *merge* and the merges before it start from."""
    model = flow.model
    reader = merge.reader(merge.write)
    others = [o for o in model.writers_of(reader) if o.name not in nodes]
    sources = last_writers(model, reader, others)
    entry = entry_values(model, reader, sources.unwritten)
    found = [*sources.writers, *([entry] if entry is not None else [])]
    return see_through(union(found, model.params), flow.copies)


def _graph_fault(model: Model, graph: _Graph, labels: set[str]) -> str:
    """Return what is wrong with the order of the updates, or nothing."""
    updates = [o for o in model.occurrences if _label(o) in labels or _is_merge(o)]
    operations = {o.name: o.statement.op.value for o in updates
                  if isinstance(o.statement, Reduce)}
    nodes = union_set((o.domain for o in updates), model.params)
    if not nodes.is_subset(graph.segments.domain()):
        return "a merge of partial results belongs to no reduction of the kernel"
    for relation in pieces(graph.segments):
        if range_name(relation).partition("+")[0] != operations[domain_name(relation)]:
            return "partial results are merged by another operation"
    starts = union(
        (_as_segment(m, operations) for m in pieces(graph.starts)), model.params
    )
    within = graph.inner.apply_range(graph.segments).union(starts)
    if not within.is_subset(graph.users):
        return "an update reads a value of another element or reduction"
    sources = graph.inner.union(graph.starts)
    if not graph.users.domain().is_subset(sources.union(graph.fresh).domain()):
        return "an update reads a value that the reduction does not start from"
    if not sources.is_injective():
        return "two updates continue from the same value, so that one is lost"
    if not graph.segments.range().is_subset(starts.range()):
        return "the value that the reduction starts from is lost"
    ends = graph.segments.subtract_domain(graph.inner.range())
    if not ends.is_injective():
        return "partial results of the reduction are never merged"
    return ""


def _name_empty(
    relation: UnionMap, empty: UnionSet, params: tuple[str, ...]
) -> UnionMap:
    """Call the value that a segment without updates starts from after the segment."""
    names = [
        renamed(identity_map(segment), set_name(segment).partition("+")[2])
        for segment in set_pieces(empty)
    ]
    naming = union(names, params)
    return relation.subtract_range(naming.domain()).union(relation.apply_range(naming))


def _as_segment(relation: Map, operations: dict[str, str]) -> Map:
    owner = domain_name(relation).partition(" ")[0]
    return renamed_range(relation, f"{operations[owner]}+{range_name(relation)}")


def _check_consumers(
    original: Original, flow: Dataflow, graph: _Graph, labels: set[str]
) -> Check:
    """Prove that whoever reads a reduction gets all of it."""
    params = flow.model.params
    used = graph.inner.range()
    early = graph.others.intersect_range(used)
    if not early.is_empty():
        return Check(NAME, "refuted", "a reduction is read before all its updates")
    reduced = graph.others.apply_range(graph.segments)
    plain = {n: m for n, m in flow.maps.items() if range_name(m) not in labels}
    actual = reduced.union(
        see_through(to_original(graph.others, plain, params), original.copies)
    )
    users = {domain_name(m) for m in pieces(graph.users)}
    expected: list[Map] = []
    for relation in pieces(flow.expected):
        if domain_name(relation) in users:
            continue
        if range_name(relation) in labels:
            part = union([relation], params).apply_range(original.segments)
            expected += pieces(part)
        else:
            expected.append(relation)
    updates = [m for m in pieces(original.segments) if domain_name(m) in labels]
    empty = graph.segments.range().subtract(union(updates, params).range())
    actual = _name_empty(actual, empty, params)
    wanted = _name_empty(union(expected, params), empty, params)
    if wanted.is_subset(actual):
        return Check(NAME, "proved", "up to the order of reductions")
    return refute_dataflow(original, flow, wanted, actual)
