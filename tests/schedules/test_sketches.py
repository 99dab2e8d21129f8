"""Sketches: the roles they see; every point of a space is a proved schedule."""

# ruff: noqa: E501 - IR text is not wrapped

from __future__ import annotations

import random

import pytest

from tdsl.analysis.validate import validate
from tdsl.ir.nodes import Function
from tdsl.ir.verify import verify
from tdsl.schedules.contraction import Contraction
from tdsl.schedules.library import default_schedule
from tdsl.schedules.sketches import sketch
from tdsl.target import AVX2, AVX512

from ..ir_text import read_function
from ..kernels import BATCHED, CONVOLUTION, MATMUL, edited
from ..specialize import specialize

TEXTS = {
    "matmul": MATMUL,
    "batched": BATCHED,
    "conv_planes": CONVOLUTION,
    "distances": edited(
        MATMUL,
        ("B: f32[K, N]", "B: f32[N, K]"),
        ("A[i, k] * B[k, j]", "(A[i, k] - B[j, k]) * (A[i, k] - B[j, k])"),
    ),
    "conv": """
def conv(X: f32[H + 2, W + 2, C], F: f32[3, 3, C, O], Y: output f32[H, W, O]) for H, W, C, O:
    for y0 in range(H):
        for x0 in range(W):
            for o0 in range(O):
                Y[y0, x0, o0] = 0.0  # S0[y0, x0, o0]
    for y in range(H):
        for x in range(W):
            for o in range(O):
                for r in range(3):
                    for s in range(3):
                        for c in range(C):
                            Y[y, x, o] += (X[r + y, s + x, c] * F[r, s, c, o])  # S1[y, x, o, r, s, c]
""",
    "blur": """
def blur(X: f32[H, W + 4], F: f32[5], Y: output f32[H, W]) for H, W:
    for y0 in range(H):
        for x0 in range(W):
            Y[y0, x0] = 0.0  # S0[y0, x0]
    for y in range(H):
        for x in range(W):
            for t in range(5):
                Y[y, x] += (F[t] * X[y, t + x])  # S1[y, x, t]
""",
    "epilogue": edited(MATMUL, ("C: output", "b: f32[N], C: output"))
    + """\
    for i2 in range(M):
        for j2 in range(N):
            C[i2, j2] = max((C[i2, j2] + b[j2]), 0.0)  # S2[i2, j2]
""",
    "inner_product": """
def inner_product(A: f32[M, K], B: f32[K, N], C: output f32[M, N]) for M, N, K:
    for i in range(M):
        for j in range(N):
            s = local f32 in registers
            s = 0.0  # S0[i, j]
            for k in range(K):
                s += (A[i, k] * B[k, j])  # S1[i, j, k]
            C[i, j] = s  # S2[i, j]
""",
    "matvec": """
def matvec(A: f32[M, K], x: f32[K], y: output f32[M]) for M, K:
    for i0 in range(M):
        y[i0] = 0.0  # S0[i0]
    for i in range(M):
        for k in range(K):
            y[i] += (A[i, k] * x[k])  # S1[i, k]
""",
    "axpy": """
def axpy(a: f32, X: f32[M, N], Y: f32[M, N], Z: output f32[M, N]) for M, N:
    for i in range(M):
        for j in range(N):
            Z[i, j] = ((a * X[i, j]) + Y[i, j])  # S0[i, j]
""",
    "seidel": """
def seidel(X: inout f32[N, N]) for 2<=N:
    for i in range(1, N - 1):
        for j in range(1, N - 1):
            X[i, j] = (((X[i - 1, j] + X[i + 1, j]) + X[i, j - 1]) + X[i, j + 1])  # S0[i, j]
""",
}  # fmt: skip

