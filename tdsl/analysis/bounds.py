"""In bounds: every access stays inside its tensor, for all sizes the dims allow."""

from __future__ import annotations

from .certificate import KERNEL, Check
from .model import Model, Occurrence, box
from .sets import Set, sample
from .witness import Concrete


def check_bounds(model: Model, name: str = "in bounds") -> Check:
    """Prove that no iteration of any occurrence leaves the tensor it touches."""
    boxes: dict[str, Set] = {}
    for occurrence in model.occurrences:
        for number, access in enumerate((occurrence.write, *occurrence.reads)):
            if access.tensor not in boxes:
                storage = model.storage[access.tensor]
                shape = storage.tensor
                boxes[access.tensor] = box(model, shape, access.tensor, storage.axes)
            inside = boxes[access.tensor]
            if not access.relation.range().is_subset(inside):
                return _refute(model, name, occurrence, number, inside)
    return Check(name, "proved")


def _refute(
    model: Model, name: str, occurrence: Occurrence, number: int, inside: Set
) -> Check:
    access = (occurrence.write, *occurrence.reads)[number]
    fine = access.relation.intersect_range(inside).domain()
    params, counters = sample(access.domain.subtract(fine))
    concrete = Concrete(model, params)
    element = concrete.element(access, occurrence, counters)
    tensor = model.storage[access.tensor].tensor
    shape = ", ".join(map(str, tensor.shape))
    reason = f"{element} lies outside {tensor.name}[{shape}]"
    span = occurrence.statement.span
    if name == KERNEL:
        verb = "reads" if number else "writes"
        reason = f"{verb} {element} outside {tensor.name}[{shape}]"
        span = (occurrence.loads[number - 1].span if number else None) or span
    where = concrete.iteration(occurrence, counters)
    return Check(name, "refuted", reason, concrete.witness((where,), element), span)
