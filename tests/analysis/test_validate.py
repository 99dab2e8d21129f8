"""What the proof accepts, what it refutes and with which words, what it leaves open."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tdsl.analysis.certificate import Certificate
from tdsl.analysis.validate import validate
from tdsl.ir.affine import name
from tdsl.ir.dtypes import i64
from tdsl.ir.nodes import Alloc, Block, Function, Index, Reduce, ReduceOp, Stmt, Store
from tdsl.ir.numerics import Numerics
from tdsl.ir.walk import rewrite

from ..ir_text import read_function
from .kernels import LANES, MATMUL, PACKED, SMOOTH, TOTAL, read

Changes = tuple[tuple[str, str], ...]


def prove(
    kernel: str,
    schedule: str,
    *changes: tuple[str, str],
    numerics: Numerics = "reassoc",
) -> Certificate:
    return validate(read(kernel), read(schedule, *changes), numerics)


def test_packed_matmul_is_proved_in_order() -> None:
    certificate = prove(MATMUL, PACKED, numerics="bitwise")
    assert (
        str(certificate) == "proved: the same values as the kernel, in the same order"
    )
    assert not certificate.reassociated
    assert {check.verdict for check in certificate.checks} == {"proved"}


def test_a_kernel_is_its_own_schedule() -> None:
    for text in (MATMUL, TOTAL, SMOOTH):
        function = read(text)
        assert validate(function, function).verdict == "proved"


def test_partial_sums_are_proved_up_to_reassociation() -> None:
    certificate = prove(TOTAL, LANES)
    assert certificate.verdict == "proved"
    assert certificate.reassociated


def test_partial_sums_are_refuted_bitwise() -> None:
    certificate = prove(TOTAL, LANES, numerics="bitwise")
    assert certificate.verdict == "refuted"
    assert "the order of C add-updates changes" in certificate.reason


def test_bitwise_allows_integers_in_any_order() -> None:
    integers = (("f32", "i64"), ("0.0", "0"))
    kernel, lanes = read(TOTAL, *integers), read(LANES, *integers)
    assert validate(kernel, lanes, "bitwise").reassociated


def test_bitwise_keeps_the_order_of_float_maxima() -> None:
    # max(0.0, -0.0) is either of them.
    kernel = maxima(read(TOTAL))
    lanes = maxima(read(LANES, ("P[r] = 0.0", "P[r] = -1e999")))
    assert validate(kernel, lanes, "reassoc").reassociated
    assert "the order of C max-updates changes" in (
        validate(kernel, lanes, "bitwise").reason
    )


def maxima(function: Function) -> Function:
    def rule(statement: Stmt) -> Stmt:
        if isinstance(statement, Reduce):
            index, value = statement.index, statement.value
            return Reduce(
                ReduceOp.MAX, statement.tensor, index, value, statement.instance
            )
        return statement

    return rewrite(function, rule)


REFUTED: dict[str, tuple[str, str, Changes, str]] = {
    "the reduction loop stops early": (
        MATMUL,
        PACKED,
        (
            (
                "for k in range(k_o, min(k_o + 256, K))",
                "for k in range(k_o, min(k_o + 255, K))",
            ),
        ),
        "exactly once: an iteration of S1 never runs",
    ),
    "packing stops early": (
        MATMUL,
        PACKED,
        (
            (
                "k_q in range(k_o, min(k_o + 256, K))",
                "k_q in range(k_o, min(k_o + 255, K))",
            ),
        ),
        "same dataflow: A_pack[0, 255, 0] is read before anything writes it",
    ),
    "packing swaps subscripts": (
        MATMUL,
        PACKED,
        (("= A[i_q, k_q]", "= A[k_q, i_q]"),),
        "in bounds: A[1, 0] lies outside A[M, K]",
    ),
    "a panel is too small": (
        MATMUL,
        PACKED,
        (("f32[8, 256, 12]", "f32[7, 256, 12]"),),
        "in bounds: A_pack[7, 0, 0] lies outside A_pack[7, 256, 12]",
    ),
    "tiles overlap": (
        MATMUL,
        PACKED,
        (("range(0, M, 96)", "range(0, M, 84)"),),
        "concurrent loops: parallel loop i_o carries an output dependence on C",
    ),
    "the zero is stored in every block": (
        MATMUL,
        PACKED,
        (("if -k_o >= 0", "if k_o >= 0"),),
        "exactly once: an iteration of S0 runs twice",
    ),
    "the accumulator is not written back": (
        MATMUL,
        PACKED,
        (("= C_acc[i_s - i_t, j_s - j_t]", "= C[i_s, j_s]"),),
        "same dataflow: two updates continue from the same value: one is lost",
    ),
    "blocks of k run in parallel": (
        MATMUL,
        PACKED,
        (("for k_o in range(0, K, 256):", "for k_o in range(0, K, 256):  # parallel"),),
        "concurrent loops: parallel loop k_o carries a flow dependence on C",
    ),
    "a reduction runs as a vector": (
        TOTAL,
        TOTAL,
        (
            (
                "    for i in range(N):\n        C",
                "    for o in range(0, N, 8):\n"
                "        for i in range(o, min(o + 8, N)):  # vectorized\n"
                "            C",
            ),
        ),
        "concurrent loops: vectorized loop i carries a reduction into C: use rfactor "
        "to give each iteration its own partial result",
    ),
    "no k leaves C unwritten": (
        MATMUL.replace("1<=K", "K"),
        PACKED,
        (("1<=K", "K"),),
        "exactly once: an iteration of S0 never runs",
    ),
    "a partial sum is not merged": (
        TOTAL,
        LANES,
        (("for q in range(8)", "for q in range(7)"),),
        "same dataflow: partial results of a reduction are never merged",
    ),
    "a partial sum is merged twice": (
        TOTAL,
        LANES,
        (("        C[0] += P[q]", "        C[0] += P[q]\n    C[0] += P[0]"),),
        "same dataflow: two updates continue from the same value: one is lost",
    ),
    "partial sums start at one": (
        TOTAL,
        LANES,
        (("P[r] = 0.0", "P[r] = 1.0"),),
        "same dataflow: an update continues from a value that is not part of the "
        "reduction",
    ),
    "a partial sum is not initialised": (
        TOTAL,
        LANES,
        (("for r in range(8)", "for r in range(7)"),),
        "same dataflow: P[7] is read before anything writes it",
    ),
    "another element is inlined": (
        SMOOTH,
        "def smooth(A: f32[N], C: output f32[N]) for N:\n    for j in range(N):\n"
        "        C[j] = exp(A[0]) + A[j]  # S1[j]\n",
        (),
        "same dataflow: a read of A[0] sees another value",
    ),
    "another function is inlined": (
        SMOOTH,
        SMOOTH,
        (("exp", "tanh"),),
        "same dataflow: T[i] = tanh(A[i]) computes tanh(A[i]) where the kernel has "
        "exp(A[i])",
    ),
    "an input is written": (
        TOTAL,
        TOTAL,
        (("    C[0] = 0.0  # S0", "    C[0] = 0.0  # S0\n    A[0] = C[0]"),),
        "well-formed: a write to the input A",
    ),
    "a wrong instance": (
        TOTAL,
        TOTAL,
        (("S1[i]", "S1[i + 1]"),),
        "exactly once: the kernel has no iteration S1[1]",
    ),
    "other parameters": (
        TOTAL,
        TOTAL,
        (("for N", "for 1<=N"),),
        "signature: the parameters or dims differ",
    ),
}


@pytest.mark.parametrize("fault", REFUTED)
def test_faults_are_refuted(fault: str) -> None:
    kernel, schedule, changes, reason = REFUTED[fault]
    certificate = prove(kernel, schedule, *changes)
    assert (certificate.verdict, certificate.reason) == ("refuted", reason)


def test_a_witness_names_sizes_iterations_and_the_element() -> None:
    certificate = prove(
        TOTAL, TOTAL, ("for i in range(N):", "for i in range(N):  # parallel")
    )
    assert str(certificate) == (
        "refuted: concurrent loops: parallel loop i carries a reduction into C: use "
        "rfactor to give each iteration its own partial result\n"
        "with N=2:\n  C[0] += A[i]  at i=0 updates C[0]\n"
        "  C[0] += A[i]  at i=1 updates it"
    )


def test_a_witness_shows_what_a_read_sees_instead() -> None:
    certificate = prove(SMOOTH, SMOOTH, ("C[j] = T[j]", "C[j] = T[0]"))
    assert str(certificate.witness) == (
        "with N=2:\n  C[j] = (T[0] + A[j])  at j=1\n"
        "  must see T[i] = exp(A[i])  at i=1\n  sees T[i] = exp(A[i])  at i=0\n"
        "  element T[0]"
    )


def test_a_producer_may_be_inlined() -> None:
    inlined = (
        "def smooth(A: f32[N], C: output f32[N]) for N:\n    for j in range(N):\n"
        "        C[j] = exp(A[j]) + A[j]  # S1[j]\n"
    )
    assert prove(SMOOTH, inlined).verdict == "proved"


def test_a_local_may_be_recomputed_where_it_is_read() -> None:
    blur = """
