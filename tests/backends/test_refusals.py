"""Programs that no primitive makes, and that no code is made of: the full words."""

from __future__ import annotations

import pytest

from tdsl.backends import cpu
from tdsl.backends.cpu import compile_function, emit_source
from tdsl.errors import BackendError
from tdsl.target import host, target_named

from ..ir_text import read_function

REFUSED: dict[str, tuple[str, str]] = {
    "lanes that write one element": (
        """
def f(X: f32[8], Y: output f32[8]):
    for i in range(8):  # vectorized
        Y[0] = X[i]
""",
        "the lanes of a vectorized loop all write one element of 'Y'; use rfactor, or "
        "vectorize another loop",
    ),
    "lanes of different lengths": (
        """
def f(X: f32[8], Y: output f32[8]):
    for i in range(8):  # vectorized
        for j in range(i):
            Y[i] = X[j]
""",
        "the range of loop 'j' differs between the lanes of the vectorized loop around "
        "it; vectorize another loop, or reorder",
    ),
    "vectors of vectors": (
        """
def f(X: f32[8], Y: output f32[8, 8]):
    for i in range(8):  # vectorized
        for j in range(8):  # vectorized
            Y[i, j] = X[j]
""",
        "the vectorized loop 'j' stands inside another one",
    ),
    "lanes without number": (
        """
def f(X: f32[N], Y: output f32[N]) for N:
    for i in range(N):  # vectorized
        Y[i] = X[i]
""",
        "the vectorized loop 'i' has no constant extent: its range is (0) to (N); "
        "split it by a constant first",
    ),
    "an unrolled loop with two starts": (
        """
def f(X: f32[8], Y: output f32[8]) for N:
    for i in range(max(0, N), 8):  # unrolled
        Y[i] = X[i]
""",
        "the unrolled loop 'i' has more than one start: its range is (0, N) to (8); "
        "split it by a constant first",
    ),
    "a write to an input": (
        """
def f(X: f32[8], Y: output f32[8]):
    for i in range(8):
        X[i] = 1.0
""",
        "'f' is not well-formed: a write to the input X; a schedule made of primitives "
        "is, so write what this step did as primitives",
    ),
    "too much code": (
        """
def f(X: f32[100, 100], Y: output f32[100, 100]):
    for i in range(100):  # unrolled
        for j in range(100):  # unrolled
            Y[i, j] = X[i, j]
""",
        "'f' is 10000 statements with its unrolled loops written out, and more than "
        "2048 would compile for minutes: unroll and vectorize loops of fewer "
        "iterations",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_no_code(name: str) -> None:
    program, message = REFUSED[name]
    with pytest.raises(BackendError) as caught:
        emit_source(read_function(program))
    assert str(caught.value) == message


COPY = """
def f(X: f32[8], Y: output f32[8]):
    for i in range(8):
        Y[i] = X[i]
"""


def test_numba_cannot() -> None:
    target = target_named("avx512")
    problem = ValueError("first\nUnsupported thing")
    assert str(cpu._failure(read_function(COPY), target, problem)) == (
        "Numba could not compile 'f' for avx512 (skylake-avx512): Unsupported thing; "
        "this is a fault of tdsl, and another schedule may avoid it"
    )


def test_python_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object) -> None:
        raise SyntaxError("too many statically nested blocks")

    monkeypatch.setattr(cpu, "load_module", load)
    with pytest.raises(BackendError) as caught:
        compile_function(read_function(COPY), host()).compile()
    assert str(caught.value) == (
        "the code of 'f' is nested too deep for Python (too many statically nested "
        "blocks): split fewer loops, or give parts of long expressions to variables"
    )


def test_another_processor() -> None:
    with pytest.raises(BackendError) as caught:
        compile_function(read_function(COPY), target_named("neon"))
    assert str(caught.value) == (
        "this process compiles for its own CPU, not for 'neon'; start Python with "
        "NUMBA_CPU_NAME='cortex-a72' NUMBA_CPU_FEATURES='+neon,+fp-armv8'"
    )
