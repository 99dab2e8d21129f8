"""Parallel and vector loops: no two iterations touch the same element.

An element of a local tensor that is declared inside the loop is another element in
each iteration, so private buffers never conflict. Memory counts here, not values.
Where data chooses elements, a conflict is only possible: the answer is "unknown",
unless the kernel assumes that the subscripts are different.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.affine import Affine
from ..ir.nodes import Block, For, Function, If, LoopKind
from ..ir.walk import walk
from .building import build_model
from .certificate import Check
from .injective import only_equal_keys
from .meeting import Dependence, Touch
from .model import Access, Model, Occurrence
from .sets import Map, earlier_image, later_image, same_prefix, sample_pair

NAME = "concurrent loops"


Clash = tuple[Occurrence, Occurrence, Access, Map]


def check_concurrent_loops(model: Model) -> Check:
    """Prove that the parallel and vector loops carry no dependence."""
    possible: Check | None = None
    loops = concurrent_loops(model.function)
    uneven = any(isinstance(n, For) and _is_uneven(n) for n in walk(model.function))
    wider = model
    if loops and uneven:
        wider = build_model(model.function, every_step=True)
    for loop in loops:
        if wider is not model and not any(clashes(wider, loop.axis)):
            continue
        for conflict in find_conflicts(model, loop.axis):
            reason = f"{loop.kind.value} {conflict}"
            if not conflict.chosen:
                return Check(NAME, "refuted", reason, conflict.witness)
            possible = possible or Check(NAME, "unknown", reason, conflict.witness)
    return possible or Check(NAME, "proved")


def _is_uneven(loop: For) -> bool:
    return loop.step > 1 and len(loop.starts) > 1


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


def find_conflict(
    model: Model, axis: str, ignored: frozenset[str] = frozenset()
) -> Dependence | None:
    """Return two iterations of *axis* that conflict, or None.

    Conflicts about the tensors *ignored* do not count.
    """
    return next(find_conflicts(model, axis, ignored), None)


def find_conflicts(
    model: Model, axis: str, ignored: frozenset[str] = frozenset()
) -> Iterator[Dependence]:
    """Yield iterations of *axis* that conflict, one pair for two accesses."""
    for clash in clashes(model, axis, ignored):
        yield _dependence(model, axis, *clash)


def clashes(
    model: Model, axis: str, ignored: frozenset[str] = frozenset()
) -> Iterator[Clash]:
    """Yield a writer, another occurrence, its access, and when the two conflict."""
    inside = [o for o in model.occurrences if axis in o.axes]
    for number, writer in enumerate(inside):
        tensor = writer.write.tensor
        if tensor in ignored or axis in model.storage[tensor].axes:
            continue
        for place, other in enumerate(inside):
            for access in (other.write, *other.reads):
                again = access is other.write and place < number  # seen the other way
                if access.tensor != writer.write.tensor or again:
                    continue
                relation = _clash(model, axis, writer, other, access)
                if relation is not None:
                    yield writer, other, access, relation


def _clash(
    model: Model, axis: str, writer: Occurrence, other: Occurrence, access: Access
) -> Map | None:
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
    pairs = only_equal_keys(model, pairs, (writer, writer.write), (other, access))
    for clash in (earlier_image(pairs, position), later_image(pairs, position)):
        if not clash.is_empty():
            return clash
    return None


def _determines(form: Affine, axis: str, outer: set[str]) -> bool:
    """Whether *form* takes another value in each iteration of *axis*."""
    return all(isinstance(atom, str) for atom, _ in form.terms) and (
        axis in form.names() and form.names() <= outer | {axis}
    )


def _dependence(
    model: Model,
    axis: str,
    writer: Occurrence,
    other: Occurrence,
    access: Access,
    pairs: Map,
) -> Dependence:
    params, first, second = sample_pair(pairs)
    level = writer.axes.index(axis)
    runs = (Touch(writer, writer.write), first), (Touch(other, access), second)
    if first[level] > second[level]:
        runs = runs[1], runs[0]
    return Dependence.between(model, params, level, runs)
