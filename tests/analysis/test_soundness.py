"""Wrong schedules that only one rule of the proof stands against."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tdsl.analysis.validate import validate
from tdsl.ir.affine import name
from tdsl.ir.dtypes import DType, f32, i32, i64
from tdsl.ir.nodes import Cast, Function, Index, Stmt, Store
from tdsl.ir.numerics import Numerics
from tdsl.ir.walk import rewrite
from tdsl.schedules.schedule import Schedule

from .kernels import SMOOTH, TOTAL, read

COPY = """
def copy(x: f32[M], y: output f32[M]) for M:
    for i in range(M):
        y[i] = x[i]  # S0[i]
"""
FOUR = """
def total(A: f32[4], C: output f32[1]):
    C[0] = 0.0  # S0
    for i in range(4):
        C[0] += A[i]  # S1[i]
"""
ROWS = """
def rows(A: f32[M, N], C: inout f32[M]) for M, N:
    for i in range(M):
        for j in range(N):
            C[i] += A[i, j]  # S0[i, j]
"""
SCATTER = """
def scatter(A: f32[M, N], C: inout f32[M + N]) for M, N:
    for i in range(M):
        for j in range(N):
            C[i + j] += A[i, j]  # S0[i, j]
"""
PAIRS = """
def pairs(A: f32[N], C: inout f32[N]) for N:
    for i in range(N):
        C[i//2] += A[i]  # S0[i]
"""
REVERSED = """\
        for a in range(N):
            C[N - 1 - a] = x[a]  # S1[t, a]
"""
ZEROS = """\
        for b in range(N):
            C[b] = 0.0  # S2[t, b]
"""
STEPS = f"""
def steps(x: f32[N], C: inout f32[N], D: output f32[T, N]) for N%2==0, T:
    for t in range(T):
        for r in range(N):
            D[t, r] = C[r]  # S0[t, r]
{REVERSED}{ZEROS}"""
LIMITED = """
def limited(A: f32[N], B: f32[N], C: output f32[1]) for N:
    C[0] = 0.0  # S0
    for i in range(N):
        C[0] += A[i]  # S1[i]
        C[0] = max(C[0], B[i])  # S2[i]
"""
BEFORE = """
def before(A: f32[M, N], C: inout f32[M, N]) for M, N:
    T = local f32[N]
    for t in range(M):
        if t - 1 >= 0:
            for j in range(N):
                C[t, j] = T[j]  # S1[t, j]
        for i in range(N):
            T[i] = exp(A[t, i])  # S0[t, i]
"""
RAISED = """
def raised(A: f32[N], C: output f32[N]) for N:
    for i in range(N):
        T = local f32[1]
        T[0] = 1.0  # S0[i]
        T[0] += exp(A[i])  # S1[i]
        C[i] = T[0] * 2.0  # S2[i]
"""
CONCURRENT = "concurrent loops: parallel loop i carries a reduction into C"

CASES: dict[str, tuple[str, tuple[tuple[str, str], ...], Numerics, str]] = {
    "a local filled by a statement that is none of the kernel's": (
        SMOOTH,
        (("exp(A[i])  # S0[i]", "tanh(A[i])"),),
        "reassoc",
        "same dataflow: a read of T[0] sees another value",
    ),
    "a private local filled in the first iteration only": (
        COPY.replace("x[i]", "x[0]"),
        (
            (
                "        y[i] = x[0]",
                "        T = local f32[1]\n        if -i >= 0:\n"
                "            T[0] = x[0]\n        y[i] = T[0]",
            ),
        ),
        "reassoc",
        "same dataflow: T[0] is read before anything writes it",
    ),
    "an output overwritten at the end": (
        COPY,
        (("# S0[i]", "# S0[i]\n    for q in range(M):\n        y[q] = 0.0"),),
        "reassoc",
        "same dataflow: a read of y[0] sees another value",
    ),
    "the first two terms of a sum swapped": (
        FOUR,
        (
            (
                "    for i in range(4):\n",
                "    for a in range(2):\n        C[0] += A[1 - a]  # S1[1 - a]\n"
                "    for i in range(2, 4):\n",
            ),
        ),
        "bitwise",
        "same dataflow: the order of C add-updates changes (numerics is bitwise)",
    ),
    "a sum that starts again before its last term": (
        FOUR,
        (
            (
                "    for i in range(4):\n",
                "    for a in range(3):\n        C[0] += A[a]  # S1[a]\n"
                "    C[0] = 0.0\n    for i in range(3, 4):\n",
            ),
        ),
        "reassoc",
        "same dataflow: partial results of a reduction are never merged",
    ),
    "a sum that runs twice": (
        FOUR,
        (
            (
                "    for i in range(4):\n",
                "    for a in range(4):\n        C[0] += A[a]  # S1[a]\n"
                "    for i in range(4):\n",
            ),
        ),
        "reassoc",
        "exactly once: an iteration of S1 runs twice",
    ),
    "two loops swapped that write the same elements": (
        STEPS,
        ((REVERSED + ZEROS, ZEROS + REVERSED),),
        "reassoc",
        "same dataflow: the order of statements in loop t reverses an output "
        "dependence on C: a read of C[0] sees another value",
    ),
    "two reductions of one element apart": (
        LIMITED,
        (
            (
                "        C[0] = max(C[0], B[i])  # S2[i]",
                "    for j in range(N):\n        C[0] = max(C[0], B[j])  # S2[j]",
            ),
        ),
        "reassoc",
        "same dataflow: the order of statements reverses an anti-dependence on C: a "
        "read of C[0] sees another value",
    ),
    "an inlined producer of another iteration": (
        BEFORE,
        (("= T[j]", "= exp(A[t, j])"),),
        "reassoc",
        "same dataflow: C[t, j] = exp(A[t, j]) computes exp(A[t, j]) where the kernel "
        "has T[j], and its producer is not a function of the iteration",
    ),
    "an update inlined without what it updates": (
        RAISED,
        (("T[0] * 2.0", "exp(A[i]) * 2.0"),),
        "reassoc",
        "same dataflow: C[i] = (exp(A[i]) * 2.0) computes exp(A[i]) where the kernel "
        "has T[0], and a reduction cannot be inlined",
    ),
    "the other zero": (
        COPY.replace("= x[i]", "= 0.0"),
        (("= 0.0", "= -0.0"),),
        "reassoc",
        "same dataflow: y[i] = -0.0 computes -0.0 where the kernel has 0.0",
    ),
    "another reduction": (
        TOTAL,
        (("C[0] += A[i]", "C[0] = max(C[0], A[i])"),),
        "reassoc",
        "exactly once: S1 reduces by add, not max",
    ),
    "a store instead of an update": (
        TOTAL,
        (("C[0] += A[i]", "C[0] = A[i]"),),
        "reassoc",
        "exactly once: S1 is another kind of statement",
    ),
    "a loop fused with a parallel one": (
        ROWS,
        (("range(M):", "range(M):  # parallel"), ("range(N):", "range(N):  # fused")),
        "reassoc",
        "concurrent loops: fused loop j carries a reduction into C: use rfactor to "
        "give each iteration its own partial result",
    ),
    "a parallel loop inside a guard": (
        PAIRS,
        (
            (
                "    for i in range(N):\n        C",
                "    if N >= 0:\n        for i in range(N):  # parallel\n            C",
            ),
        ),
        "reassoc",
        f"{CONCURRENT}: use rfactor to give each iteration its own partial result",
    ),
    "a parallel loop whose elements an inner loop shares": (
        SCATTER,
        (("range(M):", "range(M):  # parallel"),),
        "reassoc",
        f"{CONCURRENT}: use rfactor to give each iteration its own partial result",
    ),
    "a parallel loop whose iterations share halves": (
        PAIRS,
        (("range(N):", "range(N):  # parallel"),),
        "reassoc",
        f"{CONCURRENT}: use rfactor to give each iteration its own partial result",
    ),
}


@pytest.mark.parametrize("fault", CASES)
def test_it_is_refuted(fault: str) -> None:
    text, changes, numerics, reason = CASES[fault]
    kernel = read(text)
    assert validate(kernel, kernel, numerics).verdict == "proved"
    certificate = validate(kernel, read(text, *changes), numerics)
    assert (certificate.verdict, certificate.reason) == ("refuted", reason)


@pytest.mark.parametrize(("mine", "theirs"), [("N", "i"), ("i", "N")])
def test_a_larger_and_a_smaller_number_are_other_numbers(
    mine: str, theirs: str
) -> None:
    text = "def count(C: output i64[N]) for N:\n    for i in range(N):\n"
    count = read(f"{text}        C[i] = 0  # S0[i]\n")
    certificate = validate(indexed(count, theirs), indexed(count, mine))
    assert certificate.reason == (
        f"same dataflow: C[i] = i64({mine}) has the number {mine} where the kernel has "
        f"{theirs}"
    )


def indexed(function: Function, form: str) -> Function:
    def rule(statement: Stmt) -> Stmt:
        if isinstance(statement, Store):
            return replace(statement, value=Index(name(form), i64))
        return statement

    return rewrite(function, rule)


def test_a_conversion_through_another_type_is_another_value() -> None:
    kernel = read(COPY)
    certificate = validate(truncated(kernel, i32), truncated(kernel, i64))
    assert certificate.reason == (
        "same dataflow: y[i] = f32(i64(x[i])) computes i64(x[i]) where the kernel has "
        "i32(x[i])"
    )


def truncated(function: Function, through: DType) -> Function:
    def rule(statement: Stmt) -> Stmt:
        if isinstance(statement, Store):
            return replace(statement, value=Cast(Cast(statement.value, through), f32))
        return statement

    return rewrite(function, rule)


def test_what_the_model_cannot_express_is_unknown() -> None:
    scheduled = read(TOTAL, ("S1[i]", "S1[i + 1]"))
    certificate = validate(scheduled, scheduled)
    assert certificate.verdict == "unknown"
    assert certificate.reason == "model: the original function is already scheduled"


@pytest.mark.parametrize("factor", [2**31, 2**62, 2**70])
def test_what_machine_code_cannot_compute_is_not_proved(factor: int) -> None:
    """Proofs are about whole numbers; a subscript that wraps is another element."""
    kernel = read(COPY)
    schedule = Schedule(kernel).split("i", factor)
    certificate = validate(kernel, schedule.function)
    fits = factor < 2**62
    assert certificate.verdict == ("proved" if fits else "unknown")
    assert ("may not fit in i64" in certificate.reason) != fits
