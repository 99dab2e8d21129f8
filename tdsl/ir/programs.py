"""A program where one is wanted: a function of the IR, or the kernel made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..errors import ArgumentError
from .given import shown
from .nodes import Function
from .numerics import Numerics


class Program(Protocol):
    """A kernel, as the layers below it see it."""

    @property
    def function(self) -> Function:
        """The program as parsed."""

    @property
    def numerics(self) -> Numerics:
        """What may happen to floating-point arithmetic."""


def function_of(given: Function | Program, use: str) -> Function:
    """Return the function that *given* is or holds, for *use*, or say what to pass."""
    if isinstance(given, Function):
        return given
    found: object = getattr(given, "function", None)
    if not isinstance(found, Function):
        raise ArgumentError(f"{use}: {no_program(given)}")
    if hasattr(given, "numerics"):
        return found
    raise ArgumentError(
        f"{use}: a {type(given).__name__} is no kernel: pass the kernel, or "
        "schedule.function to go on from the loops of a schedule"
    )


def no_program(given: object) -> str:
    """Return the message for *given*, which holds no program."""
    if isinstance(given, Callable):  # type: ignore[arg-type]
        name = getattr(given, "__name__", type(given).__name__)
        return f"{name} is no kernel: decorate the function with @tdsl.kernel"
    return f"{shown(given)} is no kernel: pass what @tdsl.kernel made of a function"
