"""No right program leaves its error bound, and planted faults do at once."""

from __future__ import annotations

import numpy as np
import pytest

from tdsl.backends.error_bound import evaluate_with_bound
from tdsl.ir.nodes import Function
from tdsl.testing.case import Case
from tdsl.testing.values import make_arrays

from ..backends.programs import PROGRAMS, random_arrays
from .batch import TRIALS, batched, stacked
from .campaign import Arrays, Runner, judge, run_campaign
from .kernels import PLANTED
from .tightness import measure, rows

FEW = 10


def test_a_short_campaign_finds_nothing() -> None:
    report = run_campaign(1500, seed=1)
    assert not report.violations, report
    assert report.trials >= 1500 and report.programs > 3
    assert report.void < report.elements / 2
    assert 0.02 < max(report.ratios) <= 1, "no error ever came close to its bound"


def data(function: Function, dims: dict[str, int], nearby: bool) -> Arrays:
    """Return sets of normal numbers; *nearby* ones differ little from 1000."""
    sets = [make_arrays(function, Case(dims, seed)) for seed in range(FEW)]
    arrays = stacked(sets)
    if nearby:
        for array in arrays.values():
            array[...] = 1000 + array * np.finfo(array.dtype).eps ** 0.4
    return arrays


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_leaves_the_bound_at_once(name: str) -> None:
    planted = PLANTED[name]
    stated, wrong = planted.stated.function, planted.wrong.function
    nearby = "cancellation" in name or "squared" in name
    arrays, dims = data(stated, planted.dims, nearby), {**planted.dims, TRIALS: FEW}
    expected = evaluate_with_bound(batched(stated), arrays, dims)
    right = judge(
        Runner(stated, "reassoc", parallel=False)(arrays, dims), expected, FEW
    )
    assert right.counted.all() and (right.worst <= 1).all()
    found = judge(Runner(wrong, "reassoc", parallel=False)(arrays, dims), expected, FEW)
    assert (found.worst > 1).all(), found.worst


def test_tightness_is_measured() -> None:
    small = {row.name: row for row in reversed(rows()) if max(row.dims.values()) < 300}
    assert {*small} == {"matmul", "softmax", "layer_norm", "lu, dominant", "lu, random"}
    for name, row in small.items():
        ratio, size = measure(row)
        assert 1 < ratio < 2000, name
        assert size < (1e-3 if name == "lu, random" else 1e-5), name


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_batch_is_many_runs(name: str) -> None:
    """The trick of the campaign does not change what a program means."""
    program = PROGRAMS[name]
    dims = dict(program.dims)
    sets = [random_arrays(program.function, dims, seed) for seed in range(2)]
    whole = evaluate_with_bound(
        batched(program.function), stacked(sets), {**dims, TRIALS: 2}
    )
    for number, arrays in enumerate(sets):
        for name, (value, bound) in evaluate_with_bound(
            program.function, arrays, dims
        ).items():
            np.testing.assert_allclose(whole[name][0][number], value, 1e-9, 1e-12)
            np.testing.assert_allclose(whole[name][1][number], bound, 0.05)
