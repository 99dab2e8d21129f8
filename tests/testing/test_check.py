"""`check` passes right kernels, and reports wrong ones with a small failing case."""

from __future__ import annotations

import sys
from types import MappingProxyType
from typing import Any

import pytest

import tdsl
from tdsl import f32
from tdsl.analysis.certificate import Certificate
from tdsl.errors import ArgumentError, CheckError, ProofError
from tdsl.executable import ReferenceBackend
from tdsl.ir.nodes import For, Function, LoopKind
from tdsl.ir.walk import loops, rewrite
from tdsl.kernel import Kernel
from tdsl.schedules import trace
from tdsl.testing import (
    Case,
    FailedCheck,
    check,
    check_schedule,
    moves,
    run_case,
    running,
)

from ..ir_text import read_function
from .altered import RIGHT, SCALE, WRONG, WRONG_IF_UNROLLED, Altered

pytestmark = pytest.mark.usefixtures("small_sizes")


def failure(kernel: Kernel, **options: Any) -> FailedCheck:
    with pytest.raises(FailedCheck) as caught:
        check(kernel, **{"examples": 30, **options})
    return caught.value


def test_a_right_kernel_passes_and_the_report_says_how_well() -> None:
    report = check(RIGHT, examples=30)
    assert report.examples == 30 and report.elements > 100
    assert 0.01 < report.worst.max_error_over_bound <= 1
    assert (report.compiled, report.interpreted) == (3, 7)
    assert str(report).startswith("scale: 30 examples, ")
    assert "schedules: 3 compiled, 7 interpreted, all proved" in str(report)


def test_compiled_code_passes() -> None:
    N = tdsl.dim("N")

    @tdsl.kernel
    def plus(x: f32[N]) -> f32[N]:
        y = tdsl.empty((N,), f32)
        for i in range(N):
            y[i] = x[i] + 1.0
        return y

    report = check(plus, examples=14)
    assert report.examples == 14 and report.worst.max_error_over_bound <= 1


def test_a_wrong_last_column_is_found_and_made_small() -> None:
    failed = failure(WRONG).failure
    assert failed.case.dims == {"M": 2, "N": 8}
    assert failed.case.layout == "contiguous"
    message = str(failed)
    assert message.startswith("scale is wrong for M=2, N=8: Y[1, 7] is ")
    assert ": error 1, bound " in message
    assert f"seed {failed.case.seed}" in message


def test_the_printed_line_repeats_the_failure() -> None:
    text = str(failure(WRONG_IF_UNROLLED, examples=100, seed=2))
    line = text.rpartition("to repeat: ")[2]
    with pytest.raises(FailedCheck, match=r"Y\[.* is "):
        eval(line, {"tdsl": tdsl, "scale": WRONG_IF_UNROLLED})
    assert eval(line, {"tdsl": tdsl, "scale": RIGHT}).passed


def test_changed_inputs_are_found() -> None:
    def spoil(x: Any, *others: Any) -> None:
        x[...] = 0

    message = str(failure(Kernel(SCALE, backend=Altered(change=spoil))))
    assert "X[0, 0]" in message and ": changed" in message


def test_writes_between_the_elements_are_found() -> None:
    def spoil(x: Any, a: Any, y: Any, m: int, n: int) -> None:
        if y.base is not None and y.base.size == 4 * m * n > 0:
            y.base[1, 1] = 0

    kernel = Kernel(SCALE, backend=Altered(change=spoil))
    with pytest.raises(FailedCheck, match="between the elements of Y was written"):
        run_case(kernel, Case({"M": 3, "N": 4}, 0, layout="stepped"))
    assert run_case(kernel, Case({"M": 3, "N": 4}, 0, layout="reversed")).passed


def test_a_wrong_schedule_is_reported_with_its_shortest_form() -> None:
    schedule = (
        RIGHT.schedule()
        .split("i", 4)
        .split("j", 5, names=("u", "v"))
        .reorder("u", "i_i")
        .unroll("v")
        .parallelize("i_o")
    )
    with pytest.raises(FailedCheck) as caught:
        check_schedule(WRONG_IF_UNROLLED, schedule)
    failed = caught.value.failure
    assert str(failed.schedule) == 'schedule.split("j", 2).unroll("j_i")'
    assert failed.case.dims == {"M": 2, "N": 8}
    assert (
        'schedule:  scale.schedule().split("j", 2).unroll("j_i")  '
        "(made shorter, from 5 steps)"
    ) in str(failed)
    assert check_schedule(RIGHT, schedule).examples == 60


def test_random_schedules_meet_a_fault_that_few_of_them_have() -> None:
    failed = failure(WRONG_IF_UNROLLED, examples=100, seed=2).failure
    assert failed.schedule is not None
    names = [each.primitive for each in failed.schedule.steps]
    assert names == ["split", "unroll"]


# --- faults of tdsl itself --------------------------------------------------------


