"""Where loops start and stop, and how many iterations they have, as source text."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import BackendError
from ..ir.nodes import For
from .point import Point
from .storage import LANE, Addresses
from .writer import Writer


class Ranges:
    """Write the ranges of loops; *step_names* are the steps that are sizes."""

    def __init__(
        self,
        writer: Writer,
        addresses: Addresses,
        identifiers: Mapping[str, str],
        step_names: Mapping[str, str],
    ) -> None:
        self._writer = writer
        self._addresses = addresses
        self._ids = identifiers
        self._steps = step_names

    def bounds(self, loop: For, point: Point) -> tuple[str, str]:
        """Return where *loop* starts and stops, which no lane decides."""
        forms = [*map(point.at, loop.starts), *map(point.at, loop.stops)]
        if any(LANE in form.names() for form in forms):
            raise BackendError(
                f"the range of loop {loop.axis!r} differs between the lanes of the "
                "vectorized loop around it; vectorize another loop, or reorder"
            )
        count = len(loop.starts)
        texts = [self._addresses.integer(form) for form in forms]
        return _extreme("max", texts[:count]), _extreme("min", texts[count:])

    def step(self, loop: For) -> str:
        """Return the step of *loop*."""
        return self._steps.get(loop.axis, str(loop.step))

    def count(self, loop: For, start: str, stop: str) -> str:
        """Return how many iterations *loop* has, a variable."""
        step = self.step(loop)
        length = stop if start == "0" else f"{stop} - ({start})"
        if step == "1":
            text = f"max({length}, 0)"
        else:
            text = f"max(({length} + {step} - 1) // {step}, 0)"
        return self._writer.named(
            f"{self._ids[loop.axis]}_count", text, len(self._writer.stack) - 1
        )


def _extreme(function: str, texts: list[str]) -> str:
    texts = list(dict.fromkeys(texts))
    return texts[0] if len(texts) == 1 else f"{function}({', '.join(texts)})"
