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
        'compute_at: "T" is written in the nest of loop "a" itself: an iteration of '
        'loop "a" has a flow dependence on "T"; name the label of its initialisation, '
        "or fission first\nwith H=1:\n"
        "  T[a] = X[a]  at a=0 writes T[0]\n  Y[a] = T[a]  at a=0 reads it",
    ),
    "compute_at of what is read twice": (
        """
def f(X: f32[H], Y: output f32[H], Z: output f32[H]) for H:
    T = local f32[H]
    for a in range(H):
        T[a] = X[a]  # S0[a]
    for y in range(H):
        Y[y] = T[y]  # S1[y]
    for z in range(H):
        Z[z] = T[z]  # S2[z]
""",
        lambda s: s.compute_at("T", "y"),
        'compute_at: "T" is read outside loop "y" too: the kernel has a flow '
        'dependence on "T"; choose a loop around all of its reads\nwith H=1:\n'
        "  T[a] = X[a]  at a=0 writes T[0]\n  Z[z] = T[z]  at z=0 reads it",
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
        'computed alone: loop "a" carries a flow dependence on "T"; leave it where it '
        "is\nwith H=3:\n  T[a] = T[a - 1]  at a=1 writes T[1]\n"
        "  T[a] = T[a - 1]  at a=2 reads it",
    ),
    "rfactor of partial results without a size": (
        """
def f(X: f32[R, N], Y: output f32[N]) for R, N, M, P:
    for i in range(N):
        T = local f32[i + 1]
        for j in range(i + 1):
            T[j] = 0.0  # S0[i, j]
        for r in range(R):
            for k in range(M, min(P, i + 1)):
                T[k] += X[r, k]  # S1[i, r, k]
        Y[i] = T[i]  # S2[i]
""",
        lambda s: s.rfactor("r"),
        "rfactor: dimension 0 of the partial results has no known extent inside loop "
        '"r"; reorder its loops outside first',
    ),
    "a part without a size": (
        """
def f(X: f32[N], Y: inout f32[N]) for N, M, P:
    for i in range(N):
        T = local f32[i + 1]
        for j in range(i + 1):
            T[j] = X[j]  # S0[i, j]
        for z in range(3):
            for k in range(M, i + 1):
                Y[k] += T[k]  # S1[i, z, k]
            for q in range(P, i + 1):
                Y[q] += T[q]  # S2[i, z, q]
""",
        lambda s: s.cache_read("T", "z"),
        'cache_read: the part of dimension 0 of "T" that the body touches has no known '
        'extent: its subscripts there are "k", "q"; split the loops below, or stage at '
        "another loop",
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
        'inline: "T" is computed from its own old value: an iteration of loop "z" has '
        'an anti-dependence on "T"; use compute_at\nwith H=1:\n'
        "  T[z] = (T[z] * 2.0)  at z=0 reads T[0]\n"
        "  T[z] = (T[z] * 2.0)  at z=0 writes it",
    ),
    "inline of what is stored again and again": (
        """
def f(X: f32[M, N], Y: output f32[N]) for M, N:
    T = local f32[N]
    for a in range(M):
        for b in range(N):
            T[b] = X[a, b]  # S0[a, b]
    for y in range(N):
        Y[y] = T[y]  # S1[y]
""",
        lambda s: s.inline("T"),
        'inline: "T" has no single value to put in its place: loop "a" carries an '
        'output dependence on "T"; use compute_at\nwith M=2, N=1:\n'
        "  T[b] = X[a, b]  at a=0, b=0 writes T[0]\n"
        "  T[b] = X[a, b]  at a=1, b=0 writes it",
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
        'first: the kernel has a flow dependence on "S"; choose a loop around both, or '
        'use tail="guard"\nwith M=1, K=0:\n'
        "  S[i0] = 0.0  at i0=0 writes S[0]\n  S[h] += X[h, 0]  at h=0 updates it",
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
        "would run, has no simple guard; choose a loop further out",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str) -> None:
    program, chain, message = REFUSALS[name]
    with pytest.raises(ScheduleError) as caught:
        chain(Schedule(read_function(program)))
    text, _, _ = str(caught.value).partition("\n  in step ")
    assert text == message
