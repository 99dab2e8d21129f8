"""Kept order: which tensors are settled without looking for last writers."""

from __future__ import annotations

import pytest

from tdsl.analysis import validate as proof
from tdsl.analysis.building import build_model
from tdsl.analysis.instances import instance_maps
from tdsl.analysis.order import tensors_in_order
from tdsl.analysis.original import original_facts
from tdsl.analysis.strips import with_strips_joined
from tdsl.analysis.tracing import trace_dataflow
from tdsl.analysis.validate import validate
from tdsl.ir.nodes import Function
from tdsl.schedules.schedule import Schedule

from ..ir_text import read_function
from ..schedules.kernels import kernel

SKEWED_TILES = (
    Schedule(kernel("jacobi"))
    .shift("j", 1)
    .merge("i", "j")
    .skew("t", "i", 2)
    .tile(("t", "i"), (4, 8), origin=0)
)


def settled(schedule: Schedule) -> frozenset[str]:
    original = original_facts(schedule.original)
    model = build_model(with_strips_joined(schedule.function))
    maps = instance_maps(original, model)
    assert isinstance(maps, dict)
    return tensors_in_order(original, model, maps)


def verdict(schedule: Schedule) -> str:
    return validate(schedule.original, schedule.function).verdict


def time_tiles(factor: int) -> Schedule:
    merged = Schedule(kernel("jacobi")).shift("j", 1).merge("i", "j")
    return merged.skew("t", "i", factor).tile(("t", "i"), (4, 8), origin=0)


@pytest.mark.parametrize("factor", (2, 3))
def test_enough_skew_keeps_the_order(factor: int) -> None:
    assert settled(time_tiles(factor)) == {"A", "B"}
    assert verdict(time_tiles(factor)) == "proved"


@pytest.mark.parametrize("factor", (-1, 1))
def test_too_little_skew_does_not(factor: int) -> None:
    assert not settled(time_tiles(factor)) & {"A", "B"}
    assert verdict(time_tiles(factor)) == "refuted"


def test_tiles_without_skew_do_not() -> None:
    merged = Schedule(kernel("jacobi")).shift("j", 1).merge("i", "j")
    tiled = merged.tile(("t", "i"), (4, 8))
    assert not settled(tiled)
    assert verdict(tiled) == "refuted"


def test_statements_merged_without_a_shift_do_not() -> None:
    merged = Schedule(kernel("jacobi")).merge("i", "j")
    assert not settled(merged)
    assert verdict(merged) == "refuted"


def test_a_diagonal_of_tiles_is_parallel() -> None:
    wavefront = SKEWED_TILES.skew("t_o", "i_o", 2).reorder("i_o", "t_o")
    assert settled(wavefront) == {"A", "B"}
    assert verdict(wavefront.parallelize("t_o")) == "proved"


@pytest.mark.parametrize("axis", ("i_o", "t_o"))
def test_a_row_of_tiles_is_not(axis: str) -> None:
    assert verdict(SKEWED_TILES.parallelize(axis)) == "refuted"


def test_a_diagonal_that_is_too_flat_is_not() -> None:
    tiles = time_tiles(2).skew("t_o", "i_o", -2).reorder("i_o", "t_o")
    assert verdict(tiles) == "refuted"


def test_lanes_of_skewed_tiles() -> None:
    parted = (
        SKEWED_TILES.fission("i_i", after="S0")
        .tighten("i_i")
        .tighten("i_i_2")
        .split("i_i", 4)
        .vectorize("i_i_i")
    )
    assert settled(parted) == {"A", "B"}
    assert verdict(parted) == "proved"


def test_lanes_that_share_elements_are_refuted_with_joined_strips_too() -> None:
    skewed = Schedule(kernel("time")).skew("t", "i", 1).split("i", 8, origin=0)
    lanes = skewed.split("i_i", 4).vectorize("i_i_i")
    assert with_strips_joined(lanes.function) != lanes.function
    assert verdict(lanes) == "refuted"


