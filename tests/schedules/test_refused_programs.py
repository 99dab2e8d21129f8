"""Refusals that need a program of their own, with their full messages."""

from __future__ import annotations

import pytest

from tdsl.errors import ScheduleError
from tdsl.schedules.schedule import Schedule

from ..ir_text import read_function
from .cases import Chain

REFUSALS: dict[str, tuple[str, Chain, str]] = {
    "expand inside a vectorized loop": (
        """
def f(X: f32[H, 4], Y: inout f32[H, 4]) for H:
    for z in range(4):  # vectorized
        for y in range(4):
            s = local f32 in registers
            s = X[y, z]  # S0[z, y]
            Y[y, z] = s  # S1[z, y]
""",
        lambda s: s.expand("s", "y"),
        'expand: loop "y" is inside a vectorized loop; expand before vectorize',
    ),
    "expand over a loop with two starts": (
        """
def f(X: f32[N], Y: inout f32[N]) for N, M:
    for i in range(N):
        for j in range(max(i, M), N):
            s = local f32 in registers
            s = X[j]  # S0[i, j]
            Y[j] = s  # S1[i, j]
""",
        lambda s: s.expand("s", "j"),
        "expand: for j in range(max(i, M), N) has no start and extent of its own for "
        'a dimension of the buffer; split "j" first',
    ),
    "compute_at of an unrolled tile": (
        """
def blur(X: f32[H], Y: output f32[H - 2]) for 2<=H:
    T = local f32[H]
    for a in range(H):
        T[a] = X[a]  # S0[a]
    for y in range(H - 2):
        Y[y] = (T[y] + T[y + 2])  # S1[y]
""",
        lambda s: s.split("a", 4).unroll("a_i").split("y", 8).compute_at("T", "y_o"),
        'compute_at: loop "a_i" of "T" is unrolled and would lose its constant '
        "extent; compute_at before that step",
    ),
    "compute_at of every other element": (
        """
def blur(X: f32[H], Y: output f32[H]) for H:
    T = local f32[2*H]
    for a in range(H):
        T[2*a] = X[a]  # S0[a]
    for y in range(H):
        Y[y] = T[2*y]  # S1[y]
""",
        lambda s: s.compute_at("T", "y"),
        'compute_at: the subscript "2*a" that writes "T" is not one axis of step one; '
        "move it before it is split",
    ),
    "compute_at into its own nest": (
        """
def f(X: f32[H], Y: output f32[H]) for H:
    T = local f32[H]
    for a in range(H):
        T[a] = X[a]  # S0[a]
        Y[a] = T[a]  # S1[a]
""",
        lambda s: s.compute_at("T", "a"),
        'compute_at: "T" is written in the nest of loop "a" itself; name the label of '
        "its initialisation, or fission first",
    ),
    "compute_at of a recurrence": (
        """
def f(X: f32[H], Y: output f32[H]) for 2<=H:
    T = local f32[H]
    for z in range(H):
        T[z] = X[z]  # S2[z]
    for a in range(1, H):
        T[a] = T[a - 1]  # S0[a]
    for y in range(H):
        Y[y] = T[y]  # S1[y]
""",
        lambda s: s.compute_at("T", "y"),
        'compute_at: "T" is computed from its own elements, so a part of it cannot be '
        "computed alone",
    ),
    "rfactor of a loop of unknown extent": (
        """
def f(A: f32[M, N], S: inout f32[M]) for M, N:
    for i in range(M):
        for k in range(N//3, i):
            S[i] += A[i, k]  # S0[i, k]
""",
        lambda s: s.rfactor("k"),
        'rfactor: loop "k" has no known extent; split it and rfactor the inner loop',
    ),
    "inline of a recurrence": (
        """
def f(Y: output f32[H]) for H:
    T = local f32[H]
    for z in range(H):
        T[z] = (T[z] * 2.0)  # S0[z]
    for y in range(H):
        Y[y] = T[y]  # S1[y]
""",
        lambda s: s.inline("T"),
        'inline: "T" is computed from its own old value; use compute_at',
    ),
    "inline of a local value": (
        """
def f(X: f32[H], Y: output f32[H]) for H:
    T = local f32[H]
    for z in range(H):
        s = local f32 in registers
        s = X[z]  # S2[z]
        T[z] = (s * 2.0)  # S0[z]
    for y in range(H):
        Y[y] = T[y]  # S1[y]
""",
        lambda s: s.inline("T"),
        'inline: the value of "T" reads "s", which is declared further in; inline '
        "that first",
    ),
    "a layout along a loop with two starts": (
        """
def f(X: f32[H], Y: output f32[H]) for H, N:
    for z in range(H):
        for y in range(max(z, N), H):
            Y[y] = X[y]  # S0[z, y]
""",
        lambda s: s.cache_read("X", "z", layout=("y",)),
        "cache_read: for y in range(max(z, N), H) has no start and extent of its own "
        'for a dimension of the buffer; split "y" first',
    ),
    "compute_at of what another nest updates": (
        """
def f(X: f32[M, K], S: output f32[M]) for M, K:
    for i0 in range(M):
        S[i0] = 0.0  # S0[i0]
    for h in range(M):
        S[h] += X[h, 0]  # S2[h]
    for i in range(M):
        for k in range(K):
            S[i] += X[i, k]  # S1[i, k]
""",
        lambda s: s.compute_at("S0", "i"),
        'compute_at: "S" is also written outside loop "i" (by S2), where S0 must come '
        'first; choose a loop around both, or use tail="guard"',
    ),
    "compute_at of one statement of two": (
        """
def f(X: f32[M], S: output f32[M], T: output f32[M]) for M:
    for i0 in range(M):
        S[i0] = 0.0  # S0[i0]
        T[i0] = 1.0  # S2[i0]
    for i in range(M):
        S[i] += X[i]  # S1[i]
""",
        lambda s: s.compute_at("S0", "i"),
        "compute_at: S0 is not alone in its nest, or is guarded; fission it into a "
        "nest of its own first",
    ),
    "compute_at of flattened subscripts": (
        """
def f(X: f32[M, K], S: output f32[2*M]) for M, K:
    for i0 in range(M):
        for j0 in range(2):
            S[2*i0 + j0] = 0.0  # S0[i0, j0]
    for i in range(M):
        for k in range(K):
            S[i] += X[i, k]  # S1[i, k]
""",
        lambda s: s.compute_at("S0", "i"),
        "compute_at: the subscripts (2*i0 + j0) of S0 are not different axes; move it "
        "before it is split",
    ),
    "compute_at into a loop with two starts": (
        """
def f(X: f32[M, K], S: output f32[M]) for M, K, N:
    for i0 in range(M):
        S[i0] = 0.0  # S0[i0]
    for i in range(M):
        for k in range(max(0, N - 3, i), K):
            S[i] += X[i, k]  # S1[i, k]
""",
        lambda s: s.compute_at("S0", "k"),
        'compute_at: loop "k" has several starts, so its first iteration, where S0 '
        "would run, has no simple guard",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str) -> None:
    program, chain, message = REFUSALS[name]
    with pytest.raises(ScheduleError) as caught:
        chain(Schedule(read_function(program)))
    text, _, _ = str(caught.value).partition("\n  in step ")
    assert text == message
