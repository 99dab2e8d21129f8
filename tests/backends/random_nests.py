"""Random loops whose statements depend on one another."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from tdsl.ir.nodes import Function

from ..ir_text import read_function

HEADER = "def nest(A: inout f32[16], B: inout f32[16, 16]) for N:"


def random_nest(seed: int) -> Function:
    """Return loops of depth up to three whose statements depend on one another.

    Subscripts stay inside because every tensor is wide enough for all of them.
    """
    writer = _Writer(np.random.default_rng(seed))
    for _ in range(writer.random.integers(1, 3)):
        writer.loop(1, [])
    return read_function("\n".join(_distinct_locals(writer.lines)))


@dataclass
class _Writer:
    random: np.random.Generator
    lines: list[str] = field(
        default_factory=lambda: [
            "def nest(A: inout f32[16], B: inout f32[16, 16]) for N:"
        ]
    )

    def loop(self, depth: int, axes: list[str]) -> None:
        axis = f"x{len(self.lines)}"
        start = self._pick("0", "1", *axes[-1:])
        stop = self._pick("N", "N - 1", *(f"{each} + 1" for each in axes[-1:]))
        pad = "    " * depth
        self.lines.append(f"{pad}for {axis} in range({start}, {stop}):")
        inner, pad = [*axes, axis], pad + "    "
        if depth == 1:
            self.lines.extend([f"{pad}t = local f32", f"{pad}t = 1.0"])
        if self.random.random() < 0.3:
            self.lines.append(f"{pad}if {self._pick(*inner)} - 1 >= 0:")
            self.lines.append(f"{pad}    {self._statement(inner)}")
        for _ in range(self.random.integers(1, 3)):
            if depth < 3 and self.random.random() < 0.6:
                self.loop(depth + 1, inner)
            else:
                self.lines.append(pad + self._statement(inner))

    def _statement(self, axes: list[str]) -> str:
        may_use_local = len(axes) > 1
        is_local = self.random.random() < 0.2 and may_use_local
        target = "t" if is_local else self._element(axes)
        value = f"0.5 * {self._element(axes)} + 0.25 * {self._element(axes)}"
        if not is_local and may_use_local and self.random.random() < 0.3:
            value = f"0.5 * t * {self._element(axes)}"
        update = f"max({target}, {value})"
        return self._pick(
            f"{target} = {value}", f"{target} += {value}", f"{target} = {update}"
        )

    def _element(self, axes: list[str]) -> str:
        if self._pick("A", "B") == "A":
            return f"A[{self._subscript(axes)}]"
        return f"B[{self._subscript(axes)}, {self._subscript(axes)}]"

    def _subscript(self, axes: list[str]) -> str:
        form = self._pick(*axes, "2")
        if self.random.random() < 0.4:
            form += f" + {self._pick(*axes, '1')}"
        if self.random.random() < 0.1:
            form = f"({form})//2"
        return f"{form} + {self.random.integers(0, 3)}"

    def _pick(self, *choices: str) -> str:
        return str(self.random.choice(choices))


def _distinct_locals(lines: list[str]) -> list[str]:
    """Number the locals `t`, one for each outermost loop."""
    number = 0
    result = []
    for line in lines:
        number += "= local" in line
        result.append(re.sub(r"\bt\b", f"t{number}", line))
    return result
