"""Decisions read off a series of numbers, random or drawn by Hypothesis."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import TypeVar

_T = TypeVar("_T")


class Choices:
    """A source of decisions: each one uses up a number, 0 where none is left.

    Options are listed simplest first, so smaller numbers make simpler examples.
    """

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = iter(numbers)

    def pick(self, options: Sequence[_T]) -> _T:
        """Return one of *options*."""
        return options[next(self._numbers, 0) % len(options)]

    def several(self, options: Sequence[_T], count: int) -> tuple[_T, ...]:
        """Return *count* different ones of *options*, in any order."""
        left = list(options)
        return tuple(left.pop(self.pick(range(len(left)))) for _ in range(count))


def random_choices(seed: int, stream: int = 0) -> Choices:
    """Return endless random decisions; equal arguments give equal ones."""
    generator = random.Random(f"{seed} {stream}")
    return Choices(iter(lambda: generator.getrandbits(20), None))