def blur(A: f32[N + 2], C: output f32[N]) for N:
    T = local f32[N + 2]
    for i in range(N + 2):
        T[i] = 0.0  # S0[i]
        for k in range(2):
            T[i] += A[i]  # S1[i, k]
    for j in range(N):
        C[j] = T[j] + T[j + 2]  # S2[j]
"""
    tiled = """
def blur(A: f32[N + 2], C: output f32[N]) for N:
    for o in range(0, N, 4):
        T = local f32[6]
        for i in range(o, min(o + 6, N + 2)):
            T[i - o] = 0.0  # S0[i]
            for k in range(2):
                T[i - o] += A[i]  # S1[i, k]
        for j in range(o, min(o + 4, N)):
            C[j] = T[j - o] + T[j - o + 2]  # S2[j]
"""
    assert prove(blur, tiled).verdict == "proved"
    short = prove(blur, tiled, ("min(o + 6, N + 2)", "min(o + 5, N + 2)"))
    assert short.reason == "same dataflow: T[5] is read before anything writes it"


def test_an_observed_sum_keeps_its_order() -> None:
    prefix = """
def prefix(A: f32[N], B: output f32[N], C: output f32[1]) for N:
    C[0] = 0.0  # S0
    for i in range(N):
        C[0] += A[i]  # S1[i]
        B[i] = C[0]  # S2[i]
