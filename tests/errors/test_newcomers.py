"""What people who know Python and NumPy, but not kernels, write first."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import tdsl
from tdsl import f32
from tdsl.errors import KernelSyntaxError, KernelTypeError

from .misuse import Misuse, marked, refusal

M = tdsl.dim("M")


def helper(x: float) -> float:
    return x + 1


@tdsl.kernel
def double(x: f32[M]) -> f32[M]:
    y = tdsl.empty((M,), f32)
    for i in range(M):
        y[i] = 2 * x[i]
    return y


NAMES = {
    "double": double,
    "helper": helper,
    "G": np.ones((3, 3)),
    "GL": [1, 2],
    "GT": "abc",
    "relu": helper,
    # As SciPy and PyTorch have them: no functions that are written in Python.
    "erf": np.frompyfunc(math.erf, 1, 1),
    "torch": SimpleNamespace(
        exp=np.frompyfunc(math.exp, 1, 1), zeros=np.zeros_like, bfloat16=object()
    ),
}
CASES = (
    Misuse(
        "call_with_nothing_in_it",
        """\
        def f(C: tdsl.out(f32[M])):
            T = tdsl.empty((M,), f32)
            U = double(T)
            for i in range(M):
                C[i] = U[i]
        """,
        KernelTypeError,
        "T",
        "`T` is read here before anything is written to it",
    ),
    Misuse(
        "np_zeros_like",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            T = np.zeros_like(A)
        """,
        KernelSyntaxError,
        "np.zeros_like",
        "`np.zeros_like` is written `tdsl.zeros((M, N), f32)`",
    ),
    Misuse(
        "np_zeros",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            T = np.zeros((M, K))
        """,
        KernelTypeError,
        "np.zeros((M, K))",
        "`np.zeros` takes shape and dtype: write `tdsl.zeros((M, K), f32)`",
    ),
    Misuse(
        "np_empty_dtype",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            T = np.empty((M, 2 * K), dtype=np.float64)
        """,
        KernelTypeError,
        "np.float64",
        "`np.float64` is no tdsl dtype: write `tdsl.empty((M, 2 * K), f64)`",
    ),
    Misuse(
        "torch_dtype",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            T = np.zeros(M, torch.bfloat16)
        """,
        KernelTypeError,
        "torch.bfloat16",
        "`torch.bfloat16` is no tdsl dtype: write `tdsl.zeros(M, bf16)`",
    ),
    Misuse(
        "np_full",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            T = np.full((M, K), -1, np.int32)
        """,
        KernelTypeError,
        "np.full((M, K), -1, np.int32)",
        "`-1` is no tdsl dtype, and stands in its place: write "
        "`tdsl.full((M, K), i32, -1)`",
    ),
    Misuse(
        "np_full_without_dtype",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            T = np.full((M, K), 0.5)
        """,
        KernelTypeError,
        "np.full((M, K), 0.5)",
        "`np.full` takes shape, dtype and value: write `tdsl.full((M, K), f32, value)`",
    ),
    Misuse(
        "np_ones",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            T = np.ones((M, K), np.float32)
        """,
        KernelSyntaxError,
        "np.ones",
        "`np.ones` is written `tdsl.full((M, N), f32, 1)`",
    ),
    Misuse(
        "torch_zeros",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            T = torch.zeros(M, K)
        """,
        KernelSyntaxError,
        "torch.zeros",
        "`torch.zeros` is written `tdsl.zeros((M, N), f32)`",
    ),
    Misuse(
        "torch_exp",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = torch.exp(A[i, j])
        """,
        KernelSyntaxError,
        "torch.exp",
        "`torch.exp` is written `tdsl.exp(x)`",
    ),
    Misuse(
        "scipy_erf",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = erf(A[i, j])
        """,
        KernelSyntaxError,
        "erf",
        "`erf` is written `tdsl.erf(x)`",
    ),
    Misuse(
        "np_max",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            C[0, 0] = np.max(A)
        """,
        KernelSyntaxError,
        "np.max",
        "`np.max` is written as a loop with `m = max(m, x)`",
    ),
    Misuse(
        "np_clip",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = np.clip(A[i, j], 0, 1)
        """,
        KernelSyntaxError,
        "np.clip",
        "`np.clip` is written `min(max(x, low), high)`",
    ),
    Misuse(
        "own_function_with_the_name_of_another",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = relu(A[i, j])
        """,
        KernelSyntaxError,
        "relu",
        "`relu` is a Python function: write `@tdsl.inline` above it",
    ),
    Misuse(
        "np_sum",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            s = np.sum(A)
        """,
        KernelSyntaxError,
        "np.sum",
        "`sum` is written as a loop with `+=`",
    ),
    Misuse(
        "whole",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            C = A + 1
        """,
        KernelTypeError,
        "C",
        "`C` is a tensor, f32[M, K]: assign to its elements in a loop, `C[i, j] = x`",
    ),
    Misuse(
        "whole_aug",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            C += A
        """,
        KernelTypeError,
        "C",
        "`C` is a tensor, f32[M, K]: assign to its elements in a loop, `C[i, j] = x`",
    ),
    Misuse(
        "dictcomp",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            xs = {i: i for i in range(3)}
        """,
        KernelSyntaxError,
        "{i: i for i in range(3)}",
        "a comprehension is no value here: write a `for` loop",
    ),
    Misuse(
        "setcomp",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            xs = {i for i in range(3)}
        """,
        KernelSyntaxError,
        "{i for i in range(3)}",
        "a comprehension is no value here: write a `for` loop",
    ),
    Misuse(
        "yieldfrom",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            yield from A
        """,
        KernelSyntaxError,
        "yield from A",
        "`yield` is not in the kernel language: write into a tensor",
    ),
    Misuse(
        "trystar",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            try:
                C[0, 0] = 0
            except* ValueError:
                pass
        """,
        KernelSyntaxError,
        "try:...",
        "`try` is not in the kernel language: put it around the call",
    ),
    Misuse(
        "ndim",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            n = A.ndim
        """,
        KernelSyntaxError,
        "A.ndim",
        "`.ndim` is not in the kernel language: write the number",
    ),
    Misuse(
        "method_copy",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            T = A.copy()
        """,
        KernelSyntaxError,
        "A.copy",
        "`.copy` is a method, and methods are not in the kernel language: write a "
        "loop, or a function such as `exp(x)` or `f32(x)`",
    ),
    Misuse(
        "astype",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = A[i, j].astype(f32)
        """,
        KernelSyntaxError,
        "A[i, j].astype",
        "`.astype` is a method, and methods are not in the kernel language: write a "
        "loop, or a function such as `exp(x)` or `f32(x)`",
    ),
    Misuse(
        "append",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C.append(A[i, j])
        """,
        KernelSyntaxError,
        "C.append",
        "`.append` is a method, and methods are not in the kernel language: write a "
        "loop, or a function such as `exp(x)` or `f32(x)`",
    ),
    Misuse(
        "ellipsis",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            C[...] = 0
        """,
        KernelSyntaxError,
        "...",
        "`...` is not in the kernel language: write loops over it",
    ),
    Misuse(
        "newaxis",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = A[i, None]
        """,
        KernelSyntaxError,
        "None",
        "`None` has no place in a kernel: values are numbers and bools",
    ),
    Misuse(
        "global_array_list",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = GL[i]
        """,
        KernelTypeError,
        "GL",
        "`GL` is a list: pass it as a parameter",
    ),
    Misuse(
        "closure_text",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = GT
        """,
        KernelTypeError,
        "GT",
        "`GT` is a str: only numbers and dims can be captured",
    ),
    Misuse(
        "subsubstore",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i][j] = A[i, j]
        """,
        KernelSyntaxError,
        "C[i][j]",
        "subscripts need one pair of brackets: write `A[i, j]`",
    ),
    Misuse(
        "call_subs",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = A(i, j)
        """,
        KernelTypeError,
        "A",
        "`A` is a variable of the kernel, not a function",
    ),
    Misuse(
        "kwexp",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = math.exp(x=A[i, j])
        """,
        KernelSyntaxError,
        "x=A[i, j]",
        "`math.exp` takes no keyword arguments here",
    ),
    Misuse(
        "starcall",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = max(*A)
        """,
        KernelSyntaxError,
        "*A",
        "`*` is not in the kernel language: write out the arguments",
    ),
    Misuse(
        "starcall2",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = abs(*A)
        """,
        KernelSyntaxError,
        "*A",
        "`*` is not in the kernel language: write out the arguments",
    ),
    Misuse(
        "nonlocal",
        """\
        def outer():
            q = 0
            def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
                nonlocal q
                q = 1
            return f
        f = outer()
        """,
        KernelSyntaxError,
        "nonlocal q",
        "`nonlocal` is not in the kernel language: return a tensor",
    ),
    Misuse(
        "enumerate",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, x in enumerate(A):
                C[i, 0] = 0
        """,
        KernelSyntaxError,
        "enumerate(A)",
        "a kernel cannot loop over `enumerate(...)`: loop over `range(...)` or "
        "`tdsl.grid(...)`",
    ),
    Misuse(
        "zip",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for a, b in zip(A, C):
                pass
        """,
        KernelSyntaxError,
        "zip(A, C)",
        "a kernel cannot loop over `zip(...)`: loop over `range(...)` or "
        "`tdsl.grid(...)`",
    ),
    Misuse(
        "enumerate_value",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = enumerate(A)
        """,
        KernelSyntaxError,
        "enumerate",
        "a kernel loops over `range(...)` or `tdsl.grid(...)`",
    ),
    Misuse(
        "arange",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i in np.arange(M):
                C[i, 0] = 0
        """,
        KernelSyntaxError,
        "np.arange(M)",
        "a kernel cannot loop over `np.arange(...)`: loop over `range(...)` or "
        "`tdsl.grid(...)`",
    ),
    Misuse(
        "reversed",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i in reversed(range(M)):
                C[i, 0] = 0
        """,
        KernelSyntaxError,
        "reversed(range(M))",
        "a kernel cannot loop over `reversed(...)`: loop over `range(...)` or "
        "`tdsl.grid(...)`",
    ),
    Misuse(
        "range_zero",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i in range(0, M, 0):
                C[i, 0] = 0
        """,
        KernelTypeError,
        "0",
        "the step is 0: write how far an iteration is from the next",
    ),
    Misuse(
        "swap",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i in range(M):
                C[i, 0], C[i, 1] = C[i, 1], C[i, 0]
        """,
        KernelTypeError,
        "C[i, 0]",
        "`C` is read here, and no statement above writes it: set it first, as in "
        "`C[i, 0] = 0`, or declare it as `tdsl.inout(f32[M, K])`",
    ),
    Misuse(
        "colon_dims",
        """\
        def f(A: f32[:, :], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 0
        """,
        KernelTypeError,
        "f32[:, :]",
        "a size is an integer or an expression over dims, not `:`: create dims with "
        '`M, N = tdsl.dims("M N")`',
    ),
    Misuse(
        "boom_ann",
        """\
        def f(A: f32[1 // 0], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 0
        """,
        KernelTypeError,
        "f32[1 // 0]",
        "the annotation cannot be evaluated: integer division or modulo by zero",
    ),
    Misuse(
        "dim_param2",
        """\
        def f(A: f32[M], M: f32):
            pass
        """,
        KernelTypeError,
        "M: f32",
        "`M` is a dim and also a parameter: rename the parameter",
    ),
    Misuse(
        "call_py",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = helper(A[i, j])
        """,
        KernelSyntaxError,
        "helper",
        "`helper` is a Python function: write `@tdsl.inline` above it",
    ),
    Misuse(
        "print2",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 0
                print('x', i)
        """,
        KernelSyntaxError,
        "print",
        "a kernel cannot print: return a tensor and print it outside",
    ),
    Misuse(
        "fand",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 1
                C[i, j] &= 2
        """,
        KernelSyntaxError,
        "C[i, j] &= 2",
        "updates are `+=`, `-=`, `*=`, and `x = max(x, y)` or `min`",
    ),
    Misuse(
        "fmatmul",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            C @= A
        """,
        KernelSyntaxError,
        "C @= A",
        "updates are `+=`, `-=`, `*=`, and `x = max(x, y)` or `min`",
    ),
    Misuse(
        "is_none",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 1 if A is None else 0
        """,
        KernelSyntaxError,
        "A is None",
        "`in` and `is` are not in the kernel language: use `==`",
    ),
    Misuse(
        "random",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = np.random.rand()
        """,
        KernelSyntaxError,
        "np.random.rand",
        "a kernel cannot call `np.random.rand`; it can call casts and abs, ceil, "
        "conj, cos, erf, exp, exp2, expm1, floor, imag, log, log1p, log2, max, min, "
        "pow, real, rsqrt, saturate, sigmoid, sin, sqrt, tanh",
    ),
    Misuse(
        "isinstance",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            if isinstance(A, int):
                pass
        """,
        KernelSyntaxError,
        "isinstance",
        "a kernel cannot call `isinstance`; it can call casts and abs, ceil, conj, "
        "cos, erf, exp, exp2, expm1, floor, imag, log, log1p, log2, max, min, pow, "
        "real, rsqrt, saturate, sigmoid, sin, sqrt, tanh",
    ),
    Misuse(
        "divmod",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                q, r = divmod(i, 2)
                C[i, j] = q
        """,
        KernelSyntaxError,
        "q, r",
        "write 2 values for 2 variables: `a, b = x, y`",
    ),
    Misuse(
        "float_cast",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = float(i)
        """,
        KernelSyntaxError,
        "float",
        "`float` is no cast of the kernel language: write `f64(x)`",
    ),
    Misuse(
        "maybe_unset",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                if i > 2:
                    s = A[i, j]
                C[i, j] = s
        """,
        KernelTypeError,
        "s",
        "`s` may be unassigned here: the `if` that set it has ended; set it before "
        "the `if`",
    ),
    Misuse(
        "zeros_strdtype",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            T = tdsl.zeros((M, K), 'f32')
        """,
        KernelTypeError,
        "'f32'",
        "`'f32'` is no tdsl dtype: write `tdsl.zeros((M, K), f32)`",
    ),
    Misuse(
        "zeros_data",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K]), n: i32):
            T = tdsl.zeros((n,), f32)
        """,
        KernelTypeError,
        "n",
        "a size must be affine in loop variables and dims, and `n` is not, as `n` is "
        "known only when the kernel runs: use loop variables, and dims in place of "
        "scalar parameters",
    ),
    Misuse(
        "np_ann",
        """\
        def f(A: np.ndarray, C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = A[i, j]
        """,
        KernelTypeError,
        "np.ndarray",
        "`np.ndarray` is no tensor or scalar type: write `f32[M, N]`",
    ),
    Misuse(
        "list_ann",
        """\
        def f(A: list[float], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 0
        """,
        KernelTypeError,
        "list[float]",
        "`list[float]` is no tensor or scalar type: write `f32[M, N]`",
    ),
    Misuse(
        "grid_value",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = tdsl.injective(A)
        """,
        KernelSyntaxError,
        "tdsl.injective(A)",
        "`tdsl.injective` is something to assume: write "
        "`tdsl.assume(tdsl.injective(P))`",
    ),
    Misuse(
        "cmod",
        """\
        def f(Z: tdsl.c64[M], W: tdsl.out(tdsl.c64[M])):
            for i in range(M):
                W[i] = Z[i] % 2
        """,
        KernelTypeError,
        "Z[i] % 2",
        "`%` of complex numbers: only real numbers have a remainder",
    ),
    Misuse(
        "cpow",
        """\
        def f(Z: tdsl.c64[M], W: tdsl.out(tdsl.c64[M])):
            for i in range(M):
                W[i] = Z[i] ** 2
        """,
        KernelTypeError,
        "Z[i] ** 2",
        "`**` of complex numbers: write products, `x * x`",
    ),
    Misuse(
        "cfloordiv",
        """\
        def f(Z: tdsl.c64[M], W: tdsl.out(tdsl.c64[M])):
            for i in range(M):
                W[i] = Z[i] // 2
        """,
        KernelTypeError,
        "Z[i] // 2",
        "`//` of complex numbers: it rounds, and only real numbers can be",
    ),
    Misuse(
        "cmax",
        """\
        def f(Z: tdsl.c64[M], W: tdsl.out(tdsl.c64[M])):
            for i in range(M):
                W[i] = max(Z[i], 2)
        """,
        KernelTypeError,
        "max(Z[i], 2)",
        "`max` of complex numbers, which have no order: compare `abs(x)`",
    ),
    Misuse(
        "cmin",
        """\
        def f(Z: tdsl.c64[M], W: tdsl.out(tdsl.c64[M])):
            for i in range(M):
                W[i] = min(Z[i], 2)
        """,
        KernelTypeError,
        "min(Z[i], 2)",
        "`min` of complex numbers, which have no order: compare `abs(x)`",
    ),
    Misuse(
        "clt",
        """\
        def f(Z: tdsl.c64[M], W: tdsl.out(tdsl.c64[M])):
            for i in range(M):
                W[i] = 1 if Z[i] < 1 else 0
        """,
        KernelTypeError,
        "Z[i] < 1",
        "complex numbers have no order: compare `abs(x)`, or `real(x)`",
    ),
    Misuse(
        "ccast",
        """\
        def f(Z: tdsl.c64[M], W: tdsl.out(f32[M])):
            for i in range(M):
                W[i] = f32(Z[i])
        """,
        KernelTypeError,
        "f32(Z[i])",
        "a cast of a complex number to f32: write `f32(real(x))`, or `imag` or `abs`",
    ),
    Misuse(
        "cexp",
        """\
        def f(Z: tdsl.c64[M], W: tdsl.out(tdsl.c64[M])):
            for i in range(M):
                W[i] = math.exp(Z[i])
        """,
        KernelTypeError,
        "math.exp(Z[i])",
        "`exp` of a complex number: complex are only `abs`, `conj`, `imag`, `real`",
    ),
    Misuse(
        "cmaxup",
        """\
        def f(Z: tdsl.c64[M], W: tdsl.out(tdsl.c64[M])):
            for i in range(M):
                W[i] = 0
                W[i] = max(W[i], Z[i])
        """,
        KernelTypeError,
        "W[i]",
        "`W[i]` is c64, and complex numbers have no `max`",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_wrong_kernel(case: Misuse) -> None:
    error = refusal(case.text, **NAMES)
    assert error.msg == case.message
    assert marked(error) == case.marked
    assert type(error) is case.error
