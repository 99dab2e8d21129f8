"""Default schedules of programs with several statements, triangles, and time."""

# ruff: noqa: E501 - IR text is not wrapped

from __future__ import annotations

import pytest

from tdsl.analysis.validate import validate
from tdsl.ir.nodes import For, LoopKind, Reduce
from tdsl.ir.verify import verify
from tdsl.ir.walk import loops, walk
from tdsl.schedules.library import default_schedule
from tdsl.schedules.sketches import Choice, sketch
from tdsl.target import AVX2, AVX512

from ..ir_text import read_function

TEXTS = {
    "product": """
def product(A: f32[M, K], B: f32[K, N], C: inout f32[M, N]) for M, N, K:
    for i in range(M):
        for j in range(N):
            C[i, j] *= 0.5  # S0[i, j]
        for k in range(K):
            for j1 in range(N):
                C[i, j1] += (A[i, k] * B[k, j1])  # S1[i, k, j1]
""",
    "symmetric": """
def symmetric(A: f32[M, M], B: f32[M, N], C: inout f32[M, N]) for M, N:
    for i in range(M):
        for j in range(N):
            s = local f32 in registers
            s = 0.0  # S0[i, j]
            for k in range(i):
                C[k, j] += (B[i, j] * A[i, k])  # S1[i, j, k]
                s += (B[k, j] * A[i, k])  # S2[i, j, k]
            C[i, j] = ((C[i, j] + (B[i, j] * A[i, i])) + s)  # S3[i, j]
""",
    "fibres": """
def fibres(A: inout f32[R, Q, P], B: f32[P, P]) for R, Q, P:
    T = local f32[P]
    for r in range(R):
        for q in range(Q):
            for p in range(P):
                T[p] = 0.0  # S0[r, q, p]
                for s in range(P):
                    T[p] += (A[r, q, s] * B[s, p])  # S1[r, q, p, s]
            for p1 in range(P):
                A[r, q, p1] = T[p1]  # S2[r, q, p1]
""",
    "lower": """
def lower(A: f32[N, K], C: inout f32[N, N]) for N, K:
    for i in range(N):
        for k in range(K):
            for j in range(i + 1):
                C[i, j] += (A[i, k] * A[j, k])  # S0[i, k, j]
""",
    "in_place": """
def in_place(A: f32[M, M], B: inout f32[M, N]) for M, N:
    for i in range(M):
        for j in range(N):
            for k in range(i + 1, M):
                B[i, j] += (A[k, i] * B[k, j])  # S0[i, j, k]
            B[i, j] *= 2.0  # S1[i, j]
""",
    "two_sums": """
def two_sums(A: f32[N, N], B: f32[N, N], X: f32[N], Y: output f32[N], Z: output f32[N]) for N:
    for i in range(N):
        Y[i] = 0.0  # S0[i]
        Z[i] = 0.0  # S1[i]
        for j in range(N):
            Y[i] += (A[i, j] * X[j])  # S2[i, j]
            Z[i] += (B[i, j] * X[j])  # S3[i, j]
""",
    "both_ways": """
def both_ways(A: f32[M, N], X: f32[N], Y: inout f32[N], T: output f32[M]) for M, N:
    for i in range(M):
        T[i] = 0.0  # S0[i]
        for j in range(N):
            T[i] += (A[i, j] * X[j])  # S1[i, j]
        for j1 in range(N):
            Y[j1] += (A[i, j1] * T[i])  # S2[i, j1]
""",
    "solve": """
def solve(L: f32[N, N], B: f32[N], X: output f32[N]) for N:
    for i in range(N):
        X[i] = B[i]  # S0[i]
        for j in range(i):
            X[i] += (L[i, j] * X[j])  # S1[i, j]
        X[i] = (X[i] / L[i, i])  # S2[i]
""",
    "factor": """
def factor(A: inout f32[N, N]) for N:
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] += (-(A[i, k] * A[k, j]))  # S0[i, j, k]
            A[i, j] = (A[i, j] / A[j, j])  # S1[i, j]
        for j1 in range(i, N):
            for k1 in range(i):
                A[i, j1] += (-(A[i, k1] * A[k1, j1]))  # S2[i, j1, k1]
""",
    "paths": """
def paths(P: inout i32[N, N]) for N:
    for k in range(N):
        for i in range(N):
            for j in range(N):
                P[i, j] = min(P[i, j], (P[i, k] + P[k, j]))  # S0[k, i, j]
""",
    "backwards": """
def backwards(R: f32[N], Y: f32[N], S: output f32[N]) for N:
    for k in range(N):
        S[k] = 0.0  # S0[k]
        for i in range(k):
            S[k] += (R[k - i - 1] * Y[i])  # S1[k, i]
""",
    "sweeps": """
def sweeps(A: inout f32[N, N], B: inout f32[N, N]) for N, T:
    for t in range(T):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                B[i, j] = ((A[i - 1, j] + A[i + 1, j]) + A[i, j + 1])  # S0[t, i, j]
        for i1 in range(1, N - 1):
            for j1 in range(1, N - 1):
                A[i1, j1] = ((B[i1 - 1, j1] + B[i1 + 1, j1]) + B[i1, j1 - 1])  # S1[t, i1, j1]
""",
    "line": """
def line(A: inout f32[N], B: inout f32[N]) for N, T:
    for t in range(T):
        for i in range(1, N - 1):
            B[i] = (A[i - 1] + A[i + 1])  # S0[t, i]
        for i1 in range(1, N - 1):
            A[i1] = (B[i1 - 1] + B[i1 + 1])  # S1[t, i1]
""",
    "points": """
def points(A: inout f32[N, N]) for N, T:
    for t in range(T):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                A[i, j] = ((A[i - 1, j + 1] + A[i, j - 1]) + A[i + 1, j + 1])  # S0[t, i, j]
""",
}  # fmt: skip

