"""Random chains of accepted steps: well-formed, and the same values where proved."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from tdsl.analysis.validate import validate
from tdsl.ir.verify import verify
from tdsl.schedules.schedule import Schedule

from .kernels import TEXTS, kernel
from .random_chains import random_schedule
from .test_cases import outputs

SEEDS = range(100)


@cache
def scheduled(seed: int) -> tuple[Schedule, str]:
    """Return a random schedule and what the proof says of it."""
    choose = random.Random(seed)
    original = kernel(choose.choice(list(TEXTS)))
    schedule = random_schedule(Schedule(original), choose, choose.randint(1, 7))
    return schedule, validate(original, schedule.function, "reassoc").verdict


@pytest.mark.parametrize("seed", SEEDS)
def test_accepted_and_proved_computes_the_same(seed: int) -> None:
    schedule, verdict = scheduled(seed)
    original = schedule.original
    verify(schedule.function)
    assert Schedule.from_json(original, schedule.to_json()) == schedule
    if verdict != "proved":
        return
    for sizes in ((5, 7, 6), (2, 1, 3)):
        values = {
            dim.name: max(dim.min, size * dim.multiple)
            for dim, size in zip(original.dims, sizes, strict=False)
        }
        expected = outputs(original, values)
        for order in ("forward", "reverse"):
            actual = outputs(schedule.function, values, order, original)
            for name, array in expected.items():
                np.testing.assert_array_equal(actual[name], array, str(schedule))


def test_most_random_chains_are_proved(note: Callable[[str], None]) -> None:
    proved = sum(scheduled(seed)[1] == "proved" for seed in SEEDS)
    note(f"schedules: {proved} of {len(SEEDS)} random chains proved")
    assert proved > len(SEEDS) // 2
