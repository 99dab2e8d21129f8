"""Proofs where data chooses elements: proved, or unknown, and never wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tdsl.analysis.certificate import Certificate
from tdsl.analysis.validate import validate
from tdsl.ir.nodes import Assumptions, Function
from tdsl.ir.numerics import Numerics

from ..ir_text import read_function

GATHER = """
def rows(T: f32[V, D], idx: i64[N], Y: output f32[N, D]) for V, D, N:
    for i in range(N):
        for j in range(D):
            Y[i, j] = T[idx[i], j]  # S0[i, j]
"""
HISTOGRAM = """
def histogram(idx: i64[N, M], w: f32[N, M], Y: inout f32[V]) for N, M, V:
    for i in range(N):
        for j in range(M):
            Y[idx[i, j]] += w[i, j]  # S0[i, j]
"""
PUT = HISTOGRAM.replace("+=", "=")
PUT_ROW = """
def put(idx: i64[N], w: f32[N, M], Y: inout f32[V, M]) for N, M, V:
    for i in range(N):
        for j in range(M):
            Y[idx[i], j] = w[i, j]  # S0[i, j]
"""
SWAPPED = (
    ("for i in range(N):", "for j in range(M):"),
    ("    for j in range(M):\n            ", "    for i in range(N):\n            "),
)
IN_PLACE = """
def smooth(idx: i64[N], X: inout f32[N]) for N:
    for i in range(N):
        X[i] = (X[idx[i]] + 1.0)  # S0[i]
"""
LOCAL = """
def staged(X: f32[N], idx: i64[N], Y: output f32[N]) for N:
    T = local f32[N]
    for i in range(N):
        T[i] = (X[i] * 2.0)  # S0[i]
    for j in range(N):
        Y[j] = T[idx[j]]  # S1[j]
"""


def edited(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def interchanged(text: str) -> str:
    outer, inner = "    for i in range(N):\n", "        for j in range(M):\n"
    assert outer + inner in text
    swapped = "    for j in range(M):\n        for i in range(N):\n"
    return text.replace(outer + inner, swapped)


def prove(
    text: str,
    *changes: tuple[str, str],
    numerics: Numerics = "reassoc",
    injective: str = "",
) -> Certificate:
    return prove_texts(text, edited(text, *changes), numerics, injective)


def prove_texts(
    kernel: str, schedule: str, numerics: Numerics = "reassoc", injective: str = ""
) -> Certificate:
    names = (injective,) if injective else ()

    def read(text: str) -> Function:
        function = read_function(text)
        return replace(function, assumptions=Assumptions(injective=names))

    return validate(read(kernel), read(schedule), numerics)


PARALLEL_I = ("range(N):", "range(N):  # parallel")
PARALLEL_J = ("range(M):", "range(M):  # parallel")


@pytest.mark.parametrize("text", [GATHER, HISTOGRAM, PUT, PUT_ROW, IN_PLACE, LOCAL])
def test_identity(text: str) -> None:
    certificate = prove(text, numerics="bitwise")
    assert certificate.verdict == "proved" and not certificate.reassociated


def test_loops_over_gathers_from_inputs_run_at_once() -> None:
    assert prove(GATHER, PARALLEL_I).verdict == "proved"
    vectors = (
        "        for j in range(D):\n            Y",
        "        for j_o in range(0, D, 8):\n"
        "            for j in range(j_o, min(j_o + 8, D)):  # vectorized\n"
        "                Y",
    )
    assert prove(GATHER, PARALLEL_I, vectors, numerics="bitwise").verdict == "proved"


def test_another_subscript_is_refuted() -> None:
    certificate = prove(GATHER, ("T[idx[i], j]", "T[(idx[i] + 1), j]"))
    assert certificate.verdict == "refuted"
    assert certificate.reason.startswith(
        "same dataflow: Y[i, j] = T[(idx[i] + 1), j] computes (idx[i] + 1) where the "
        "kernel has idx[i]"
    )


def test_another_affine_subscript_is_not_proved() -> None:
    certificate = prove(GATHER, ("T[idx[i], j]", "T[idx[i], 0]"))
    assert certificate.verdict != "proved"


def test_an_unchecked_gather_needs_an_unchecked_kernel() -> None:
    certificate = prove(GATHER, ("T[idx", "T.unchecked[idx"))
    assert certificate.verdict == "refuted"
    assert "computes T.unchecked[idx[i], j] where" in certificate.reason


def test_the_order_of_a_histogram() -> None:
    schedule = interchanged(HISTOGRAM)
    certificate = prove_texts(HISTOGRAM, schedule)
    assert certificate.verdict == "proved" and certificate.reassociated
    certificate = prove_texts(HISTOGRAM, schedule, "bitwise")
    assert certificate.verdict == "unknown"
    assert certificate.reason == (
        "same dataflow: the order of Y add-updates changes (numerics is bitwise), if "
        "data chooses that element"
    )


def test_the_order_of_a_plain_scatter() -> None:
    certificate = prove_texts(PUT, interchanged(PUT))
    assert certificate.verdict == "unknown"
    assert certificate.reason == (
        "same dataflow: loop j reverses a flow dependence on Y: a read of Y[0] sees "
        "another value, if data chooses that element"
    )
    # Columns do not meet, so their order is free.
    assert prove_texts(PUT_ROW, interchanged(PUT_ROW)).verdict == "proved"


@pytest.mark.parametrize("text", [HISTOGRAM, PUT])
@pytest.mark.parametrize("loop", [PARALLEL_I, PARALLEL_J])
def test_concurrent_scatters(text: str, loop: tuple[str, str]) -> None:
    certificate = prove(text, loop)
    assert certificate.verdict == "unknown"
    axis = "i" if loop is PARALLEL_I else "j"
    what = "a reduction into" if text == HISTOGRAM else "an output dependence on"
    assert certificate.reason == (
        f"concurrent loops: parallel loop {axis} may carry {what} Y, as data chooses "
        "its elements; if they differ, tdsl.assume(tdsl.injective(...)) says so"
    )
    assert prove(text, loop, injective="idx").verdict == "proved"


def test_injective_subscripts_that_repeat() -> None:
    repeated = PUT_ROW.replace("Y: inout f32[V, M]", "Y: inout f32[V]").replace(
        "Y[idx[i], j]", "Y[idx[i]]"
    )
    assert prove(repeated, PARALLEL_I, injective="idx").verdict == "proved"
    assert prove(repeated, PARALLEL_J, injective="idx").verdict == "unknown"
    shifted = HISTOGRAM.replace("Y[idx[i, j]]", "Y[(idx[i, j] + 1)]")
    assert prove(shifted, PARALLEL_I, injective="idx").verdict == "unknown"


def test_rows_that_data_choose_run_by_columns() -> None:
    assert prove(PUT_ROW, PARALLEL_J).verdict == "proved"
    assert prove(PUT_ROW, PARALLEL_I).verdict == "unknown"


def test_gathers_from_what_a_loop_writes() -> None:
    certificate = prove(IN_PLACE, PARALLEL_I)
    assert certificate.verdict == "unknown"
    assert certificate.reason == (
        "concurrent loops: parallel loop i may carry an anti-dependence on X, as data "
        "chooses its elements"
    )


def test_a_local_tensor_must_be_complete() -> None:
    fused = """
