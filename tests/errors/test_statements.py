"""Statements outside the kernel language, and loops, assignments and results."""

from __future__ import annotations

import pytest

from tdsl.errors import KernelSyntaxError, KernelTypeError

from .misuse import Misuse, check

CASES = (
    Misuse(
        "while",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            while True:
                pass
        """,
        KernelSyntaxError,
        "while True:...",
        (
            "`while` is not in the kernel language: bound the loop and leave it, "
            "`for i in range(...):` with `if ...: break`"
        ),
    ),
    Misuse(
        "with",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            with open('x') as g:
                pass
        """,
        KernelSyntaxError,
        "with open('x') as g:...",
        "`with` is not in the kernel language: put it around the call",
    ),
    Misuse(
        "try",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            try:
                pass
            except ValueError:
                pass
        """,
        KernelSyntaxError,
        "try:...",
        "`try` is not in the kernel language: put it around the call",
    ),
    Misuse(
        "assert",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            assert M > 0
        """,
        KernelSyntaxError,
        "assert M > 0",
        (
            "`assert` is not in the kernel language: give the dims assumptions, as in"
            ' tdsl.dim("M", min=1, multiple=8)'
        ),
    ),
    Misuse(
        "del",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            del A
        """,
        KernelSyntaxError,
        "del A",
        "`del` is not in the kernel language: a variable ends with its block",
    ),
    Misuse(
        "nested_def",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            def g(): pass
        """,
        KernelSyntaxError,
        "def g(): pass",
        "a kernel cannot define functions: write them out in place",
    ),
    Misuse(
        "import",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            import os
        """,
        KernelSyntaxError,
        "import os",
        "import at the top of the file, outside the kernel",
    ),
    Misuse(
        "negative_step",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i in range(M, 0, -1):
                C[i, 0] = 0
        """,
        KernelTypeError,
        "-1",
        (
            "the step must be at least 1, not -1: run the loop forwards and compute "
            "the index, as in `A[N - 1 - i]`"
        ),
    ),
    Misuse(
        "zero_step",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i in range(0, M, 0):
                C[i, 0] = 0
        """,
        KernelTypeError,
        "0",
        ("the step is 0: write how far an iteration is from the next"),
    ),
    Misuse(
        "symbolic_step",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i in range(0, M, K):
                C[i, 0] = 0
        """,
        KernelTypeError,
        "K",
        "the step must be a constant, not `K`: write a number",
    ),
    Misuse(
        "range_arguments",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i in range():
                C[i, 0] = 0
        """,
        KernelTypeError,
        "range()",
        "`range` takes 1 to 3 arguments, not 0",
    ),
    Misuse(
        "range_keyword",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i in range(stop=M):
                C[i, 0] = 0
        """,
        KernelSyntaxError,
        "stop=M",
        "`range` takes no keyword arguments",
    ),
    Misuse(
        "loop_over_tensor",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for a in A:
                C[0, 0] = 0
        """,
        KernelSyntaxError,
        "A",
        "a kernel cannot loop over `A`: loop over `range(...)` or `tdsl.grid(...)`",
    ),
    Misuse(
        "loop_over_enumerate",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, a in enumerate(A):
                C[0, 0] = 0
        """,
        KernelSyntaxError,
        "enumerate(A)",
        (
            "a kernel cannot loop over `enumerate(...)`: loop over `range(...)` or "
            "`tdsl.grid(...)`"
        ),
    ),
    Misuse(
        "range_two_variables",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in range(M):
                C[i, j] = 0
        """,
        KernelTypeError,
        "i, j",
        (
            "`range` gives one loop variable: for several loops write `for i, j in "
            "tdsl.grid(...)`"
        ),
    ),
    Misuse(
        "grid_count",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M):
                C[i, j] = 0
        """,
        KernelTypeError,
        "i, j",
        "2 loop variables for 1 extent of `tdsl.grid(M)`",
    ),
    Misuse(
        "grid_twice",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, i in tdsl.grid(M, K):
                C[i, i] = 0
        """,
        KernelTypeError,
        "i",
        "two loop variables are called `i`: give each a name of its own",
    ),
    Misuse(
        "loop_else",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i in range(M):
                C[i, 0] = 0
            else:
                pass
        """,
        KernelSyntaxError,
        "pass",
        (
            "`else` of a loop is not in the kernel language: write the statements "
            "after the loop"
        ),
    ),
    Misuse(
        "loop_target",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for C[0, 0] in range(M):
                pass
        """,
        KernelSyntaxError,
        "C[0, 0]",
        "a loop variable is a plain name: write `for i in range(...)`",
    ),
    Misuse(
        "shadowed",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i in range(M):
                for i in range(K):
                    C[i, 0] = 0
        """,
        KernelTypeError,
        "i",
        (
            "`i` is the variable of the loop in line 4 around this one: choose "
            "another name"
        ),
    ),
    Misuse(
        "loop_name_used",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            t = 0.0
            for i in range(M):
                t += A[i, 0]
            for t in range(M):
                C[t, 0] = 0
        """,
        KernelTypeError,
        "t",
        "`t` is in use already: choose another loop variable",
    ),
    Misuse(
        "loop_over_param_name",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for A in range(M):
                C[A, 0] = 0
        """,
        KernelTypeError,
        "A",
        "`A` is in use already: choose another loop variable",
    ),
    Misuse(
        "float_bound",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i in range(M / 2):
                C[i, 0] = 0
        """,
        KernelTypeError,
        "M / 2",
        "a loop bound must be an integer, and `M / 2` is f64: write `M // 2`",
    ),
    Misuse(
        "product_bound",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i in range(M * K):
                C[i, 0] = 0
        """,
        KernelTypeError,
        "M * K",
        (
            "a loop bound must be affine in loop variables and dims, and `M * K` is "
            "not, as it multiplies two variables: use sums, multiples, and // and % "
            "by constants"
        ),
    ),
    Misuse(
        "print",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            print(A)
        """,
        KernelSyntaxError,
        "print",
        "a kernel cannot print: return a tensor and print it outside",
    ),
    Misuse(
        "write_input",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = A[i, j]
                A[i, j] = 0
        """,
        KernelTypeError,
        "A[i, j]",
        (
            "`A` is an input and cannot be written: declare it as `tdsl.inout(f32[M, "
            "K])`, or as `tdsl.out(f32[M, K])` if all of it is written"
        ),
    ),
    Misuse(
        "write_scalar",
        """\
        def f(alpha: f32, A: f32[M, K], C: tdsl.out(f32[M, K])):
            alpha = 2.0
            for i, j in tdsl.grid(M, K):
                C[i, j] = alpha
        """,
        KernelTypeError,
        "alpha",
        "`alpha` is a parameter: assign to another name",
    ),
    Misuse(
        "assign_axis",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                i = 3
                C[i, j] = 0
        """,
        KernelTypeError,
        "i",
        "`i` is the variable of the loop in line 4: assign to another name",
    ),
    Misuse(
        "assign_tensor",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            C = 0
        """,
        KernelTypeError,
        "C",
        "`C` is a tensor, f32[M, K]: assign to its elements in a loop, `C[i, j] = x`",
    ),
    Misuse(
        "divide_in_place",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 0
                C[i, j] /= A[i, j] + 1
        """,
        KernelSyntaxError,
        "C[i, j] /= A[i, j] + 1",
        "`/=` is no update: write `C[i, j] = C[i, j] / (A[i, j] + 1)`",
    ),
    Misuse(
        "xor_in_place",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] ^= 1
        """,
        KernelSyntaxError,
        "C[i, j] ^= 1",
        "updates are `+=`, `-=`, `*=`, and `x = max(x, y)` or `min`",
    ),
    Misuse(
        "update_out",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] += A[i, j]
        """,
        KernelTypeError,
        "C[i, j]",
        (
            "`C` is read here, and no statement above writes it: set it first, as in "
            "`C[i, j] = 0`, or declare it as `tdsl.inout(f32[M, K])`"
        ),
    ),
    Misuse(
        "read_out",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = C[i, 0] + A[i, j]
        """,
        KernelTypeError,
        "C[i, 0]",
        (
            "`C` is read here, and no statement above writes it: set it first, as in "
            "`C[i, 0] = 0`, or declare it as `tdsl.inout(f32[M, K])`"
        ),
    ),
    Misuse(
        "read_empty",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            T = tdsl.empty((M,), f32)
            for i, j in tdsl.grid(M, K):
                C[i, j] = T[i]
        """,
        KernelTypeError,
        "T[i]",
        "`T` is read here, and no statement above writes it: make it with `tdsl.zeros`",
    ),
    Misuse(
        "chain",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = t = 0
        """,
        KernelSyntaxError,
        "C[i, j] = t = 0",
        "`a = b = c` is not in the kernel language: assign twice",
    ),
    Misuse(
        "unpack",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                a, b = A[i, j]
        """,
        KernelSyntaxError,
        "a, b",
        "write 2 values for 2 variables: `a, b = x, y`",
    ),
    Misuse(
        "assign_attribute",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            A.x = 1
        """,
        KernelSyntaxError,
        "A.x",
        "assign to a variable or to an element, `C[i, j] = x`",
    ),
    Misuse(
        "alias_tensor",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            D = A
            for i, j in tdsl.grid(M, K):
                C[i, j] = D[i, j]
        """,
        KernelTypeError,
        "A",
        "`D = A` makes no copy of a tensor: use `A`, or copy its elements in a loop",
    ),
    Misuse(
        "no_effect",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                A[i, j] + 1
                C[i, j] = 0
        """,
        KernelSyntaxError,
        "A[i, j] + 1",
        "this statement has no effect: assign its value to something",
    ),
    Misuse(
        "declare_nothing",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                t: f32
                C[i, j] = 0
        """,
        KernelSyntaxError,
        "t: f32",
        "a declaration names a variable and a value: `x: f32 = 0`",
    ),
    Misuse(
        "declare_int",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                t: float = 0
                C[i, j] = t
        """,
        KernelTypeError,
        "float",
        "`float` is no tdsl dtype: write `f64`",
    ),
    Misuse(
        "declare_twice",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            t: f32 = 0
            t: f64 = 0
            for i, j in tdsl.grid(M, K):
                C[i, j] = t
        """,
        KernelTypeError,
        "t",
        "`t` has a dtype already: drop the annotation",
    ),
    Misuse(
        "zeros_without_dtype",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            T = tdsl.zeros((M, K))
            for i, j in tdsl.grid(M, K):
                C[i, j] = 0
        """,
        KernelTypeError,
        "tdsl.zeros((M, K))",
        "`tdsl.zeros` takes shape and dtype: write `tdsl.zeros((M, K), f32)`",
    ),
    Misuse(
        "zeros_numpy_dtype",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            T = tdsl.zeros((M, K), np.float32)
            for i, j in tdsl.grid(M, K):
                C[i, j] = 0
        """,
        KernelTypeError,
        "np.float32",
        "`np.float32` is no tdsl dtype: write `tdsl.zeros((M, K), f32)`",
    ),
    Misuse(
        "zeros_scalar",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            T = tdsl.zeros((), f32)
            for i, j in tdsl.grid(M, K):
                C[i, j] = 0
        """,
        KernelTypeError,
        "()",
        "a tensor without dimensions: write a variable, `x = f32(0)`",
    ),
    Misuse(
        "zeros_axis",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                T = tdsl.zeros((i,), f32)
                C[i, j] = 0
        """,
        KernelTypeError,
        "i",
        "a size cannot depend on a loop variable: use dims and constants",
    ),
    Misuse(
        "full_value",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            T = tdsl.full((M,), i32, 0.5)
            for i, j in tdsl.grid(M, K):
                C[i, j] = 0
        """,
        KernelTypeError,
        "0.5",
        "cannot fill a tensor of i32 with f64: write `i32(0.5)`",
    ),
    Misuse(
        "full_in_the_order_of_numpy",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            T = tdsl.full((M,), -math.inf, f32)
            for i, j in tdsl.grid(M, K):
                C[i, j] = 0
        """,
        KernelTypeError,
        "tdsl.full((M,), -math.inf, f32)",
        "`-math.inf` is no tdsl dtype, and stands in its place: write "
        "`tdsl.full((M,), f32, -math.inf)`",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_statement_is_refused(case: Misuse) -> None:
    check(case)
