"""The passes before emission, on text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tdsl.analysis.validate import validate
from tdsl.backends.facts import Facts
from tdsl.backends.lower import lower, split_odd_vectors, without_sharing
from tdsl.backends.plan import Plan
from tdsl.backends.registers import register_layouts, unroll_register_loops
from tdsl.backends.source import emit_source
from tdsl.backends.tile_loops import tile_loop
from tdsl.errors import BackendError
from tdsl.ir.affine import name
from tdsl.ir.nodes import Block, Dim, For, LoopKind, Store
from tdsl.ir.printer import print_function
from tdsl.ir.walk import loops, walk
from tdsl.schedules.library import default_schedule
from tdsl.schedules.sketches import sketch
from tdsl.target import AVX2, AVX512, Target

from ..ir_text import read_function
from ..kernels import BATCHED, CONVOLUTION, MATMUL
from ..specialize import specialize
from .scheduled import PACKED_MATMUL, PRIVATE, ROW_SUM, STAGED

WIDE = """
def wide(x: inout f32[N]) for N:
    for i_o in range(0, N, 48):
        for i in range(i_o, min(i_o + 48, N)):  # vectorized
            x[i] = 2.0 * x[i]
"""


def test_vectors_are_cut_to_powers_of_two() -> None:
    text = print_function(split_odd_vectors(read_function(WIDE)))
    assert "for i_v in range(i_o, min(i_o + 48, N), 16):  # unrolled" in text
    assert "for i in range(i_v, min(i_v + 16, N)):  # vectorized" in text
    assert split_odd_vectors(read_function(PACKED_MATMUL)) == read_function(
        PACKED_MATMUL
    )


def test_a_transposing_copy_is_vectorized_and_others_are_not() -> None:
    lowered = lower(read_function(PACKED_MATMUL))
    kinds = {axis: loop.kind for axis, loop in loops(lowered).items()}
    assert kinds["k_q"] is LoopKind.VECTORIZED
    assert kinds["k_q_v"] is LoopKind.SERIAL
    assert kinds["k_p"] is LoopKind.SERIAL
    # What is read in rows already, or written where it is read, stays.
    same = PACKED_MATMUL.replace("= A[i_q, k_q]", "= A[k_q, i_q]")
    assert "k_q_v" not in loops(lower(read_function(same)))


def test_short_loops_over_registers_are_unrolled() -> None:
    text = ROW_SUM.replace("for e in range(8):  # unrolled", "for e in range(8):")
    kinds = loops(unroll_register_loops(read_function(text)))
    assert kinds["e"].kind is LoopKind.UNROLLED
    assert kinds["j_o"].kind is LoopKind.SERIAL


def test_register_layouts() -> None:
    layout = register_layouts(read_function(PACKED_MATMUL))["C_acc"]
    assert (layout.lane_dimension, layout.lanes) == (1, 16)
    serial = ROW_SUM.replace("part[j - j_o] +=", "part[i] +=")
    assert "part" not in register_layouts(read_function(serial))
    assert register_layouts(read_function(STAGED)) == {}


def test_one_statement_object_in_two_places_is_told_apart() -> None:
    function = read_function(PRIVATE)
    nest = function.body.statements[0]
    twice = replace(function, body=Block((nest, nest)))
    apart = replace(twice, body=without_sharing(twice.body))
    leaves = [id(node) for node in walk(apart) if isinstance(node, Store)]
    assert len(leaves) == len(set(leaves))


def test_guards_of_accumulators_need_no_test_and_those_of_memory_do() -> None:
    function = lower(read_function(PACKED_MATMUL))
    plan = Plan(function)
    reduction = loops(function)["k"]
    assert plan.pending[id(reduction)] == frozenset()
    store = loops(function)["i_s"]
    assert plan.pending[id(store)] == {
        name("M") - name("i_t") - 4,
        name("N") - name("j_t") - 16,
    }


def test_partial_sums_keep_their_guards() -> None:
    """Lanes beyond the end must not enter the sum: all of `part` is read."""
    function = lower(read_function(ROW_SUM))
    plan = Plan(function)
    (leaf,) = loops(function)["j"].body.statements
    assert plan.leaves[id(leaf)].dropped == frozenset()
    assert len(plan.leaves[id(leaf)].guards) == 1


def loop(axis: str, stop: str, step: int) -> For:
    start = name("zero") - name("zero")
    body = Block(())
    return For(axis, (start,), (name(stop),), step, LoopKind.SERIAL, body)


def test_facts_follow_steps_and_multiples() -> None:
    facts = Facts(
        [Dim("N", multiple=12), Dim("M")], [loop("i", "N", 4), loop("j", "M", 4)]
    )
    assert facts.holds(name("N") - name("i") - 4)
    assert not facts.holds(name("N") - name("i") - 5)
    assert facts.holds(name("M") - name("j") - 1)
    assert not facts.holds(name("M") - name("j") - 2)
    assert facts.holds(name("i") + name("M"))
    assert not facts.holds(name("i") - 1)


def test_a_tile_loop_has_one_start() -> None:
    text = WIDE.replace("range(i_o, min(", "range(max(i_o, 3), min(")
    with pytest.raises(BackendError, match="vectorized loop 'i' has more than one"):
        tile_loop(loops(read_function(text))["i"])
    with pytest.raises(BackendError, match="more than one start"):
        emit_source(read_function(text))


def test_what_is_not_well_formed_is_not_emitted() -> None:
    function = read_function(WIDE)
    nest = function.body.statements[0]
    twice = replace(function, body=Block((nest, nest)))
    with pytest.raises(BackendError, match="not well-formed: i_o names two things"):
        emit_source(twice)


@pytest.mark.parametrize("target", [AVX2, AVX512], ids=lambda target: target.name)
@pytest.mark.parametrize("text", [MATMUL, BATCHED, CONVOLUTION])
def test_lowered_default_schedules_are_still_proved(text: str, target: Target) -> None:
    """What `lower` changes after the proof is proved here."""
    function = read_function(text)
    lowered = lower(default_schedule(function, target, "reassoc").function)
    certificate = validate(function, lowered, "reassoc")
    assert certificate.verdict == "proved", certificate.reason


@pytest.mark.parametrize("tile", ["8x3", "14x2"])
def test_code_for_known_sizes_is_as_short_as_for_others(tile: str) -> None:
    """Only loops inside a register tensor's scope are unrolled for its sake."""
    sizes = {"M": 2048, "N": 2048, "K": 2048}
    space = sketch(specialize(read_function(MATMUL), sizes), AVX512, "reassoc")
    schedule = space.build({**space.default(), "S1.tile": tile})
    text = emit_source(schedule.function).text
    assert len(text.splitlines()) < 400


