"""Parallel and vector loops: no two iterations touch the same element.

An element of a local tensor that is declared inside the loop is another element in
each iteration, so private buffers never conflict. Memory counts here, not values.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.affine import Affine
from ..ir.nodes import Block, For, Function, If, LoopKind, Reduce
from .certificate import Check, Witness
from .model import Access, Model, Occurrence
from .sets import Map, earlier_image, later_image, same_prefix, sample_pair
from .witness import Concrete


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two iterations of *axis* that touch one element, at least one writing it."""

    axis: str
    tensor: str
    witness: Witness
    reduction: bool

    def __str__(self) -> str:
        text = f"iterations of {self.axis} share elements of {self.tensor}"
        if self.reduction:
            return f"{text}: use rfactor to give each its own partial result"
        return text


def check_concurrent_loops(model: Model) -> Check:
    """Prove that the parallel and vector loops carry no dependence."""
    for loop in concurrent_loops(model.function):
        conflict = find_conflict(model, loop.axis)
        if conflict is not None:
            reason = f"{loop.kind.value} loop {loop.axis}: {conflict}"
            return Check("concurrent loops", "refuted", reason, conflict.witness)
    return Check("concurrent loops", "proved")


def concurrent_loops(function: Function) -> list[For]:
    """Return the loops whose iterations may run in any order or at once."""
    found: list[For] = []

    def visit(block: Block, around: LoopKind) -> None:
        for statement in block.statements:
            match statement:
                case For():
                    fused = statement.kind is LoopKind.FUSED
                    kind = around if fused else statement.kind
                    if kind in (LoopKind.PARALLEL, LoopKind.VECTORIZED):
                        found.append(statement)
                    visit(statement.body, kind)
                case If():
                    visit(statement.body, around)

    visit(function.body, LoopKind.SERIAL)
    return found


def find_conflict(model: Model, axis: str) -> Conflict | None:
    """Return two iterations of *axis* that conflict, or None."""
    inside = [o for o in model.occurrences if axis in o.axes]
    for number, writer in enumerate(inside):
        if axis in model.storage[writer.write.tensor].axes:
            continue
        for place, other in enumerate(inside):
            for access in (other.write, *other.reads):
                again = access is other.write and place < number  # seen the other way
                if access.tensor != writer.write.tensor or again:
                    continue
                relation = _clash(model, axis, writer, access)
                if relation is not None:
                    return _conflict(model, axis, writer, other, relation)
    return None


def _clash(model: Model, axis: str, writer: Occurrence, access: Access) -> Map | None:
    """Return the pairs of iterations that touch one element, or None."""
    position = writer.axes.index(axis)
    outer = {*writer.axes[:position], *model.params}
    if any(
        form == same and _determines(form, axis, outer)
        for form, same in zip(writer.write.index, access.index, strict=True)
    ):
        return None
    pairs = writer.write.relation.apply_range(access.relation.reverse())
    pairs = same_prefix(pairs, position)
    for clash in (earlier_image(pairs, position), later_image(pairs, position)):
        if not clash.is_empty():
            return clash
    return None


def _determines(form: Affine, axis: str, outer: set[str]) -> bool:
    """Whether *form* takes another value in each iteration of *axis*."""
    return all(isinstance(atom, str) for atom, _ in form.terms) and (
        axis in form.names() and form.names() <= outer | {axis}
    )


def _conflict(
    model: Model, axis: str, writer: Occurrence, other: Occurrence, pairs: Map
) -> Conflict:
    params, first, second = sample_pair(pairs)
    concrete = Concrete(model, params)
    element = concrete.element(writer.write, writer, first)
    iterations = (
        concrete.iteration(writer, first),
        concrete.iteration(other, second),
    )
    witness = concrete.witness(iterations, element)
    reduction = writer is other and isinstance(writer.statement, Reduce)
    return Conflict(axis, writer.write.tensor, witness, reduction)
