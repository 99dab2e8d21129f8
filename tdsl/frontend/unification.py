"""The dims of a called kernel, solved for over the dims of the caller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..ir.affine import Affine, name
from ..ir.nodes import Function
from ..ir.printer import print_condition
from .facts import Facts

Shapes = Mapping[str, tuple[Affine, ...]]


@dataclass(frozen=True, slots=True)
class Unifier:
    """Equations between the shapes of parameters and those of the arguments."""

    function: Function
    shapes: Shapes
    facts: Facts

    def solve(self, known: Mapping[str, Affine]) -> dict[str, Affine]:
        """Return the dims that the shapes determine, and those *known* already."""
        sizes = dict(known)
        progress = True
        while progress:
            progress = False
            for _, _, form, size in self._equations():
                unknown = form.names() - sizes.keys()
                if len(unknown) == 1:
                    (each,) = unknown
                    found = _solved(form, each, size, sizes)
                    if found is not None:
                        sizes[each] = found
                        progress = True
        return sizes

    def problem(self, sizes: Mapping[str, Affine]) -> str | None:
        """Return what is wrong with *sizes*, if something is."""
        callee = self.function.name
        missing = [d.name for d in self.function.dims if d.name not in sizes]
        if missing:
            example = ", ".join(f"{each}=..." for each in missing)
            return (
                f"the shapes do not determine dim {', '.join(missing)} of `{callee}`: "
                f"pass {example}"
            )
        for tensor, axis, form, size in self._equations():
            wanted = form.substitute(sizes)
            gap = size - wanted
            if not (self.facts.implies(gap) and self.facts.implies(-gap)):
                return (
                    f"dimension {axis} of `{tensor}` of `{callee}` is {wanted} by the "
                    f"other arguments, but {size} here: the sizes must be equal"
                )
        for form in self._assumptions():
            wanted = form.substitute(sizes)
            if not self.facts.implies(wanted):
                condition = print_condition(wanted)
                return (
                    f"`{callee}` assumes {print_condition(form)}, and here {condition} "
                    f"may be false: start with `tdsl.assume({condition})`"
                )
        return None

    def _equations(self) -> Iterator[tuple[str, int, Affine, Affine]]:
        for param in self.function.params:
            given = self.shapes.get(param.tensor.name)
            if given is not None:
                pairs = zip(param.tensor.shape, given, strict=True)
                for axis, (form, size) in enumerate(pairs):
                    yield param.tensor.name, axis, form, size

    def _assumptions(self) -> Iterator[Affine]:
        for dim in self.function.dims:
            size = name(dim.name)
            yield size - dim.min
            if dim.max is not None:
                yield -size + dim.max
            if dim.multiple != 1:
                yield -(size % dim.multiple)
        yield from self.function.assumptions.conditions


def _solved(
    form: Affine, each: str, size: Affine, sizes: Mapping[str, Affine]
) -> Affine | None:
    """Solve `form == size` for the dim *each*; None where that is no affine form."""
    factor = form.coefficient(each)
    rest = form - name(each) * factor
    if not factor or each in rest.names():
        return None
    total = size - rest.substitute(sizes)
    if factor < 0:
        total, factor = -total, -factor
    if total.constant % factor or any(count % factor for _, count in total.terms):
        return None
    return total // factor
