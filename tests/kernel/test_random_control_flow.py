"""Random nests of loops, conditions, `break` and `continue`, compared with Python."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tdsl
from tdsl.backends.reference import interpret
from tdsl.frontend.parser import parse

from ..errors.misuse import define
from .as_python import run_as_python

SIZES = {"M": 5, "N": 7}
INTERPRETED = range(80)
COMPILED = (157, 158, 160, 175, 178)
"""Seeds; those to compile are of 10 to 22 statements."""

MOST_LINES = 72
"""Longer programs may have more cases than the parser takes."""


class _Writer:
    """Write a kernel that is plain Python too; everything it reads is set before."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.variables: list[str] = []

    def text(self) -> str:
        self.variables = ["s", "t"]
        lines = ["def f(x: f32[M, N], y: tdsl.inout(f32[M]), z: tdsl.inout(f32[N])):"]
        lines += ["    tdsl.assume(M >= 4 and N >= 5)"]
        lines += ["    s = f32(0)", "    t = f32(1)", "    for i in range(M):"]
        lines += self.block(8, ["i"], 3)
        lines += ["    y[0] = y[0] + s * 2", "    z[1] = z[1] + t"]
        return "\n".join(lines) + "\n"

    def block(self, indent: int, axes: list[str], depth: int) -> Iterator[str]:
        for _ in range(self.random.randint(1, 3)):
            yield from self.statement(indent, axes, depth)

    def statement(self, indent: int, axes: list[str], depth: int) -> Iterator[str]:
        space = " " * indent
        kinds = ["store", "store", "update", "variable", "leave"]
        if depth:
            kinds += ["if", "if", "if", "both"]
        if depth and len(axes) == 1:
            kinds += ["for"]
        match self.random.choice(kinds):
            case "store":
                yield f"{space}{self.target(axes)} = {self.value(axes)}"
            case "update":
                yield f"{space}{self.target(axes)} += {self.value(axes)}"
            case "variable":
                name = self.random.choice(self.variables)
                op = self.random.choice(["=", "+="])
                yield f"{space}{name} {op} {self.value(axes)}"
            case "leave":
                yield f"{space}if {self.condition(axes)}:"
                yield f"{space}    {self.random.choice(['break', 'continue'])}"
            case "if":
                yield f"{space}if {self.condition(axes)}:"
                yield from self.block(indent + 4, axes, depth - 1)
                if self.random.random() < 0.3:
                    yield f"{space}elif {self.condition(axes)}:"
                    yield from self.block(indent + 4, axes, depth - 1)
                if self.random.random() < 0.5:
                    yield f"{space}else:"
                    yield from self.block(indent + 4, axes, depth - 1)
            case "both":
                name = f"v{len(self.variables)}"
                yield f"{space}if {self.condition(axes)}:"
                yield f"{space}    {name} = {self.value(axes)}"
                yield from self.block(indent + 4, axes, 0)
                yield f"{space}else:"
                yield from self.block(indent + 4, axes, 0)
                yield f"{space}    {name} = {self.value(axes)}"
                yield f"{space}s += {name}"
            case "for":
                start = self.random.choice(["N", "i, N", "min(i + 1, N)"])
                yield f"{space}for j in range({start}):"
                yield from self.block(indent + 4, [*axes, "j"], depth - 1)

    def target(self, axes: list[str]) -> str:
        choices = ["y[i]", "z[0]", "y[M - 1 - i]"] + ["z[j]"] * (len(axes) > 1) * 2
        return self.random.choice(choices)

    def value(self, axes: list[str]) -> str:
        column = "j" if len(axes) > 1 else "2"
        choices = [f"x[i, {column}]", "s", "t", "y[i]", "f32(1)", "x[i, 0] - t"]
        return self.random.choice(choices)

    def condition(self, axes: list[str], depth: int = 2) -> str:
        last = axes[-1]
        kind = self.random.random()
        if depth and kind < 0.35:
            op = self.random.choice(["and", "or"])
            left = self.condition(axes, depth - 1)
            return f"({left} {op} {self.condition(axes, depth - 1)})"
        if depth and kind < 0.45:
            return f"not {self.condition(axes, depth - 1)}"
        choices = [f"{last} > 1", f"{last} % 2 == 0", f"{last} != 2", "i < M - 1"]
        choices += ["0 < i <= 3", "M > 3"]
        choices += ["x[i, 0] > 0", "s < 3", f"x[i, 1] == {last}", "t != 1", "y[i] >= 0"]
        return self.random.choice(choices)


def arrays(seed: int) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    shapes = {"x": (5, 7), "y": (5,), "z": (7,)}
    return {
        name: draw.integers(-2, 4, shape).astype(np.float32)
        for name, shape in shapes.items()
    }


def written(seed: int) -> tuple[str, Any]:
    writer = _Writer(seed)
    text = writer.text()
    while text.count("\n") > MOST_LINES:
        text = writer.text()
    return text, define(text)


def compare(text: str, function: Any, seed: int, actual: dict[str, Any]) -> None:
    expected = arrays(seed)
    run_as_python(function, expected, SIZES)
    for name in expected:
        np.testing.assert_array_equal(actual[name], expected[name], err_msg=text)


@pytest.mark.parametrize("seed", INTERPRETED)
def test_interpreted_kernels_are_the_python_that_they_look_like(seed: int) -> None:
    text, function = written(seed)
    actual = arrays(seed)
    interpret(parse(function), actual, SIZES)
    compare(text, function, seed, actual)


@pytest.mark.parametrize("seed", COMPILED)
def test_compiled_kernels_are_the_python_that_they_look_like(seed: int) -> None:
    text, function = written(seed)
    actual = arrays(seed)
    tdsl.kernel(function)(**actual)
    compare(text, function, seed, actual)
