"""Kernels and schedules of them as text: what the tests of the proof start from."""

from __future__ import annotations

from tdsl.ir.nodes import Function

from .. import kernels
from ..ir_text import read_function
from ..kernels import edited

MATMUL = edited(kernels.MATMUL, ("M, N, K:", "M, N, 1<=K:"))
PACKED = kernels.packed_matmul(rows=96, columns=32, depth=256, tile=12)

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
    return read_function(edited(text, *changes))