"""
    split = """
def prefix(A: f32[N], B: output f32[N], C: output f32[1]) for N:
    C[0] = 0.0  # S0
    for i in range(N):
        C[0] += A[i]  # S1[i]
    for j in range(N):
        B[j] = C[0]  # S2[j]
"""
    certificate = prove(prefix, split)
    assert str(certificate) == (
        "refuted: same dataflow: the order of statements reverses an anti-dependence "
        "on C: a read of C[0] sees another value\nwith N=2:\n"
        "  B[j] = C[0]  at j=0\n  must see C[0] += A[i]  at i=0\n"
        "  sees C[0] += A[i]  at i=1\n  element C[0]"
    )


def test_stencils_in_place() -> None:
    stencil = """
def relax(A: inout f32[N]) for N, T:
    for t in range(T):
        for i in range(1, N - 1):
            A[i] = A[i - 1] + A[i] + A[i + 1]  # S0[t, i]
"""
    reversed_loops = """
def relax(A: inout f32[N]) for N, T:
    for i in range(1, N - 1):
        for t in range(T):
            A[i] = A[i - 1] + A[i] + A[i + 1]  # S0[t, i]
"""
    wavefront = """
def relax(A: inout f32[N]) for N, T:
    for w in range(1, N - 1 + 2*T - 2):
        for t in range(max(0, (w - N + 3)//2), min(T, (w + 1)//2)):
            A[w - 2*t] = A[w - 2*t - 1] + A[w - 2*t] + A[w - 2*t + 1]  # S0[t, w - 2*t]
"""
    assert prove(stencil, reversed_loops).verdict == "refuted"
    assert prove(stencil, wavefront).verdict == "proved"
    parallel = ("(w + 1)//2)):", "(w + 1)//2)):  # parallel")
    assert prove(stencil, wavefront, parallel).verdict == "proved"


def test_two_writers_at_one_level_keep_their_outer_iteration() -> None:
    kernel = """
def cross(A: inout f32[N + 4, N + 4]) for 1<=N, 2<=M:
    for i in range(N):
        for t in range(1, M):
            A[i + 2, i + 1] = A[i + 2, i + 2]  # S0[i, t]
            A[i + 2, i + 2] += A[N - i + 2, i]  # S1[i, t]
"""
    swapped = """
def cross(A: inout f32[N + 4, N + 4]) for 1<=N, 2<=M:
    for t in range(1, M):
        for i in range(N):
            A[i + 2, i + 1] = A[i + 2, i + 2]  # S0[i, t]
            A[i + 2, i + 2] += A[N - i + 2, i]  # S1[i, t]
"""
    certificate = prove(kernel, swapped)
    assert certificate.reason == (
        "same dataflow: loop t reverses a flow dependence on A: a read of A[3, 2] sees "
        "another value"
    )


def test_a_kernel_that_reads_garbage_is_refuted() -> None:
    text = (
        "def bad(C: output f32[N]) for N:\n    for i in range(1, N):\n"
        "        C[i] = 0.0  # S0[i]\n"
    )
    certificate = prove(text, text)
    assert certificate.reason == "the kernel itself: never writes C[0]"


def test_assumptions_on_dims_are_used() -> None:
    text = """
def half(A: f32[N], C: output f32[N]) for N%8==0:
    for i in range(N):
        C[i] = A[i]  # S0[i]
"""
    split = """
def half(A: f32[N], C: output f32[N]) for N%8==0:
    for o in range(0, N, 4):
        for i in range(o, o + 4):
            C[i] = A[i]  # S0[i]
"""
    assert prove(text, split).verdict == "proved"
    weaker = ("N%8==0", "N%2==0")
    certificate = validate(read(text, weaker), read(split, weaker))
    assert certificate.reason == "in bounds: C[2] lies outside C[N]"
    assert certificate.witness is not None
    assert certificate.witness.dims == (("N", 2),)


def test_strided_loops_with_several_starts() -> None:
    text = """
def odd(A: inout f32[N]) for N:
    for i in range(1, N, 2):
        A[i] = 0.0  # S0[i]
"""
    cut = """
def odd(A: inout f32[N]) for N:
    for i in range(1, min(N, 5), 2):
        A[i] = 0.0  # S0[i]
    for r in range(max(1, 5), N, 2):
        A[r] = 0.0  # S0[r]
"""
    assert prove(text, cut).verdict == "proved"
    certificate = prove(text, cut, ("max(1, 5)", "max(1, 4)"))
    assert certificate.reason == "exactly once: the kernel has no iteration S0[4]"


def test_a_local_tensor_needs_its_declaration() -> None:
    kernel = read(SMOOTH)
    inner = rewrite(kernel, lambda s: Block(()) if isinstance(s, Alloc) else s)
    certificate = validate(kernel, inner)
    assert certificate.verdict == "refuted"
    assert certificate.reason == "well-formed: T is not declared here"


COPY = """
def copy(x: f32[M], y: output f32[M]) for M:
    for i in range(M):
        y[i] = x[i]  # S0[i]
"""
STRIDED = COPY.replace("range(M)", "range(0, M, 4)").replace("output", "inout")
EIGHT = COPY.replace("[M]", "[8]").replace(" for M", "").replace("range(M)", "range(8)")

MALFORMED: dict[str, tuple[str, str, str]] = {
    "two loops of one axis": (
        STRIDED,
        STRIDED.replace(
            "    for i in range(0, M, 4):",
            "    for i in range(0, M, 4):\n        pass\n    for i in range(M):",
        ),
        "i names two things",
    ),
    "two tensors of one name": (
        EIGHT,
        """
def copy(x: f32[8], y: output f32[8]):
    T = local f32[4]
    for p in range(8):
        T[p] = x[p]
    T = local f32[8]
    for i in range(8):
        y[i] = x[i]  # S0[i]
""",
        "T names two things",
    ),
    "a tensor declared in a guard": (
        EIGHT,
        """
def copy(x: f32[8], y: output f32[8]):
    if -1 >= 0:
        T = local f32[8]
    for p in range(8):
        T[p] = x[p]
    for i in range(8):
        y[i] = T[i]  # S0[i]
""",
        "T is not declared here",
    ),
    "a fused loop at the top": (
        COPY,
        COPY.replace("range(M):", "range(M):  # fused"),
        "fused loop i is not alone in the loop around it",
    ),
    "a vectorized loop with a step": (
        STRIDED,
        STRIDED.replace("range(0, M, 4):", "range(0, M, 4):  # vectorized"),
        "vectorized loop i has step 4",
    ),
    "a vectorized loop of any length": (
        COPY,
        COPY.replace("range(M):", "range(M):  # vectorized"),
        "vectorized loop i has no size",
    ),
}


@pytest.mark.parametrize("fault", MALFORMED)
def test_what_is_malformed_is_refuted(fault: str) -> None:
    kernel, schedule, reason = MALFORMED[fault]
    certificate = validate(read(kernel), read(schedule))
    assert certificate.verdict == "refuted"
    assert certificate.reason == f"well-formed: {reason}"


def test_a_malformed_kernel_is_refuted_as_such() -> None:
    kernel = read(COPY.replace("x[i]", "x[j]"))
    assert validate(kernel, kernel).reason == (
        "the kernel itself: is malformed: subscript of x: j is not visible in j"
    )


def test_running_out_of_steps_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdsl.analysis.validate.OPERATIONS", 1000)
    certificate = prove(MATMUL, PACKED)
    assert certificate.verdict == "unknown"
    assert certificate.reason == "model: undecided after 1000 steps of isl"
    monkeypatch.undo()
    assert prove(MATMUL, PACKED).verdict == "proved"


def test_number_forms_are_compared_by_value() -> None:
    text = """
def count(C: output i64[N]) for N:
    for i in range(N):
        C[i] = 0  # S0[i]
"""
    kernel = indexed(read(text), "i")
    assert validate(kernel, kernel).verdict == "proved"
    assert validate(kernel, indexed(read(text), "N")).reason == (
        "same dataflow: C[i] = i64(N) has the number N where the kernel has i"
    )


def indexed(function: Function, form: str) -> Function:
    def rule(statement: Stmt) -> Stmt:
        if isinstance(statement, Store):
            return replace(statement, value=Index(name(form), i64))
        return statement

    return rewrite(function, rule)


def test_open_chains_of_copies_are_followed_from_examples() -> None:
    kernel = """
def shift(C: inout f32[2*N]) for 2<=N:
    for t in range(3):
        for i in range(N):
            C[i//2] = C[i + 3 - 3]  # S0[t, i]
"""
    wrong = ("C[i//2] =", "C[i//2 + 1] =")
    assert prove(kernel, kernel).verdict == "proved"
    certificate = prove(kernel, kernel, wrong)
    assert certificate.verdict == "refuted"
    assert certificate.reason.startswith("same dataflow: a read of C[")


def test_partial_sums_of_partial_sums() -> None:
    twice = (
        "    for q in range(8):\n        C[0] += P[q]\n",
        "    Q = local f32[2]\n    for s in range(2):\n        Q[s] = 0.0\n"
        "    for p in range(0, 8, 2):\n"
        "        for q in range(p, p + 2):  # vectorized\n"
        "            Q[q - p] += P[q]\n"
        "    for t in range(2):\n        C[0] += Q[t]\n",
    )
    assert prove(TOTAL, LANES, twice).verdict == "proved"
    certificate = prove(TOTAL, LANES, twice, ("range(0, 8, 2)", "range(0, 6, 2)"))
    assert certificate.reason == (
        "same dataflow: partial results of a reduction are never merged"
    )


def test_partial_results_that_replace_a_sum_are_refuted() -> None:
    """Found by the fuzz: an outer merge that overwrites instead of adding."""
    original = read_function(
        """
def rows(A: i64[N, N], C: output i64[N]) for 1<=N<=9:
    for z in range(N):
        C[z] = 0  # S0[z]
    for i in range(N):
        for k in range(N):
            C[i] += A[i, k]  # S1[i, k]
"""
    )
    overwritten = read_function(
        """
def rows(A: i64[N, N], C: output i64[N]) for 1<=N<=9:
    for z in range(N):
        C[z] = 0  # S0[z]
    for i in range(N):
        P = local i64[3]
        for r in range(3):
            P[r] = 0
        for k_o in range(0, N, 3):
            for k in range(k_o, min(k_o + 3, N)):
                P[k - k_o] += A[i, k]  # S1[i, k]
        Q = local i64[3]
        for t in range(3):
            Q[t] = 0
        for s in range(3):
            Q[s] += P[s]
        for u in range(3):
            C[i] = Q[u]
"""
    )
    certificate = validate(original, overwritten)
    assert certificate.verdict == "refuted", certificate.reason
    assert certificate.witness is not None
