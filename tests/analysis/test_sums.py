"""Wrong ways to compute a sum in parts, which only one rule of the proof refuses."""

from __future__ import annotations

import pytest

from tdsl.analysis.validate import validate

from .kernels import LANES, TOTAL, read

ADDED = """
def added(A: f32[N], C: inout f32[1]) for N:
    for i in range(N):
        C[0] += A[i]  # S0[i]
"""
REPLACED = """
def added(A: f32[N], C: inout f32[1]) for N:
    P = local f32[1]
    P[0] = 0.0
    for i in range(N):
        P[0] += A[i]  # S0[i]
    C[0] = P[0]
"""
UNUSED = """
def unused(A: f32[N], B: f32[N], C: output f32[1]) for N:
    T = local f32[1]
    T[0] = 0.0  # S0
    for i in range(N):
        T[0] += A[i]  # S1[i]
    C[0] = 0.0  # S2
    for j in range(N):
        C[0] += B[j]  # S3[j]
"""
TOGETHER = """
def unused(A: f32[N], B: f32[N], C: output f32[1]) for N:
    C[0] = 0.0  # S2
    for i in range(N):
        C[0] += A[i]  # S1[i]
    for j in range(N):
        C[0] += B[j]  # S3[j]
"""
COPIED = """
def copied(A: f32[4], C: output f32[1], D: output f32[1]):
    C[0] = 0.0  # S0
    for i in range(4):
        C[0] += A[i]  # S1[i]
    D[0] = C[0]  # S2
"""
EARLY = """
def copied(A: f32[4], C: output f32[1], D: output f32[1]):
    C[0] = 0.0  # S0
    for i in range(2):
        C[0] += A[3 - i]  # S1[3 - i]
    D[0] = C[0]  # S2
    for j in range(2):
        C[0] += A[1 - j]  # S1[1 - j]
"""
ROWS = """
def rows(A: f32[2, N], C: output f32[2], D: output f32[2]) for N:
    for z in range(2):
        C[z] = 0.0  # S0[z]
    for r in range(2):
        for i in range(N):
            C[r] += A[r, i]  # S1[r, i]
    for d in range(2):
        D[d] = C[d]  # S2[d]
"""
SWAPPED = """
def rows(A: f32[2, N], C: output f32[2], D: output f32[2]) for N:
    for z in range(2):
        C[z] = 0.0  # S0[z]
    for r in range(2):
        for i in range(N):
            C[r] += A[r, N - 1 - i]  # S1[r, N - 1 - i]
    for d in range(2):
        D[d] = C[1 - d]  # S2[d]
"""
SOLVED = """
def solved(L: f32[N, N], b: f32[N], x: output f32[N]) for N:
    for i in range(N):
        x[i] = b[i]  # S0[i]
        for j in range(i):
            x[i] += (L[i, j] * x[j])  # S1[i, j]
        x[i] = (x[i] / L[i, i])  # S2[i]
"""
IN_LANES = """
def solved(L: f32[N, N], b: f32[N], x: output f32[N]) for N:
    for i in range(N):
        x[i] = b[i]  # S0[i]
        P = local f32[4]
        for z in range(4):
            P[z] = 0.0
        for j_o in range(0, i, 4):
            for j in range(j_o, min(j_o + 4, i)):
                P[j - j_o] += (L[i, j] * x[j])  # S1[i, j]
        for c in range(4):
            x[i] += P[c]
        x[i] = (x[i] / L[i, i])  # S2[i]
"""
LOCAL = """
def local_sum(A: f32[4], C: output f32[2]):
    T = local f32[1]
    T[0] = 0.0  # S0
    for i in range(4):
        T[0] += A[i]  # S1[i]
    for c in range(2):
        C[c] = T[0]  # S2[c]
"""
SHORT = """
def local_sum(A: f32[4], C: output f32[2]):
    T = local f32[1]
    T[0] = 0.0  # S0
    for i in range(3):
        T[0] += A[2 - i]  # S1[2 - i]
    for c in range(2):
        C[c] = T[0]  # S2[c]
"""
AGAIN = """
def local_sum(A: f32[4], C: output f32[2]):
    for c in range(2):
        T = local f32[1]
        T[0] = 0.0  # S0
        for i in range(4):
            T[0] += A[3 - i]  # S1[3 - i]
        C[c] = T[0]  # S2[c]
"""
TWICE = """
def total(A: f32[N], C: output f32[1]) for N:
    C[0] = 0.0  # S0
    for i in range(N):
        C[0] += A[i]  # S1[i]
    E = local f32[1]
    for e in range(min(N, 1)):
        E[0] = A[0]
        C[0] += E[0]
"""

REFUTED: dict[str, tuple[str, str, str]] = {
    "parts merged by another operation": (
        TOTAL,
        LANES.replace("C[0] += P[q]", "C[0] = max(C[0], P[q])"),
        "same dataflow: partial results are merged by another operation",
    ),
    "what was there is replaced": (
        ADDED,
        REPLACED,
        "same dataflow: the value that a reduction starts from is lost",
    ),
    "two sums in one element": (
        UNUSED,
        TOGETHER,
        "same dataflow: an update continues from a value of another reduction",
    ),
    "a sum read half-way": (
        COPIED,
        EARLY,
        "same dataflow: the order of statements reverses a flow dependence on C: a "
        "reduction is read before all its updates",
    ),
    "the sum of another row is read": (
        ROWS,
        SWAPPED,
        "same dataflow: a read of C[1] sees another value",
    ),
    "a local sum without its last term": (
        LOCAL,
        SHORT,
        "exactly once: an iteration of S1 never runs",
    ),
    "an element added once more": (
        TOTAL,
        TWICE,
        "same dataflow: an update continues from a value of another reduction",
    ),
}


@pytest.mark.parametrize("fault", REFUTED)
def test_it_is_refuted(fault: str) -> None:
    kernel, schedule, reason = REFUTED[fault]
    assert validate(read(kernel), read(kernel)).verdict == "proved"
    certificate = validate(read(kernel), read(schedule))
    assert (certificate.verdict, certificate.reason) == ("refuted", reason)


def test_a_sum_computed_again_in_another_order_is_undecided() -> None:
    certificate = validate(read(LOCAL), read(AGAIN))
    assert (certificate.verdict, certificate.reason) == (
        "unknown",
        "same dataflow: iterations of S1 are recomputed, and in another order",
    )


def test_an_empty_sum_is_what_its_copied_start_is() -> None:
    """Row 0 has no terms: `x[0]` is `b[0]`, which merges of nothing leave alone."""
    certificate = validate(read(SOLVED), read(IN_LANES))
    assert certificate.verdict == "proved"
    assert certificate.reassociated
    assert validate(read(SOLVED), read(IN_LANES), "bitwise").verdict == "refuted"


DIVIDE = "        x[i] = (x[i] / L[i, i])  # S2[i]\n"


@pytest.mark.parametrize(
    "wrong",
    [
        IN_LANES.replace(DIVIDE, "").replace("        for c", f"{DIVIDE}        for c"),
        IN_LANES.replace("x[i] += P[c]", "x[i] = P[c]"),
        IN_LANES.replace("for c in range(4)", "for c in range(3)"),
        IN_LANES.replace("* x[j]", "* x[j + 1]"),
    ],
    ids=["divided too early", "start lost", "lane lost", "another element"],
)
def test_a_wrong_substitution_is_not_proved(wrong: str) -> None:
    assert wrong != IN_LANES
    assert validate(read(SOLVED), read(wrong)).verdict != "proved"
