"""Accepted cases print as recorded, are well-formed, replay, and compute the same."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tdsl.backends.index_inputs import draw_subscripts
from tdsl.backends.reference import interpret
from tdsl.ir.nodes import Function, Role
from tdsl.ir.printer import print_function
from tdsl.ir.verify import verify
from tdsl.schedules.schedule import Schedule

from .cases import CASES, Case
from .kernels import kernel

GOLDEN = Path(__file__).parent / "golden"


def scheduled(case: Case) -> Schedule:
    return case.chain(Schedule(kernel(case.kernel)))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_prints_as_recorded(case: Case, update_golden: bool) -> None:
    schedule = scheduled(case)
    text = "\n".join(
        (
            str(schedule),
            print_function(schedule.original),
            print_function(schedule.function),
        )
    )
    path = GOLDEN / f"{case.name}.txt"
    if update_golden:
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_is_well_formed_and_leaves_the_original_alone(case: Case) -> None:
    before = kernel(case.kernel)
    schedule = case.chain(Schedule(before))
    verify(schedule.function)
    assert before == kernel(case.kernel)
    assert schedule.original is before


@pytest.mark.parametrize("case", CASES, ids=str)
def test_replays_from_json_and_from_its_text(case: Case) -> None:
    schedule = scheduled(case)
    again = Schedule.from_json(kernel(case.kernel), schedule.to_json())
    assert again == schedule and hash(again) == hash(schedule)
    assert again.function == schedule.function
    typed = eval(str(schedule), {"schedule": Schedule(kernel(case.kernel))})
    assert typed == schedule


@pytest.mark.parametrize("case", CASES, ids=str)
def test_computes_the_same(case: Case) -> None:
    schedule = scheduled(case)
    for values in sizes(schedule.original):
        expected = outputs(schedule.original, values)
        for order in ("forward", "reverse"):
            actual = outputs(schedule.function, values, order)
            for name, array in expected.items():
                np.testing.assert_array_equal(actual[name], array, f"{name} {values}")


def sizes(function: Function) -> list[dict[str, int]]:
    """Return sizes below, at and above the tiles of the cases."""
    choices = {1: (0, 1, 2, 3, 8, 13, 33), 2: (0, 1, 3, 8, 11), 3: (1, 4, 9)}
    count = len(function.dims)
    points = product(choices.get(count, (1,)), repeat=count)
    result = []
    for point in points:
        values = {
            dim.name: max(dim.min, value * dim.multiple)
            for dim, value in zip(function.dims, point, strict=True)
        }
        if values not in result:
            result.append(values)
    return result if count < 3 else result[::2]


def outputs(
    function: Function,
    values: dict[str, int],
    order: str = "forward",
    original: Function | None = None,
) -> dict[str, np.ndarray]:
    """Run *function* on small integers, which float sums keep exact.

    What is a subscript in *original* lies inside the tensor that it chooses from.
    """
    random = np.random.default_rng(7)
    arrays = {}
    for param in function.params:
        shape = tuple(form.evaluate(values) for form in param.tensor.shape)
        whole = random.integers(-4, 5, shape)
        chosen = draw_subscripts(original or function, param, values, random)
        whole = whole if chosen is None else chosen
        arrays[param.tensor.name] = whole.astype(param.tensor.dtype.numpy)
    interpret(function, arrays, values, order=order)
    written = {p.tensor.name for p in function.params if p.role is not Role.INPUT}
    return {name: arrays[name] for name in written}
