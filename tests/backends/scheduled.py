"""Scheduled programs for the CPU backend: tile loops, locals, guards, as text."""

from __future__ import annotations

from ..kernels import packed_matmul

PACKED_MATMUL = packed_matmul(rows=8, columns=16, depth=16, tile=4)

DIRECT_MATMUL = """
def direct(A: f32[M, K], B: f32[K, N], C: output f32[M, N]) for M, N, K:
    for i_t in range(0, M, 3):  # parallel
        for j_t in range(0, N, 24):  # fused
            acc = local f32[3, 24] in registers
            for i_z in range(i_t, min(i_t + 3, M)):  # unrolled
                for j_z in range(j_t, min(j_t + 24, N)):  # vectorized
                    acc[i_z - i_t, j_z - j_t] = 0.0
            for k in range(K):
                for i in range(i_t, min(i_t + 3, M)):  # unrolled
                    for j in range(j_t, min(j_t + 24, N)):  # vectorized
                        acc[i - i_t, j - j_t] += A[i, k] * B[k, j]
            for i_s in range(i_t, min(i_t + 3, M)):  # unrolled
                for j_s in range(j_t, min(j_t + 24, N)):  # vectorized
                    C[i_s, j_s] = acc[i_s - i_t, j_s - j_t]
"""

AXPY = """
def axpy(alpha: f32, x: f32[N], y: inout f32[N]) for N:
    for i_o in range(0, N, 8):
        for i in range(i_o, min(i_o + 8, N)):  # vectorized
            y[i] = alpha * x[i] + y[i]
"""

TEMPORARIES = """
def temporaries(X: f32[M, N], Y: output f32[M, N]) for M, N:
    for i in range(M):
        for j_o in range(0, N, 8):
            for j in range(j_o, min(j_o + 8, N)):  # vectorized
                t = local f32 in registers
                t = X[i, j] * 2.0
                m = local f32 in registers
                m = 1.0
                for k in range(3):
                    m = max(m, t)
                    t = t - X[i, j]
                Y[i, j] = m + exp(t)
"""

ROW_SUM = """
def row_sum(X: f32[M, N], Y: output f32[M]) for M, N:
    for i in range(M):
        part = local f32[8] in registers
        for l in range(8):  # vectorized
            part[l] = 0.0
        for j_o in range(0, N, 8):
            for j in range(j_o, min(j_o + 8, N)):  # vectorized
                part[j - j_o] += X[i, j]
        total = local f32 in registers
        total = X[i, 0]
        for e in range(8):  # unrolled
            total += part[e]
        Y[i] = total
        for f in range(8):  # unrolled
            Y[i] = max(Y[i], part[f])
"""

TRIANGULAR = """
def triangular(L: f32[N, N], B: f32[N, R], C: output f32[N, R]) for N, R:
    for i in range(N):
        for r_o in range(0, R, 8):
            for r in range(r_o, min(r_o + 8, R)):  # vectorized
                C[i, r] = 0.0
        for j in range(i + 1):
            for r2_o in range(0, R, 8):
                for r2 in range(r2_o, min(r2_o + 8, R)):  # vectorized
                    C[i, r2] += L[i, j] * B[j, r2]
"""

TRIANGULAR_LANES = """
def triangular_lanes(X: f32[N, N], v: f32[N], Y: inout f32[N, N]) for N:
    for i_o in range(0, N, 4):
        for i in range(i_o, min(i_o + 4, N)):  # unrolled
            for j_o in range(0, i + 1, 8):
                for j in range(j_o, min(j_o + 8, i + 1)):  # vectorized
                    Y[i, j] += X[i, j] * v[i]
"""

SKEWED = """
def skewed(X: f32[N + 6], v: f32[N], Y: output f32[N]) for N:
    for i_o in range(0, N, 8):
        for i in range(i_o, min(i_o + 8, N)):  # vectorized
            Y[i] = 0.25 * X[i] + 0.5 * X[i + 1] + X[2*(i//2)] * v[N - 1 - i]
            if i - 2 >= 0:
                Y[i] += v[i - 2]
"""

