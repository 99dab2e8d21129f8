"""What a proof needs to know about the program that the user wrote, computed once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..ir.affine import Affine, name
from ..ir.nodes import Expr, Function, Load, Reduce, Store
from .bounds import check_bounds
from .building import build_model
from .certificate import KERNEL, Check
from .flow import Sources, last_writers
from .matching import Iteration, MismatchError
from .model import Model, Occurrence, all_reads, entry_values
from .recent import Recent
from .sets import (
    Map,
    System,
    UnionMap,
    UnsupportedError,
    domain_name,
    range_name,
    renamed,
    renamed_range,
    union,
)
from .witness import refute_unwritten

Family = tuple[str, str]
"""The reductions of one operation on one tensor, whose order may be relaxed."""


@dataclass(frozen=True, slots=True)
class Original:
    """Facts about the original: its statements, dataflow, and reductions.

    *flow* leads from reads, called "label rN", "label acc" or "out tensor" (the
    last are in *final* too), to the statement iterations or entry values, "in tensor",
    that they see. *roots* leads from a reduction to the value that its chain of updates
    starts from; *segments* to the same, called "OP+..." to stand for the whole chain.
    """

    model: Model
    statements: dict[str, Occurrence]
    flow: UnionMap
    final: UnionMap
    reads: dict[str, Sources]
    wellformed: Check
    copies: UnionMap
    families: dict[str, Family]
    roots: UnionMap
    segments: UnionMap
    observed: frozenset[Family]

    def producer(
        self, where: Iteration, read: int
    ) -> tuple[Iteration, Expr, Mapping[str, Affine]]:
        """Return the only statement that fills what *read* of *where* loads."""
        reader = self.statements[where.label]
        sources = self.reads[f"{where.label} r{read}"]
        names = {range_name(relation) for relation in sources.writers}
        if len(names) != 1 or not sources.unwritten.is_empty():
            raise MismatchError("several statements write what the kernel reads there")
        writer = self.statements[names.pop()]
        if not isinstance(writer.statement, Store):
            raise MismatchError("a reduction cannot be inlined")
        solved = _producer_axes(reader, writer, read)
        self._confirm(reader, writer, solved, sources)
        axes = dict(zip(reader.axes, where.coordinates, strict=True))
        found = {axis: form.substitute(axes) for axis, form in solved.items()}
        coordinates = tuple(found[axis] for axis in writer.axes)
        iteration = Iteration(writer.name, coordinates)
        return iteration, writer.statement.value, found

    def _confirm(
        self,
        reader: Occurrence,
        writer: Occurrence,
        solved: Mapping[str, Affine],
        sources: Sources,
    ) -> None:
        columns = {axis: f"@{axis}" for axis in writer.axes}
        system = System(self.model.params, reader.axes, list(columns.values()))
        for form, counter in zip(
            (solved[axis] for axis in writer.axes),
            coordinate_counters(self.model, writer, columns),
            strict=True,
        ):
            system.zero(self.model.in_counters(form) - counter)
        relation = system.to_map(reader.name, writer.name)
        actual = union(sources.writers, self.model.params)
        expected = union([relation.intersect_domain(reader.domain)], self.model.params)
        if not actual.is_equal(expected):
            raise MismatchError("its producer is not a function of the iteration")


def coordinate_counters(
    model: Model, statement: Occurrence, columns: Mapping[str, str]
) -> Iterator[Affine]:
    """Yield the axes of *statement* over the *columns* that hold its counters."""
    renaming = {axis: name(column) for axis, column in columns.items()}
    for axis in statement.axes:
        yield model.in_counters(name(axis)).substitute(renaming)


def _producer_axes(
    reader: Occurrence, writer: Occurrence, read: int
) -> dict[str, Affine]:
    """Solve writer's subscripts == reader's subscripts for the writer's axes."""
    load = reader.loads[read]
    assert isinstance(load, Load)
    shared = {
        loop.axis: name(loop.axis)
        for loop, other in zip(writer.loops, reader.loops, strict=False)
        if loop is other
    }
    solved: dict[str, Affine] = {}
    for form, wanted in zip(writer.statement.index, load.index, strict=True):
        unknown = [n for n in form.names() if n in writer.axes and n not in solved]
        if len(unknown) == 1 and abs(form.coefficient(unknown[0])) == 1:
            axis, sign = unknown[0], form.coefficient(unknown[0])
            rest = (form - name(axis) * sign).substitute(solved)
            solved[axis] = (wanted - rest) * sign
    for axis in writer.axes:
        if axis not in solved:
            if axis not in shared:
                raise MismatchError(f"its iteration {axis} cannot be solved for")
            solved[axis] = shared[axis]
    return solved


