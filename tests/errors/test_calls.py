"""Calls, searches, casts and assumptions outside the kernel language."""

from __future__ import annotations

import pytest

import tdsl
from tdsl import f32, i32
from tdsl.errors import KernelSyntaxError, KernelTypeError

from .misuse import Misuse, marked, refusal

M, N = tdsl.dims("M N")
P = tdsl.dim("P", min=2)
Q = tdsl.dim("Q", max=8, multiple=4)


@tdsl.kernel
def copy(x: f32[M]) -> f32[M]:
    y = tdsl.empty((M,), f32)
    for i in range(M):
        y[i] = x[i]
    return y


@tdsl.kernel
def both(x: f32[M], y: f32[M]) -> tuple[f32[M], f32[M]]:
    u = tdsl.empty((M,), f32)
    v = tdsl.empty((M,), f32)
    for i in range(M):
        u[i] = x[i]
        v[i] = y[i]
    return u, v


@tdsl.kernel
def add(n: i32, x: f32[N], y: tdsl.inout(f32[N])):
    for i in range(N):
        if n > 0:
            y[i] += x[i]


@tdsl.kernel
def first(x: f32[P], y: tdsl.inout(f32[1])):
    y[0] += x[1]


@tdsl.kernel
def fours(x: f32[Q], y: tdsl.inout(f32[1])):
    for i in range(Q):
        y[0] += x[i]


@tdsl.kernel
def indexed(p: i32[N], q: i32[M], y: tdsl.inout(f32[1])):
    tdsl.assume(0 <= p < M)
    tdsl.assume(tdsl.injective(q))
    for i in range(N):
        y[0] += f32(p[i])


@tdsl.kernel
def ramp(y: tdsl.inout(f32[1])):
    for i in range(M):
        y[0] += i


@tdsl.inline
def blend(a, t: f32):
    return a * t


@tdsl.inline
def again(a):
    return again(a)


@tdsl.inline
def looping(a):
    for _ in range(3):
        a = a * 2
    return a


@tdsl.inline
def endless(a):
    b = a  # noqa: F841


@tdsl.inline
def default(a, b=1):
    return a + b


@tdsl.inline
def misspelt(a):
    return a + unknwon  # noqa: F821


@tdsl.inline
def power(a):
    b = a * a * a * a * a * a
    c = b * b * b * b * b * b
    d = c * c * c * c * c * c
    return d * d * d * d * d * d * d * d * d * d


NAMES = {
    **{"copy": copy, "both": both, "add": add, "first": first, "fours": fours},
    **{"indexed": indexed, "ramp": ramp, "blend": blend, "again": again},
    **{"looping": looping, "endless": endless, "default": default},
    **{"misspelt": misspelt, "power": power, "P": P, "Q": Q},
}


def in_body(name: str, line: str, marked: str, message: str) -> Misuse:
    """Return the case of a kernel whose body is *line*."""
    text = f"""\
    def f(x: f32[M], n: i32, p: i32[N], q: tdsl.inout(i32[M]), y: tdsl.inout(f32[M])):
        {line}
    """
    return Misuse(name, text, KernelTypeError, marked, message)


