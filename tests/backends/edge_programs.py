"""Programs that would leave their tensors if one decision of the emitter were wrong.

Each has an iteration that does not exist, whose reads or writes lie beyond the last
element of a tensor. Loops over registers are unrolled to such iterations; others may
stay loops.
"""

from __future__ import annotations

from ..kernels import edited

CHUNK_START = """
def chunk_start(X: f32[N], Y: inout f32[N]) for N:
    for j_o in range(0, N, 32):
        R = local f32[32] in registers
        for j_c in range(j_o, min(j_o + 32, N), 8):  # unrolled
            for j in range(j_c, min(j_c + 8, N)):  # vectorized
                R[j - j_o] = X[j_c] * X[j]
        for l_c in range(j_o, min(j_o + 32, N), 8):  # unrolled
            for l in range(l_c, min(l_c + 8, N)):  # vectorized
                Y[l] += R[l - j_o]
"""

SHORTER_CHUNK = """
def shorter_chunk(X: f32[M], Y: inout f32[N]) for M, N, K:
    for i in range(K):
        for j_o in range(0, N, 32):
            for j_c in range(j_o, min(j_o + 32, N), 8):  # unrolled
                for j in range(j_c, min(j_c + 8, N, M - i)):  # vectorized
                    Y[j] += X[i]
"""

SHORTER_VECTOR = """
def shorter_vector(X: f32[M], Y: inout f32[N]) for M, N:
    for j_o in range(0, N, 8):
        for j in range(j_o, min(j_o + 8, N, M)):  # vectorized
            Y[j] += X[j_o]
"""

TRIANGLE = """
def triangle(L: f32[M, M], Y: inout f32[M, N]) for M, N:
    for i_o in range(0, M, 4):
        for j_o in range(0, N, 8):
            R = local f32[4, 8] in registers
            for i in range(i_o, min(i_o + 4, M)):  # unrolled
                for j in range(j_o, min(j_o + 8, N, i + 1)):  # vectorized
                    R[i - i_o, j - j_o] = L[i, j]
            for r in range(i_o, min(i_o + 4, M)):  # unrolled
                for l in range(j_o, min(j_o + 8, N, r + 1)):  # vectorized
                    Y[r, l] += R[r - i_o, l - j_o] * L[r, l]
"""

CONDITIONAL_TRIANGLE = """
def conditional_triangle(L: f32[M, M], Y: inout f32[M, N]) for M, N, K:
    for i_o in range(0, M, 4):
        for j_o in range(0, N, 8):
            R = local f32[4, 8] in registers
            for i in range(i_o, min(i_o + 4, M)):  # unrolled
                for j in range(j_o, min(j_o + 8, N)):  # vectorized
                    if i - j >= 0 and K - 1 >= 0:
                        R[i - i_o, j - j_o] = L[i, j]
            for r in range(i_o, min(i_o + 4, M)):  # unrolled
                for l in range(j_o, min(j_o + 8, N)):  # vectorized
                    if r - l >= 0 and K - 1 >= 0:
                        Y[r, l] += R[r - i_o, l - j_o] * L[r, l]
"""

ROWS_OF_VECTORS = """
def rows_of_vectors(A: f32[M], X: f32[M, N], Y: inout f32[M, N]) for M, N%8==0:
    for i_o in range(0, M, 4):
        for j_o in range(0, N, 8):
            R = local f32[4, 8] in registers
            for i in range(i_o, min(i_o + 4, M)):  # unrolled
                for j in range(j_o, j_o + 8):  # vectorized
                    R[i - i_o, j - j_o] = A[i] * X[i, j]
            for r in range(i_o, min(i_o + 4, M)):  # unrolled
                for l in range(j_o, j_o + 8):  # vectorized
                    Y[r, l] += A[r] * R[r - i_o, l - j_o]
"""

GATHERED_ROWS = """
def gathered_rows(T: f32[V, M], idx: i64[N], Y: inout f32[M, N]) for M, N%8==0, 1<=V:
    for i_o in range(0, M, 4):
        for j_o in range(0, N, 8):
            R = local f32[4, 8] in registers
            for i in range(i_o, min(i_o + 4, M)):  # unrolled
                for j in range(j_o, j_o + 8):  # vectorized
                    R[i - i_o, j - j_o] = T[idx[j], i]
            for r in range(i_o, min(i_o + 4, M)):  # unrolled
                for l in range(j_o, j_o + 8):  # vectorized
                    Y[r, l] += R[r - i_o, l - j_o] * T[idx[l], r]
"""

