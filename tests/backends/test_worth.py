"""The work of a parallel loop, as written, is the most that an iteration does."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tdsl.backends.outline import fused_chain
from tdsl.backends.worth import Work
from tdsl.ir.nodes import Block, For, If, LoopKind
from tdsl.ir.walk import loops

from ..ir_text import read_function

AS_IS = (
    "for j in range(N): Y[i, j] = 1.0",
    "for j in range(2, N - 1): Y[i, j] = 1.0",
    "for j in range(i): Y[i, j] = 1.0",
    "for j in range(i, N): Y[i, j] = 1.0",
    "for j in range(0, N, 4): Y[i, j] = 1.0",
    "vector j in range(N): Y[i, j] = 1.0",
    "vector j in range(30): Y[i, j] = 1.0",
    "for j in range(min(70, N)): Y[i, j] = 1.0",
    "for j in range(min(70, N, N - t)): Y[i, j] = 1.0",
    "for j in range(70): Y[i, j] = 1.0",
    "if i - 1 >= 0: for j in range(i): Y[i, j] = 1.0",
    "for j in range(N): Y[i, j] = 1.0; for k in range(7): Y[i, k] = 1.0",
    "for j in range(N): for k in range(0, i, 2): Y[i, k] = 1.0",
    "for j in range(i, N): for k in range(j, j + 3): Y[i, k] = 1.0",
)
AT_MOST = (
    "Y[i, 0] = 1.0",
    "for j in range(min(64, N)): Y[i, j] = 1.0",
    "for j in range(t, i): for k in range(j, N): Y[i, k] = 1.0",
)


def nest(body: str) -> list[For]:
    """Return the parallel loop `i` around *body*, in a serial loop `t`."""
    lines = [
        "def f(Y: inout f32[N + 99, N + 99]) for N:",
        "    for t in range(2):",
        "        for i in range(N):  # parallel",
    ]
    for statement in body.split("; "):
        *heads, leaf = statement.split(": ")
        for depth, head in enumerate(heads, 3):
            kind = "  # vectorized" if head.startswith("vector") else ""
            lines.append("    " * depth + head.replace("vector", "for") + ":" + kind)
        lines.append("    " * (len(heads) + 3) + leaf)
    return fused_chain(loops(read_function("\n".join(lines)))["i"])


def counted(block: Block, scope: Mapping[str, int]) -> int:
    """Return the iterations of the innermost loops in *block*, eight lanes in one."""
    found = 0
    for statement in block.statements:
        if isinstance(statement, If):
            found += counted(statement.body, scope)
        elif isinstance(statement, For):
            start = statement.starts[0].evaluate(scope)
            stop = min(form.evaluate(scope) for form in statement.stops)
            lanes = statement.kind is LoopKind.VECTORIZED
            turns = range(start, stop, 8 if lanes else statement.step)
            innermost = not any(isinstance(n, For) for n in statement.body.statements)
            found += sum(
                innermost or counted(statement.body, {**scope, statement.axis: n})
                for n in turns
            )
    return found


@pytest.mark.parametrize("body", AS_IS + AT_MOST)
def test_the_work_is_the_most_that_an_iteration_does(body: str) -> None:
    chain = nest(body)
    text = Work(str, lambda loop: str(loop.step)).of_each(chain)
    for n in (1, 2, 8, 40, 100):
        for t in (0, 1):
            scope = {"N": n, "t": t}
            most = max(counted(chain[0].body, {**scope, "i": i}) for i in range(n))
            written = eval(text, {"min": min, "max": max, **scope})
            assert written == most if body in AS_IS else written >= most, text


def test_few_iterations_and_none_are_numbers() -> None:
    work = Work(str, lambda loop: str(loop.step))
    assert [work.of_each(nest(body)) for body in AT_MOST[:2]] == ["1", "64"]
