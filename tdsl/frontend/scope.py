"""The names inside a kernel: axes, tensors, temporaries, and where they are visible."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from ..ir.dims import DimSymbol, to_dim
from ..ir.dtypes import DType
from ..ir.nodes import Alloc, Const, Dim, Reduce, Role, Stmt, Store, Tensor
from .values import Value, can_store, common_dtype, convert


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop variable, and the name it has in the IR."""

    name: str
    line: int


@dataclass(slots=True)
class Array:
    """A tensor with subscripts; *role* is None for a local one."""

    tensor: Tensor
    role: Role | None
    line: int
    node: ast.AST
    initialised: bool
    written: bool = False


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar parameter."""

    tensor: Tensor


@dataclass(slots=True)
class Temporary:
    """A scalar variable; weak until it meets a value with a dtype of its own.

    `x = 0.0` does not say whether x is f32 or f64, so its first statements are kept
    (block and position) and rewritten when the dtype is known.
    """

    name: str
    dtype: DType
    line: int
    settled: bool
    allocation: tuple[list[Stmt], int]
    updates: list[tuple[list[Stmt], int, Value]] = field(default_factory=list)

    def meet(self, value: Value) -> None:
        """Take the dtype of *value* into account."""
        if self.settled:
            return
        so_far = Value(Const(0, self.dtype), weak=True)
        self.dtype = common_dtype(so_far, value)
        if not value.weak:
            self.settle()

    def settle(self) -> None:
        """Fix the dtype, and bring the statements so far to it."""
        if self.settled:
            return
        self.settled = True
        block, position = self.allocation
        alloc = block[position]
        assert isinstance(alloc, Alloc)
        block[position] = replace(alloc, tensor=replace(alloc.tensor, dtype=self.dtype))
        for block, position, value in self.updates:
            update = block[position]
            assert isinstance(update, Store | Reduce) and can_store(value, self.dtype)
            block[position] = replace(update, value=convert(value, self.dtype))


@dataclass(frozen=True, slots=True)
class Alias:
    """A name for a number or an affine form, which needs no storage."""

    value: Value


Binding = Axis | Array | Scalar | Temporary | Alias


@dataclass(slots=True)
class Scope:
    """What each name means at the statement being parsed."""

    written: frozenset[str]
    assigned: frozenset[str]
    used: set[str] = field(default_factory=set)
    blocks: list[dict[str, Binding]] = field(default_factory=lambda: [{}])
    axes: list[str] = field(default_factory=list)
    ended: dict[str, str] = field(default_factory=dict)
    dims: dict[str, Dim] = field(default_factory=dict)

    def find(self, name: str) -> Binding | None:
        """Return the innermost binding of *name*."""
        for block in reversed(self.blocks):
            if name in block:
                return block[name]
        return None

    def bind(self, name: str, binding: Binding) -> None:
        """Make *name* visible to the end of the current block."""
        self.blocks[-1][name] = binding

    def visible(self) -> list[str]:
        """Return the names that can be used here."""
        return [name for block in self.blocks for name in block]

    @contextmanager
    def block(self) -> Iterator[None]:
        """Open a nested block."""
        self.blocks.append({})
        yield
        for name, binding in self.blocks.pop().items():
            if isinstance(binding, Temporary):
                binding.settle()
            kind = "loop over it" if isinstance(binding, Axis) else "loop that set it"
            self.ended[name] = kind

    def settle(self, block: list[Stmt]) -> None:
        """Fix the dtype of each temporary that *block*, now complete, updates."""
        for names in self.blocks:
            for binding in names.values():
                if isinstance(binding, Temporary) and any(
                    place is block for place, _, _ in binding.updates
                ):
                    binding.settle()

    def unique(self, name: str) -> str:
        """Return *name*, or *name* with a number if the IR has one already."""
        if name not in self.used and name not in self.dims:
            self.used.add(name)
            return name
        return self.derived(name)

    def derived(self, stem: str, suffix: str = "") -> str:
        """Return a name for the IR that the kernel's text does not have."""
        candidate, count = stem + suffix, 0
        while any(candidate in taken for taken in (self.used, self.dims, self.written)):
            count += 1
            candidate = f"{stem}{suffix}_{count}"
        self.used.add(candidate)
        return candidate

    def add_dim(self, symbol: DimSymbol) -> str | None:
        """Note that the kernel uses *symbol*; return what is wrong with it, if so."""
        dim = to_dim(symbol)
        known = self.dims.setdefault(dim.name, dim)
        if known != dim:
            return (
                f"two dims are called `{dim.name}` but differ in min, max or multiple: "
                "create the dim once"
            )
        if dim.name in self.used:
            return f"`{dim.name}` is a dim and also a variable: rename the variable"
        return None
