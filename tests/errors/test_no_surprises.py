"""Whatever one writes, the answer is verified IR or a refusal with its place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tdsl.errors import KernelSyntaxError
from tdsl.frontend.parser import parse

from .misuse import define, marked

ATOMS = [
    *("i", "j", "x", "y", "n", "alpha", "flag", "M", "0", "1", "-1", "2.5", "True"),
    *("A[i, j]", "A[j, i]", "P[i]", "C[i, j]", "T[i]", "A", "None", "'s'", "missing"),
    *("math.pi", "math", "tdsl", "f32", "tdsl.exp", "A.shape[0]", "range(M)", "[1]"),
    "A[x, y]",
]
TEMPLATES = [
    *("({} + {})", "({} - {})", "({} * {})", "({} / {})", "({} // {})", "({} % {})"),
    *("({} ** {})", "({} < {})", "({} == {})", "({} and {})", "(not {})", "(-{})"),
    *("({} if {} else {})", "min({}, {})", "max({}, {}, {})", "tdsl.exp({})"),
    *("f32({})", "i32({})", "tdsl.bool_({})", "abs({})", "A[{}, {}]", "({}, {})"),
    *("math.floor({})", "({} < {} <= {})", "A[{}]", "({} & {})", "{}({})"),
]
STATEMENTS = [
    *("C[i, j] = {}", "C[i, j] += {}", "C[{}, {}] = {}", "D[i] = {}", "x = {}"),
    *("y = {}", "x += {}", "y *= {}", "x = max(x, {})", "T[i] = {}"),
    *("L = tdsl.zeros(({},), {})", "z: f64 = {}", "x, y = {}", "P[i] = {}", "{}"),
    *(
        "for k in range({}):\n                x = {}",
        "for k in range({}, {}, {}): pass",
    ),
    *("for k in tdsl.grid({}):\n                C[i, k] = {}", "C[i, j] /= {}"),
]


def fill(template: str, parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    count = template.count("{}")
    return st.tuples(*[parts] * count).map(lambda found: template.format(*found))


EXPRESSIONS = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.sampled_from(TEMPLATES).flatmap(lambda t: fill(t, inner)),
    max_leaves=5,
)
LINES = st.sampled_from(STATEMENTS).flatmap(lambda t: fill(t, EXPRESSIONS))
KERNEL = """\
def f(A: f32[M, N], P: i32[M], n: i32, alpha: f32, flag: tdsl.bool_,
      C: tdsl.inout(f32[M, N]), D: tdsl.out(f64[M])):
    x = 0
    for i in range(M):
        T = tdsl.zeros((4,), f32)
        D[i] = 0
        for j in range(N):
            C[i, j] = 0
            y = i + 1
            {body}
"""


@given(st.lists(LINES, min_size=1, max_size=4))
def test_random_kernels(lines: list[str]) -> None:
    function = define(KERNEL.format(body="\n            ".join(lines)))
    try:
        parse(function)
    except KernelSyntaxError as error:
        assert error.msg and error.lineno
        assert marked(error)
