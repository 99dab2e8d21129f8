"""Exactly once: scheduled statements stand for original ones, one to one."""

from __future__ import annotations

from ..ir.affine import Affine
from ..ir.nodes import Instance, Reduce, Scatter
from ..ir.walk import chosen_by_data
from .certificate import Check
from .matching import Iteration
from .model import Model, Occurrence
from .original import Original, coordinate_counters
from .sets import Map, System, not_identity, range_name, sample, sample_pair
from .witness import Concrete

NAME = "exactly once"


def instance_map(
    original: Original, model: Model, occurrence: Occurrence, where: Iteration
) -> Map:
    """Return the map from iterations of *occurrence* to those that *where* names."""
    statement = original.statements[where.label]
    columns = {axis: f"@{axis}" for axis in statement.axes}
    system = System(model.params, occurrence.axes, list(columns.values()))
    counters = coordinate_counters(original.model, statement, columns)
    for form, counter in zip(where.coordinates, counters, strict=True):
        system.zero(model.in_counters(form) - counter)
    relation = system.to_map(occurrence.name, where.label)
    return relation.intersect_domain(occurrence.domain)


def instance_maps(original: Original, model: Model) -> dict[str, Map] | Check:
    """Return the instance map of every occurrence that has one, or why not."""
    maps: dict[str, Map] = {}
    for occurrence in model.occurrences:
        instance = occurrence.statement.instance
        if instance is None:
            continue
        problem = _unlike(original, model, occurrence, instance)
        if problem:
            return Check(NAME, "refuted", problem)
        where = Iteration(instance.label, instance.coordinates)
        relation = instance_map(original, model, occurrence, where)
        domain = original.statements[instance.label].domain
        inside = relation.intersect_range(domain).domain()
        if not occurrence.domain.is_subset(inside):
            params, counters = sample(occurrence.domain.subtract(inside))
            concrete = Concrete(model, params)
            iteration = concrete.iteration(occurrence, counters)
            element = concrete.instance(instance, occurrence, counters)
            reason = f"the kernel has no iteration {element}"
            witness = concrete.witness((iteration,), element)
            return Check(NAME, "refuted", reason, witness)
        maps[occurrence.name] = relation
    return maps


def _unlike(
    original: Original, model: Model, occurrence: Occurrence, instance: Instance
) -> str:
    statement = original.statements.get(instance.label)
    if statement is None or len(instance.coordinates) != len(statement.axes):
        return f"the kernel has no statement {instance.label} of that rank"
    mine, theirs = occurrence.statement, statement.statement
    if type(mine) is not type(theirs):
        return f"{instance.label} is another kind of statement"
    if isinstance(mine, Reduce) and isinstance(theirs, Reduce) and mine.op != theirs.op:
        return f"{instance.label} reduces by {theirs.op.value}, not {mine.op.value}"
    if model.dtype(mine.tensor) != original.model.dtype(theirs.tensor):
        return f"{instance.label} stores another type"
    return _unlike_scatter(original, model, occurrence, statement)


def _unlike_scatter(
    original: Original, model: Model, occurrence: Occurrence, source: Occurrence
) -> str:
    """Return how the two differ in what happens to a subscript out of range."""
    mine, theirs = occurrence.scatter, source.scatter
    if mine is None or theirs is None:
        return "" if mine is theirs else f"{source.name} is another kind of statement"
    if mine.checked != theirs.checked:
        return f"{source.name} checks its subscripts in one of the two only"
    sizes = _chosen_sizes(mine, model), _chosen_sizes(theirs, original.model)
    if sizes[0] != sizes[1]:
        return f"{source.name} scatters into a tensor of another size"
    return ""


def _chosen_sizes(scatter: Scatter, model: Model) -> list[Affine]:
    """Return the sizes of the dimensions along which data chooses."""
    shape = model.storage[scatter.tensor].tensor.shape
    return [shape[position] for position in chosen_by_data(scatter.index)]


def check_once(original: Original, model: Model, maps: dict[str, Map]) -> Check:
    """Prove that each statement with an effect runs once for each of its iterations.

    What only fills a local tensor may be recomputed: its values are what matters.
    """
    for label in original.statements:
        if has_effect(original, label):
            check = find_repeated(model, label, maps) or find_missing(
                original, model, label, maps
            )
            if check is not None:
                return check
    return Check(NAME, "proved")


def has_effect(original: Original, label: str) -> bool:
    """Whether the caller sees what the statement *label* writes."""
    tensor = original.statements[label].statement.tensor
    return original.model.storage[tensor].role is not None


def find_repeated(model: Model, label: str, maps: dict[str, Map]) -> Check | None:
    """Return the refutation that an iteration of *label* runs twice, or None."""
    occurrences = _standing_for(label, model, maps)
    for number, first in enumerate(occurrences):
        relation = maps[first.name]
        if not relation.is_injective():
            twice = relation.apply_range(relation.reverse())
            return _twice(model, first, first, not_identity(twice))
        for second in occurrences[:number]:
            both = relation.apply_range(maps[second.name].reverse())
            if not both.is_empty():
                return _twice(model, first, second, both)
    return None


def _standing_for(label: str, model: Model, maps: dict[str, Map]) -> list[Occurrence]:
    return [
        occurrence
        for occurrence in model.occurrences
        if occurrence.name in maps and range_name(maps[occurrence.name]) == label
    ]


def find_missing(
    original: Original, model: Model, label: str, maps: dict[str, Map]
) -> Check | None:
    """Return the refutation that an iteration of *label* never runs, or None."""
    missing = original.statements[label].domain
    for occurrence in _standing_for(label, model, maps):
        missing = missing.subtract(maps[occurrence.name].range())
    if missing.is_empty():
        return None
    params, counters = sample(missing)
    concrete = Concrete(original.model, params)
    statement = original.statements[label]
    iteration = concrete.iteration(statement, counters)
    element = concrete.element(statement.write, statement, counters)
    witness = concrete.witness((f"missing: {iteration}",), element)
    return Check(NAME, "refuted", f"an iteration of {label} never runs", witness)


def _twice(model: Model, first: Occurrence, second: Occurrence, pairs: Map) -> Check:
    params, one, other = sample_pair(pairs)
    concrete = Concrete(model, params)
    assert first.statement.instance is not None
    iterations = concrete.iteration(first, one), concrete.iteration(second, other)
    element = concrete.element(first.write, first, one)
    witness = concrete.witness(iterations, element)
    reason = f"an iteration of {first.statement.instance.label} runs twice"
    return Check(NAME, "refuted", reason, witness)
