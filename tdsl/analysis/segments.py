"""Reductions as graphs: which update continues from which value.

The updates of one element between two other writes form a *segment*, named after the
value it starts from, its *root*. In a schedule, the nodes are those updates and the
merges of partial results (made by rfactor, without an instance); each uses the
accumulated value that it reads, and a merge also uses the partial result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..ir.nodes import Const, Load, Reduce, Store
from .dataflow import Dataflow, see_through, to_original
from .flow import last_writers
from .model import Model, Occurrence, entry_values
from .original import Original
from .sets import (
    Map,
    UnionMap,
    as_union,
    domain_name,
    pieces,
    range_name,
    renamed,
    renamed_range,
    single,
    union,
)

_PASSES = 8


@dataclass(frozen=True, slots=True)
class Graph:
    """Who uses what.

    *inner* leads from uses ("occurrence acc", "merge r0") to nodes, *starts* to the
    original values that segments start from, *fresh* to identity constants; *others*
    is the rest of the dataflow. *segments* gives the segment of each node, *users* that
    of each use, *operations* the operation of each node.
    """

    nodes: dict[str, Occurrence]
    operations: dict[str, str]
    inner: UnionMap
    starts: UnionMap
    fresh: UnionMap
    others: UnionMap
    segments: UnionMap
    users: UnionMap


def build_graph(original: Original, flow: Dataflow, labels: set[str]) -> Graph:
    """Return the graph of the reductions *labels* in a schedule."""
    params = flow.model.params
    updates = [o for o in flow.model.occurrences if label_of(o) in labels]
    merges = [o for o in flow.model.occurrences if _is_merge(o, flow.model)]
    nodes = {o.name: o for o in (*updates, *merges)}
    uses = {f"{o.name} acc": o for o in nodes.values()}
    uses |= {f"{o.name} r0": o for o in merges}
    inner, starts, fresh, others = _sorted_uses(flow, nodes, uses)
    segments, roots = _segments(original, flow, updates, merges)
    if not roots.is_empty():
        segments = _spread(segments, roots, union(inner, params), uses, params)
    return Graph(
        nodes,
        {name: _operation(o) for name, o in nodes.items()},
        union(inner, params),
        to_original(union(starts, params), flow.maps, params),
        union(fresh, params),
        union(others, params),
        segments,
        _users(segments, uses, params),
    )


def as_segments(
    roots: UnionMap, operations: dict[str, str], params: tuple[str, ...]
) -> UnionMap:
    """Name the *roots* that nodes or uses lead to after the segments they start."""
    found: list[Map] = []
    for relation in pieces(roots):
        owner = domain_name(relation).partition(" ")[0]
        name = f"{operations[owner]}+{range_name(relation)}"
        found.append(renamed_range(relation, name))
    return union(found, params)


def label_of(occurrence: Occurrence) -> str | None:
    """Return the original statement that *occurrence* stands for."""
    instance = occurrence.statement.instance
    return instance.label if instance else None


def _operation(node: Occurrence) -> str:
    assert isinstance(node.statement, Reduce)
    return node.statement.op.value


def _is_merge(occurrence: Occurrence, model: Model) -> bool:
    statement = occurrence.statement
    return (
        isinstance(statement, Reduce)
        and statement.instance is None
        and isinstance(statement.value, Load)
        and model.dtype(statement.value.tensor) == model.dtype(statement.tensor)
    )


def _sorted_uses(
    flow: Dataflow, nodes: dict[str, Occurrence], uses: dict[str, Occurrence]
) -> tuple[list[Map], list[Map], list[Map], list[Map]]:
    """Sort the dataflow into uses of nodes, of roots, of constants, and the rest."""
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
        elif _is_identity(flow.model.named(source), user):
            fresh.append(relation)
        else:
            starts.append(relation)
    return inner, starts, fresh, others


def _is_identity(source: Occurrence | None, user: Occurrence) -> bool:
    """Whether *source* stores the identity of the operation that *user* performs."""
    if source is None or source.statement.instance is not None:
        return False
    value, update = source.statement.value, user.statement
    if not isinstance(source.statement, Store) or not isinstance(value, Const):
        return False
    assert isinstance(update, Reduce)
    # By repr, for -0.0 == 0.0, and adding -0.0 keeps the sign of a negative zero.
    neutral = repr(update.op.identity(update.value.dtype))
    return value.dtype == update.value.dtype and repr(value.value) == neutral


def _segments(
    original: Original,
    flow: Dataflow,
    updates: list[Occurrence],
    merges: list[Occurrence],
) -> tuple[UnionMap, UnionMap]:
    """Return the segment of each node: a merge has that of what it merges.

    A merge of a partial result without updates has the segment that it merges into.
    Return also what such merges start from.
    """
    params = flow.model.params
    found = union((flow.maps[o.name] for o in updates), params)
    found = found.apply_range(original.segments)
    operands: dict[str, list[Map]] = {merge.name: [] for merge in merges}
    for relation in pieces(flow.flow):
        owner, _, read = domain_name(relation).partition(" ")
        if read == "r0" and owner in operands:
            operands[owner].append(renamed(relation, owner))
    for _ in merges:  # merges may merge merges
        for merge in merges:
            reached = union(operands[merge.name], params).apply_range(found)
            found = _filled(found, pieces(reached))
    nodes = {o.name for o in (*updates, *merges)}
    bare = [m for m in merges if not as_union(m.domain).is_subset(found.domain())]
    roots = union((r for m in bare for r in _merge_roots(flow, m, nodes)), params)
    operations = {merge.name: _operation(merge) for merge in bare}
    # Those that start from a node, stored by a copy, have its segment: see `_spread`.
    values = union((r for r in pieces(roots) if range_name(r) not in nodes), params)
    starts = to_original(values, flow.maps, params)
    return _filled(found, pieces(as_segments(starts, operations, params))), roots


def _users(
    segments: UnionMap, uses: dict[str, Occurrence], params: tuple[str, ...]
) -> UnionMap:
    """Return the segment of each use: that of the node which uses."""
    found = [
        renamed(relation, use)
        for use, occurrence in uses.items()
        for relation in pieces(segments)
        if domain_name(relation) == occurrence.name
    ]
    return union(found, params)


def _spread(
    segments: UnionMap,
    roots: UnionMap,
    inner: UnionMap,
    uses: dict[str, Occurrence],
    params: tuple[str, ...],
) -> UnionMap:
    """Give merges of partial results without updates the segment they end up in.

    It is that of the node they start from, as *roots* tell, or are used by.
    """
    for _ in range(_PASSES):
        users = _users(segments, uses, params)
        more = [
            *pieces(roots.apply_range(segments)),
            *pieces(inner.reverse().apply_range(users)),
        ]
        spread = _filled(segments, more)
        if spread.is_equal(segments):
            break
        segments = spread
    return segments


def _filled(found: UnionMap, more: Iterable[Map]) -> UnionMap:
    """Add what *more* says about points that *found* does not cover."""
    for relation in more:
        found = found.union(single(relation).subtract_domain(found.domain()))
    return found


def _merge_roots(flow: Dataflow, merge: Occurrence, nodes: set[str]) -> list[Map]:
    """Return the value that *merge* and the merges before it start from."""
    model = flow.model
    reader = merge.reader(merge.write)
    others = [o for o in model.writers_of(reader) if o.name not in nodes]
    sources = last_writers(model, reader, others)
    entry = entry_values(model, reader, sources.unwritten)
    found = [*sources.writers, *([entry] if entry is not None else [])]
    return pieces(see_through(union(found, model.params), flow.copies))