TYPE_ERRORS = (
    in_body(
        "no_target",
        "copy(x)",
        "copy(x)",
        "`copy` returns 1 tensor: write `U = copy(x)`",
    ),
    in_body(
        "few_targets",
        "u = both(x, x)",
        "both(x, x)",
        "`both` returns 2 tensors: write `U, V = both(x, x)`",
    ),
    in_body(
        "no_result",
        "u = add(n, x, y)",
        "add(n, x, y)",
        "`add` returns nothing: call it in a statement of its own",
    ),
    in_body(
        "few_arguments",
        "add(n, x)",
        "add(n, x)",
        "`add` takes 3 arguments (n, x, y), not 2",
    ),
    in_body(
        "many_arguments",
        "u = copy(x, x)",
        "copy(x, x)",
        "`copy` takes 1 argument (x), not 2",
    ),
    in_body(
        "unknown_argument",
        "u = copy(z=x)",
        "z=x",
        "`copy` takes (x)",
    ),
    in_body(
        "element_for_a_tensor",
        "u = copy(x[0])",
        "x[0]",
        "`x` is a tensor, f32[M]: pass the name of one, not `x[0]`",
    ),
    in_body(
        "tensor_of_another_dtype",
        "u = copy(q)",
        "q",
        "`x` is f32[M], and `q` is i32[M]",
    ),
    in_body(
        "number_of_another_dtype",
        "add(0.5, x, y)",
        "0.5",
        "`n` is i32, and `0.5` is f64: write `i32(0.5)`",
    ),
    in_body(
        "number_too_large",
        "add(2**40, x, y)",
        "2**40",
        "1099511627776 does not fit in i32",
    ),
    in_body(
        "input_is_written",
        "add(n, y, x)",
        "x",
        "`x` is an input and cannot be written: declare it as `tdsl.inout(f32[M])`, or "
        "as `tdsl.out(f32[M])` if all of it is written",
    ),
    in_body(
        "one_tensor_twice",
        "add(n, y, y)",
        "add(n, y, y)",
        "`y` is passed as `x` and `y`, and `y` is written: pass another tensor",
    ),
    in_body(
        "two_sizes",
        "z = tdsl.zeros((N,), f32); u, v = both(x, z)",
        "both(x, z)",
        "dimension 0 of `y` of `both` is M by the other arguments, but N here: the "
        "sizes must be equal",
    ),
    in_body(
        "size_is_too_small",
        "z = tdsl.zeros((1,), f32); first(x, z)",
        "first(x, z)",
        "`first` assumes P >= 2, and here M >= 2 may be false: start with "
        "`tdsl.assume(M >= 2)`",
    ),
    in_body(
        "size_is_no_multiple",
        "tdsl.assume(M <= 8); z = tdsl.zeros((1,), f32); fours(x, z)",
        "fours(x, z)",
        "`fours` assumes Q % 4 == 0, and here M % 4 == 0 may be false: start with "
        "`tdsl.assume(M % 4 == 0)`",
    ),
    in_body(
        "size_is_not_determined",
        "z = tdsl.zeros((1,), f32); ramp(z)",
        "ramp(z)",
        "the shapes do not determine dim M of `ramp`: pass M=...",
    ),
    in_body(
        "range_is_not_assumed",
        "z = tdsl.zeros((1,), f32); indexed(p, q, z)",
        "indexed(p, q, z)",
        "`indexed` assumes `0 <= p < M`, which is not known here: start with "
        "`tdsl.assume(0 <= p < M)`",
    ),
    in_body(
        "injective_is_not_assumed",
        "tdsl.assume(3 <= p < M); z = tdsl.zeros((1,), f32); indexed(p, q, z)",
        "indexed(p, q, z)",
        "`indexed` assumes `tdsl.injective(q)`, which is not known here: start with "
        "`tdsl.assume(tdsl.injective(q))`",
    ),
    in_body(
        "inline_count",
        "y[0] = blend(x[0])",
        "blend(x[0])",
        "`blend` takes (a, t), not 1 argument",
    ),
    in_body(
        "inline_dtype",
        "y[0] = blend(x[0], n)",
        "n",
        "`t` of `blend` is f32, and `n` is i32: write `f32(n)`",
    ),
    in_body(
        "inline_recursion",
        "y[0] = again(x[0])",
        "again(a)",
        "`again` calls itself: write the expression out in place (in `again`, called "
        "in line 4)",
    ),
    in_body(
        "inline_unknown_name",
        "y[0] = misspelt(x[0])",
        "unknwon",
        "unknown name `unknwon` (in `misspelt`, called in line 4)",
    ),
    in_body(
        "empty_search",
        "k = tdsl.argmax(x[i] for i in range(M))",
        "range(M)",
        "`range(M)` may be empty, and then there is no argmax: assume that it is not, "
        "as in `tdsl.assume(M > 0)`",
    ),
    in_body(
        "search_of_bools",
        "tdsl.assume(M > 0); k = tdsl.argmin(x[i] > 0 for i in range(M))",
        "x[i] > 0",
        "numbers have an order, and bool has none",
    ),
    in_body(
        "saturated_float",
        "y[0] = tdsl.saturate(x[0], f32)",
        "tdsl.saturate(x[0], f32)",
        "`saturate` gives an integer: for f32 write `f32(x)`",
    ),
    in_body(
        "saturated_bool",
        "q[0] = tdsl.saturate(x[0] > 0, i32)",
        "tdsl.saturate(x[0] > 0, i32)",
        "`saturate` needs a number, not a bool",
    ),
    in_body(
        "saturated_without_dtype",
        "q[0] = tdsl.saturate(x[0])",
        "tdsl.saturate(x[0])",
        "`tdsl.saturate` takes 2 arguments, not 1",
    ),
    in_body(
        "assume_count",
        "tdsl.assume(M > 0, N > 0)",
        "tdsl.assume(M > 0, N > 0)",
        "`tdsl.assume` takes one condition: write `tdsl.assume(M >= N)`",
    ),
    in_body(
        "assume_a_value",
        "tdsl.assume(n > 0)",
        "n > 0",
        "`n > 0` is known only when the kernel runs: assume conditions on dims",
    ),
    in_body(
        "assume_the_impossible",
        "tdsl.assume(M < 0)",
        "M < 0",
        "`M < 0` never holds: no call would be legal",
    ),
    in_body(
        "assume_unequal",
        "tdsl.assume(M != N)",
        "M != N",
        "`M != N` holds in 2 separate cases: assume comparisons joined by `and`, "
        "without `!=` and `or`",
    ),
    in_body(
        "assume_injective_number",
        "tdsl.assume(tdsl.injective(n))",
        "n",
        "`n` is no tensor: assume something of an integer input",
    ),
    in_body(
        "assume_injective_floats",
        "tdsl.assume(tdsl.injective(x))",
        "x",
        "`x` is f32: only the elements of an integer tensor are subscripts",
    ),
    in_body(
        "assume_what_is_written",
        "tdsl.assume(0 <= q < M)",
        "q",
        "`q` is written by the kernel, so nothing can be assumed of it: copy it from "
        "an input",
    ),
    in_body(
        "dim_before_it_is_bound",
        "M = M + 1",
        "M",
        "`M` is read before it is assigned: the variable hides the dim `M` in all of "
        "the kernel; give it another name",
    ),
)
SYNTAX_ERRORS = (
    in_body(
        "kernel_as_value",
        "y[0] = copy(x)",
        "y[0]",
        "`copy` returns a tensor: give it a name, `T = copy(...)`",
    ),
    in_body(
        "kernel_in_an_expression",
        "y[0] = copy(x) + 1",
        "copy",
        "`copy` is a kernel, and gives tensors: call it in a statement of its own, "
        "`T = copy(...)`",
    ),
    in_body(
        "inline_statement",
        "y[0] = looping(x[0])",
        "for _ in range(3):...",
        "an inline function has assignments to variables, and one return at its end: "
        "write conditions as `x if c else y` (in `looping`, called in line 4)",
    ),
    in_body(
        "inline_without_return",
        "y[0] = endless(x[0])",
        "b = a",
        "`endless` ends without `return x` (in `endless`, called in line 4)",
    ),
    in_body(
        "inline_default",
        "y[0] = default(x[0])",
        "def default(a, b=1):...",
        "`default` has parameters that are no plain names (in `default`, called in "
        "line 4)",
    ),
    in_body(
        "inline_too_large",
        "y[0] = power(x[0])",
        "return d * d * d * d * d * d * d * d * d * d",
        "`power` grows too large here: use variables of the kernel (in `power`, called "
        "in line 4)",
    ),
    in_body(
        "search_without_generator",
        "k = tdsl.argmax(x)",
        "tdsl.argmax(x)",
        "write `tdsl.argmax(A[i] for i in range(M))`",
    ),
    in_body(
        "search_with_two_loops",
        "k = tdsl.argmax(x[i] for i in range(M) for j in range(N))",
        "(x[i] for i in range(M) for j in range(N))",
        "`tdsl.argmax` looks along one loop, without `if`: write `tdsl.argmax(A[i] for "
        "i in range(M))`",
    ),
    in_body(
        "search_with_two_ends",
        "k = tdsl.argmax(x[i] for i in range(min(M, N)))",
        "range(min(M, N))",
        "`tdsl.argmax` looks along one range, with one start and one stop",
    ),
    in_body(
        "search_in_an_expression",
        "k = tdsl.argmax(x[i] for i in range(M)) + 1",
        "tdsl.argmax(x[i] for i in range(M))",
        "`tdsl.argmax` stands alone: write `k = tdsl.argmax(A[i] for i in range(M))`",
    ),
    in_body(
        "assume_later",
        "y[0] = 1; tdsl.assume(M > 0)",
        "tdsl.assume(M > 0)",
        "`tdsl.assume` stands at the start of the kernel, before other statements",
    ),
    in_body(
        "assume_one_end",
        "tdsl.assume(p < M)",
        "p < M",
        "assume both ends of a range: `0 <= p < N`",
    ),
    in_body(
        "injective_as_value",
        "y[0] = tdsl.injective(p)",
        "tdsl.injective(p)",
        "`tdsl.injective` is something to assume: write "
        "`tdsl.assume(tdsl.injective(P))`",
    ),
    in_body(
        "count_of_values",
        "a, b = 1, 2, 3",
        "a, b",
        "write 2 values for 2 variables: `a, b = x, y`",
    ),
)


@pytest.mark.parametrize(
    "case", TYPE_ERRORS + SYNTAX_ERRORS, ids=lambda each: each.name
)
def test_it_is_refused(case: Misuse) -> None:
    error = refusal(case.text, **NAMES)
    assert error.msg == case.message
    assert marked(error) == case.marked
    wanted = KernelTypeError if case in TYPE_ERRORS else KernelSyntaxError
    assert type(error) is wanted
