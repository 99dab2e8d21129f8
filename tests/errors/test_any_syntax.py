"""Kernels of any Python syntax: programs, or refused with a place and a sentence."""

from __future__ import annotations

import sys
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tdsl
from tdsl.errors import KernelSyntaxError
from tdsl.frontend.parser import parse

from .misuse import define

ATOMS = [
    *("i", "j", "x", "n", "A", "C", "M", "0", "-1", "2.5", "1j", "True", "None", "..."),
    *("'s'", "b's'", "f'{i}'", "A[i]", "C[i]", "A[i, j]", "missing", "tdsl", "f32"),
    *("math.inf", "np.pi", "10**400", "1e400", "[]", "{}", "()", "lambda: 0", "f", "h"),
    *("__name__", "print", "len", "2**63", "-2**63", "A.T", "M.name", "0x10", "1_0"),
]
EXPRESSIONS = [
    *("({} + {})", "({} @ {})", "({} ** {})", "({} // {})", "({} % {})", "({} << {})"),
    *("(not {})", "(~{})", "({} is {})", "({} in {})", "({} if {} else {})", "[{}]"),
    *("({}, {})", "{{{}: {}}}", "{{{}}}", "({}).real", "({})[{}]", "({})[{}:{}]"),
    *(
        "({})[..., {}]",
        "({})({})",
        "({})(*{})",
        "({})(a={})",
        "({})(**{})",
        "(y := {})",
    ),
    *(
        "[q for q in {}]",
        "(q for q in {} if {})",
        "{{q for q in {}}}",
        "(lambda q: {})",
    ),
    *("(yield {})", "(await {})", "(*{},)", "({} < {} < {})", "abs({})", "min({})"),
    *("max({}, {})", "tdsl.exp({})", "tdsl.argmax({})", "tdsl.zeros({})", "f32({})"),
    *("tdsl.zeros(({},), {})", "i32({})", "range({})", "tdsl.saturate({})", "h({})"),
    *("tdsl.bool_({})", "tdsl.argmax({} for q in range({}))", "math.floor({})"),
    *("np.where({}, {}, {})", "pow({}, {})", "sum({})", "tdsl.injective({})", "g({})"),
]
STATEMENTS = [
    *("{}", "y = {}", "{} = {}", "{} += {}", "{} @= {}", "y: f32 = {}", "y: {} = {}"),
    *("del {}", "assert {}", "raise {}", "return {}", "global y", "nonlocal M", "pass"),
    *("import math", "from math import *", "break", "continue", "y = z = {}", "y: f32"),
    *("if {}: pass", "if {}:\n            y = {}", "while {}: pass", "a, *b = {}"),
    *("for q in range({}): y = {}", "for i in range({}): pass", "for q in {}: pass"),
    *("for q, r in tdsl.grid({}, {}): pass", "for q.x in range({}): pass", "'text'"),
    *("with {} as q: pass", "try: {}\n        except: pass", "class Q: pass"),
    *(
        "def q(): return {}",
        "async def q(): pass",
        "match {}:\n            case 0: pass",
    ),
    *("async for q in {}: pass", "tdsl.assume({})", "(a, b) = ({}, {})", "[a, b] = {}"),
    *("C[i] = {}", "C[{}] = {}", "C[i] += {}", "C[i] = max(C[i], {})", "A[i] = {}"),
    *("for q in range({}, {}, {}): C[q] = 0", "y = tdsl.empty({}, f32)", "g({}, {})"),
    "for _ in range(2):\n            continue\n        else: pass",
]
KERNEL = """\
def f(A: f32[M], n: i32, C: tdsl.inout(f32[M])):
    x = A[0]
    for i in range(M):
        {}
"""


@tdsl.inline
def helper(a):
    return 1 / a


@tdsl.kernel
def called(B: tdsl.inout(tdsl.f32[4])):
    B[0] += 1


def fill(template: str, parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    count = template.replace("{{", "").replace("}}}", "}").count("{}")
    return st.tuples(*[parts] * count).map(lambda found: template.format(*found))


VALUES = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.sampled_from(EXPRESSIONS).flatmap(lambda t: fill(t, inner)),
    max_leaves=6,
)
LINES = st.sampled_from(STATEMENTS).flatmap(lambda t: fill(t, VALUES))


def check_text(text: str) -> None:
    """Check that *text* is a kernel, no Python, or refused with a place."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function = define(text, g=called, h=helper)
    except (SyntaxError, MemoryError, RecursionError):
        return  # of Python itself
    try:
        parse(function)
    except KernelSyntaxError as error:
        assert error.lineno
        assert error.text is not None
        assert len(error.msg.split()) >= 3, error.msg


@given(st.lists(LINES, min_size=1, max_size=3))
def test_kernels_of_any_syntax(lines: list[str]) -> None:
    check_text(KERNEL.format("\n        ".join(lines)))


DEEP = sys.getrecursionlimit()


@pytest.mark.parametrize(
    "line",
    [
        f"C[i] = {' + '.join(['A[i]'] * 3 * DEEP)}",
        f"C[i] = {' + '.join(['A[i]'] * (DEEP // 4))}",
        f"C[i] = {'-' * 80}A[i]",
        f"C[i] = {'(' * 80}A[i]{')' * 80}",
        f"x = x + {' * '.join(['x'] * 2 * DEEP)}",
        "C[i] = 9**9**9",
        "C[i] = 2.0**99999",
        "C[i] = 'a' * 10**10",
        "C[i * 10**30] = 0",
        "C[i] = 10**400",
        "C[i] = 1.0 * 10**400",
        "C[i] = f32(10**400)",
        "C[i] = n + 10**400",
        "C[i] = A[10**400]",
    ],
    ids=lambda line: line[:20],
)
def test_large_texts(line: str) -> None:
    check_text(KERNEL.format(line))