ROLES = {  # columns, rows, outer
    "matmul": ("j", "i", ()),
    "distances": ("j", "i", ()),
    "conv": ("o", "x", ("y",)),
    "conv_planes": ("x", "o", ("y",)),
    "batched": ("j", "i", ("z",)),
    "blur": ("x", None, ("y",)),
}


def function_named(kernel: str) -> Function:
    return read_function(TEXTS[kernel])


@pytest.mark.parametrize("kernel", ROLES)
def test_roles_follow_from_reuse_and_contiguity(kernel: str) -> None:
    (part,) = sketch(function_named(kernel), AVX512, "reassoc").parts
    assert isinstance(part, Contraction)
    roles = part.roles
    assert (roles.columns, roles.rows, roles.outer) == ROLES[kernel]
    assert roles.init == "S0"


@pytest.mark.parametrize("kernel", TEXTS)
@pytest.mark.parametrize("target", [AVX2, AVX512], ids=lambda target: target.name)
@pytest.mark.parametrize("numerics", ["reassoc", "bitwise"])
def test_the_default_schedule_is_proved(
    kernel: str, target: object, numerics: str
) -> None:
    function = function_named(kernel)
    schedule = default_schedule(function, target, numerics)
    verify(schedule.function)
    certificate = validate(function, schedule.function, numerics)
    assert certificate.verdict == "proved", certificate.reason


@pytest.mark.parametrize("kernel", sorted(set(TEXTS) - {"seidel"}))
def test_the_default_uses_threads_and_vectors(kernel: str) -> None:
    schedule = default_schedule(function_named(kernel), AVX512, "reassoc")
    text = str(schedule)
    assert ".parallelize(" in text
    assert ".vectorize(" in text


def test_a_refused_decision_is_taken_back() -> None:
    """An in-place sweep carries a dependence in both loops: it stays as written."""
    assert default_schedule(function_named("seidel"), AVX512, "reassoc").steps == ()


def test_sums_along_lanes_need_reassociation() -> None:
    function = function_named("matvec")
    assert "rfactor" in str(default_schedule(function, AVX512, "reassoc"))
    assert "rfactor" not in str(default_schedule(function, AVX512, "bitwise"))


@pytest.mark.parametrize("kernel", sorted(set(TEXTS) - {"seidel"}))
def test_every_point_of_the_space_builds_and_is_proved(kernel: str) -> None:
    draw = random.Random(kernel)
    sizes = {"M": 100, "N": 70, "K": 300, "H": 30, "W": 40, "C": 80, "O": 40, "Z": 3}
    for function in (
        function_named(kernel),
        specialize(function_named(kernel), sizes),
    ):
        space = sketch(function, AVX512, "reassoc")
        for _ in range(6):
            config = {p.name: draw.choice(p.choices) for p in space.params}
            schedule = space.build(config)
            verify(schedule.function)
            certificate = validate(function, schedule.function, "reassoc")
            assert certificate.verdict == "proved", (config, certificate.reason)


def test_an_epilogue_leaves_the_contraction_its_tile() -> None:
    """The store after the sum is no initialisation of it."""
    text = str(default_schedule(function_named("epilogue"), AVX512, "reassoc"))
    assert 'compute_at("S0"' in text
    assert 'cache_write("C"' in text
    assert text.count("vectorize(") == 3


def test_lanes_may_hold_a_whole_inner_loop() -> None:
    """Sums into scalars run side by side along the contiguous axis around them."""
    function = read_function("""
def column_sums(A: f32[M, N], B: output f32[N]) for M, N:
    for j in range(N):
        s = local f32 in registers
        s = 0.0  # S0[j]
        for i in range(M):
            s += A[i, j]  # S1[j, i]
        B[j] = s  # S2[j]
""")
    text = str(default_schedule(function, AVX512, "reassoc"))
    assert 'split("j"' in text
    assert "rfactor" not in text