SCATTERED = """
def scattered(X: f32[N], Y: output f32[N, 3]) for N:
    for i_o in range(0, N, 8):
        for i in range(i_o, min(i_o + 8, N)):  # vectorized
            Y[i, 0] = X[i]
            Y[i, 1] = X[i] * 2.0
            Y[i, 2] = Y[i, 0] + Y[i, 1]
"""

STAGED = """
def staged(X: f32[M, N], Y: output f32[M, N]) for M, N:
    for i in range(M):  # parallel
        row = local f32[N + 2]
        row[0] = 0.0
        row[N + 1] = 0.0
        for j_o in range(0, N, 8):
            for j in range(j_o, min(j_o + 8, N)):  # vectorized
                row[j + 1] = X[i, j]
        for q_o in range(0, N, 8):
            for q in range(q_o, min(q_o + 8, N)):  # vectorized
                Y[i, q] = row[q] + row[q + 1] + row[q + 2]
"""

PRIVATE = """
def private(X: f32[N, 3], Y: output f32[N]) for N:
    for i_o in range(0, N, 8):
        for i in range(i_o, min(i_o + 8, N)):  # vectorized
            window = local f32[3]
            for k in range(3):
                window[k] = X[i, k] * X[i, 2 - k]
            Y[i] = 0.0
            for q in range(3):
                Y[i] += window[q]
"""

TWO_STAGES = """
def two_stages(X: f32[N], Y: output f32[N], Z: output f32[N]) for N:
    for i in range(N):  # parallel
        Y[i] = 2.0 * X[i]
    for j in range(N):  # parallel
        Z[j] = Y[N - 1 - j] + Y[j]
"""

FIXED = """
def fixed(A: f32[32, 8], C: output f32[32, 16]):
    for i_t in range(0, 32, 4):
        for j in range(16):  # vectorized
            for i in range(i_t, min(i_t + 4, 32)):  # unrolled
                C[i, j] = A[i, 0]
"""

READ_IN_LOOPS = """
def read_in_loops(X: f32[N], Y: inout f32[N + 1], S: inout f32[N]) for N:
    for i in range(N):
        S[i] += Y[0]
        for j in range(2):
            S[i] += Y[0]
            Y[0] += X[i]
"""

TWO_BOUNDS = """
def two_bounds(X: f32[M, N], Y: inout f32[M, N]) for M, N:
    for i in range(M):
        for j_o in range(0, N, 8):
            for j in range(j_o, min(j_o + 8, N, M)):  # vectorized
                if N - 3 - j >= 0:
                    Y[i, j] += X[i, j]
            for q in range(j_o, min(j_o + 8, N)):  # vectorized
                if N + 1 - q >= 0:
                    if N - 1 - q//2 >= 0:
                        Y[i, q] += X[i, q]
"""

OTHER_GUARDS = """
def other_guards(X: f32[M + 1], Y: inout f32[M]) for M:
    for i_o in range(0, M, 4):
        T = local f32[4] in registers
        for i in range(i_o, min(i_o + 4, M)):  # unrolled
            T[i - i_o] = X[i]
        for q in range(i_o, min(i_o + 4, M - 1)):  # unrolled
            T[q - i_o] = X[q + 1] + X[q]
        for r in range(i_o, min(i_o + 4, M)):  # unrolled
            Y[r] += T[r - i_o]
"""

INSERTED_LANES = """
def inserted(X: f32[M], Y: inout f32[M, 8]) for M:
    for i in range(M):
        one = local f32[8] in registers
        for u in range(8):  # unrolled
            one[u] = X[i]
        for v in range(8):  # vectorized
            Y[i, v] += one[v]
        two = local f32[8] in registers
        for k in range(2):
            for w in range(8):  # vectorized
                two[w] = Y[i, w]
        for x in range(8):  # vectorized
            Y[i, x] += two[x]
"""