PARTS = {  # what the default schedule must contain
    "product": ('fission("i", after=1)', '.cache_write("C",', ".parallelize("),
    "symmetric": (
        '.expand("s", "j", memory="array")',
        '.rearrange("j", ',
        '.expand("s", "i", memory="array")',
        '.cache_write("C",',
        '.cache_write("s",',
    ),
    "fibres": ('.expand("T", "q", memory="array")', '.cache_write("T",'),
    "lower": (
        '.cache_write("C", "j_t")',
        '.cache_read("A", None, layout=("j_t", "k", "j_i"))',
    ),
    "in_place": (".fission(", '.cache_write("B", "j_t")'),
    "two_sums": (
        '.rfactor("j_v", tensor="Y", memory="register").rfactor("j_v", tensor="Z"',
        '.parallelize("i_b")',
    ),
    "both_ways": ('.rfactor("i_o", memory="array").parallelize("i_o")',),
    "solve": ('.cut("j", "i_o")', '.parallelize("i_i_2_2_b")', ".rfactor("),
    "factor": ('.cut("j", "i_o")', '.reorder("j_o", "i_i", "j_i")', ".cache_write("),
    "paths": ('.cut("i", "k").cut("i_2", "k + 1")', '.vectorize("j_v")'),
    "backwards": ('.rfactor("i_v").vectorize("i_v")',),
    "sweeps": ('.merge("i", "i1").skew("t", "i", 2)', '.parallelize("t_o")'),
    "line": ('.fission("i_i", after=1)', '.vectorize("i_i_v")'),
    "points": ('.skew("t", "i", 1).tile(("t", "i"), (8, 32), origin=0)',),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_default_schedule_has_its_parts(name: str) -> None:
    text = str(default_schedule(read_function(TEXTS[name]), AVX512, "reassoc"))
    for part in PARTS[name]:
        assert part in text


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("numerics", ["reassoc", "bitwise"])
def test_the_default_schedule_is_proved(name: str, numerics: str) -> None:
    function = read_function(TEXTS[name])
    schedule = default_schedule(function, AVX2, numerics)
    verify(schedule.function)
    certificate = validate(function, schedule.function, numerics)
    assert certificate.verdict == "proved", certificate.reason
    assert schedule.steps or name in ("backwards", "solve")


@pytest.mark.parametrize("name", TEXTS)
def test_the_default_point_needs_nothing_taken_back(name: str) -> None:
    """The dependences tell beforehand what is legal: proofs are for certainty."""
    function = read_function(TEXTS[name])
    space = sketch(function, AVX512, "reassoc")
    schedule = space.build(space.default())
    certificate = validate(function, schedule.function, "reassoc")
    assert certificate.verdict == "proved", certificate.reason


def test_params_of_cut_nests_have_names_of_their_own() -> None:
    space = sketch(read_function(TEXTS["factor"]), AVX512, "reassoc")
    names = [param.name for param in space.params]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        ("solve", {"i.order_block": 32}),
        ("solve", {"i.order_block": 0}),
        ("factor", {"i.order_block": 0}),
        ("product", {"i.distributed": False}),
        ("two_sums", {"i.rows": 8}),
        ("two_sums", {"i.rows": 1}),
        ("both_ways", {"i.rows": 2, "i.parallel": False}),
    ],
)
def test_other_starts_and_groups_are_built_and_proved(
    name: str, choice: dict[str, Choice]
) -> None:
    function = read_function(TEXTS[name])
    space = sketch(function, AVX512, "reassoc")
    default = space.default()
    for param, value in choice.items():
        assert param in default
        assert default[param] != value
    schedule = space.build({**default, **choice})
    assert str(schedule) != str(space.build(default))
    certificate = validate(function, schedule.function, "reassoc")
    assert certificate.verdict == "proved", certificate.reason


def test_a_group_of_rows_loads_what_they_share_once() -> None:
    """The vectors are outside of the rows: `x[j]` is loaded once for all of them."""
    schedule = default_schedule(read_function(TEXTS["two_sums"]), AVX512, "reassoc")
    found = loops(schedule.function)
    (rows,) = found["j_o"].body.statements
    assert isinstance(rows, For)
    assert rows.kind is LoopKind.UNROLLED
    assert {n.axis for n in walk(rows) if isinstance(n, For)} == {rows.axis, "j_v"}
    sums = {n.tensor for n in walk(rows) if isinstance(n, Reduce)}
    assert sums == {"Y_part", "Z_part"}
