"""Bounds of affine forms: what is claimed holds for every iteration."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdsl.ir.affine import Affine, affine, name
from tdsl.ir.nodes import Block, Dim, For, LoopKind
from tdsl.ir.walk import loops
from tdsl.schedules.bounds import (
    extent_over_dims,
    highest,
    is_nonnegative,
    lowest,
    multiple_of,
    prune_starts,
    prune_stops,
)
from tdsl.schedules.schedule import Schedule

from .kernels import kernel

M = name("M")
DIMS = {"M": Dim("M", min=1, multiple=4)}


def loop(axis: str, start: Affine, *stops: Affine, step: int = 1) -> For:
    return For(axis, (start,), stops, step, LoopKind.SERIAL, Block(()))


NEST = {
    "o": loop("o", affine(0), M, step=6),
    "t": loop("t", name("o"), name("o") + 6, M, step=2),
    "i": loop("i", name("t"), name("t") + 2, M),
    "r": loop("r", affine(0), affine(3)),
}


def iterations(size: int) -> Iterator[dict[str, int]]:
    def extend(values: dict[str, int], rest: list[For]) -> Iterator[dict[str, int]]:
        if not rest:
            yield values
            return
        head = rest[0]
        start = max(form.evaluate(values) for form in head.starts)
        stop = min(form.evaluate(values) for form in head.stops)
        for value in range(start, stop, head.step):
            yield from extend({**values, head.axis: value}, rest[1:])

    return extend({"M": size}, list(NEST.values()))


POINTS = [point for size in (4, 8) for point in iterations(size)]
coefficients = st.integers(-2, 2)
linear = st.builds(
    lambda values, constant: sum(
        (name(axis) * value for axis, value in zip("otirM", values, strict=True)),
        affine(constant),
    ),
    st.tuples(*[coefficients] * 5),
    st.integers(-4, 8),
)
forms = st.builds(
    lambda one, two, divisor, factor: one + (two // divisor) * factor,
    linear,
    linear,
    st.integers(1, 4),
    st.integers(-1, 1),
)


@given(forms)
def test_nonnegative_is_never_claimed_wrongly(form: Affine) -> None:
    if is_nonnegative(form, NEST, DIMS):
        assert all(form.evaluate(point) >= 0 for point in POINTS)


@given(forms)
def test_extremes_bound_every_iteration(form: Affine) -> None:
    inner = {axis: NEST[axis] for axis in ("t", "i", "r")}
    for point in POINTS:
        value = form.evaluate(point)
        outer = {axis: point[axis] for axis in ("M", "o")}
        assert all(low.evaluate(outer) <= value for low in lowest(form, inner))
        assert all(high.evaluate(outer) >= value for high in highest(form, inner))


@given(forms)
def test_multiples_divide_every_iteration(form: Affine) -> None:
    multiple = multiple_of(form, NEST, DIMS)
    for point in POINTS:
        value = form.evaluate(point)
        assert value == 0 if multiple == 0 else value % multiple == 0


@given(st.lists(linear, min_size=1, max_size=4))
def test_pruning_keeps_the_range(stops: list[Affine]) -> None:
    kept_stops = prune_stops(stops, NEST, DIMS)
    kept_starts = prune_starts(stops, NEST, DIMS)
    assert kept_stops and kept_starts
    for point in POINTS:
        values = [form.evaluate(point) for form in stops]
        assert min(form.evaluate(point) for form in kept_stops) == min(values)
        assert max(form.evaluate(point) for form in kept_starts) == max(values)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (M - name("i") - 1, True),
        (name("o") + 5 - name("i"), True),
        (name("o") + 4 - name("i"), False),
        (M // 4, True),
        (M - 1, True),
        (M - 2, False),
    ],
)
def test_nonnegative_sees_through_tiles(form: Affine, expected: bool) -> None:
    assert is_nonnegative(form, NEST, DIMS) is expected


def test_the_last_tile_of_a_tile_is_exact() -> None:
    inner = {axis: NEST[axis] for axis in ("t", "i")}
    assert highest(name("i"), inner) == (name("o") + 5, M - 1)


def test_extent_over_dims_prefers_constants() -> None:
    spans = [M - name("t"), affine(7)]
    assert extent_over_dims(spans, 2, NEST, DIMS) == affine(4)
    assert extent_over_dims(spans[:1], 2, NEST, DIMS) == (M + 1) // 2


def test_tiles_of_skewed_tiles_do_not_take_forever() -> None:
    schedule = Schedule(kernel("plane")).tile(("i", "j"), (3, 4), origin=0)
    started = time.perf_counter()
    for depth in range(1, 3):
        axes = "i" + "_i" * depth, "j" + "_i" * depth
        schedule = schedule.skew(*axes, depth).tile(axes, (3, 4), origin=0)
    assert len(loops(schedule.function)) == 9
    assert time.perf_counter() - started < 20  # a second; it used to be hours
