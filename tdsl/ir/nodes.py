"""The loop IR: the whole grammar on two pages.

    Function  = name, params, dims, body, assumptions
    Stmt      = For | If | Store | Reduce | Scatter | Alloc     Block = sequence of Stmt
    Expr      = Const | Index | Load | Gather | Unary | Binary | Call | Select | Cast

Conventions that every pass relies on:

* Loops run in *absolute* coordinates. Splitting `i` by 32 gives
  `for i_o in range(0, M, 32)` around `for i_i in range(i_o, min(i_o + 32, M))`, and
  the body reads `i_i` where it read `i`. Subscripts therefore never grow, and a tile
  size is a step and a bound.
* A loop runs from the largest of its *starts* to the smallest of its *stops*
  (exclusive), by a positive integer step. An empty range is a no-op.
* Axis names are unique in a function; so are the names of tensors and dims, and no
  two of the three kinds share one.
* Subscripts, bounds and guards are `Affine` forms over the enclosing axes and the dims.
  Where data decides which element is meant, `Gather` reads it and `Scatter` writes it.
* The meaning of a function is its sequential execution, whatever the loop kinds; the
  kinds say how it may be run, which `analysis.validate` proves to be the same.
* Nodes are immutable. Equality ignores source spans.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import assert_never

from .affine import Affine
from .dtypes import DType


@dataclass(frozen=True, slots=True)
class Span:
    """A place in the user's source: 1-based lines, 0-based character columns.

    Text of another function that a kernel uses has the place of the call in *caller*,
    and the name of that function in *callee*.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    caller: Span | None = None
    callee: str = ""

    @property
    def calls(self) -> str:
        """Through which calls the kernel comes here, to append to a message."""
        if self.caller is None:
            return ""
        place = f" (in `{self.callee}`, called in line {self.caller.line})"
        return place + self.caller.calls


