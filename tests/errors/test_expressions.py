"""Expressions outside the kernel language: names, subscripts, dtypes, calls."""

from __future__ import annotations

import pytest

from tdsl.errors import KernelSyntaxError, KernelTypeError

from .misuse import Misuse, check

CASES = (
    Misuse(
        "list",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = [1, 2]
        """,
        KernelSyntaxError,
        "[1, 2]",
        "a list is no value here: use a tensor, `tdsl.zeros(shape, dtype)`",
    ),
    Misuse(
        "slice",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            C[0, :] = 0
        """,
        KernelSyntaxError,
        ":",
        "a slice is not in the kernel language: write a `for` loop over it",
    ),
    Misuse(
        "slice_read",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = A[i, 0:2]
        """,
        KernelSyntaxError,
        "0:2",
        "a slice is not in the kernel language: write a `for` loop over it",
    ),
    Misuse(
        "fstring",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = f'{i}'
        """,
        KernelSyntaxError,
        "f'{i}'",
        "text has no place in a kernel: values are numbers and bools",
    ),
    Misuse(
        "text",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 'a'
        """,
        KernelSyntaxError,
        "'a'",
        "text has no place in a kernel: values are numbers and bools",
    ),
    Misuse(
        "none",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = None
        """,
        KernelSyntaxError,
        "None",
        "`None` has no place in a kernel: values are numbers and bools",
    ),
    Misuse(
        "complex",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 1j
        """,
        KernelTypeError,
        "1j",
        "cannot store the number 1j in `C[i, j]`, which is f32: write `f32(real(1j))`",
    ),
    Misuse(
        "comprehension",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = sum(A[i, k] for k in range(K))
        """,
        KernelSyntaxError,
        "sum",
        "`sum` is written as a loop with `+=`",
    ),
    Misuse(
        "lambda",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = (lambda x: x)(1)
        """,
        KernelSyntaxError,
        "lambda x: x",
        "call a function by its name: `exp(x)` or `tdsl.exp(x)`",
    ),
    Misuse(
        "walrus",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = (x := 1)
        """,
        KernelSyntaxError,
        "x := 1",
        "`:=` is not in the kernel language: write `x = ...` above",
    ),
    Misuse(
        "unknown_function",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = foo(A[i, j])
        """,
        KernelTypeError,
        "foo",
        "unknown name `foo`",
    ),
    Misuse(
        "misspelled_function",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = tdsl.expp(A[i, j])
        """,
        KernelTypeError,
        "tdsl.expp",
        "unknown name `tdsl.expp`: did you mean `tdsl.exp`?",
    ),
    Misuse(
        "uncallable",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = np.arctan(A[i, j])
        """,
        KernelSyntaxError,
        "np.arctan",
        (
            "a kernel cannot call `np.arctan`; it can call casts and abs, ceil, "
            "conj, cos, erf, exp, exp2, expm1, floor, imag, log, log1p, log2, max, "
            "min, pow, real, rsqrt, saturate, sigmoid, sin, sqrt, tanh"
        ),
    ),
    Misuse(
        "where",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = np.where(A[i, j] > 0, 1, 0)
        """,
        KernelSyntaxError,
        "np.where",
        "`where(c, a, b)` is written `a if c else b`",
    ),
    Misuse(
        "float_cast",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = float(A[i, j])
        """,
        KernelSyntaxError,
        "float",
        "`float` is no cast of the kernel language: write `f64(x)`",
    ),
    Misuse(
        "np_cast",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = np.float32(A[i, j])
        """,
        KernelSyntaxError,
        "np.float32",
        "`np.float32` is no cast of the kernel language: write `f32(x)`",
    ),
    Misuse(
        "bool_cast",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = f32(bool(A[i, j]))
        """,
        KernelSyntaxError,
        "bool",
        "`bool` is no cast of the kernel language: write `x != 0`",
    ),
    Misuse(
        "call_variable",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                t = A[i, j]
                C[i, j] = t(1)
        """,
        KernelTypeError,
        "t",
        "`t` is a variable of the kernel, not a function",
    ),
    Misuse(
        "method",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = A.sum()
        """,
        KernelSyntaxError,
        "A.sum",
        "`.sum` is a method, and methods are not in the kernel language: write a loop, "
        "or a function such as `exp(x)` or `f32(x)`",
    ),
    Misuse(
        "shape",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i in range(A.shape[0]):
                C[i, 0] = 0
        """,
        KernelSyntaxError,
        "A.shape[0]",
        "`.shape` is not in the kernel language: write `M`",
    ),
    Misuse(
        "too_many_arguments",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = tdsl.exp(A[i, j], 2)
        """,
        KernelTypeError,
        "tdsl.exp(A[i, j], 2)",
        "`tdsl.exp` takes 1 argument, not 2",
    ),
    Misuse(
        "min_of_one",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = min(A[i, j])
        """,
        KernelTypeError,
        "min(A[i, j])",
        "`min` takes at least 2 arguments, not 1",
    ),
    Misuse(
        "keyword_argument",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = max(A[i, j], 0, key=1)
        """,
        KernelSyntaxError,
        "key=1",
        "`max` takes no keyword arguments here",
    ),
    Misuse(
        "zeros_in_expression",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 1 + tdsl.zeros((M,), f32)
        """,
        KernelSyntaxError,
        "tdsl.zeros((M,), f32)",
        "`tdsl.zeros` makes a tensor: write `T = tdsl.zeros((M,), f32)`",
    ),
    Misuse(
        "grid_in_expression",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = tdsl.grid(M)
        """,
        KernelSyntaxError,
        "tdsl.grid(M)",
        "`tdsl.grid` stands after `in`: write `for i, j in tdsl.grid(...):`",
    ),
    Misuse(
        "unknown_name",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = B[i, j]
        """,
        KernelTypeError,
        "B",
        "unknown name `B`",
    ),
    Misuse(
        "misspelled_name",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            alphabet = 1.0
            for i, j in tdsl.grid(M, K):
                C[i, j] = alphabt
        """,
        KernelTypeError,
        "alphabt",
        "unknown name `alphabt`: did you mean `alphabet`?",
    ),
    Misuse(
        "before_assignment",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = t
                t = A[i, j]
        """,
        KernelTypeError,
        "t",
        "`t` is read before it is assigned: give it a value first",
    ),
    Misuse(
        "after_loop",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                t = A[i, j]
                C[i, j] = t
            C[0, 0] = t
        """,
        KernelTypeError,
        "t",
        (
            "`t` may be unassigned here: the loop that set it has ended; set it "
            "before the loop"
        ),
    ),
    Misuse(
        "axis_after_loop",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 0
            C[i, 0] = 1
        """,
        KernelTypeError,
        "i",
        (
            "`i` may be unassigned here: the loop over it has ended; keep what is "
            "needed of it in another variable, set before the loop"
        ),
    ),
    Misuse(
        "rank",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = A[i]
        """,
        KernelTypeError,
        "A[i]",
        "`A` has 2 dimensions, f32[M, K], but 1 subscript is given",
    ),
    Misuse(
        "rank_store",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j, 0] = A[i, j]
        """,
        KernelTypeError,
        "C[i, j, 0]",
        "`C` has 2 dimensions, f32[M, K], but 3 subscripts are given",
    ),
    Misuse(
        "double_subscript",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = A[i][j]
        """,
        KernelSyntaxError,
        "A[i][j]",
        "subscripts need one pair of brackets: write `A[i, j]`",
    ),
    Misuse(
        "tensor_as_value",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = A
        """,
        KernelTypeError,
        "A",
        "`A` is a tensor, f32[M, K]: name an element, `A[i, j]`",
    ),
    Misuse(
        "subscript_of_scalar",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                t = A[i, j]
                C[i, j] = t[0]
        """,
        KernelTypeError,
        "t",
        "`t` is no tensor, so it has no subscripts",
    ),
    Misuse(
        "negative_subscript",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = A[-1, j]
        """,
        KernelTypeError,
        "-1",
        "negative subscripts do not count from the end here: write `A[M - 1, j]`",
    ),
    Misuse(
        "constant_out_of_range",
        """\
        def f(A: f32[4], C: tdsl.out(f32[M])):
            for i in range(M):
                C[i] = A[7]
        """,
        KernelTypeError,
        "7",
        "7 is out of range: the size here is 4",
    ),
    Misuse(
        "product_bound",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i in range(M):
                for j in range(i * K):
                    C[i, j] = A[i, j]
        """,
        KernelTypeError,
        "i * K",
        (
            "a loop bound must be affine in loop variables and dims, and `i * K` is "
            "not, as it multiplies two variables: use sums, multiples, and // and % "
            "by constants"
        ),
    ),
    Misuse(
        "data_bound",
        """\
        def f(A: f32[K], P: i32[M], C: tdsl.inout(f32[M])):
            for i in range(M):
                for j in range(P[i]):
                    C[i] += A[j]
        """,
        KernelTypeError,
        "P[i]",
        (
            "a loop bound must be affine in loop variables and dims, and `P[i]` is "
            "not, as `P` is read from memory: use sums, multiples, and // and % by "
            "constants"
        ),
    ),
    Misuse(
        "data_in_a_float_subscript",
        """\
        def f(A: f32[K], P: f32[M], C: tdsl.out(f32[M])):
            for i in range(M):
                C[i] = A[P[i] + 1]
        """,
        KernelTypeError,
        "P[i] + 1",
        "a subscript must be an integer, and `P[i] + 1` is f32: write `i64(P[i] + 1)`",
    ),
    Misuse(
        "bool_subscript",
        """\
        def f(A: f32[K], P: i32[M], C: tdsl.out(f32[M])):
            for i in range(M):
                C[i] = A[P[i] > 0]
        """,
        KernelTypeError,
        "P[i] > 0",
        "a subscript must be an integer, and `P[i] > 0` is bool: write `i64(P[i] > 0)`",
    ),
    Misuse(
        "scatter_into_an_input",
        """\
        def f(A: f32[K], P: i32[M]):
            for i in range(M):
                A[P[i]] = 0.0
        """,
        KernelTypeError,
        "A[P[i]]",
        (
            "`A` is an input and cannot be written: declare it as "
            "`tdsl.inout(f32[K])`, or as `tdsl.out(f32[K])` if all of it is written"
        ),
    ),
    Misuse(
        "gather_before_a_write",
        """\
        def f(P: i32[M], C: tdsl.out(f32[M])):
            T = tdsl.empty((M,), f32)
            for i in range(M):
                C[i] = T[P[i]]
        """,
        KernelTypeError,
        "T[P[i]]",
        (
            "`T` is read here, and no statement above writes it: make it with "
            "`tdsl.zeros`"
        ),
    ),
    Misuse(
        "float_subscript",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = A[i / 2, j]
        """,
        KernelTypeError,
        "i / 2",
        "a subscript must be an integer, and `i / 2` is f64: write `i // 2`",
    ),
    Misuse(
        "division_bound",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i in range(M):
                for j in range(i // K):
                    C[i, j] = A[i, j]
        """,
        KernelTypeError,
        "i // K",
        (
            "a loop bound must be affine in loop variables and dims, and `i // K` is "
            "not, as the divisor is no positive constant: use sums, multiples, and // "
            "and % by constants"
        ),
    ),
    Misuse(
        "store_f64",
        """\
        def f(A: f64[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = A[i, j]
        """,
        KernelTypeError,
        "A[i, j]",
        "cannot store a value of f64 in `C[i, j]`, which is f32: write `f32(A[i, j])`",
    ),
    Misuse(
        "store_float_int",
        """\
        def f(A: f32[M, K], C: tdsl.out(i32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = A[i, j] * 2
        """,
        KernelTypeError,
        "A[i, j] * 2",
        (
            "cannot store a value of f32 in `C[i, j]`, which is i32: write `i32(A[i, "
            "j] * 2)`"
        ),
    ),
    Misuse(
        "store_number",
        """\
        def f(A: f32[M, K], C: tdsl.out(i32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 0.5
        """,
        KernelTypeError,
        "0.5",
        "cannot store the number 0.5 in `C[i, j]`, which is i32: write `i32(0.5)`",
    ),
    Misuse(
        "store_bool",
        """\
        def f(A: f32[M, K], C: tdsl.out(tdsl.bool_[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = A[i, j]
        """,
        KernelTypeError,
        "A[i, j]",
        "cannot store a value of f32 in `C[i, j]`, which is bool: write `A[i, j] != 0`",
    ),
    Misuse(
        "store_big",
        """\
        def f(A: f32[M, K], C: tdsl.out(i32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 3000000000
        """,
        KernelTypeError,
        "3000000000",
        "3000000000 does not fit in i32",
    ),
    Misuse(
        "store_huge",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 1e300
        """,
        KernelTypeError,
        "1e300",
        "1e+300 does not fit in f32: its largest is 3.4e38",
    ),
    Misuse(
        "reduce_f64",
        """\
        def f(A: f64[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 0
                C[i, j] += A[i, j]
        """,
        KernelTypeError,
        "A[i, j]",
        "cannot store a value of f64 in `C[i, j]`, which is f32: write `f32(A[i, j])`",
    ),
    Misuse(
        "bool_arithmetic",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = (A[i, j] > 0) * 2
        """,
        KernelTypeError,
        "(A[i, j] > 0) * 2",
        (
            "`*` needs numbers, and a comparison or bool is none: cast it, as in "
            "`i32(x > 0)`, or use `and`, `or`, `not`"
        ),
    ),
    Misuse(
        "bool_condition",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 1 if A[i, j] else 0
        """,
        KernelTypeError,
        "A[i, j]",
        "`if` needs a bool, and `A[i, j]` is f32: write `A[i, j] != 0`",
    ),
    Misuse(
        "and_numbers",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 1 if A[i, j] and i > 0 else 0
        """,
        KernelTypeError,
        "A[i, j]",
        "`and` needs a bool, and `A[i, j]` is f32: write `A[i, j] != 0`",
    ),
    Misuse(
        "int_power",
        """\
        def f(n: i32, A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = f32(n ** 2)
        """,
        KernelTypeError,
        "n ** 2",
        "`**` needs a float: write `x * x`, or `f64(x) ** n` for a float result",
    ),
    Misuse(
        "power_function",
        """\
        def f(n: i32, A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = f32(tdsl.pow(2, n))
        """,
        KernelTypeError,
        "tdsl.pow(2, n)",
        "`tdsl.pow` needs a float: write `x * x`, or `tdsl.pow(f64(x), n)` for a float "
        "result",
    ),
    Misuse(
        "power_function_of_bool",
        """\
        def f(n: i32, A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = np.power(A[i, j], n > 0)
        """,
        KernelTypeError,
        "np.power(A[i, j], n > 0)",
        "`np.power` needs numbers, and a comparison or bool is none: cast it, as in "
        "`i32(x > 0)`, or use `and`, `or`, `not`",
    ),
    Misuse(
        "maximum_of_bools",
        """\
        def f(n: i32, A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 1 if tdsl.maximum(n > 0, n > i) else 0
        """,
        KernelTypeError,
        "tdsl.maximum(n > 0, n > i)",
        "`tdsl.maximum` needs numbers: for bools write `and` or `or`",
    ),
    Misuse(
        "function_of_bool",
        """\
        def f(n: i32, A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = math.fabs(n > 0)
        """,
        KernelTypeError,
        "math.fabs(n > 0)",
        "`math.fabs` needs a number: write `f32(x)` for a bool",
    ),
    Misuse(
        "division_by_zero",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 1 / 0
        """,
        KernelTypeError,
        "1 / 0",
        "the divisor is 0: write the one that was meant",
    ),
    Misuse(
        "bit_and",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 1 if (i > 0) & (j > 0) else 0
        """,
        KernelSyntaxError,
        "(i > 0) & (j > 0)",
        "`&` is not in the kernel language: write `and` for bools, and `x % 2**n` for "
        "the last n bits of an integer",
    ),
    Misuse(
        "matmul_operator_into_a_tensor",
        """\
        def f(A: f32[M, K]) -> f32[M, K]:
            C = tdsl.zeros((M, K), f32)
            C = A @ A
            return C
        """,
        KernelSyntaxError,
        "A @ A",
        "`@` is not in the kernel language: write the loops with `+=`",
    ),
    Misuse(
        "matmul_operator",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = A @ A
        """,
        KernelSyntaxError,
        "A @ A",
        "`@` is not in the kernel language: write the loops with `+=`",
    ),
    Misuse(
        "invert",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = ~i
        """,
        KernelSyntaxError,
        "~i",
        "`~` is not in the kernel language: write `not` for a bool",
    ),
    Misuse(
        "in",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = 1 if A[i, j] in (0, 1) else 0
        """,
        KernelSyntaxError,
        "A[i, j] in (0, 1)",
        "`in` and `is` are not in the kernel language: use `==`",
    ),
    Misuse(
        "capture_dtype",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = f32
        """,
        KernelTypeError,
        "f32",
        "`f32` is a type: write a cast, `f32(x)`",
    ),
    Misuse(
        "capture_function",
        """\
        def f(A: f32[M, K], C: tdsl.out(f32[M, K])):
            for i, j in tdsl.grid(M, K):
                C[i, j] = tdsl.exp
        """,
        KernelTypeError,
        "tdsl.exp",
        "`tdsl.exp` is a function: call it, `tdsl.exp(x)`",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_expression_is_refused(case: Misuse) -> None:
    check(case)
