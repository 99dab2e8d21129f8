"""The kernels that the schedule tests start from, as text."""

from __future__ import annotations

from tdsl.ir.nodes import Function

from ..ir_text import read_function
from ..kernels import BATCHED, MATMUL, edited

TEXTS = {
    "scale": """
def scale(X: f32[M], Y: output f32[M]) for M:
    for i in range(M):
        Y[i] = (X[i] * 2.0)  # S0[i]
""",
    "scale_fixed": """
def scale_fixed(X: f32[96], Y: output f32[96]):
    for i in range(96):
        Y[i] = (X[i] * 2.0)  # S0[i]
""",
    "scale_multiple": """
def scale_multiple(X: f32[M], Y: output f32[M]) for M%16==0:
    for i in range(M):
        Y[i] = (X[i] * 2.0)  # S0[i]
""",
    "take": """
def take(X: f32[N], idx: i64[M], Y: output f32[M]) for M, N:
    for i in range(M):
        Y[i] = X[idx[i]]  # S0[i]
""",
    "put": """
def put(idx: i64[M], X: f32[M], Y: inout f32[N]) for M, N:
    for i in range(M):
        Y[idx[i]] = X[i]  # S0[i]
""",
    "rows": """
def rows(T: f32[N, K], idx: i64[M], Y: output f32[M, K]) for M, N, K:
    for i in range(M):
        for j in range(K):
            Y[i, j] = T[idx[i], j]  # S0[i, j]
""",
    "gathered_local": """
def gathered_local(X: f32[M], idx: i64[M], Y: output f32[M]) for M:
    T = local f32[M]
    for i in range(M):
        T[i] = (X[i] * 2.0)  # S0[i]
    for j in range(M):
        Y[j] = T[idx[j]]  # S1[j]
""",
    "counter": """
def counter(X: f32[M], Y: output f32[M]) for M:
    for i in range(M):
        k = local i64 in registers
        k = i64(i)  # S0[i]
        Y[i] = X[k]  # S1[i]
""",
    "no_key": """
def no_key(X: f32[M], Y: inout f32[M + 4]) for M:
    for i in range(M):
        Y[max(i64(i), 3)] = X[i]  # S0[i]
""",
    "interior": """
def interior(X: f32[M], Y: inout f32[M]) for M:
    for i in range(1, M - 1):
        Y[i] = (X[i - 1] + X[i + 1])  # S0[i]
""",
    "matmul": edited(MATMUL, ("for M, N, K:", "for 1<=M, 1<=N, 1<=K:")),
    "inner_sums": """
def inner_sums(A: f32[N, N], C: output f32[N, N]) for N:
    for i0 in range(N):
        for j0 in range(N):
            C[i0, j0] = 0.0  # S0[i0, j0]
    for i in range(N):
        for j in range(N):
            for k in range(3, i):
                C[i, j] += A[i, k]  # S1[i, j, k]
""",
    "conv2d": """
def conv2d(X: f32[H, W], F: f32[3, 3], Y: output f32[H - 2, W - 2]) for 2<=H, 2<=W:
    for y0 in range(H - 2):
        for x0 in range(W - 2):
            Y[y0, x0] = 0.0  # S0[y0, x0]
    for y in range(H - 2):
        for x in range(W - 2):
            for r in range(3):
                for s in range(3):
                    Y[y, x] += (X[r + y, s + x] * F[r, s])  # S1[y, x, r, s]
""",
    "blur": """
def blur(X: f32[H, W], Y: output f32[H - 2, W - 2]) for 2<=H, 2<=W:
    T = local f32[H - 2, W]
    for a in range(H - 2):
        for b in range(W):
            T[a, b] = (X[a, b] + X[a + 2, b])  # S0[a, b]
    for y in range(H - 2):
        for x in range(W - 2):
            Y[y, x] = ((T[y, x] + T[y, x + 1]) + T[y, x + 2])  # S1[y, x]
""",
    "triangle": """
def triangle(A: f32[N, N], X: f32[N], Y: inout f32[N]) for N:
    for i in range(N):
        for j in range(i + 1):
            Y[i] += (A[i, j] * X[j])  # S0[i, j]
""",
    "row_sums": """
def row_sums(A: f32[M, N], S: output f32[M]) for M, N:
    for i0 in range(M):
        S[i0] = 0.0  # S0[i0]
    for i in range(M):
        for j in range(N):
            S[i] += A[i, j]  # S1[i, j]
""",
    "into_head": """
def into_head(A: f32[N], x: inout f32[N + 1]) for N:
    for j in range(N):
        x[0] += (A[j] * x[j + 1])  # S0[j]
""",
    "softmax": """
def softmax(X: f32[M, N], Y: output f32[M, N]) for 1<=M, 1<=N:
    for i in range(M):
        m = local f32 in registers
        m = X[i, 0]  # S0[i]
        for j in range(N):
            m = max(m, X[i, j])  # S1[i, j]
        z = local f32 in registers
        z = 0.0  # S2[i]
        for j2 in range(N):
            e = local f32 in registers
            e = (X[i, j2] - m)  # S3[i, j2]
            Y[i, j2] = e  # S4[i, j2]
            z += e  # S5[i, j2]
        for j3 in range(N):
            Y[i, j3] = (Y[i, j3] + z)  # S6[i, j3]
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
    "scratch": """
def scratch(X: f32[M, N], Y: output f32[M, N]) for M, N:
    T = local f32[N]
    for i in range(M):
        for j in range(N):
            T[j] = (X[i, j] * 2.0)  # S0[i, j]
        for k in range(N):
            Y[i, k] = T[k]  # S1[i, k]
""",
    "syrk": """
def syrk(A: f32[N, K], C: inout f32[N, N]) for N, K:
    for i in range(N):
        for j in range(i + 1):
            for k in range(K):
                C[i, j] += (A[i, k] * A[j, k])  # S0[i, j, k]
""",
    "upper": """
def upper(A: f32[K, N], C: inout f32[N, N]) for N, K:
    for i0 in range(N):
        for j0 in range(i0, N):
            C[i0, j0] = 0.0  # S0[i0, j0]
    for i in range(N):
        for j in range(i, N):
            for k in range(K):
                C[i, j] += (A[k, i] * A[k, j])  # S1[i, j, k]
""",
    "trmm": """
def trmm(A: f32[M, M], B: inout f32[M, N]) for M, N:
    for i in range(M):
        for j in range(N):
            for k in range(i + 1, M):
                B[i, j] += (A[k, i] * B[k, j])  # S0[i, j, k]
""",
    "two": """
def two(X: f32[M], Y: output f32[M], Z: output f32[M]) for M:
    for i in range(M):
        Y[i] = (X[i] * 2.0)  # S0[i]
        Z[i] = (Y[i] + 1.0)  # S1[i]
""",
    "chain": """
def chain(X: f32[M, N], Y: output f32[M, N]) for M, N:
    T = local f32[M, N]
    for a in range(M):
        for b in range(N):
            T[a, b] = (X[a, b] * 3.0)  # S0[a, b]
    for i in range(M):
        for j in range(N):
            Y[i, j] = (T[i, j] + 1.0)  # S1[i, j]
""",
    "batched": edited(BATCHED, (" for Z, M, N, K:", " for Z, M, N:"), ("K", "7")),
    "channels": """
def channels(X: f32[2, H, W], F: f32[5, 2, 3, 3], Y: output f32[5, H - 2, W - 2]) \
for 2<=H, 2<=W:
    for o0 in range(5):
        for y0 in range(H - 2):
            for x0 in range(W - 2):
                Y[o0, y0, x0] = 0.0  # S0[o0, y0, x0]
    for o in range(5):
        for y in range(H - 2):
            for x in range(W - 2):
                for c in range(2):
                    for r in range(3):
                        for s in range(3):
                            Y[o, y, x] += (F[o, c, r, s] * X[c, r + y, s + x])  \
# S1[o, y, x, c, r, s]
""",
    "layer": """
def layer(A: f32[M, K], B: f32[K, N], D: output f32[M, N]) for 1<=M, 1<=N, 1<=K:
    C = local f32[M, N]
    for i0 in range(M):
        for j0 in range(N):
            C[i0, j0] = 0.0  # S0[i0, j0]
    for i in range(M):
        for j in range(N):
            for k in range(K):
                C[i, j] += (A[i, k] * B[k, j])  # S1[i, j, k]
    for i2 in range(M):
        for j2 in range(N):
            D[i2, j2] = max(C[i2, j2], 0.0)  # S2[i2, j2]
""",
    "time": """
def time(X: inout f32[N]) for 2<=N:
    for t in range(4):
        for i in range(1, N - 1):
            X[i] = (X[i - 1] + X[i + 1])  # S0[t, i]
""",
    "jacobi": """
def jacobi(A: inout f32[N], B: inout f32[N]) for N, T:
    for t in range(T):
        for i in range(1, N - 1):
            B[i] = (A[i - 1] + A[i + 1])  # S0[t, i]
        for j in range(1, N - 1):
            A[j] = (B[j - 1] + B[j + 1])  # S1[t, j]
""",
    "plane": """
def plane(A: inout f32[N, N]) for N:
    for t in range(3):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                A[i, j] = (((A[i - 1, j] + A[i, j - 1]) + A[i + 1, j]) + A[i, j + 1])  \
# S0[t, i, j]
""",
    "fields": """
def fields(E: inout f32[N, N], H: inout f32[N, N], P: f32[T]) for 1<=N, T:
    for t in range(T):
        for j0 in range(N):
            E[0, j0] = P[t]  # S0[t, j0]
        for i1 in range(1, N):
            for j1 in range(N):
                E[i1, j1] = (E[i1, j1] - (H[i1, j1] - H[i1 - 1, j1]))  # S1[t, i1, j1]
        for i2 in range(N - 1):
            for j2 in range(N):
                H[i2, j2] = (H[i2, j2] - (E[i2 + 1, j2] - E[i2, j2]))  # S2[t, i2, j2]
""",
    "apart": """
def apart(X: inout f32[M], Y: inout f32[N]) for M, N:
    for i in range(M):
        X[i] = (X[i] + 1.0)  # S0[i]
    for j in range(N):
        Y[j] = (Y[j] + 1.0)  # S1[j]
    for k in range(2, M, 2):
        X[k] = (X[k] + 3.0)  # S2[k]
""",
    "guarded": """
def guarded(X: f32[M], Y: inout f32[M, N]) for M, N:
    for i in range(M):
        for j in range(N):
            if N - 3 >= 0 and i + j - 2 >= 0 and M - 2*j >= 0:
                Y[i, j] = (X[i] + 1.0)  # S0[i, j]
""",
}


def kernel(name: str) -> Function:
    """Return the kernel of that name."""
    return read_function(TEXTS[name])
