"""Conditions outside the kernel language, and variables that not every branch sets."""

from __future__ import annotations

import pytest

from tdsl.errors import KernelSyntaxError, KernelTypeError

from .misuse import Misuse, check

SKIPPED = """\
        if A[i] > 1:
            if A[i] > 2:
                continue
            C[i] += 1
"""
CASES = (
    Misuse(
        "float_condition",
        """\
        def f(A: f32[M], C: tdsl.out(f32[M])):
            for i in range(M):
                if A[i]:
                    C[i] = 0
        """,
        KernelTypeError,
        "A[i]",
        "`if` needs a bool, and `A[i]` is f32: write `A[i] != 0`",
    ),
    Misuse(
        "number_condition",
        """\
        def f(A: f32[M], C: tdsl.out(f32[M])):
            for i in range(M):
                if i % 2:
                    C[i] = 0
        """,
        KernelTypeError,
        "i % 2",
        "`if` needs a bool, and `i % 2` is i64: write `i % 2 != 0`",
    ),
    Misuse(
        "float_constant",
        """\
        def f(A: f32[M], C: tdsl.out(f32[M])):
            if 0.5:
                C[0] = 0
        """,
        KernelTypeError,
        "0.5",
        "`if` needs a bool, and `0.5` is f64: write `0.5 != 0`",
    ),
    Misuse(
        "tensor_condition",
        """\
        def f(A: f32[M], C: tdsl.out(f32[M])):
            if A > 0:
                C[0] = 0
        """,
        KernelTypeError,
        "A",
        "`A` is a tensor, f32[M]: name an element, `A[i]`",
    ),
    Misuse(
        "in_condition",
        """\
        def f(A: f32[M], C: tdsl.out(f32[M])):
            for i in range(M):
                if i in (1, 2):
                    C[i] = 0
        """,
        KernelSyntaxError,
        "i in (1, 2)",
        "`in` and `is` are not in the kernel language: use `==`",
    ),
    Misuse(
        "many_cases",
        """\
        def f(A: f32[M], C: tdsl.out(f32[M])):
            for i in range(M):
                if (i != 1 and i != 3 and i != 5 and i != 7 and i != 9 and i != 11
                        and i != 13 and i != 15 and i != 17 and i != 19 and i != 21
                        and i != 23 and i != 25 and i != 27 and i != 29 and i != 31):
                    C[i] = 0
        """,
        KernelSyntaxError,
        "i != 1 and i != 3 and i != 5 and i != 7 and i != 9 and i != 11...",
        "this condition has 33 cases: nest simpler `if` statements",
    ),
    Misuse(
        "many_statements",
        "def f(A: f32[M], C: tdsl.inout(f32[M])):\n    for i in range(M):\n"
        + 10 * SKIPPED,
        KernelSyntaxError,
        "A[i] > 1",
        "this kernel comes to more than 500 statements, as each case of a condition "
        "has a copy of its block: nest fewer `!=`, `or` and `continue`",
    ),
    Misuse(
        "one_branch",
        """\
        def f(A: f32[M], C: tdsl.out(f32[M])):
            for i in range(M):
                if A[i] > 0:
                    t = A[i]
                C[i] = t
        """,
        KernelTypeError,
        "t",
        "`t` may be unassigned here: the `if` that set it has ended; set it before "
        "the `if`",
    ),
    Misuse(
        "read_in_the_other_branch",
        """\
        def f(A: f32[M], C: tdsl.out(f32[M])):
            for i in range(M):
                if A[i] > 0:
                    t = A[i]
                else:
                    t = t + 1
                C[i] = t
        """,
        KernelTypeError,
        "t",
        "`t` may be unassigned here: the `if` that set it has ended; set it before "
        "the `if`",
    ),
    Misuse(
        "branches_of_two_dtypes",
        """\
        def f(A: f32[M], n: i32, C: tdsl.out(f32[M])):
            for i in range(M):
                if A[i] > 0:
                    t = n
                else:
                    t = A[i]
                C[i] = t
        """,
        KernelTypeError,
        "A[i]",
        "cannot store a value of f32 in `t`, which is i32: write `i32(A[i])`",
    ),
    Misuse(
        "match",
        """\
        def f(A: f32[M], C: tdsl.out(f32[M])):
            for i in range(M):
                match i:
                    case 0:
                        C[i] = 0
        """,
        KernelSyntaxError,
        "match i:...",
        "`match` is not in the kernel language: write `if` and `elif`",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_condition_is_refused(case: Misuse) -> None:
    check(case)
