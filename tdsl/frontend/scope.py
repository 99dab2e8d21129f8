"""The names inside a kernel: axes, tensors, temporaries, and where they are visible."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..ir.dims import DimSymbol, to_dim
from ..ir.dtypes import DType
from ..ir.nodes import Assumptions, Const, Dim, Role, Stmt, Tensor
from ..ir.ranges import Range, range_of_dim
from .facts import Facts
from .values import Value, common_dtype


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
    """A scalar variable; weak while only numbers without a dtype were stored in it.

    `x = 0.0` does not say whether x is f32 or f64: the first stored value that has a
    dtype of its own does. *guessed*: there was none in the whole kernel.
    """

    name: str
    dtype: DType
    weak: bool
    line: int
    inferred: bool = False
    guessed: bool = False

    def meet(self, value: Value) -> None:
        """Take the dtype of a stored *value* into account."""
        if self.weak:
            so_far = Value(Const(0, self.dtype), weak=True)
            self.dtype, self.weak = common_dtype(so_far, value), value.weak


@dataclass(frozen=True, slots=True)
class Alias:
    """A name for a number or an affine form, which needs no storage."""

    value: Value


@dataclass(slots=True)
class Joined:
    """A variable that every branch of an `if` sets: declared before, in *block*."""

    block: list[Stmt]
    temporary: Temporary | None = None


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
    temporaries: list[Temporary] = field(default_factory=list)
    known: Mapping[int, Temporary] = field(default_factory=dict)
    joined: dict[str, Joined] = field(default_factory=dict)
    ranges: dict[str, Range] = field(default_factory=dict)
    assumptions: Assumptions = field(default_factory=Assumptions)
    inlining: tuple[object, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    facts: Facts = field(init=False)

    def __post_init__(self) -> None:
        """Let what is known include the assumptions on each dim."""
        self.facts = Facts(self.dims)

    def find(self, name: str) -> Binding | None:
        """Return the innermost binding of *name*."""
        for block in reversed(self.blocks):
            if name in block:
                return block[name]
        return None

    def is_new(self, name: str) -> bool:
        """Whether *name* means nothing yet, nor is to be shared by branches."""
        return self.find(name) is None and name not in self.joined

    def bind(self, name: str, binding: Binding) -> None:
        """Make *name* visible to the end of the current block."""
        self.blocks[-1][name] = binding

    def bindings(self) -> Iterator[tuple[str, Binding]]:
        """Yield the names that can be used here, and what they are."""
        for block in self.blocks:
            yield from block.items()

    @contextmanager
    def block(self, statement: str = "loop") -> Iterator[None]:
        """Open a nested block, of a loop or an `if`."""
        self.blocks.append({})
        yield
        for name, binding in self.blocks.pop().items():
            if isinstance(binding, Axis):
                self.ended[name] = (
                    "the loop over it has ended; keep what is needed of it in another "
                    "variable, set before the loop"
                )
            else:
                self.ended[name] = (
                    f"the {statement} that set it has ended; set it before the "
                    f"{statement}"
                )

    @contextmanager
    def joining(self, names: Iterable[str], block: list[Stmt]) -> Iterator[list[str]]:
        """Declare the new variables that every branch sets in *block*; keep them after.

        Yield their names.
        """
        new = [name for name in names if self.find(name) is None]
        joined = {name: Joined(block) for name in new if name not in self.joined}
        self.joined |= joined
        yield new
        for name in new:
            temporary = self.joined[name].temporary
            if temporary is not None:
                self.bind(name, temporary)
        for name in joined:
            del self.joined[name]

    def joined_variables(self, names: Iterable[str]) -> set[str]:
        """Return what the IR calls the variables of *names* that exist by now."""
        found = (self.joined[name].temporary for name in names)
        return {temporary.name for temporary in found if temporary is not None}

    def temporary(self, name: str, value: Value, line: int) -> Temporary:
        """Bind *name* to a new variable that will hold *value* first."""
        found = Temporary(self.unique(name), value.dtype, value.weak, line, value.weak)
        known = self.known.get(len(self.temporaries))
        if known is not None:
            found.dtype, found.guessed = known.dtype, known.weak
            found.weak = found.inferred = False
        self.temporaries.append(found)
        self.bind(name, found)
        return found

    def inferred(self) -> dict[int, Temporary]:
        """Return, by number, the variables whose dtype came from a later statement.

        The kernel is then parsed again with these. Once there are none, it is those
        whose dtype no statement gives.
        """
        open_ = {n: t for n, t in enumerate(self.temporaries) if t.inferred}
        return {n: t for n, t in open_.items() if not t.weak} or open_

    def unique(self, name: str) -> str:
        """Return *name*, or *name* with a number if the IR has one already."""
        if name not in self.used and name not in self.dims:
            self.used.add(name)
            return name
        return self.derived(name)

    def derived(self, stem: str, suffix: str = "") -> str:
        """Return a new name for the IR that the kernel's text does not have."""
        name = self.free(stem, suffix)
        self.used.add(name)
        return name

    def free(self, stem: str, suffix: str = "") -> str:
        """Return a name that neither the IR nor the kernel's text has yet."""
        first = stem + suffix
        count = self.counts.get(first, 0)
        candidate = f"{first}_{count}" if count else first
        while any(candidate in taken for taken in (self.used, self.dims, self.written)):
            count += 1
            candidate = f"{first}_{count}"
        self.counts[first] = count
        return candidate

    def add_dim(self, symbol: DimSymbol) -> str | None:
        """Note that the kernel uses *symbol*; return what is wrong with it, if so."""
        dim = to_dim(symbol)
        known = self.dims.setdefault(dim.name, dim)
        self.ranges.setdefault(dim.name, range_of_dim(known))
        if known != dim:
            return (
                f"two dims are called `{dim.name}` but differ in min, max or multiple: "
                "create the dim once"
            )
        if dim.name in self.used:
            return f"`{dim.name}` is a dim and also a variable: rename the variable"
        return None