ACROSS = """
def across(A: f32[{shape}], B: output f32[{shape}]) for 2<=M, 2<=N:
    for i in range(M):
        q = local f32[N]
        q[0] = 1.0  # S0[i]
        for j in range(1, N):
            q[j] = (A[{place}] / (q[j - 1] + 3.0))  # S1[i, j]
        B[{first}] = 0.0  # S2[i]
        for k in range(1, N):
            B[{now}] = ((B[{before}] * 0.5) + q[k])  # S3[i, k]
"""


def swapped(index: str) -> str:
    return ", ".join(reversed(index.split(", ")))


ROWS = {"place": "i, j", "first": "i, 0", "now": "i, k", "before": "i, k - 1"}


@pytest.mark.parametrize(
    ("places", "vectors"),
    [
        ({"shape": "M, N", **ROWS}, 1),
        ({"shape": "N, M", **{k: swapped(v) for k, v in ROWS.items()}}, 4),
    ],
)
def test_rows_that_go_step_by_step_run_side_by_side(
    places: dict[str, str], vectors: int
) -> None:
    """Each lane has its own copy of q; far apart in memory, one vector is enough."""
    function = read_function(ACROSS.format(**places))
    schedule = default_schedule(function, AVX512, "reassoc")
    assert f'split("i", {16 * vectors}' in str(schedule)
    assert '.expand("q", "i_v", at=1).vectorize("i_v")' in str(schedule)
    assert '.parallelize("i_o")' in str(schedule)


def test_sums_are_no_steps() -> None:
    """Whole rows as lanes, far apart in memory, gain nothing where they only add up."""
    function = read_function("""
def products(A: f32[N, M], x: f32[N], y: output f32[M, 2]) for M, N:
    for i in range(M):
        y[i, 0] = 0.0  # S0[i]
        for j in range(N):
            y[i, 0] += (A[j, i] * x[j])  # S1[i, j]
        y[i, 1] = (y[i, 0] / 2.0)  # S2[i]
""")
    schedule = default_schedule(function, AVX512, "reassoc")
    assert str(schedule) == 'schedule.parallelize("i")'


def test_a_sum_into_a_scalar_gets_a_register_tile() -> None:
    """As an array the scalar is the target of a contraction, whose use comes after."""
    schedule = default_schedule(function_named("inner_product"), AVX512, "reassoc")
    text = str(schedule)
    assert text.startswith('schedule.expand("s", "j", memory="array").fission("j"')
    assert '.compute_at("S0", "j_2_2_t").cache_write("s", "j_2_2_t")' in text


def test_register_tiles_fit_the_target() -> None:
    for target in (AVX2, AVX512):
        (part,) = sketch(function_named("matmul"), target, "reassoc").parts
        (tiles,) = (p.choices for p in part.params if p.name == "S1.tile")
        for tile in map(str, tiles):
            rows, vectors = map(int, tile.split("x"))
            assert rows * vectors + vectors + 1 <= target.vector_registers
            assert rows * vectors >= target.vector_registers // 2


def test_a_window_that_is_contiguous_is_not_packed() -> None:
    """Packing the image of a convolution by planes would copy each pixel nine times."""
    text = str(default_schedule(function_named("conv_planes"), AVX512, "reassoc"))
    assert "cache_read(" not in text


def test_packing_follows_reuse() -> None:
    """64 x 64 matrices use each element 64 times: a copy would cost more than it saves."""
    for size, packed in ((64, False), (1024, True)):
        function = specialize(function_named("matmul"), dict.fromkeys("MNK", size))
        text = str(default_schedule(function, AVX512, "reassoc"))
        assert ('cache_read("B"' in text) == packed


def test_operands_across_the_lanes_are_always_packed() -> None:
    text = str(default_schedule(function_named("distances"), AVX512, "reassoc"))
    assert 'cache_read("B"' in text


def test_filters_are_packed_once_not_per_row() -> None:
    text = str(default_schedule(function_named("conv"), AVX512, "reassoc"))
    assert 'cache_read("F", None' in text
