"""How much a parallel loop does each time, so that little is done without threads.

Waking threads and waiting for the last takes as long as thousands of operations, and
longer where the machine has other work. A parallel loop inside of another loop may do
that much, or next to nothing, depending on how far the other one has come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..ir.affine import Affine
from ..ir.nodes import Block, For, If, LoopKind

LEAST = 16_384
"""Vectors, or else elements, for which it pays to wake the threads."""
_LANES = 8
_FEW = 64  # iterations of a tile, about as many as there are at its end

Limits = Mapping[str, tuple[Affine, Affine]]


@dataclass(frozen=True, slots=True)
class Work:
    """Writes how much loops do. *integer* writes a form, *step* the step of a loop."""

    integer: Callable[[Affine], str]
    step: Callable[[For], str]

    def of_each(self, chain: list[For]) -> str:
        """Return the text of how much one iteration of *chain* does at most."""
        limits = {loop.axis: (loop.starts[0], loop.stops[0] - 1) for loop in chain}
        products = self._products(chain[-1].body, limits)
        texts = (" * ".join(each for each in p if each != "1") for p in products)
        return " + ".join(dict.fromkeys(text or "1" for text in texts)) or "1"

    def _products(self, block: Block, limits: Limits) -> list[list[str]]:
        """Return the counts of the loops around each innermost loop in *block*."""
        found: list[list[str]] = []
        for statement in block.statements:
            if isinstance(statement, If):
                found += self._products(statement.body, limits)
            elif isinstance(statement, For):
                start = statement.starts[0]
                ends = start, statement.stops[0] - 1
                inside = {**limits, statement.axis: ends}
                inner = self._products(statement.body, inside) or [[]]
                lengths = [_most(stop - start, limits) for stop in statement.stops]
                found += [[self._count(statement, lengths), *each] for each in inner]
        return found

    def _count(self, loop: For, lengths: list[Affine]) -> str:
        """Return the text of how many iterations *loop* has, at most all *lengths*."""
        lanes = loop.kind is LoopKind.VECTORIZED
        step = str(_LANES) if lanes else self.step(loop)
        known: list[int] = []
        counts: list[str] = []
        for length in dict.fromkeys(lengths):
            if length.is_constant and step.isdecimal():
                known.append(max(-(-length.constant // int(step)), 0))
            elif step == "1":
                counts.append(self.integer(length))
            else:
                counts.append(f"({self.integer(length)} + {step} - 1) // {step}")
        if known and (min(known) <= _FEW or not counts):
            return str(min(known))
        if known:
            counts.append(str(min(known)))
        least = counts[0] if len(counts) == 1 else f"min({', '.join(counts)})"
        return f"max({least}, 0)"


def _most(form: Affine, limits: Limits) -> Affine:
    """Return *form* with inner axes where they make it largest, innermost first."""
    for axis in reversed(list(limits)):
        if axis in form.names():
            low, high = limits[axis]
            end = high if form.coefficient(axis) > 0 else low
            form = form.substitute({axis: end})
    return form
