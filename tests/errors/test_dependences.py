"""What a schedule that breaks a dependence is refused with: all of the words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tdsl
from tdsl import f32
from tdsl.errors import ProofError
from tdsl.kernel import Kernel
from tdsl.schedules.schedule import Schedule

M, N, T = tdsl.dims("M N T")


@tdsl.kernel
def sweep(A: tdsl.inout(f32[M, N])):
    for i in range(1, M):
        for j in range(1, N - 1):
            A[i, j] = A[i - 1, j + 1] * 0.5


@tdsl.kernel
def jacobi(A: tdsl.inout(f32[N]), B: tdsl.inout(f32[N])):
    for t in range(3):  # noqa: B007
        for i in range(1, N - 1):
            B[i] = A[i - 1] + A[i + 1]
        for j in range(1, N - 1):
            A[j] = B[j - 1] + B[j + 1]


@tdsl.kernel
def mirror(X: f32[N]) -> f32[N]:
    T = tdsl.empty((N,), f32)
    Y = tdsl.empty((N,), f32)
    for i in range(N):
        T[i] = X[i] * 2
    for j in range(N):
        Y[j] = T[N - 1 - j] + 1
    return Y


@tdsl.kernel
def chase(X: tdsl.inout(f32[N]), Y: tdsl.inout(f32[N])):
    for i in range(1, N):
        X[i] = Y[i - 1] * 2
        Y[i] = X[i] + 1


@tdsl.kernel
def last(X: f32[N], Y: tdsl.inout(f32[N + 1])):
    for i in range(N):
        Y[i] = X[i]
        Y[i + 1] = X[i] * 2


@tdsl.kernel
def total(X: f32[M, N]) -> f32[M]:
    S = tdsl.zeros((M,), f32)
    for i in range(M):
        for j in range(N):
            S[i] += X[i, j]
        S[i] = S[i] * 0.5
    return S


Change = Callable[[Schedule], Schedule]

REFUSED: dict[str, tuple[Kernel, Change, str]] = {
    "reorder": (
        sweep,
        lambda s: s.reorder("j", "i"),
        "sweep: the schedule is refuted: same dataflow: loop j reverses a flow "
        "dependence on A: a read of A[1, 2] sees another value\n"
        "with M=3, N=4:\n"
        "  A[i, j] = (A[i - 1, j + 1] * 0.5)  at j=1, i=2\n"
        "  must see A[i, j] = (A[i - 1, j + 1] * 0.5)  at i=1, j=2\n"
        "  sees A[1, 2] as it was at entry\n"
        "  comes too late: A[i, j] = (A[i - 1, j + 1] * 0.5)  at j=2, i=1\n"
        "  element A[1, 2]\n"
        '  since step 1: reorder("j", "i")',
    ),
    "parallelize": (
        sweep,
        lambda s: s.parallelize("i"),
        "sweep: the schedule is refuted: concurrent loops: parallel loop i "
        "carries a flow dependence on A\n"
        "with M=3, N=4:\n"
        "  A[i, j] = (A[i - 1, j + 1] * 0.5)  at i=1, j=2 writes A[1, 2]\n"
        "  A[i, j] = (A[i - 1, j + 1] * 0.5)  at i=2, j=1 reads it\n"
        '  since step 1: parallelize("i")',
    ),
    "fuse": (
        sweep,
        lambda s: s.parallelize("i").fuse("i", "j"),
        "sweep: the schedule is refuted: concurrent loops: parallel loop i "
        "carries a flow dependence on A\n"
        "with M=3, N=4:\n"
        "  A[i, j] = (A[i - 1, j + 1] * 0.5)  at i=1, j=2 writes A[1, 2]\n"
        "  A[i, j] = (A[i - 1, j + 1] * 0.5)  at i=2, j=1 reads it\n"
        '  since step 1 of 2: parallelize("i")',
    ),
    "skew and tile": (
        sweep,
        lambda s: s.skew("i", "j", -1).tile(("i", "j"), (4, 4), origin=0),
        "sweep: the schedule is refuted: same dataflow: loop j_o reverses a flow "
        "dependence on A: a read of A[1, 2] sees another value\n"
        "with M=3, N=4:\n"
        "  A[i_i, i_i + j_i] = (A[i_i - 1, i_i + j_i + 1] * 0.5)  at i_o=0, "
        "j_o=-4, i_i=2, j_i=-1\n"
        "  must see A[i, j] = (A[i - 1, j + 1] * 0.5)  at i=1, j=2\n"
        "  sees A[1, 2] as it was at entry\n"
        "  comes too late: A[i_i, i_i + j_i] = (A[i_i - 1, i_i + j_i + 1] * 0.5) "
        " at i_o=0, j_o=0, i_i=1, j_i=1\n"
        "  element A[1, 2]\n"
        '  since step 2 of 2: tile(("i", "j"), (4, 4), origin=0)',
    ),
    "vectorize": (
        chase,
        lambda s: s.split("i", 8).vectorize("i_i"),
        "chase: the schedule is refuted: concurrent loops: vectorized loop i_i "
        "carries a flow dependence on Y\n"
        "with N=3:\n"
        "  Y[i_i] = (X[i_i] + 1.0)  at i_o=1, i_i=1 writes Y[1]\n"
        "  X[i_i] = (Y[i_i - 1] * 2.0)  at i_o=1, i_i=2 reads it\n"
        '  since step 2 of 2: vectorize("i_i")',
    ),
    "merge": (
        jacobi,
        lambda s: s.merge("i", "j"),
        "jacobi: the schedule is refuted: same dataflow: loop i reverses an "
        "anti-dependence on A: a read of A[1] sees another value\n"
        "with N=4:\n"
        "  B[i] = (A[i - 1] + A[i + 1])  at t=1, i=2\n"
        "  must see A[j] = (B[j - 1] + B[j + 1])  at t=0, j=1\n"
        "  sees A[i] = (B[i - 1] + B[i + 1])  at t=1, i=1\n"
        "  element A[1]\n"
        '  since step 1: merge("i", "j")',
    ),
    "shift and merge": (
        mirror,
        lambda s: s.shift("j", 1).merge("i", "j"),
        "mirror: the schedule is refuted: same dataflow: loop i reverses a flow "
        "dependence on T: T[2] is read before anything writes it\n"
        "with N=3:\n"
        "  Y[i - 1] = (T[N - i] + 1.0)  at i=1\n"
        "  comes too late: T[i] = (X[i] * 2.0)  at i=2\n"
        "  element T[2]\n"
        '  since step 2 of 2: merge("i", "j")',
    ),
    "fission": (
        chase,
        lambda s: s.fission("i", after="S0"),
        "chase: the schedule is refuted: same dataflow: the order of statements "
        "reverses a flow dependence on Y: a read of Y[1] sees another value\n"
        "with N=3:\n"
        "  X[i] = (Y[i - 1] * 2.0)  at i=2\n"
        "  must see Y[i] = (X[i] + 1.0)  at i=1\n"
        "  sees Y[1] as it was at entry\n"
        "  comes too late: Y[i_2] = (X[i_2] + 1.0)  at i_2=1\n"
        "  element Y[1]\n"
        '  since step 1: fission("i", after="S0")',
    ),
    "fission of two writes": (
        last,
        lambda s: s.fission("i", after="S0"),
        "last: the schedule is refuted: same dataflow: the order of statements "
        "reverses an output dependence on Y: a read of Y[1] sees another value\n"
        "with N=2:\n"
        "  the caller reads Y[1] afterwards\n"
        "  must see X[1] as it was at entry\n"
        "  sees Y[i_2 + 1] = (X[i_2] * 2.0)  at i_2=0\n"
        "  comes too early: Y[i] = X[i]  at i=1\n"
        "  element Y[1]\n"
        '  since step 1: fission("i", after="S0")',
    ),
    "rearrange": (
        chase,
        lambda s: s.rearrange("i", 1, 0),
        "chase: the schedule is refuted: same dataflow: the order of statements "
        "in loop i reverses a flow dependence on X: a read of X[1] sees another "
        "value\n"
        "with N=2:\n"
        "  Y[i] = (X[i] + 1.0)  at i=1\n"
        "  must see X[i] = (Y[i - 1] * 2.0)  at i=1\n"
        "  sees X[1] as it was at entry\n"
        "  comes too late: X[i] = (Y[i - 1] * 2.0)  at i=1\n"
        "  element X[1]\n"
        '  since step 1: rearrange("i", 1, 0)',
    ),
    "rearrange a sum": (
        total,
        lambda s: s.rearrange("i", 1, 0),
        "total: the schedule is refuted: same dataflow: the order of statements "
        "in loop i reverses a flow dependence on S: a read of S[0] sees another "
        "value\n"
        "with M=1, N=1:\n"
        "  S[i] *= 0.5  at i=0\n"
        "  must see S[i] += X[i, j]  at i=0, j=0\n"
        "  sees S[S_i] = 0.0  at S_i=0\n"
        "  comes too late: S[i] += X[i, j]  at i=0, j=0\n"
        "  element S[0]\n"
        '  since step 1: rearrange("i", 1, 0)',
    ),
    "cache_write": (
        chase,
        lambda s: s.cache_write("X", None, memory="array").parallelize("i"),
        "chase: the schedule is refuted: concurrent loops: parallel loop i "
        "carries a flow dependence on Y\n"
        "with N=3:\n"
        "  Y[i] = (X_acc[i - 1] + 1.0)  at i=1 writes Y[1]\n"
        "  X_acc[i - 1] = (Y[i - 1] * 2.0)  at i=2 reads it\n"
        '  since step 2 of 2: parallelize("i")',
    ),
}


@pytest.mark.parametrize("primitive", REFUSED)
def test_the_refusal_of(primitive: str) -> None:
    kernel, change, text = REFUSED[primitive]
    with pytest.raises(ProofError) as caught:
        kernel.prove(change(kernel.schedule()))
    assert str(caught.value) == text
