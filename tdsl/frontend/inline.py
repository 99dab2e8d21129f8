"""`@tdsl.inline`: scalar functions that kernels may call."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from .captured import Captured, capture
from .source import Source, read_source


class InlineFunction:
    """A function of numbers: a kernel that calls it evaluates its body in place.

    Called from Python, it is the plain function.
    """

    def __init__(
        self, function: Callable[..., Any], source: Source, captured: Captured
    ) -> None:
        """Keep the text of *function* and the names that it sees."""
        names = {**captured.names, function.__name__: self}
        self.function, self.source, self.captured = function, source, Captured(names)
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Run the function as plain Python."""
        return self.function(*arguments)


def inline(function: Callable[..., Any]) -> InlineFunction:
    """Let kernels call *function*, which has assignments and ends with a return."""
    namespace = sys._getframe(1).f_locals
    return InlineFunction(function, read_source(function), capture(function, namespace))