def staged(X: f32[N], idx: i64[N], Y: output f32[N]) for N:
    T = local f32[N]
    for i in range(N):
        T[i] = (X[i] * 2.0)  # S0[i]
        Y[i] = T[idx[i]]  # S1[i]
"""
    certificate = prove_texts(LOCAL, fused)
    assert certificate.verdict == "unknown"
    assert certificate.reason == (
        "same dataflow: loop i reverses a flow dependence on T: may read T[1], which "
        "nothing has written: it gathers by a subscript that is known only when it "
        "runs, if data chooses that element"
    )
    assert prove(LOCAL, PARALLEL_I).verdict == "proved"


def test_packed_copies_are_seen_through() -> None:
    packed = edited(
        GATHER,
        (
            "    for i in range(N):\n",
            "    P = local f32[V, D]\n"
            "    for v in range(V):\n"
            "        for d in range(D):\n"
            "            P[v, d] = T[v, d]\n"
            "    for i in range(N):\n",
        ),
        ("T[idx[i], j]", "P[idx[i], j]"),
    )
    assert prove_texts(GATHER, packed).verdict == "proved"
    smaller = edited(packed, ("f32[V, D]\n    for v", "f32[V + 1, D]\n    for v"))
    certificate = prove_texts(GATHER, smaller)
    assert certificate.verdict == "refuted"
    assert "whose dimension 0 has another size than that of T" in certificate.reason
    wrong = edited(packed, ("= T[v, d]", "= T[0, d]"))
    assert prove_texts(GATHER, wrong).verdict != "proved"


def test_a_dropped_condition_is_refuted() -> None:
    kernel = HISTOGRAM.replace("Y[idx", "if (w[i, j] < 1.0): Y[idx")
    assert prove_texts(kernel, kernel).verdict == "proved"
    assert prove_texts(kernel, HISTOGRAM).verdict == "refuted"


def test_a_dropped_scatter_is_refuted() -> None:
    certificate = prove(HISTOGRAM, ("range(M)", "range(1, M)"))
    assert certificate.verdict == "refuted"
    assert certificate.reason == "exactly once: an iteration of S0 never runs"
    assert certificate.witness is not None
    assert "missing: Y[idx[i, j]] += w[i, j]  at i=0, j=0" in str(certificate.witness)


COUNTED = """
def counted(idx: i64[K], w: f32[K], Y: output f32[N]) for N, K:
    T = local f32[N + 1]
    for z in range(N + 1):
        T[z] = 0.0  # S0[z]
    for i in range(K):
        T[idx[i]] += w[i]  # S1[i]
    for k in range(N):
        Y[k] = T[0]  # S2[k]
"""
ALL_ELEMENTS = """
def put(idx: i64[N, M], w: f32[N, M], Y: inout f32[V]) for N, M, V:
    for i in range(N):
        for j in range(M):
            for e in range(V):
                Y[e] = w[i, j] if i64(e) == idx[i, j] else Y[e]  # S0[i, j, e]
"""


def test_scatters_keep_what_a_subscript_out_of_range_does() -> None:
    kernel = read_function(COUNTED)
    small = (("f32[N + 1]", "f32[1]"), ("range(N + 1)", "range(1)"))
    certificate = validate(kernel, read_function(edited(COUNTED, *small)))
    assert certificate.verdict == "refuted"
    assert "S1 scatters into a tensor of another size" in certificate.reason
    unchecked = read_function(edited(COUNTED, ("T[idx[", "T.unchecked[idx[")))
    assert validate(kernel, unchecked).verdict == "refuted"
    loops, scatter = read_function(ALL_ELEMENTS), read_function(PUT)
    assert "another kind" in validate(loops, scatter).reason
