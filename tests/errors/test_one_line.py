"""The rest of what a kernel may not say, one line each."""

from __future__ import annotations

import pytest

from tdsl.errors import KernelSyntaxError, KernelTypeError

from .misuse import Misuse, check

KERNEL = """\
def f(A: f32[M, K], n: i32, b: tdsl.bool_, C: tdsl.inout(f32[M, K])):
    {}
"""


def one_line(
    name: str, line: str, error: type[KernelSyntaxError], marked: str, message: str
) -> Misuse:
    """Return the case of a kernel whose body is *line*."""
    return Misuse(name, KERNEL.format(line), error, marked, message)


CASES = (
    one_line(
        "shift_left",
        "C[0, 0] = n << 1",
        KernelSyntaxError,
        "n << 1",
        "`<<` is not in the kernel language: multiply by a power of two",
    ),
    one_line(
        "shift_right",
        "C[0, 0] = n >> 1",
        KernelSyntaxError,
        "n >> 1",
        "`>>` is not in the kernel language: write `//` by a power of two",
    ),
    one_line(
        "xor",
        "x = b ^ b",
        KernelSyntaxError,
        "b ^ b",
        "`^` is not in the kernel language: write `!=` for bools; integers have "
        "nothing in its place",
    ),
    one_line(
        "bit_or",
        "x = b | b",
        KernelSyntaxError,
        "b | b",
        "`|` is not in the kernel language: write `or` for bools; integers have "
        "nothing in its place",
    ),
    one_line(
        "yield",
        "C[0, 0] = (yield A)",
        KernelSyntaxError,
        "yield A",
        "`yield` is not in the kernel language: write into a tensor",
    ),
    one_line(
        "list_comprehension",
        "C[0, 0] = [A for i in range(3)]",
        KernelSyntaxError,
        "[A for i in range(3)]",
        "a comprehension is no value here: write a `for` loop",
    ),
    one_line(
        "dict",
        "C[0, 0] = {1: 2}",
        KernelSyntaxError,
        "{1: 2}",
        "a dict is no value here: use parameters or tensors",
    ),
    one_line(
        "generator",
        "C[0, 0] = (A for i in range(3))",
        KernelSyntaxError,
        "(A for i in range(3))",
        "a generator is no value here: write a `for` loop with `+=`",
    ),
    one_line(
        "lambda",
        "C[0, 0] = lambda: 0",
        KernelSyntaxError,
        "lambda: 0",
        "a kernel cannot define functions: write the expression in place",
    ),
    one_line(
        "set",
        "C[0, 0] = {1}",
        KernelSyntaxError,
        "{1}",
        "a set is no value here: use parameters or tensors",
    ),
    one_line(
        "tuple",
        "C[0, 0] = (1, 2)",
        KernelSyntaxError,
        "(1, 2)",
        "a tuple is no value here: write one assignment for each part",
    ),
    one_line(
        "attribute_of_value",
        "C[0, 0] = (n + 1).real",
        KernelSyntaxError,
        "(n + 1).real",
        "an attribute of a value is not in the kernel language: write an expression",
    ),
    one_line(
        "called_number",
        "C[0, 0] = 3(n)",
        KernelSyntaxError,
        "3",
        "call a function by its name: `exp(x)` or `tdsl.exp(x)`",
    ),
    one_line(
        "len",
        "C[0, 0] = len(A)",
        KernelSyntaxError,
        "len",
        "`len` is written as the dim: `M`",
    ),
    one_line(
        "round",
        "C[0, 0] = round(A[0, 0])",
        KernelSyntaxError,
        "round",
        "`round(x)` is written `floor(x + 0.5)`",
    ),
    one_line(
        "range_value",
        "C[0, 0] = range(3)",
        KernelSyntaxError,
        "range(3)",
        "`range` stands after `in`: write `for i in range(...):`",
    ),
    one_line(
        "print",
        "C[0, 0] = print(A)",
        KernelSyntaxError,
        "print",
        "a kernel cannot print: return a tensor and print it outside",
    ),
    one_line(
        "star_extent",
        "for i, j in tdsl.grid(*A): pass",
        KernelSyntaxError,
        "*A",
        "`*` is not in the kernel language: write each extent",
    ),
    one_line(
        "global",
        "global M",
        KernelSyntaxError,
        "global M",
        "`global` is not in the kernel language: return a tensor",
    ),
    one_line(
        "class",
        "class Q: pass",
        KernelSyntaxError,
        "class Q: pass",
        "a kernel cannot define classes: define them outside",
    ),
    one_line(
        "raise",
        "raise ValueError",
        KernelSyntaxError,
        "raise ValueError",
        "a kernel cannot raise: check the arguments outside",
    ),
    one_line(
        "bool_order",
        "x = b < b",
        KernelTypeError,
        "b < b",
        "bools have no order: compare them with == or !=",
    ),
    one_line(
        "minus_bool",
        "x = -b",
        KernelTypeError,
        "-b",
        "`-` needs a number: write `not x` for a bool",
    ),
    one_line(
        "cast_to_bool",
        "x = tdsl.bool_(n)",
        KernelTypeError,
        "tdsl.bool_(n)",
        "a cast to bool: write `x != 0`",
    ),
    one_line(
        "complex_result",
        "C[0, 0] = (-2.0) ** 0.5",
        KernelTypeError,
        "(-2.0) ** 0.5",
        "`**` gives a complex number here: a negative number has real powers for "
        "integer exponents only",
    ),
    one_line(
        "huge",
        "C[0, 0] = 9 ** 9 ** 9",
        KernelTypeError,
        "9 ** 9 ** 9",
        "the result of `**` is too large for any dtype: compute with floats, or "
        "with smaller numbers",
    ),
    one_line(
        "overflow",
        "C[0, 0] = 2.0 ** 99999",
        KernelTypeError,
        "2.0 ** 99999",
        "the result of `**` is too large for any dtype: compute with floats, or "
        "with smaller numbers",
    ),
    one_line(
        "huge_product",
        "C[0, 0] = 2 ** 4000 * 2 ** 4000",
        KernelTypeError,
        "2 ** 4000",
        "the result of `**` is too large for any dtype: compute with floats, or "
        "with smaller numbers",
    ),
    one_line(
        "update_target",
        "(C[0, 0]).x += 1",
        KernelSyntaxError,
        "(C[0, 0]).x",
        "update a variable or an element, `C[i, j] += x`",
    ),
    one_line(
        "update_bool",
        "x = b; x += b",
        KernelTypeError,
        "x",
        "`x` is bool and cannot be updated: write `x = x or x`",
    ),
    one_line(
        "nested_targets",
        "(x, y), z = 1, 2",
        KernelSyntaxError,
        "(x, y)",
        "write one assignment for each variable",
    ),
    one_line(
        "update_tensor",
        "A += 1",
        KernelTypeError,
        "A",
        "`A` is a tensor, f32[M, K]: assign to its elements in a loop, `A[i, j] = x`",
    ),
    one_line(
        "zero_step",
        "for i in range(0, M, 0): pass",
        KernelTypeError,
        "0",
        "the step is 0: write how far an iteration is from the next",
    ),
    one_line(
        "negative_step",
        "for i in range(M, 0, -1): pass",
        KernelTypeError,
        "-1",
        "the step must be at least 1, not -1: run the loop forwards and compute "
        "the index, as in `A[N - 1 - i]`",
    ),
    one_line(
        "modulo_numbers",
        "C[0, 0] = 5 % 0",
        KernelTypeError,
        "5 % 0",
        "the divisor is 0: write the one that was meant",
    ),
    one_line(
        "float_divide",
        "C[0, 0] = 5.0 / 0",
        KernelTypeError,
        "5.0 / 0",
        "the divisor is 0: write the one that was meant",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_line_is_refused(case: Misuse) -> None:
    check(case)


def test_expression_is_nested_too_deep() -> None:
    line = f"C[0, 0] = {' + '.join(['A[0, 0]'] * 150)}"
    message = "this is nested more than 120 levels deep: give parts of it to variables"
    check(one_line("deep", line, KernelSyntaxError, line, message))
