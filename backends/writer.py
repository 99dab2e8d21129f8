"""Nested lines of source text, with a place to put what an inner line needs earlier.

A `Region` is an indented block. Integer variables belong to the region that defines
them; an expression can be named in the outermost region where all its names exist,
which lies before the loop that is being written: this is how loop-invariant addresses
leave loops. Each region numbers values by text, so a repeated load is written once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..ir.nodes import Stmt
from .comments import place_comment


@dataclass(slots=True)
class Region:
    """A block under construction: lines and finished inner regions, in order."""

    header: str
    items: list[str | Region] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)
    values: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)


class Writer:
    """Write a function body as a stack of open regions."""

    def __init__(self, reserved: set[str]) -> None:
        self.stack = [Region("")]
        self.floor = 0
        self.barrier = 0
        self._place: tuple[str, int] | None = None
        self._used = set(reserved)
        self._numbers: dict[str, int] = {}  # the last one of each stem
        self._depth: dict[str, int] = {}

    # --- regions ----------------------------------------------------------------------

    def open(self, header: str) -> Region:
        """Begin an indented block under the line *header*."""
        region = Region(header)
        self.stack.append(region)
        return region

    def close(self) -> None:
        """End the innermost block and attach it to the one around it."""
        region = self.take()
        self.stack[-1].items.append(region)

    def take(self) -> Region:
        """End the innermost block and return it."""
        region = self.stack.pop()
        for name in region.names:
            del self._depth[name]
        region.items.extend(region.tail)
        if not region.items:
            region.items.append("pass")
        return region

    def line(self, text: str) -> None:
        """Add a line to the innermost block."""
        self.stack[-1].items.append(text)

    def text(self, indent: int) -> str:
        """Return everything written so far; only the outermost region may be open."""
        root = self.stack[0]
        root.items.extend(root.tail)
        root.tail = []
        return block_text(root, indent)

    @contextmanager
    def block(self, header: str) -> Iterator[Region]:
        """Write an indented block under the line *header*."""
        region = self.open(header)
        yield region
        self.close()

    def comment(self, statement: Stmt) -> str:
        """Return a comment with the user's line of *statement*, where it is new."""
        span = statement.span
        if span is None or self._place == (span.file, span.line):
            return ""
        self._place = (span.file, span.line)
        return place_comment(span)

    # --- names ------------------------------------------------------------------

    def fresh(self, stem: str) -> str:
        """Return an unused identifier like *stem*."""
        number = self._numbers.get(stem, 1)
        name = stem if number == 1 else f"{stem}_{number}"
        while name in self._used:
            number += 1
            name = f"{stem}_{number}"
        self._used.add(name)
        self._numbers[stem] = number
        return name

    def define(self, name: str) -> None:
        """Say that the innermost region defines the integer variable *name*."""
        self.stack[-1].names.append(name)
        self._depth[name] = len(self.stack) - 1

    def depth(self, name: str) -> int:
        """Return the index of the region that defines the integer variable *name*."""
        return self._depth.get(name, 0)

    # --- named values -----------------------------------------------------------

    def named(
        self, stem: str, expression: str, depth: int, owner: str | None = None
    ) -> str:
        """Return a variable that holds *expression*, defined at *depth* or below floor.

        *owner* is None for integers; else the tensor whose contents the value depends
        on ("" for none), and the value does not enter a parallel loop from outside.
        """
        for level, region in enumerate(self.stack):
            known = region.values.get(expression)
            if known and (level >= self.barrier or known[1] is None):
                return known[0]
        depth = max(depth, self.floor)
        variable = self.fresh(stem)
        region = self.stack[depth]
        region.items.append(f"{variable} = {expression}")
        region.values[expression] = (variable, owner)
        region.names.append(variable)
        self._depth[variable] = depth
        return variable

    def rename_last(self, variable: str, name: str, comment: str) -> bool:
        """Let the line just written assign to *name* if it defines *variable*."""
        region = self.stack[-1]
        line = region.items[-1] if region.items else None
        if not isinstance(line, str) or not line.startswith(f"{variable} = "):
            return False
        expression = line.removeprefix(f"{variable} = ")
        if region.values.get(expression, ("", None))[0] != variable:
            return False
        del region.values[expression]
        region.names.remove(variable)
        del self._depth[variable]
        region.items[-1] = f"{name} = {expression}{comment}"
        return True

    def forget(self, tensor: str) -> None:
        """Drop the values read from *tensor*, which is being written."""
        for region in self.stack:
            stale = [
                key for key, (_, owner) in region.values.items() if owner == tensor
            ]
            for key in stale:
                del region.values[key]


def block_text(region: Region, indent: int) -> str:
    """Return the lines of *region* without its header."""
    return "\n".join(_lines(region, "    " * indent)) + "\n"


def identifiers_in(text: str) -> list[str]:
    """Return the identifiers in *text*, in order."""
    word = "".join(c if c.isalnum() or c == "_" else " " for c in text)
    return [each for each in word.split() if each.isidentifier()]


def _lines(region: Region, indent: str) -> list[str]:
    result: list[str] = []
    for item in region.items:
        if isinstance(item, str):
            result.append(indent + item)
        elif item.header:
            result.append(indent + item.header)
            result.extend(_lines(item, indent + "    "))
        else:
            result.extend(_lines(item, indent))
    return result
