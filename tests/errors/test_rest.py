"""Messages of schedules, calls and tools that no test of their own part has."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
import pytest

import tdsl
from tdsl import f32, i64, testing
from tdsl.backends.cpu import compile_function
from tdsl.backends.reference import interpret
from tdsl.errors import TdslError
from tdsl.frontend.parser import parse
from tdsl.schedules.schedule import Schedule
from tdsl.target import host, target_named
from tdsl.tuner.ledger import Ledger
from tdsl.tuner.requests import check_dims

from .misuse import define

anything: Any = tdsl
checks: Any = testing


def schedule(
    body: str, signature: str = "A: f32[M, N], C: tdsl.inout(f32[M, N])"
) -> Any:
    """Return the schedule, without steps, of a kernel f with that *body*."""
    return Schedule(parse(define(f"def f({signature}):\n{indent(body, '    ')}")))


COPY = schedule("""\
for i in range(M):
    for j in range(N):
        C[i, j] = A[i, j]
""")
SHIFTED = schedule("""\
T = tdsl.empty((M + 1,), f32)
for i in range(M):
    T[i + 1] = 1
for k in range(M):
    C[k, 0] = T[k + 1]
""")
GUARDED = schedule("""\
T = tdsl.empty((M,), f32)
for i in range(M):
    if i > 1:
        T[i] = A[i, 0]
for k in range(2, M):
    C[k, 0] = T[k]
""")
LOCAL = schedule("""\
for i in range(M):
    T = tdsl.zeros((N,), f32)
    for k in range(N):
        C[i, k] = T[k]
""")
TWO_SUMS = schedule("""\
for i in range(M):
    s = f32(0)
    t = f32(0)
    for j in range(N):
        s += A[i, j]
        t += A[i, j] * 2
    C[i, 0] = s + t
""")
STARTS = schedule("""\
for i in range(M):
    for j in range(max(0, i - 3, 2 - i), N):
        C[i, 0] += A[i, j]
""")
EIGHT = schedule(
    """\
for i in range(8):
    s = f32(0)
    for j in range(N):
        s += A[i, j]
    C[i, 0] = s
""",
    "A: f32[8, N], C: tdsl.inout(f32[8, N])",
)
TRIANGLE = schedule(
    """\
for i in range(4):
    for j in range(i + 1):
        C[i, j] = A[i, j]
""",
    "A: f32[4, 4], C: tdsl.inout(f32[4, 4])",
)
APART = schedule(
    """\
for i in range(M):
    C[i] = 0
for k in range(M):
    D[k] = 1
