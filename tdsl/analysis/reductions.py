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

from ..ir.nodes import Const, Load, Reduce, ReduceOp, Store
from .certificate import Check
from .dataflow import NAME, Dataflow, refute_dataflow, to_original
from .model import Model, Occurrence
from .original import Family, Original
from .sets import (
    Map,
    UnionMap,
    domain_name,
    map_domain,
    pieces,
    range_name,
    renamed,
    renamed_range,
    union,
)


@dataclass(frozen=True, slots=True)
class _Graph:
    """Who uses what: *inner* leads from uses to nodes, *starts* to original roots.

    *segments* gives the segment of each node, *users* that of each use.
    """

    inner: UnionMap
    starts: UnionMap
    segments: UnionMap
    users: UnionMap
    fresh: UnionMap


def check_reordered(original: Original, flow: Dataflow, numerics: str) -> Check:
    """Prove that *flow* differs from the original only in the order of reductions."""
    missing = flow.expected.subtract(flow.actual)
    families = _touched(original, missing)
    if not families or families & original.observed:
        return refute_dataflow(original, flow, flow.expected, flow.actual)
    for tensor, op in sorted(families):
        if numerics == "bitwise" and not _order_free(original.model, tensor, op):
            check = refute_dataflow(original, flow, flow.expected, flow.actual)
            reason = f"the order of {tensor} {op}-updates changes (numerics is bitwise)"
            return Check(NAME, "refuted", reason, check.witness)
    labels = {label for label, family in original.families.items() if family in families}
    graph = _build(original, flow, labels)
    if isinstance(graph, Check):
        return graph
    return _check_consumers(original, flow, graph, labels) or _check_graph(
        original, flow, graph, labels
    )


def _touched(original: Original, missing: UnionMap) -> set[Family]:
    """Return the reductions that reads with another source belong to."""
    found: set[Family] = set()
    for relation in pieces(missing):
        if range_name(relation) in original.families:
            found.add(original.families[range_name(relation)])
    return found