def test_lanes_apart_only_because_of_the_strips_are_proved() -> None:
    kernel_ = read_function(
        """
def far(X: inout f32[N], M: f32[T]) for N, T:
    for t in range(T):
        for i in range(4, N):
            X[i] = (X[i - 4] + 1.0)  # S0[t, i]
"""
    )
    strips = Schedule(kernel_).skew("t", "i", 1).split("i", 8, origin=0)
    lanes = strips.split("i_i", 4).vectorize("i_i_i")
    assert with_strips_joined(lanes.function) != lanes.function
    assert verdict(lanes) == "proved"


def test_rows_in_turn_with_a_loop_that_starts_unlike() -> None:
    jam = (
        Schedule(kernel("plane"))
        .skew("t", "i", 1)
        .tile(("t", "i"), (2, 8), origin=0)
        .skew("i_i", "j", 2)
        .split("i_i", 4, names=("g", "r"))
        .reorder("j", "r")
        .cut("j", "2*g + 7")
        .cut("j_2", "N - 1 + 2*g")
    )
    assert settled(jam) == {"A"}
    assert verdict(jam) == "proved"


def test_rows_in_turn_without_the_skew() -> None:
    jam = Schedule(kernel("plane")).split("i", 4).reorder("j", "i_i")
    assert verdict(jam) == "proved"  # the new values of the row above are there
    back = Schedule(kernel("plane")).skew("i", "j", -1).reorder("j", "i")
    assert not settled(back)
    assert verdict(back) == "refuted"


def test_what_is_settled_is_not_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[frozenset[str]] = []

    def traced(*args: object) -> object:
        seen.append(args[3] if len(args) > 3 else frozenset())  # type: ignore[arg-type]
        return trace_dataflow(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(proof, "trace_dataflow", traced)
    assert verdict(SKEWED_TILES) == "proved"
    assert seen == [{"A", "B"}]


def test_staged_and_reordered_tensors_are_left_to_the_dataflow() -> None:
    matmul: Function = kernel("matmul")
    staged = Schedule(matmul).split("i", 4).cache_read("A", "i_o")
    assert settled(staged) == {"B", "C"}
    swapped = Schedule(kernel("row_sums")).reorder("j", "i")
    assert settled(swapped) == {"A", "S"}


INLINED = """
def inlined(A: inout f32[N], B: f32[N], Y: output f32[N]) for N:
    M = local f32[N]
    for i in range(N):
        M[i] = A[i] + B[i]  # S0[i]
    for j in range(N):
        A[j] = 2.0  # S1[j]
    for k in range(N):
        Y[k] = A[k] * M[k]  # S2[k]
"""
LATER = """
def inlined(A: inout f32[N], B: f32[N], Y: output f32[N]) for N:
    for j in range(N):
        A[j] = 2.0  # S1[j]
    for k in range(N):
        Y[k] = 2.0 * (A[k] + B[k])  # S2[k]
"""


def test_reads_of_inlined_producers_are_not_in_place() -> None:
    # Both have one load of A[k] first: but that of the schedule stands for S0's.
    certificate = validate(read_function(INLINED), read_function(LATER))
    assert certificate.verdict == "refuted"
    assert "a read of A[0] sees another value" in certificate.reason


TWICE = """
def twice(A: inout f32[4], B: f32[4]):
    for k in range(4):
        A[k] = B[k] + 1.0  # S0[k]
        A[k] = A[k] + 2.0  # S1[k]
"""


def test_tiles_whose_order_would_follow_from_itself() -> None:
    crossed = TWICE.replace(
        "    for k in range(4):\n",
        "    for t in range(0, 2, 4):\n"
        "        for u in range(t, t + 4, 2):\n"
        "            for k in range(u - t, u - t + 2):\n",
    ).replace("        A[k]", "                A[k]")
    kernel, schedule = read_function(TWICE), read_function(crossed)
    assert validate(kernel, schedule).verdict == "proved"
