"""Witnesses: sampled points of integer sets as statements, sizes and elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ir.affine import Affine
from ..ir.nodes import Block, Instance, Span
from ..ir.printer import print_block
from ..ir.walk import chosen_by_data
from .certificate import KERNEL, Check, Witness
from .model import AFTER_ALL, Access, Model, Occurrence, Reader
from .sets import Set, sample


class Concrete:
    """Names the iterations and elements of a model at sampled counters."""

    def __init__(self, model: Model, params: Mapping[str, int]) -> None:
        """Use *params*, the sampled counter of every dim."""
        self._model = model
        self._params = params

    @property
    def dims(self) -> tuple[tuple[str, int], ...]:
        """The size of every dim."""
        return tuple(
            (dim.name, self._params[dim.name] * dim.multiple)
            for dim in self._model.function.dims
        )

    def witness(self, iterations: tuple[str, ...], element: str) -> Witness:
        """Return a witness at these sizes."""
        return Witness(self.dims, iterations, element)

    def iteration(self, occurrence: Occurrence, counters: Sequence[int]) -> str:
        """Return the statement and the values of its axes."""
        text = statement_text(occurrence)
        values = self._values(occurrence, counters)
        where = ", ".join(
            f"{axis}={self._evaluate(axis, values)}" for axis in _own_axes(occurrence)
        )
        return f"{text}  at {where}" if where else text

    def element(
        self, access: Access, occurrence: Occurrence, counters: Sequence[int]
    ) -> str:
        """Return the element that *access* touches in that iteration."""
        values = self._values(occurrence, counters, access)
        place = [form.evaluate(values) for form in access.index]
        return element_text(access.tensor, place)

    def reading(self, reader: Reader, counters: Sequence[int]) -> tuple[str, str]:
        """Return the iteration that reads, and the element."""
        occurrence = self._model.named(reader.name)
        if occurrence is not None:
            element = self.element(reader.access, occurrence, counters)
            return self.iteration(occurrence, counters), element
        element = element_text(reader.access.tensor, counters)
        return f"the caller reads {element} afterwards", element

    def instance(
        self, instance: Instance, occurrence: Occurrence, counters: Sequence[int]
    ) -> str:
        """Return the original iteration that *occurrence* claims to stand for."""
        values = self._values(occurrence, counters)
        forms = map(self._model.in_counters, instance.coordinates)
        return element_text(instance.label, [form.evaluate(values) for form in forms])

    def _values(
        self,
        occurrence: Occurrence,
        counters: Sequence[int],
        access: Access | None = None,
    ) -> dict[str, int]:
        free = access.free if access is not None else ()
        axes = (*occurrence.axes, *(loop.axis for loop in free))
        # A reading has counters of free axes too, which are no part of an iteration.
        return {**self._params, **dict(zip(axes, counters, strict=False))}

    def _evaluate(self, axis: str, values: Mapping[str, int]) -> int:
        return self._model.in_counters(Affine(((axis, 1),))).evaluate(values)


def element_text(tensor: str, place: Sequence[int]) -> str:
    """Return `C[1, 2]`, or the bare name of a scalar."""
    return f"{tensor}[{', '.join(map(str, place))}]" if place else tensor


def statement_text(occurrence: Occurrence) -> str:
    """Return the statement without the iteration that it stands for."""
    return print_block(Block((occurrence.leaf,))).strip().partition("  #")[0]


def _own_axes(occurrence: Occurrence) -> tuple[str, ...]:
    """Return the axes of the program around *occurrence*."""
    if occurrence.scatter is None:
        return occurrence.axes
    return occurrence.axes[: -len(chosen_by_data(occurrence.scatter.index))]


def refute_unwritten(model: Model, reader: Reader, domain: Set, name: str) -> Check:
    """Return the refutation that *reader* reads elements that nothing has written."""
    params, counters = sample(domain)
    concrete = Concrete(model, params)
    where, element = concrete.reading(reader, counters)
    final = reader.sequence == AFTER_ALL
    chosen = _chosen_reason(model, reader, element)
    if chosen:
        reason = chosen
    elif name == KERNEL:
        written = f"reads {element} before anything writes it"
        reason = f"never writes {element}" if final else written
    elif final:
        reason = f"{element} is never written"
    else:
        reason = f"{element} is read before anything writes it"
    witness = concrete.witness((where,), element)
    return Check(name, "refuted", reason, witness, _reading_span(model, reader))


def _chosen_reason(model: Model, reader: Reader, element: str) -> str:
    """Return what is wrong where data decides which elements are read or written."""
    if reader.access.free:
        return (
            f"may read {element}, which nothing has written: it gathers by a subscript "
            "that is known only when it runs"
        )
    occurrence = model.named(reader.name)
    if occurrence is None:
        scattered = any(o.scatter for o in model.writers_of(reader))
    else:
        own = occurrence.write
        scattered = occurrence.scatter is not None and (
            (reader.access.tensor, reader.access.index) == (own.tensor, own.index)
        )
    if not scattered:
        return ""
    return (
        f"may leave {element} unwritten: it writes only elements that a subscript "
        "chooses when it runs"
    )


def _reading_span(model: Model, reader: Reader) -> Span | None:
    """Return the place of a reading; that of the last writer, where the caller reads.

    That of the whole kernel, where nothing writes.
    """
    occurrence = model.named(reader.name)
    if occurrence is None:
        spans = [o.statement.span for o in model.writers_of(reader)]
        return spans[-1] if spans else model.function.span
    pairs = zip(occurrence.reads, occurrence.loads, strict=True)
    found = [load.span for access, load in pairs if access is reader.access]
    return next((span for span in found if span), occurrence.statement.span)
