"""In bounds: every access stays inside its tensor, for all sizes the dims allow."""

from __future__ import annotations

from ..ir.affine import Affine
from ..ir.nodes import Function
from .certificate import Check
from .model import Model, Occurrence, Place, box, build_model
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


def is_nonnegative(function: Function, form: Affine, axis: str | None = None) -> bool:
    """Whether *form* is >= 0 wherever the body of *axis* runs, for all allowed sizes.

    Without *axis*, *form* is over the dims only.
    """
    model = build_model(function)
    place = model.places[axis] if axis else Place()
    negative = -model.in_counters(form) - 1
    return bool(place.domain(function, "", negative).is_empty())


def is_divisible(function: Function, extent: Affine, factor: int) -> bool:
    """Whether *factor* divides *extent*, a form over the dims, for all sizes."""
    return is_nonnegative(function, -(extent % factor))


def _refute(
    model: Model, name: str, occurrence: Occurrence, number: int, inside: Set
) -> Check:
    access = (occurrence.write, *occurrence.reads)[number]
    fine = access.relation.intersect_range(inside).domain()
    params, counters = sample(occurrence.domain.subtract(fine))
    concrete = Concrete(model, params)
    element = concrete.element(access, occurrence, counters)
    tensor = model.storage[access.tensor].tensor
    shape = ", ".join(map(str, tensor.shape))
    reason = f"{element} lies outside {tensor.name}[{shape}]"
    where = concrete.iteration(occurrence, counters)
    return Check(name, "refuted", reason, concrete.witness((where,), element))