""",
    "C: tdsl.inout(f32[M]), D: tdsl.inout(f32[M])",
)
ONE = np.ones(1, np.float32)
M = tdsl.dim("M")
EVEN = tdsl.dim("EVEN", multiple=2)


@tdsl.kernel
def fill(A: f32[M]) -> f32[M]:
    B = tdsl.empty((M,), f32)
    for i in range(M):
        B[i] = A[i]
    return B


@tdsl.kernel
def large(x: f32) -> f32[M, M, M]:
    B = tdsl.empty((M, M, M), f32)
    for i, j, k in tdsl.grid(M, M, M):
        B[i, j, k] = x
    return B


@tdsl.kernel
def smaller(A: tdsl.out(f32[EVEN])) -> f32[EVEN - 4]:
    B = tdsl.empty((EVEN - 4,), f32)
    for i in range(EVEN - 4):
        B[i] = 0
    for i in range(EVEN):
        A[i] = 0
    return B


@tdsl.kernel
def wide(x: f32) -> f32[2 * M]:
    B = tdsl.empty((2 * M,), f32)
    for i in range(2 * M):
        B[i] = x
    return B


BIG = tdsl.dim("BIG", min=10**7)


@tdsl.kernel
def big(A: f32[BIG]) -> f32[BIG]:
    B = tdsl.empty((BIG,), f32)
    for i in range(BIG):
        B[i] = A[i]
    return B


@tdsl.kernel
def fixed(A: f32[4000, 4000]) -> f32[4000, 4000]:
    B = tdsl.zeros((4000, 4000), f32)
    for i, j, k in tdsl.grid(4000, 4000, 4000):
        B[i, j] += A[i, k] * A[k, j]
    return B


@tdsl.kernel
def far(A: f32[4], n: i64) -> f32[1]:
    B = tdsl.zeros((1,), f32)
    B[0] = A[n + 10**9]
    return B


_INSTEAD = (
    "pass that kernel, or from_json(..., same_program=False) to apply the steps all "
    "the same"
)
CASES: dict[str, tuple[Callable[[], object], str]] = {
    "fuse_vectorized": (
        lambda: COPY.split("i", 4).vectorize("i_i").fuse("i_i", "j"),
        'fuse: loop "i_i" is vectorized; only serial, parallel and fused loops share '
        "a counter; apply fuse before that step",
    ),
    "reorder_unrolled": (
        lambda: TRIANGLE.unroll("i").reorder("j", "i"),
        'reorder: loop "i" is unrolled and would get new bounds, without a constant '
        'extent; reorder "i" and "j" before that step',
    ),
    "compute_at_unused": (
        lambda: APART.compute_at("S0", "k"),
        'compute_at: loop "k" does not use "C", which S0 writes; name a loop around '
        "its uses",
    ),
    "compute_at_declared": (
        lambda: LOCAL.compute_at("T", "i"),
        'compute_at: "T" is declared inside or beside loop "i", not around it; name a '
        "loop that follows its declaration",
    ),
    "inline_shifted": (
        lambda: SHIFTED.inline("T"),
        'inline: the subscripts (i + 1) of the store to "T" are shifted axes; use '
        "compute_at",
    ),
    "inline_guarded": (
        lambda: GUARDED.inline("T"),
        'inline: "T" is stored under a guard, so it has a value only in some '
        "iterations; use compute_at",
    ),
    "rfactor_two": (
        lambda: TWO_SUMS.rfactor("j"),
        'rfactor: loop "j" reduces into "s", "t"; name one with tensor=, or fission '
        "the reductions apart first",
    ),
    "rfactor_starts": (
        lambda: STARTS.rfactor("j"),
        'rfactor: loop "j" has several starts, so its iterations have no fixed places '
        "in a buffer; split it and rfactor the inner loop",
    ),
    "rfactor_vectorized": (
        lambda: EIGHT.vectorize("i").rfactor("j"),
        'rfactor: loop "j" is inside the vectorized loop "i"; rfactor before vectorize',
    ),
    "json_of_another_kernel": (
        lambda: Schedule.from_json(fill, COPY.to_json()),
        f"this schedule is for the kernel f, and fill is given: {_INSTEAD}",
    ),
    "json_of_another_version": (
        lambda: Schedule.from_json(COPY.original, TWO_SUMS.to_json()),
        "this schedule is for another version of the kernel f, whose program or dims "
        f"differ: {_INSTEAD}",
    ),
    "factor_is_text": (
        lambda: COPY.split("i", "4"),
        'split: factor="4"; factor is an integer',
    ),
    "no_step": (
        lambda: COPY.apply(3),
        '3 is no step: call a primitive, as in schedule.split("i", 32), or pass a step '
        "of another schedule",
    ),
    "no_steps": (
        lambda: Schedule(COPY.original, anything.f32),
        "Schedule: steps is a DType, but it is a sequence of steps",
    ),
    "dim_is_a_keyword": (
        lambda: tdsl.dim("for"),
        "dim('for'): for is a keyword of Python: write another name, such as "
        "dim('for_')",
    ),
    "no_kernel": (
        lambda: anything.Kernel(3),
        "Kernel: 3 is no kernel: pass what @tdsl.kernel made of a function",
    ),
    "no_backend": (
        lambda: anything.Kernel(fill.function, backend=3),
        "fill: backend is 3, but it is None or an object that compiles",
    ),
    "no_name": (
        lambda: fill.renamed("a b"),
        "fill: 'a b' is no name: write one such as \"fill_2\"",
    ),
    "list_for_an_array": (
        lambda: fill([1.0]),
        "fill: A is a list: pass np.asarray(A, dtype=np.float32)",
    ),
    "too_large_for_memory": (
        lambda: large(1.0, M=2**18),
        "large: the result B[M, M, M] of shape (262144, 262144, 262144) does not fit "
        "in memory (Unable to allocate 64.0 PiB for an array with shape (262144, "
        "262144, 262144) and data type float32)",
    ),
    "negative_size": (
        lambda: smaller(np.zeros(2, np.float32)),
        "smaller: the result B[EVEN - 4] would have the size EVEN - 4 = -2 for "
        "EVEN = 2",
    ),
    "unknown_target": (
        lambda: target_named("gpu"),
        "unknown target 'gpu': choose one of cpu, avx2, avx512, neon",
    ),
    "no_multiple": (
        lambda: check_dims("f", smaller.function, {"EVEN": 7}),
        "EVEN=7: f assumes a multiple of 2",
    ),
    "check_nothing": (
        lambda: checks.check(fill, examples=0),
        "examples is 0: write how many to run, a whole number from 1 up",
    ),
    "check_no_kernel": (
        lambda: checks.check(3),
        "check: 3 is no kernel: pass what @tdsl.kernel made of a function",
    ),
    "mark_no_kernel": (
        lambda: checks.checked(3),
        "3 is no kernel: write @tdsl.testing.checked above @tdsl.kernel",
    ),
    "no_engine": (
        lambda: checks.run_case(
            fill, testing.draw_case(fill.function, 0), engine="gpu"
        ),
        'run_case: engine is \'gpu\', but it is "compiled" or "interpreted"',
    ),
    "no_preparation": (
        lambda: checks.check(fill, prepare=3),
        "check: prepare is 3, but it is a function: prepare(arrays, dims) changes the "
        "arrays in place",
    ),
    "no_array_prepared": (
        lambda: checks.check(
            fill, prepare=lambda arrays, dims: arrays.update(A=None), examples=1
        ),
        "prepare left None as A: change its elements, as in `arrays['A'][...] = 1`, or "
        "put an array of its shape, [23], and dtype, float32, there",
    ),
    "no_sizes": (
        lambda: checks.arrays(fill, 3),
        'arrays: dims is 3, but dims has a size for each dim: {"M": 16}',
    ),
    "a_size_is_missing": (
        lambda: checks.arrays(fill, {}),
        'arrays: M is missing, but dims has a size for each dim: {"M": 16}',
    ),
    "a_size_is_negative": (
        lambda: checks.arrays(fill, {"M": -1}),
        'arrays: M is -1, but dims has a size for each dim: {"M": 16}',
    ),
    "no_stride_class": (
        lambda: compile_function(fill.function, host()).compile(["odd", "odd"]),
        "stride classes ('odd', 'odd'): give one of C, F, U, A for each of the 2 "
        "parameters",
    ),
    "too_large_for_a_dim": (
        lambda: wide(1.0, M=2**31 - 1),
        "wide: the result B[2*M] would have shape (4294967294,): a dim may not exceed "
        "2**31 - 1",
    ),
    "no_small_sizes": (
        lambda: testing.draw_case(big.function, 0),
        "big: no sizes with a product of at most 65536 were found that satisfy the "
        "dims' assumptions and give no negative extent; weaken the assumptions, or "
        "compare chosen sizes with run_case",
    ),
    "only_large_sizes": (
        lambda: checks.check(fixed),
        "fixed: an example takes 1.3e+02 billion operations even at the smallest "
        "sizes: make large extents dims (tdsl.dim), so that small examples exist, or "
        "compare chosen sizes with tdsl.testing.run_case",
    ),
    "never_inside": (
        lambda: checks.check(far, examples=2),
        "far: all examples had a subscript out of range: far: the subscript "
        "`n + 10**9` of `A` in test_rest.py:LINE is 1000000000, but the size there is "
        "4: allowed are from 0 to 3. What the call has written is undefined; state "
        "what holds with tdsl.assume, or pass prepare=, which may change the random "
        "arguments",
    ),
    "text_for_numbers": (
        lambda: checks.assert_within_bound(np.array(["a"]), wide, {"x": 1.0, "M": 1}),
        "wide: the result B is a ndarray of dtype <U1: pass an array of numbers",
    ),
    "list_to_write_into": (
        lambda: interpret(fill.function, {"A": ONE, "B": [1.0]}, {"M": 1}),
        "output B is a list: pass a NumPy array to write into",
    ),
    "ledger_is_a_folder": (
        lambda: Ledger.open(Path("."), anything),
        "the ledger . is not a file; name a file",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_message(name: str) -> None:
    use, message = CASES[name]
    with pytest.raises(TdslError) as caught:
        use()
    text, _, _ = str(caught.value).partition("\n  in step ")
    assert re.sub(r"\.py:\d+", ".py:LINE", text) == message
