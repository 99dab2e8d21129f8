"""Parse the text of a wrong kernel; give back what the error says and marks."""

from __future__ import annotations

import linecache
import math
import warnings
from dataclasses import dataclass
from itertools import count
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import tdsl
from tdsl.errors import KernelSyntaxError
from tdsl.frontend.parser import parse

PRELUDE = """\
from __future__ import annotations
M, N, K = tdsl.dims("M N K")
"""
_number = count()


def define(text: str, **names: Any) -> Any:
    """Run *text*, which defines a function `f`, as a file of its own; return `f`."""
    source = PRELUDE + dedent(text)
    file = f"<misuse {next(_number)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    scope: dict[str, Any] = {"tdsl": tdsl, "np": np, "math": math}
    scope |= {name: getattr(tdsl, name) for name in ("f32", "f64", "i32", "i64")}
    scope |= names
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # such as a call of a number
        exec(compile(source, file, "exec"), scope)
    return scope["f"]


def refusal(text: str, **names: Any) -> KernelSyntaxError:
    """Return the error that the kernel in *text* raises."""
    function = define(text, **names)
    with pytest.raises(KernelSyntaxError) as caught:
        parse(function)
    return caught.value


def marked(error: KernelSyntaxError) -> str:
    """Return the characters that Python marks with carets; `...` if lines follow."""
    assert error.text is not None and error.offset is not None
    assert error.end_offset is not None
    start = error.offset - 1
    if error.end_lineno != error.lineno:
        return error.text[start:].rstrip() + "..."
    return error.text[start : error.end_offset - 1]


@dataclass(frozen=True, slots=True)
class Misuse:
    """A wrong kernel, and its error: class, marked characters, message."""

    name: str
    text: str
    error: type[KernelSyntaxError]
    marked: str
    message: str


def check(case: Misuse) -> None:
    """Compare the error of *case* with what it should be, word by word."""
    error = refusal(case.text)
    assert error.msg == case.message
    assert marked(error) == case.marked
    assert type(error) is case.error
