"""Signatures and results that do not fit."""

from __future__ import annotations

import pytest

from tdsl.errors import KernelSyntaxError, KernelTypeError

from .misuse import Misuse, check

CASES = (
    Misuse(
        "return_inside",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i in range(M):
                return C
        """,
        KernelSyntaxError,
        "return C",
        "`return` stands once, as the last statement of the kernel",
    ),
    Misuse(
        "return_expression",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 0
            return A[0, 0]
        """,
        KernelSyntaxError,
        "A[0, 0]",
        (
            "return tensors by name: write `C = tdsl.zeros(shape, dtype)`, fill it, "
            "and `return C`"
        ),
    ),
    Misuse(
        "return_input",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 0
            return A
        """,
        KernelTypeError,
        "A",
        "`A` is an input: copy it into a tensor to return that",
    ),
    Misuse(
        "return_output",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 0
            return C
        """,
        KernelTypeError,
        "C",
        "`C` is a result already, as the caller passes it: drop it from the return",
    ),
    Misuse(
        "return_scalar",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            t = 0.0
            for i, j in tdsl.grid(M, K):
                t += A[i, j]
                C[i, j] = 0
            return t
        """,
        KernelTypeError,
        "t",
        "`t` is no tensor: return a tensor of one element, `tdsl.zeros((1,), f32)`",
    ),
    Misuse(
        "return_unknown",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 0
            return D
        """,
        KernelTypeError,
        "D",
        "unknown name `D`",
    ),
    Misuse(
        "return_twice",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            T = tdsl.zeros((M,), f32)
            for i, j in tdsl.grid(M, K):
                C[i, j] = 0
            return T, T
        """,
        KernelTypeError,
        "T",
        "this tensor is returned twice",
    ),
    Misuse(
        "no_result",
        """\
        def f(A: f32[M, K]):
            for i, j in tdsl.grid(M, K):
                t = A[i, j]
        """,
        KernelTypeError,
        "def f(A: f32[M, K]):...",
        (
            "f has no result: return a tensor, or write into a parameter declared as "
            "`tdsl.out(f32[M, N])`"
        ),
    ),
    Misuse(
        "unwritten_output",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                t = A[i, j]
        """,
        KernelTypeError,
        "C: tdsl.out(f32[M, K])",
        (
            "nothing is written to the output `C`: write to it, or declare it as `C: "
            "f32[M, K]`"
        ),
    ),
    Misuse(
        "unwritten_inout",
        """\
        def f(A: tdsl.inout(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                t = A[i, j]
        """,
        KernelTypeError,
        "A: tdsl.inout(f32[M, K])",
        (
            "nothing is written to the output `A`: write to it, or declare it as `A: "
            "f32[M, K]`"
        ),
    ),
    Misuse(
        "missing_return",
        """\
        def f(A: f32[M]) -> f32[M]:
            C = tdsl.zeros((M,), f32)
        """,
        KernelTypeError,
        "f32[M]",
        "the kernel returns nothing: end it with `return C`",
    ),
    Misuse(
        "unwritten_returned",
        """\
        def f(A: f32[M]):
            C = tdsl.empty((M,), f32)
            return C
        """,
        KernelTypeError,
        "C",
        "`C` is returned, but nothing is written to it",
    ),
    Misuse(
        "return_type",
        """\
        def f(A: f32[M]) -> f32[N]:
            C = tdsl.zeros((M,), f32)
            return C
        """,
        KernelTypeError,
        "C",
        "`C` is f32[M], but the annotation promises f32[N]",
    ),
    Misuse(
        "return_count",
        """\
        def f(A: f32[M]) -> tuple[f32[M], f32[M]]:
            C = tdsl.zeros((M,), f32)
            return C
        """,
        KernelTypeError,
        "tuple[f32[M], f32[M]]",
        "the kernel returns 1 tensor, and the annotation names 2",
    ),
    Misuse(
        "no_annotation",
        """\
        def f(A):
            pass
        """,
        KernelTypeError,
        "A",
        (
            "parameter `A` has no type: write `A: f32[M, N]` for a tensor or `A: f32`"
            " for a number"
        ),
    ),
    Misuse(
        "python_annotation",
        """\
        def f(A: float):
            pass
        """,
        KernelTypeError,
        "float",
        "`float` is no tensor or scalar type: write `f64`",
    ),
    Misuse(
        "array_annotation",
        """\
        def f(A: np.ndarray):
            pass
        """,
        KernelTypeError,
        "np.ndarray",
        "`np.ndarray` is no tensor or scalar type: write `f32[M, N]`",
    ),
    Misuse(
        "unknown_annotation",
        """\
        def f(A: f32[Q]):
            pass
        """,
        KernelTypeError,
        "f32[Q]",
        "name 'Q' is not defined: an annotation uses dims and dtypes defined above",
    ),
    Misuse(
        "bad_size",
        """\
        def f(A: f32[1.5]):
            pass
        """,
        KernelTypeError,
        "f32[1.5]",
        (
            "a size is an integer or an expression over dims, not 1.5: create dims "
            'with `M, N = tdsl.dims("M N")`'
        ),
    ),
    Misuse(
        "negative_size",
        """\
        def f(A: f32[-1]):
            pass
        """,
        KernelTypeError,
        "f32[-1]",
        "a size is at least 0, not -1",
    ),
    Misuse(
        "product_size",
        """\
        def f(A: f32[M * N]):
            pass
        """,
        KernelTypeError,
        "f32[M * N]",
        (
            "`M*N` is not affine in the dims: use sums, multiples, and // and % by "
            "constants"
        ),
    ),
    Misuse(
        "fraction_size",
        """\
        def f(A: f32[M / 2]):
            pass
        """,
        KernelTypeError,
        "f32[M / 2]",
        "`M/2` is not always an integer: write a floor division `//`",
    ),
    Misuse(
        "star",
        """\
        def f(*A: f32[M]):
            pass
        """,
        KernelSyntaxError,
        "A: f32[M]",
        "a kernel names each of its parameters: no `*` or `**`",
    ),
    Misuse(
        "keyword_only",
        """\
        def f(*, A: f32[M]):
            pass
        """,
        KernelSyntaxError,
        "A: f32[M]",
        "keyword-only parameters are not in the kernel language: drop the `*`",
    ),
    Misuse(
        "positional_only",
        """\
        def f(A: f32[M], /):
            pass
        """,
        KernelSyntaxError,
        "A: f32[M]",
        "positional-only parameters are not in the kernel language: drop the `/`",
    ),
    Misuse(
        "default",
        """\
        def f(A: f32[M], alpha: f32 = 1.0):
            pass
        """,
        KernelSyntaxError,
        "1.0",
        "default values are not in the kernel language: pass the argument",
    ),
    Misuse(
        "dim_as_parameter",
        """\
        def f(M: f32[M]):
            pass
        """,
        KernelTypeError,
        "f32[M]",
        "`M` is a dim and also a variable: rename the variable",
    ),
    Misuse(
        "two_dims",
        """\
        M2 = tdsl.dim('M', min=1)
        def f(A: f32[M], B: f32[M2]):
            pass
        """,
        KernelTypeError,
        "f32[M2]",
        (
            "two dims are called `M` but differ in min, max or multiple: create the "
            "dim once"
        ),
    ),
    Misuse(
        "out_scalar",
        """\
        def f(A: tdsl.out(f32)):
            pass
        """,
        KernelTypeError,
        "tdsl.out(f32)",
        (
            "tdsl.out(f32) names no tensor type: write tdsl.out(f32[M]), and f32[1] "
            "for a single number"
        ),
    ),
    Misuse(
        "lambda_kernel",
        """\
        f = lambda A: A
        """,
        KernelSyntaxError,
        "f = lambda A: A",
        "a lambda cannot be a kernel: write a function with `def`",
    ),
    Misuse(
        "async",
        """\
        async def f(A: f32[M]):
            pass
        """,
        KernelSyntaxError,
        "async def f(A: f32[M]):",
        "f is an `async def`: write `def f`",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_signature_is_refused(case: Misuse) -> None:
    check(case)
