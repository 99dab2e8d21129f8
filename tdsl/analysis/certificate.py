"""The answer of a proof: a verdict, what was checked, and a witness if refuted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..ir.affine import Affine
from ..ir.nodes import Block, Instance
from ..ir.printer import print_block
from .model import Access, Model, Occurrence

Verdict = Literal["proved", "refuted", "unknown"]


@dataclass(frozen=True, slots=True)
class Witness:
    """Concrete sizes and iterations that show the fault, and the element in question."""

    dims: tuple[tuple[str, int], ...]
    iterations: tuple[str, ...]
    element: str

    def __str__(self) -> str:
        sizes = ", ".join(f"{dim}={size}" for dim, size in self.dims)
        lines = [f"with {sizes}:" if sizes else "always:"]
        lines += [f"  {iteration}" for iteration in self.iterations]
        return "\n".join([*lines, f"  element {self.element}"])


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one of the checks that make up a proof."""

    name: str
    verdict: Verdict
    reason: str = ""
    witness: Witness | None = None


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is known about a scheduled function.

    *proved* means that it computes the same values as the original for all sizes that
    the dims allow, however its parallel and vector loops run; *reassociated*, that
    some reductions add up in another order. *unknown* is neither legal nor illegal.
    """

    verdict: Verdict
    reason: str
    checks: tuple[Check, ...]
    witness: Witness | None = None
    reassociated: bool = False

    def __str__(self) -> str:
        lines = [f"{self.verdict}: {self.reason}"]
        if self.witness is not None:
            lines.append(str(self.witness))
        return "\n".join(lines)


def conclude(checks: Sequence[Check], reassociated: bool) -> Certificate:
    """Return the certificate that follows from *checks*."""
    for verdict in ("refuted", "unknown"):
        for check in checks:
            if check.verdict == verdict:
                reason = f"{check.name}: {check.reason}"
                return Certificate(verdict, reason, tuple(checks), check.witness)
    order = "up to the order of reductions" if reassociated else "in the same order"
    reason = f"the same values as the kernel, {order}"
    return Certificate("proved", reason, tuple(checks), None, reassociated)


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
        text = print_block(Block((occurrence.statement,))).strip().partition("  #")[0]
        values = self._values(occurrence, counters)
        where = ", ".join(
            f"{axis}={self._evaluate(axis, values)}" for axis in occurrence.axes
        )
        return f"{text}  at {where}" if where else text

    def element(
        self, access: Access, occurrence: Occurrence, counters: Sequence[int]
    ) -> str:
        """Return the element that *access* touches in that iteration."""
        values = self._values(occurrence, counters)
        place = [form.evaluate(values) for form in access.index]
        return element_text(access.tensor, place)

    def instance(
        self, instance: Instance, occurrence: Occurrence, counters: Sequence[int]
    ) -> str:
        """Return the original iteration that *occurrence* claims to stand for."""
        values = self._values(occurrence, counters)
        forms = map(self._model.in_counters, instance.coordinates)
        return element_text(instance.label, [form.evaluate(values) for form in forms])

    def _values(
        self, occurrence: Occurrence, counters: Sequence[int]
    ) -> dict[str, int]:
        return {**self._params, **dict(zip(occurrence.axes, counters, strict=True))}

    def _evaluate(self, axis: str, values: Mapping[str, int]) -> int:
        return self._model.in_counters(Affine(((axis, 1),))).evaluate(values)


def element_text(tensor: str, place: Sequence[int]) -> str:
    """Return `C[1, 2]`, or the bare name of a scalar."""
    return f"{tensor}[{', '.join(map(str, place))}]" if place else tensor
