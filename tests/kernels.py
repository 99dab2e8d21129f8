"""Kernels that the tests of several packages start from, as text."""

from __future__ import annotations

MATMUL = """
def matmul(A: f32[M, K], B: f32[K, N], C: output f32[M, N]) for M, N, K:
    for i0 in range(M):
        for j0 in range(N):
            C[i0, j0] = 0.0  # S0[i0, j0]
    for i in range(M):
        for j in range(N):
            for k in range(K):
                C[i, j] += (A[i, k] * B[k, j])  # S1[i, j, k]
"""

BATCHED = """
def batched(A: f32[Z, M, K], B: f32[Z, K, N], C: output f32[Z, M, N]) for Z, M, N, K:
    for z0 in range(Z):
        for i0 in range(M):
            for j0 in range(N):
                C[z0, i0, j0] = 0.0  # S0[z0, i0, j0]
    for z in range(Z):
        for i in range(M):
            for j in range(N):
                for k in range(K):
                    C[z, i, j] += (A[z, i, k] * B[z, k, j])  # S1[z, i, j, k]
"""

CONVOLUTION = """
def convolution(X: f32[C, H, W], F: f32[O, C, 3, 3], Y: output f32[O, H - 2, W - 2]) \
for 1<=C, 1<=O, 3<=H, 3<=W:
    for o0 in range(O):
        for y0 in range(H - 2):
            for x0 in range(W - 2):
                Y[o0, y0, x0] = 0.0  # S0[o0, y0, x0]
    for o in range(O):
        for y in range(H - 2):
            for x in range(W - 2):
                for c in range(C):
                    for r in range(3):
                        for s in range(3):
                            Y[o, y, x] += (X[c, r + y, s + x] * F[o, c, r, s])  \
# S1[o, y, x, c, r, s]
"""


def packed_matmul(*, rows: int, columns: int, depth: int, tile: int) -> str:
    """Return MATMUL in five levels, for at least one K.

    Both operands are packed, in blocks of *rows* and *depth*; a *tile* of rows by
    *columns* is in registers, and its initialisation has moved inside.
    """
    return f"""
def matmul(A: f32[M, K], B: f32[K, N], C: output f32[M, N]) for M, N, 1<=K:
    for k_o in range(0, K, {depth}):
        B_pack = local f32[(N + {columns - 1})//{columns}, {depth}, {columns}]
        for j_p in range(0, N, {columns}):  # parallel
            for k_p in range(k_o, min(k_o + {depth}, K)):
                for j_q in range(j_p, min(j_p + {columns}, N)):  # vectorized
                    B_pack[j_p//{columns}, k_p - k_o, j_q - j_p] = B[k_p, j_q]
        for i_o in range(0, M, {rows}):  # parallel
            A_pack = local f32[{rows // tile}, {depth}, {tile}]
            for i_p in range(i_o, min(i_o + {rows}, M), {tile}):
                for k_q in range(k_o, min(k_o + {depth}, K)):
                    for i_q in range(i_p, min(i_p + {tile}, M)):  # unrolled
                        A_pack[(i_p - i_o)//{tile}, k_q - k_o, i_q - i_p] = A[i_q, k_q]
            for j_t in range(0, N, {columns}):
                for i_t in range(i_o, min(i_o + {rows}, M), {tile}):
                    if -k_o >= 0:
                        for i_z in range(i_t, min(i_t + {tile}, M)):  # unrolled
                            for j_z in range(j_t, min(j_t + {columns}, N)):  # vectorized
                                C[i_z, j_z] = 0.0  # S0[i_z, j_z]
                    C_acc = local f32[{tile}, {columns}] in registers
                    for i_l in range(i_t, min(i_t + {tile}, M)):  # unrolled
                        for j_l in range(j_t, min(j_t + {columns}, N)):  # vectorized
                            C_acc[i_l - i_t, j_l - j_t] = C[i_l, j_l]
                    for k in range(k_o, min(k_o + {depth}, K)):
                        for i in range(i_t, min(i_t + {tile}, M)):  # unrolled
                            for j in range(j_t, min(j_t + {columns}, N)):  # vectorized
                                C_acc[i - i_t, j - j_t] += \
A_pack[(i_t - i_o)//{tile}, k - k_o, i - i_t] * B_pack[j_t//{columns}, k - k_o, j - j_t]  \
# S1[i, j, k]
                    for i_s in range(i_t, min(i_t + {tile}, M)):  # unrolled
                        for j_s in range(j_t, min(j_t + {columns}, N)):  # vectorized
                            C[i_s, j_s] = C_acc[i_s - i_t, j_s - j_t]
"""  # noqa: E501 - IR text is not wrapped


def edited(text: str, *changes: tuple[str, str]) -> str:
    """Return *text* after replacing each text that must occur."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text
