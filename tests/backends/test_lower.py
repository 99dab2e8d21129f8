"""The passes before emission, on text."""

from __future__ import annotations

from dataclasses import replace

from tdsl.backends.facts import Facts
from tdsl.backends.lower import lower, split_odd_vectors
from tdsl.backends.plan import Plan
from tdsl.backends.registers import register_layouts, unroll_register_loops
from tdsl.ir.affine import name
from tdsl.ir.nodes import Block, Dim, For, LoopKind, Store
from tdsl.ir.printer import print_function
from tdsl.ir.walk import loops, walk

from ..ir_text import read_function
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
    layout = register_layouts(read_function(PACKED_MATMUL))["acc"]
    assert (layout.lane_dimension, layout.lanes) == (1, 16)
    serial = ROW_SUM.replace("part[j - j_o] +=", "part[i] +=")
    assert "part" not in register_layouts(read_function(serial))
    assert register_layouts(read_function(STAGED)) == {}


def test_one_statement_object_in_two_places_is_told_apart() -> None:
    function = read_function(PRIVATE)
    nest = function.body.statements[0]
    twice = replace(function, body=Block((nest, nest)))
    leaves = [id(node) for node in walk(lower(twice)) if isinstance(node, Store)]
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
