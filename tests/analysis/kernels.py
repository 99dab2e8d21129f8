"""Kernels and schedules of them as text: what the tests of the proof start from."""

from __future__ import annotations

from tdsl.ir.nodes import Function

from ..ir_text import read_function

MATMUL = """
def matmul(A: f32[M, K], B: f32[K, N], C: output f32[M, N]) for M, N, 1<=K:
    for i0 in range(M):
        for j0 in range(N):
            C[i0, j0] = 0.0  # S0[i0, j0]
    for i in range(M):
        for j in range(N):
            for k in range(K):
                C[i, j] += A[i, k] * B[k, j]  # S1[i, j, k]
"""

# Five levels, both operands packed, a 12 x 32 register tile, the zero moved inside.
PACKED = """
def matmul(A: f32[M, K], B: f32[K, N], C: output f32[M, N]) for M, N, 1<=K:
    for k_o in range(0, K, 256):
        B_pack = local f32[(N + 31)//32, 256, 32]
        for j_p in range(0, N, 32):  # parallel
            for k_p in range(k_o, min(k_o + 256, K)):
                for j_q in range(j_p, min(j_p + 32, N)):  # vectorized
                    B_pack[j_p//32, k_p - k_o, j_q - j_p] = B[k_p, j_q]
        for i_o in range(0, M, 96):  # parallel
            A_pack = local f32[8, 256, 12]
            for i_p in range(i_o, min(i_o + 96, M), 12):
                for k_p2 in range(k_o, min(k_o + 256, K)):
                    for i_q in range(i_p, min(i_p + 12, M)):  # unrolled
                        A_pack[(i_p - i_o)//12, k_p2 - k_o, i_q - i_p] = A[i_q, k_p2]
            for j_t in range(0, N, 32):
                for i_t in range(i_o, min(i_o + 96, M), 12):
                    if -k_o >= 0:
                        for i_z in range(i_t, min(i_t + 12, M)):  # unrolled
                            for j_z in range(j_t, min(j_t + 32, N)):  # vectorized
                                C[i_z, j_z] = 0.0  # S0[i_z, j_z]
                    C_acc = local f32[12, 32] in registers
                    for i_l in range(i_t, min(i_t + 12, M)):  # unrolled
                        for j_l in range(j_t, min(j_t + 32, N)):  # vectorized
                            C_acc[i_l - i_t, j_l - j_t] = C[i_l, j_l]
                    for k in range(k_o, min(k_o + 256, K)):
                        for i in range(i_t, min(i_t + 12, M)):  # unrolled
                            for j in range(j_t, min(j_t + 32, N)):  # vectorized
                                C_acc[i - i_t, j - j_t] += \
A_pack[(i_t - i_o)//12, k - k_o, i - i_t] * B_pack[j_t//32, k - k_o, j - j_t]  \
# S1[i, j, k]
                    for i_s in range(i_t, min(i_t + 12, M)):  # unrolled
                        for j_s in range(j_t, min(j_t + 32, N)):  # vectorized
                            C[i_s, j_s] = C_acc[i_s - i_t, j_s - j_t]
"""

TOTAL = """
def total(A: f32[N], C: output f32[1]) for N:
    C[0] = 0.0  # S0
    for i in range(N):
        C[0] += A[i]  # S1[i]
"""

LANES = """
def total(A: f32[N], C: output f32[1]) for N:
    C[0] = 0.0  # S0
    P = local f32[8]
    for r in range(8):  # vectorized
        P[r] = 0.0
    for o in range(0, N, 8):
        for i in range(o, min(o + 8, N)):  # vectorized
            P[i - o] += A[i]  # S1[i]
    for q in range(8):
        C[0] += P[q]
"""

SMOOTH = """
def smooth(A: f32[N], C: output f32[N]) for N:
    T = local f32[N]
    for i in range(N):
        T[i] = exp(A[i])  # S0[i]
    for j in range(N):
        C[j] = T[j] + A[j]  # S1[j]
"""


def read(text: str, *changes: tuple[str, str]) -> Function:
    """Return the function of *text* after replacing each text that must occur."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return read_function(text)
