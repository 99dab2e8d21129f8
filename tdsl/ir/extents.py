"""How many values a loop runs over, where constants tell."""

from __future__ import annotations

from .nodes import For


def fixed_extent(loop: For) -> int | None:
    """Return the greatest number of values *loop* spans if its bounds fix one.

    That is so with one start s and a stop s + constant among its stops, and is the rule
    of vectorized and unrolled loops.
    """
    if len(loop.starts) != 1:
        return None
    spans = [stop - loop.starts[0] for stop in loop.stops]
    return min((span.constant for span in spans if span.is_constant), default=None)


def most_iterations(loop: For) -> int | None:
    """Return how often *loop* runs at most, if its bounds fix that."""
    extent = fixed_extent(loop)
    return None if extent is None else max(0, -(-extent // loop.step))


def exact_iterations(loop: For) -> int | None:
    """Return how often *loop* runs, where that is one known number."""
    return most_iterations(loop) if len(loop.stops) == 1 else None
