"""Sketches tell how large the sum of all weights is, and never too little."""

from __future__ import annotations

from math import inf, nan, pi, tan

import numpy as np
import pytest

from tdsl.backends.sketches import EXCESS, LANES, Sketch, draw, keep, mix, reach


def drawn(sizes: np.ndarray, noises: np.ndarray | None = None) -> np.ndarray:
    """Return the sketch of a new noise for each of *sizes*."""
    found = np.empty((len(sizes), LANES))
    noises = np.zeros(1, np.int64) if noises is None else noises
    for row, size in zip(found, sizes, strict=True):
        draw(row, float(size), noises)
    return found


def test_draws_are_independent_cauchy_numbers() -> None:
    numbers = drawn(np.ones(4000))
    for share in (0.01, 0.1, 0.5, 0.9, 0.99):
        below = np.abs(numbers) < tan(pi / 2 * share)
        assert np.mean(below) == pytest.approx(share, abs=0.004)
    signs = np.sign(numbers)
    assert abs(signs.mean()) < 0.008
    for other in (signs[:, ::-1], np.roll(signs, 1, axis=0), np.roll(signs, 1, axis=1)):
        assert abs((signs * other).mean()) < 0.008
    large = np.abs(numbers) > 1
    together = large[1:] & large[:-1]
    assert np.mean(together) == pytest.approx(0.25, abs=0.004)


@pytest.mark.parametrize("count", [1, 2, 10, 1000])
def test_the_estimate_is_above_the_sum_and_near_it(count: int) -> None:
    random = np.random.default_rng(count)
    noises = np.array([count << 32])
    ratios = []
    for _ in range(300):
        weights = random.standard_normal(count) * 10.0 ** random.uniform(-20, 5, count)
        sketch = np.zeros(LANES)
        for one in drawn(np.abs(weights), noises):
            mix(sketch, float(random.choice([-1, 1])), one)
        ratios.append(reach(sketch, inf) / np.abs(weights).sum())
    assert 2 < EXCESS < 3
    assert min(ratios) > EXCESS / 1.5 and max(ratios) < 1.5 * EXCESS
    assert np.median(ratios) == pytest.approx(EXCESS, rel=0.1)


def test_what_is_in_common_cancels() -> None:
    first, second = drawn(np.array([3.0, 1e-9]))
    both: Sketch = first.copy()
    mix(both, 1.0, second)
    assert 3 < reach(both, inf) < 40
    mix(both, -1.0, first)
    assert 1e-9 < reach(both, inf) < 2e-8
    assert reach(both, 1e-10) == 1e-10


def test_a_noise_is_not_lost_by_underflow() -> None:
    (sketch,) = drawn(np.array([5e-324]))
    scaled = np.zeros(LANES)
    mix(scaled, 1e-20, sketch)
    assert reach(sketch, inf) >= 5e-324
    assert scaled.all()
    assert not drawn(np.zeros(1)).any()


@pytest.mark.parametrize("lane", [inf, -inf, nan])
def test_an_overflow_says_nothing(lane: float) -> None:
    (sketch,) = drawn(np.ones(1))
    finite = reach(sketch, inf)
    sketch[7] = lane
    assert reach(sketch, inf) > finite


@pytest.mark.parametrize("total", [0.0, inf, nan])
def test_nothing_is_kept_of_what_is_exact_or_unknown(total: float) -> None:
    target, (sketch,) = np.ones(LANES), drawn(np.ones(1))
    assert keep(target, sketch, total) == (0.0 if total == 0 else inf)
    assert not target.any()