def test_a_load_into_a_register_takes_one_line() -> None:
    text = emit_source(read_function(PACKED_MATMUL)).text
    assert "C_acc_0_0 = load(C, " in text


NARROW = """
def narrow(A: f32[5, K], B: f32[K, 7], C: output f32[5, 7]) for K:
    for i_o in range(0, 5, 20):
        for j_o in range(0, 7, 8):
            C_acc = local f32[5, 7] in registers
            for i_z in range(i_o, min(i_o + 20, 5)):  # unrolled
                for j_z in range(j_o, min(j_o + 8, 7)):  # vectorized
                    C_acc[i_z - i_o, j_z - j_o] = 0.0  # S0[i_z, j_z]
            for k in range(K):
                for i_i in range(i_o, min(i_o + 20, 5)):  # unrolled
                    for j_i in range(j_o, min(j_o + 8, 7)):  # vectorized
                        C_acc[i_i - i_o, j_i - j_o] += (A[i_i, k] * B[k, j_i])  # S1[i_i, j_i, k]
            for i_s in range(i_o, min(i_o + 20, 5)):  # unrolled
                for j_s in range(j_o, min(j_o + 8, 7)):  # vectorized
                    C[i_s, j_s] = C_acc[i_s - i_o, j_s - j_o]
"""  # noqa: E501 - IR text is not wrapped


def test_dead_iterations_do_not_write_where_there_is_no_room() -> None:
    """A buffer of 5 x 7 elements under a tile of 20 x 8 once lost the heap."""
    function = lower(read_function(NARROW))
    plan = Plan(function)
    for axis in ("j_z", "j_i"):
        (leaf,) = loops(function)[axis].body.statements
        assert plan.leaves[id(leaf)].dropped == frozenset()
