"""Kernels, and backends that are wrong on purpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tdsl.executable import Entry, ReferenceBackend, ReferenceExecutable
from tdsl.ir.nodes import Function, LoopKind
from tdsl.ir.numerics import Numerics
from tdsl.ir.walk import loops
from tdsl.kernel import Kernel

from ..ir_text import read_function

SCALE = read_function(
    """
def scale(X: f32[M, N], a: f32, Y: output f32[M, N]) for 1<=M, N%4==0:
    for i in range(M):
        for j in range(N):
            Y[i, j] = X[i, j] * a + 1.0  # S0[i, j]
"""
)

NEGATE = read_function(
    """
def negate(X: f64[N, 2*M], Y: inout f64[N, 2*M]) for M, N:
    for i in range(N):
        for j in range(2*M):
            Y[i, j] += -X[i, j]  # S0[i, j]
"""
)

Change = Callable[..., None]
"""Is called with the arguments of the kernel after it has run, to spoil something."""


@dataclass(frozen=True)
class AlteredExecutable:
    """The interpreter, then *change* on the same arguments."""

    right: ReferenceExecutable
    change: Change

    def entry_for(self, layouts: Sequence[str]) -> Entry:
        def run(*values: Any) -> None:
            self.right.entry_for(layouts)(*values)
            self.change(*values)

        return run


@dataclass(frozen=True)
class Altered(ReferenceBackend):
    """A backend that is wrong by *change*, where *when* holds for the program."""

    change: Change = lambda *_: None
    when: Callable[[Function], bool] = lambda _: True

    def compile(self, function: Function, numerics: Numerics) -> AlteredExecutable:
        change = self.change if self.when(function) else lambda *_: None
        return AlteredExecutable(ReferenceExecutable(function), change)


def has_unrolled_loops(function: Function) -> bool:
    return any(loop.kind is LoopKind.UNROLLED for loop in loops(function).values())


def add_to_last(x: Any, a: Any, y: Any, m: int, n: int) -> None:
    """Spoil the last element by more than its bound, from a certain size on."""
    if m >= 2 and n >= 8:
        y[-1, -1] += 1


RIGHT = Kernel(SCALE, backend=ReferenceBackend())
WRONG = Kernel(SCALE, backend=Altered(change=add_to_last))
WRONG_IF_UNROLLED = Kernel(
    SCALE, backend=Altered(change=add_to_last, when=has_unrolled_loops)
)