def dropping(function: Function, axis: str, factor: int, **options: Any) -> Function:
    """Split, and leave out the iterations of the last, partial tile."""
    done = trace.PRIMITIVES["right split"](function, axis, factor, **options)
    new = [loop for name, loop in loops(done).items() if name not in loops(function)]
    outer = max(new, key=lambda loop: loop.step)
    short = tuple(stop // outer.step * outer.step for stop in outer.stops)
    return rewrite(
        done,
        lambda s: (
            For(s.axis, s.starts, short, s.step, s.kind, s.body)
            if isinstance(s, For) and s.axis == outer.axis
            else s
        ),
    )


SUM = read_function(
    """
def sums(X: f32[M, N], Y: output f32[M]) for M, N:
    for i in range(M):
        Y[i] = 0.0  # S0[i]
        for j in range(N):
            Y[i] += X[i, j]  # S1[i, j]
"""
)


@pytest.fixture
def dropped_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    split = trace.PRIMITIVES["split"]
    wrong = {**trace.PRIMITIVES, "split": dropping, "right split": split}
    monkeypatch.setattr(trace, "PRIMITIVES", MappingProxyType(wrong))


@pytest.fixture
def blind_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the proof accept everything, to see that the runs alone find a fault."""
    proved = Certificate("proved", "blind", ())
    monkeypatch.setattr(moves, "validate", lambda *_: proved)
    monkeypatch.setattr(sys.modules["tdsl.kernel"], "prove", lambda *_: proved)


@pytest.mark.usefixtures("dropped_tails")
def test_the_proof_refutes_a_primitive_that_drops_the_tail() -> None:
    with pytest.raises(ProofError, match="refuted"):
        check_schedule(RIGHT, RIGHT.schedule().split("i", 4))


@pytest.mark.usefixtures("dropped_tails", "blind_proof")
def test_runs_find_a_primitive_that_drops_the_tail() -> None:
    failed = failure(Kernel(SUM, backend=ReferenceBackend())).failure
    assert failed.schedule is not None
    (only,) = failed.schedule.steps
    assert only.primitive == "split" and dict(only.arguments)["factor"] <= 3
    assert "Y[" in failed.reason
    assert sum(failed.case.dims.values()) <= 6


def test_a_wrong_reference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = running.interpret

    def wrong(function: Function, arrays: Any, dims: Any, **options: Any) -> None:
        right(function, arrays, dims, **options)
        arrays["Y"] += 1

    monkeypatch.setattr(running, "interpret", wrong)
    assert "the reference interpreter disagrees: Y[" in str(failure(RIGHT))


def test_a_primitive_that_breaks_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(function: Function, axis: str) -> Function:
        raise AssertionError("our mistake")

    wrong = dict.fromkeys(("unroll", "vectorize", "parallelize"), broken)
    monkeypatch.setattr(
        trace, "PRIMITIVES", MappingProxyType({**trace.PRIMITIVES, **wrong})
    )
    with pytest.raises(AssertionError, match="our mistake") as caught:
        check(RIGHT, examples=60)
    assert caught.value.__notes__[0].startswith("tdsl failed at ")


# --- options ----------------------------------------------------------------------


def test_arguments_can_be_prepared() -> None:
    seen = []

    def prepare(arrays: dict[str, Any], dims: Any) -> None:
        arrays["X"][...] = 2
        seen.append(dict(dims))

    assert check(RIGHT, examples=5, prepare=prepare).void == 0
    assert seen and all(each["M"] >= 1 for each in seen)
    message = str(failure(WRONG, prepare=prepare))
    assert message.endswith("prepare=...)")


@pytest.mark.parametrize("count", [0, -1, True, 2.5])
def test_the_count_of_examples_is_checked(count: Any) -> None:
    with pytest.raises(ArgumentError, match=f"examples is {count!r}: write how many"):
        check(RIGHT, examples=count)


def test_the_engines_agree_that_parallel_order_does_not_matter() -> None:
    schedule = RIGHT.schedule().parallelize("i")
    loop = loops(schedule.function)["i"]
    assert loop.kind is LoopKind.PARALLEL
    for seed in range(3):  # forward, reverse, interleaved
        case = Case({"M": 5, "N": 4}, seed)
        assert run_case(RIGHT, case, schedule=schedule, engine="interpreted").passed


def test_a_failed_check_is_an_assertion_and_an_error_of_tdsl() -> None:
    assert issubclass(FailedCheck, AssertionError) and issubclass(
        FailedCheck, CheckError
    )


@pytest.mark.parametrize("backend", [ReferenceBackend()])
def test_a_seed_gives_the_same_check_again(backend: Any) -> None:
    kernel = Kernel(SCALE, backend=backend)
    assert check(kernel, examples=20, seed=3) == check(kernel, examples=20, seed=3)
    assert check(kernel, examples=20, seed=3) != check(kernel, examples=20, seed=4)
