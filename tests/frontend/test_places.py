"""Errors and nodes carry their place in the user's file."""

from __future__ import annotations

# ruff: noqa: F821 - names are missing on purpose
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tdsl
from tdsl import f32
from tdsl.errors import KernelSyntaxError, KernelTypeError
from tdsl.frontend.parser import parse
from tdsl.ir.nodes import Alloc, For, Store
from tdsl.ir.walk import walk

M, N = tdsl.dims("M N")


def identity(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def refusal(function: Callable[..., Any]) -> KernelSyntaxError:
    with pytest.raises(KernelSyntaxError) as caught:
        parse(function)
    return caught.value


def place_of(function: Callable[..., Any], text: str) -> tuple[int, int]:
    """Return the line and the column of *text*, from 1, below the definition."""
    lines = Path(__file__).read_text(encoding="utf-8").split("\n")
    first = function.__code__.co_firstlineno
    for number, line in enumerate(lines[first - 1 :], first):
        if text in line:
            return number, line.index(text) + 1
    raise AssertionError(text)


def test_a_nested_decorated_function() -> None:
    @identity
    @identity
    def f(A: f32[M], C: tdsl.out(f32[M])):
        for i in range(M):
            C[i] = A[i] + missing_name

    error = refusal(f)
    assert (error.lineno, error.offset) == place_of(f, "missing_name")
    assert error.filename == __file__
    assert type(error) is KernelTypeError


def test_a_traceback_ends_at_the_users_lines() -> None:
    with pytest.raises(KernelSyntaxError) as caught:

        @tdsl.kernel
        def f(A: f32[M], C: tdsl.out(f32[M])):
            for i in range(M):
                C[i] = A[i] + missing_name

    files = [frame.filename for frame in traceback.extract_tb(caught.tb)]
    assert files[0] == __file__
    assert {Path(name).name for name in files[1:]} == {"kernel.py"}
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_columns_count_characters() -> None:
    é = 1.0

    def f(A: f32[M], C: tdsl.out(f32[M])):
        for i in range(M):
            C[i] = é + A[i] + é * wrong_ñ

    error = refusal(f)
    assert (error.lineno, error.offset) == place_of(f, "wrong_ñ")
    assert error.end_offset is not None and error.offset is not None
    assert error.end_offset - error.offset == len("wrong_ñ")


def test_expressions_over_several_lines() -> None:
    # fmt: off
    def f(
        A: f32[M],
        C: tdsl.out(f32[M]),
    ):
        for i in range(M):
            C[i] = (A[i]
    + misplaced
                    * 2)
    # fmt: on

    error = refusal(f)
    assert (error.lineno, error.offset) == place_of(f, "misplaced")


def test_python_prints_the_line_with_carets() -> None:
    def f(A: f32[M], C: tdsl.out(f32[M])):
        for i in range(M):
            C[i] = A[i, 0]

    lines = traceback.format_exception_only(refusal(f))
    assert [line.strip() for line in "".join(lines).split("\n")[1:4]] == [
        "C[i] = A[i, 0]",
        "^^^^^^^",
        "tdsl.errors.KernelTypeError: `A` has 1 dimension, f32[M], but 2 subscripts "
        "are given",
    ]


def test_every_node_has_a_span() -> None:
    def f(A: f32[M, N], C: tdsl.out(f32[M, N])):
        for i, j in tdsl.grid(M, N):
            t = -A[i, j] + 2
            C[i, j] = t if t > 0 else np.exp(i) * f32(j)

    function = parse(f)
    first = f.__code__.co_firstlineno
    for node in walk(function):
        span = getattr(node, "span", None)
        if hasattr(node, "span"):
            assert span is not None, node
            assert span.file == __file__
            assert first <= span.line <= span.end_line <= first + 3
    (outer, _) = (node for node in walk(function) if isinstance(node, For))
    assert (outer.span.line, outer.span.column) == (first + 1, 8)
    store = [node for node in walk(function) if isinstance(node, Store)][-1]
    assert (store.span.line, store.span.column) == (first + 3, 12)
    assert any(isinstance(node, Alloc) for node in walk(function))


def test_text_that_is_not_available() -> None:
    scope: dict[str, Any] = {"f32": f32, "M": M}
    exec("def f(A: f32[M]):\n    pass", scope)
    error = refusal(scope["f"])
    assert error.msg == (
        "the text of f is not available: define the kernel in a file or a notebook cell"
    )
    assert (error.filename, error.lineno) == ("<string>", 1)


def test_what_is_no_function() -> None:
    assert refusal(np.exp).msg == (
        "a ufunc is no function in Python: write the decorator above one that begins "
        "with `def`"
    )
    assert refusal(lambda A: A).msg == (
        "a lambda cannot be a kernel: write a function with `def`"
    )