UNEVEN_LANES = """
def uneven(X: f32[N, N], Y: inout f32[2*N, N]) for N:
    for j_o in range(0, N, 8):
        for j in range(j_o, min(j_o + 8, N)):  # vectorized
            Y[j + j//2, j//3] = X[j//2, j//3] + X[j, j//2]
"""

EMPTY_TILES = """
def empty(X: f32[M], Y: inout f32[M]) for M:
    for i in range(M):
        none = local f32[0] in registers
        for r in range(0):  # vectorized
            none[r] = 0.0
        some = local f32[8] in registers
        for v in range(8):  # vectorized
            some[v] = X[i]
        for v_n in range(0):  # vectorized
            some[v_n] = 0.0
        for u in range(0):  # unrolled
            Y[i] += none[u]
        for l in range(8):  # unrolled
            Y[i] += some[l]
"""

SIZED_BY_LOOPS = """
def sized(X: f32[N], Y: inout f32[N]) for N:
    short = local f32[N - 2]
    for q in range(N - 2):
        short[q] = X[q + 1]
    for i in range(-3, N - 2):
        row = local f32[i + 1]
        for j in range(i + 1):
            row[j] = short[j] * X[i]
        for k in range(i + 1):
            Y[k] += row[k]
"""

SLANTED_MASKS = """
def slanted(X: f32[M, N], Y: inout f32[M, N]) for M, N:
    for i_o in range(0, M, 4):
        for i in range(i_o, min(i_o + 4, M)):  # unrolled
            for k in range(N):
                for j_o in range(0, N, 8):
                    for j in range(j_o, min(j_o + 8, N)):  # vectorized
                        if -j - j//2 + N + k >= 0:
                            if j - k >= 0:
                                Y[i, j] += X[i, j]
"""

KERNELS: dict[str, tuple[str, tuple[dict[str, int], ...]]] = {
    "packed": (
        PACKED_MATMUL,
        (
            {"M": 16, "N": 32, "K": 16},
            {"M": 13, "N": 37, "K": 33},
            {"M": 1, "N": 1, "K": 1},
            {"M": 0, "N": 5, "K": 3},
        ),
    ),
    "direct": (DIRECT_MATMUL, ({"M": 7, "N": 50, "K": 9}, {"M": 3, "N": 3, "K": 0})),
    "axpy": (AXPY, ({"N": 0}, {"N": 1}, {"N": 16}, {"N": 29})),
    "temporaries": (TEMPORARIES, ({"M": 3, "N": 21},)),
    "row_sum": (ROW_SUM, ({"M": 3, "N": 21}, {"M": 2, "N": 3})),
    "triangular": (TRIANGULAR, ({"N": 9, "R": 11},)),
    "triangular_lanes": (TRIANGULAR_LANES, ({"N": 19}, {"N": 2})),
    "skewed": (SKEWED, ({"N": 22}, {"N": 2}, {"N": 1})),
    "scattered": (SCATTERED, ({"N": 13},)),
    "staged": (STAGED, ({"M": 5, "N": 21},)),
    "private": (PRIVATE, ({"N": 13},)),
    "two_stages": (TWO_STAGES, ({"N": 40},)),
    "fixed": (FIXED, ({},)),
    "sized_by_loops": (SIZED_BY_LOOPS, ({"N": 0}, {"N": 1}, {"N": 9})),
    "slanted_masks": (SLANTED_MASKS, ({"M": 4, "N": 24}, {"M": 3, "N": 13})),
    "read_in_loops": (READ_IN_LOOPS, ({"N": 3},)),
    "two_bounds": (TWO_BOUNDS, ({"M": 5, "N": 21}, {"M": 21, "N": 13})),
    "other_guards": (OTHER_GUARDS, ({"M": 8}, {"M": 7}, {"M": 5}, {"M": 1})),
    "inserted_lanes": (INSERTED_LANES, ({"M": 3},)),
    "uneven_lanes": (UNEVEN_LANES, ({"N": 8}, {"N": 13}, {"N": 1})),
    "empty_tiles": (EMPTY_TILES, ({"M": 3},)),
}
"""Text and sizes to run it at, with and without tails."""