GATHERED_COLUMNS = """
def gathered_columns(T: f32[V, N], idx: i64[M], Y: inout f32[M, N]) for M, N, 1<=V:
    for i in range(M):
        for j_o in range(0, N, 32):
            R = local f32[32] in registers
            for j_c in range(j_o, min(j_o + 32, N), 8):  # unrolled
                for j in range(j_c, min(j_c + 8, N)):  # vectorized
                    R[j - j_o] = T[idx[i], j] * T[idx[i], j_c]
            for l_c in range(j_o, min(j_o + 32, N), 8):  # unrolled
                for l in range(l_c, min(l_c + 8, N)):  # vectorized
                    Y[i, l] += R[l - j_o]
"""

GATHERED_CHUNKS = edited(
    GATHERED_COLUMNS,
    ("gathered_columns", "gathered_chunks"),
    (" * T[idx[i], j_c]", ""),
)

PARTLY_COMMON = """
def partly_common(X: f32[M, N], Y: inout f32[M, N]) for M, N:
    for i_o in range(0, M, 4):
        for j_o in range(0, N, 8):
            R = local f32[4, 8] in registers
            for i in range(i_o, min(i_o + 4, M)):  # unrolled
                for j in range(j_o, min(j_o + 8, N)):  # vectorized
                    R[i - i_o, j - j_o] = X[i, j]
            for q in range(i_o, min(i_o + 4, M)):  # unrolled
                for p in range(j_o, min(j_o + 8, N - 1)):  # vectorized
                    R[q - i_o, p - j_o] = X[q, p + 1] + X[q, p]
            for r in range(i_o, min(i_o + 4, M)):  # unrolled
                for l in range(j_o, min(j_o + 8, N)):  # vectorized
                    Y[r, l] += R[r - i_o, l - j_o]
"""

ROWS_IN_MEMORY = """
def rows_in_memory(X: f32[M], Y: inout f32[M, 16]) for M:
    T = local f32[M, 16] in registers
    for i_o in range(0, M, 8):
        for i in range(i_o, min(i_o + 8, M)):  # unrolled
            for j in range(16):  # vectorized
                T[i, j] = X[i]
    for r_o in range(0, M, 8):
        for r in range(r_o, min(r_o + 8, M)):  # unrolled
            for l in range(16):  # vectorized
                Y[r, l] += T[r, l]
"""

MASKED_AT_FIRST = """
def masked_at_first(X: f32[N], Y: inout f32[N]) for N:
    R = local f32[8] in registers
    for p in range(0, min(8, N - 1)):  # vectorized
        R[p] = X[p + 1]
    for q in range(0, min(8, N - 1)):  # vectorized
        Y[q] += R[q]
    for j in range(0, min(8, N)):  # vectorized
        R[j] = X[j]
    for l in range(0, min(8, N)):  # vectorized
        Y[l] += R[l]
"""

CONDITIONAL_AT_FIRST = """
def conditional_at_first(X: f32[N], Y: inout f32[N]) for N, K:
    for j_o in range(0, N, 8):
        R = local f32[8] in registers
        if K - 2 >= 0:
            for j in range(j_o, min(j_o + 8, N)):  # vectorized
                R[j - j_o] = X[j]
        for k in range(2, K):
            for l in range(j_o, min(j_o + 8, N)):  # vectorized
                Y[l] += R[l - j_o]
"""

SUM_OF_TILES = """
def sum_of_tiles(X: f32[N], S: inout f32[1]) for N:
    for i_o in range(0, N, 8):
        R = local f32[8] in registers
        for i in range(i_o, min(i_o + 8, N)):  # unrolled
            R[i - i_o] = X[i]
        for r in range(i_o, min(i_o + 8, N)):  # unrolled
            S[0] += X[r] * R[r - i_o]
"""

EDGE_PROGRAMS = {
    "chunk_start": CHUNK_START,
    "shorter_chunk": SHORTER_CHUNK,
    "shorter_vector": SHORTER_VECTOR,
    "triangle": TRIANGLE,
    "conditional_triangle": CONDITIONAL_TRIANGLE,
    "rows_of_vectors": ROWS_OF_VECTORS,
    "gathered_rows": GATHERED_ROWS,
    "gathered_columns": GATHERED_COLUMNS,
    "gathered_chunks": GATHERED_CHUNKS,
    "partly_common": PARTLY_COMMON,
    "rows_in_memory": ROWS_IN_MEMORY,
    "masked_at_first": MASKED_AT_FIRST,
    "conditional_at_first": CONDITIONAL_AT_FIRST,
    "sum_of_tiles": SUM_OF_TILES,
}