def original_facts(function: Function) -> Original:
    """Return the facts of *function*, kept for the last few functions asked about."""
    return _FACTS.about(function)


def _collect(function: Function) -> Original:
    model = build_model(function, labelled=True)
    statements = _statements(model)
    reads: dict[str, Sources] = {}
    flow: list[Map] = []
    wellformed = check_bounds(model, KERNEL)
    for label, reader in all_reads(model):
        sources = last_writers(model, reader, model.writers_of(reader))
        reads[label] = sources
        flow += [renamed(relation, label) for relation in sources.writers]
        if not sources.unwritten.is_empty():
            entry = entry_values(model, reader, sources.unwritten)
            if entry is None:
                wellformed = refute_unwritten(model, reader, sources.unwritten, KERNEL)
            else:
                flow.append(renamed(entry, label))
    families = _families(model)
    roots, segments = _chains(model, families)
    everything = union(flow, model.params)
    return Original(
        model,
        statements,
        everything,
        union([m for m in flow if domain_name(m).startswith("out ")], model.params),
        reads,
        wellformed,
        union(_copies(model, flow), model.params),
        families,
        union(roots, model.params),
        union(segments, model.params),
        _observed(flow, families, model),
    )


def _statements(model: Model) -> dict[str, Occurrence]:
    statements: dict[str, Occurrence] = {}
    for occurrence in model.occurrences:
        instance = occurrence.statement.instance
        own = tuple(name(axis) for axis in occurrence.axes)
        if instance is None or instance.coordinates != own:
            raise UnsupportedError("the original function is already scheduled")
        if instance.label in statements:
            raise UnsupportedError(f"the original has two statements {instance.label}")
        statements[instance.label] = occurrence
    return statements


def _copies(model: Model, flow: list[Map]) -> list[Map]:
    """Return where each plain copy of the original got its value from."""
    names = {f"{o.name} r0": o.name for o in model.occurrences if model.is_copy(o)}
    return [
        renamed(relation, names[domain_name(relation)])
        for relation in flow
        if domain_name(relation) in names
    ]


def _families(model: Model) -> dict[str, Family]:
    return {
        o.name: (o.statement.tensor, o.statement.op.value)
        for o in model.occurrences
        if isinstance(o.statement, Reduce)
    }


def _chains(model: Model, families: dict[str, Family]) -> tuple[list[Map], list[Map]]:
    """Return, for reductions, the value that their chain of updates starts from.

    The second list calls that value "OP+value": the segment of the reduction.
    """
    roots: list[Map] = []
    segments: list[Map] = []
    for label, (tensor, op) in families.items():
        occurrence = next(o for o in model.occurrences if o.name == label)
        reader = occurrence.reader(occurrence.write)
        others = [
            o for o in model.writers[tensor] if families.get(o.name) != (tensor, op)
        ]
        sources = last_writers(model, reader, others)
        found = list(sources.writers)
        entry = entry_values(model, reader, sources.unwritten)
        if entry is not None:
            found.append(entry)
        roots += found
        segments += [renamed_range(m, f"{op}+{range_name(m)}") for m in found]
    return roots, segments


def _observed(
    flow: list[Map], families: dict[str, Family], model: Model
) -> frozenset[Family]:
    """Return the families some read of which sees an intermediate value.

    Their order must be kept: a prefix sum read as it grows, for example.
    """
    continued: list[Map] = []
    others: list[Map] = []
    for relation in flow:
        family = families.get(range_name(relation))
        if family is None:
            continue
        reader = domain_name(relation)
        mine = reader.endswith(" acc") and families[reader[:-4]] == family
        (continued if mine else others).append(relation)
    seen = union(continued, model.params).range()
    middle = union(others, model.params).intersect_range(seen)
    found: set[Family] = set()
    middle.foreach_map(lambda m: found.add(families[range_name(m)]))
    for relation in others:
        if domain_name(relation).endswith(" acc"):
            found |= {
                families[range_name(relation)],
                families[domain_name(relation)[:-4]],
            }
    return frozenset(found)


_FACTS = Recent(_collect)