# --- expressions ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Const:
    """A literal; *value* is a Python float, int, bool or complex to match *dtype*."""

    value: float | int | bool | complex
    dtype: DType
    span: Span | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Index:
    """The value of an affine form over axes and dims, as a number of type *dtype*."""

    value: Affine
    dtype: DType
    span: Span | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Load:
    """An element of a tensor; a scalar parameter or temporary has no subscripts."""

    tensor: str
    index: tuple[Affine, ...]
    dtype: DType
    span: Span | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Gather:
    """An element that data chooses: at least one subscript is no `Index`.

    Subscripts are i64; the affine ones are `Index` expressions. One out of range is a
    fault if the element is used, which the branch not taken of a `Select` is not.
    Unless *checked*, the caller has promised that it never happens.
    """

    tensor: str
    index: tuple[Expr, ...]
    dtype: DType
    checked: bool = True
    span: Span | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Unary:
    """`neg` (numbers) or `not` (bool)."""

    op: str
    operand: Expr
    dtype: DType
    span: Span | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic `add sub mul div floordiv mod pow min max`, comparisons
    `lt le gt ge eq ne` (dtype bool), and logic `and or` (both sides evaluated).

    Both operands have the same dtype: the parser inserts the casts.
    """

    op: str
    left: Expr
    right: Expr
    dtype: DType
    span: Span | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Call:
    """A mathematical function of one operand, by name: `exp log sqrt tanh ...`.

    Of complex numbers only `abs real imag`, whose results are real, and `conj`.
    """

    function: str
    operand: Expr
    dtype: DType
    span: Span | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Select:
    """`then if condition else otherwise`; both sides are evaluated."""

    condition: Expr
    then: Expr
    otherwise: Expr
    dtype: DType
    span: Span | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Cast:
    """Conversion of *operand* to *dtype*, with NumPy's `astype` meaning.

    A float that does not fit in an integer type gives its smallest number.
    """

    operand: Expr
    dtype: DType
    span: Span | None = field(default=None, compare=False, kw_only=True)


Expr = Const | Index | Load | Gather | Unary | Binary | Call | Select | Cast


# --- statements -------------------------------------------------------------------


class LoopKind(Enum):
    """How a loop runs. FUSED shares one counter with the loop right around it."""

    SERIAL = "serial"
    PARALLEL = "parallel"
    VECTORIZED = "vectorized"
    UNROLLED = "unrolled"
    FUSED = "fused"


class ReduceOp(Enum):
    """An associative, commutative update."""

    ADD = "add"
    MUL = "mul"
    MAX = "max"
    MIN = "min"

    def identity(self, dtype: DType) -> float | int | complex:
        """Return the number that leaves every other one of *dtype* as it is."""
        kinds: dict[str, type[float] | type[complex]]
        kinds = {"float": float, "complex": complex}
        kind = kinds.get(dtype.kind, int)
        match self:
            case ReduceOp.ADD:
                return kind(0)
            case ReduceOp.MUL:
                return kind(1)
            case ReduceOp.MAX:
                return -math.inf if kind is float else dtype.lowest
            case ReduceOp.MIN:
                return math.inf if kind is float else dtype.highest
            case _:
                assert_never(self)


class Memory(Enum):
    """Where a local tensor lives: an array, or named scalars and vectors."""

    ARRAY = "array"
    REGISTER = "register"


@dataclass(frozen=True, slots=True)
class Instance:
    """Which original statement a statement stands for, and at which iteration.

    *coordinates* give the original loop axes, outermost first, over the current ones.
    """

    label: str
    coordinates: tuple[Affine, ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    """Storage: a parameter or a local; rank 0 is a scalar."""

    name: str
    dtype: DType
    shape: tuple[Affine, ...]


@dataclass(frozen=True, slots=True)
class Store:
    """`tensor[index] = value`; staging copies have no *instance*."""

    tensor: str
    index: tuple[Affine, ...]
    value: Expr
    instance: Instance | None
    span: Span | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Reduce:
    """`tensor[index] = op(tensor[index], value)`, whose order may be relaxed."""

    op: ReduceOp
    tensor: str
    index: tuple[Affine, ...]
    value: Expr
    instance: Instance | None
    span: Span | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Scatter:
    """`tensor[index] = value`, or an update by *op*, where data chooses the element.

    Subscripts are as in `Gather`. Nothing happens where the *condition*, if there is
    one, is false.
    """

    tensor: str
    index: tuple[Expr, ...]
    op: ReduceOp | None
    value: Expr
    instance: Instance | None
    condition: Expr | None = None
    checked: bool = True
    span: Span | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Alloc:
    """Declare a local tensor, uninitialised, for the rest of the enclosing block.

    Each execution gives fresh storage: inside a loop it is private to an iteration.
    """

    tensor: Tensor
    memory: Memory
    span: Span | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class If:
    """Run *body* where every form in *conditions* is >= 0."""

    conditions: tuple[Affine, ...]
    body: Block
    span: Span | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class For:
    """`for axis in range(max(starts), min(stops), step)`."""

    axis: str
    starts: tuple[Affine, ...]
    stops: tuple[Affine, ...]
    step: int
    kind: LoopKind
    body: Block
    span: Span | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Block:
    """Statements in order."""

    statements: tuple[Stmt, ...]


Write = Store | Reduce | Scatter
Stmt = For | If | Store | Reduce | Scatter | Alloc


# --- functions --------------------------------------------------------------------


class Role(Enum):
    """What a kernel does with a parameter: reads it, writes all of it, or updates it.

    An OUTPUT's content at entry is undefined; an INOUT's is read.
    """

    INPUT = "input"
    OUTPUT = "output"
    INOUT = "inout"


@dataclass(frozen=True, slots=True)
class Param:
    """A tensor that the caller passes (or, if *returned*, that a call allocates)."""

    tensor: Tensor
    role: Role
    returned: bool = False


@dataclass(frozen=True, slots=True)
class Dim:
    """A symbolic size: `min <= size <= max`, and *multiple* divides it."""

    name: str
    min: int = 0
    max: int | None = None
    multiple: int = 1


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What the user promises about the arguments of every call.

    Each form in *conditions*, over the dims, is >= 0: calls check it. *in_range* has
    `(tensor, lower, upper)` where every element of an integer tensor is at least
    *lower* and less than *upper*; *injective* names the tensors without equal elements.
    """

    conditions: tuple[Affine, ...] = ()
    in_range: tuple[tuple[str, Affine, Affine], ...] = ()
    injective: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """A kernel at any stage between parsing and emission."""

    name: str
    params: tuple[Param, ...]
    dims: tuple[Dim, ...]
    body: Block
    assumptions: Assumptions = Assumptions()
    span: Span | None = field(default=None, compare=False, kw_only=True)
