"""What a proof says of programs that compute something else, in full words."""

from __future__ import annotations

import pytest

from tdsl.analysis.validate import validate

from ..ir_text import read_function

FILLED_TWICE = """
def f(A: f32[N], C: output f32[N]) for N:
    T = local f32[N]
    for i in range(N):
        if i - 1 >= 0:
            T[i] = exp(A[i])  # S0[i]
        if -i >= 0:
            T[i] = 0.0  # S1[i]
    for j in range(N):
        C[j] = T[j]  # S2[j]
"""
LAST = """
def f(A: f32[N], C: output f32[1]) for 1<=N:
    T = local f32[1]
    for i in range(N):
        T[0] = exp(A[i])  # S0[i]
    C[0] = T[0]  # S1
"""
GATHER = """
def f(A: f32[N], idx: i64[N], C: output f32[N]) for N:
    for i in range(N):
        C[i] = A[idx[i]]  # S0[i]
"""
TWICE = """
def f(A: f32[N], C: output f32[N]) for N:
    for i in range(N):
        C[i] = A[i]  # S0[i]
    for j in range(N):
        C[j] = A[j]  # S0[j]
"""
UNLIKE: dict[str, tuple[str, str, str]] = {
    "one of two producers is inlined": (
        FILLED_TWICE,
        """
def f(A: f32[N], C: output f32[N]) for N:
    for j in range(N):
        C[j] = exp(A[j])  # S2[j]
""",
        "same dataflow: C[j] = exp(A[j]) computes exp(A[j]) where the kernel has T[j], "
        "and several statements write what the kernel reads there",
    ),
    "the first of many values is inlined": (
        LAST,
        """
def f(A: f32[N], C: output f32[1]) for 1<=N:
    C[0] = exp(A[0])  # S1
""",
        "same dataflow: C[0] = exp(A[0]) computes exp(A[0]) where the kernel has T[0], "
        "and its iteration i cannot be solved for",
    ),
    "a gather from a longer tensor": (
        GATHER,
        """
def f(A: f32[N], idx: i64[N], C: output f32[N]) for N:
    B = local f32[N + 1]
    for b in range(N):
        B[b] = A[b]
    B[N] = 0.0
    for i in range(N):
        C[i] = B[idx[i]]  # S0[i]
""",
        "same dataflow: C[i] = B[idx[i]] gathers from B, whose dimension 0 has another "
        "size than that of A",
    ),
    "two statements of one label": (
        TWICE,
        TWICE,
        "model: the original has two statements S0",
    ),
}


@pytest.mark.parametrize("name", UNLIKE)
def test_it_is_not_proved(name: str) -> None:
    kernel, schedule, reason = UNLIKE[name]
    certificate = validate(read_function(kernel), read_function(schedule))
    assert certificate.reason == reason
