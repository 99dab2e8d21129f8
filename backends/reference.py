"""The reference interpreter: the meaning of the IR, one scalar at a time.

Slow on purpose. Every loop kind runs sequentially, every operation is one operation
on NumPy scalars of the exact dtype (`semantics.py`), and memory is checked: reading
an element of an OUTPUT or a local before it is written, or a subscript outside the
tensor, raises `CheckError` with the element and the source line. A subscript that data
decides raises `SubscriptError`, unless it is in the branch that a conditional does not
take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from ..errors import ArgumentError, CheckError, OutOfMemoryError, SubscriptError
from ..ir.affine import Affine
from ..ir.nodes import (
    Alloc,
    Binary,
    Block,
    Call,
    Cast,
    Const,
    Expr,
    For,
    Function,
    Gather,
    If,
    Index,
    Load,
    LoopKind,
    Param,
    Reduce,
    ReduceOp,
    Role,
    Scatter,
    Select,
    Span,
    Stmt,
    Store,
    Tensor,
    Unary,
    Write,
)
from ..ir.walk import chosen_by_data
from .faults import out_of_range, site_of
from .semantics import (
    BINARY,
    apply_binary,
    apply_call,
    apply_cast,
    apply_unary,
)
from .shortage import no_memory

Order = Literal["forward", "reverse", "interleaved"]
"""The order of PARALLEL iterations; *interleaved* runs the even ones first."""

Element = tuple[int, ...]

Recorder = Callable[[Write, Element, Mapping[str, int]], None]
"""Called before each write with the statement, the element, and axes and dims."""


def interpret(
    function: Function,
    arrays: Mapping[str, Any],
    dims: Mapping[str, int],
    *,
    order: Order = "forward",
    record: Recorder | None = None,
) -> None:
    """Run *function* on *arrays* by parameter name, writing its outputs in place."""
    storage = {
        param.tensor.name: _bind(param, arrays[param.tensor.name], dims)
        for param in function.params
    }
    with np.errstate(all="ignore"):
        run = _Run(function.name, storage, dict(dims), order, record)
        run.block(function.body, shuffled=False)


@dataclass(slots=True)
class _Storage:
    """A tensor's elements, and which of them may be read (None: all)."""

    values: NDArray[Any]
    written: NDArray[np.bool_] | None


def _bind(param: Param, given: Any, dims: Mapping[str, int]) -> _Storage:
    tensor = param.tensor
    if param.role is not Role.INPUT and not isinstance(given, np.ndarray):
        raise ArgumentError(
            f"{param.role.value} {tensor.name} is a {type(given).__name__}: "
            "pass a NumPy array to write into"
        )
    values = np.asarray(given, None if param.role is not Role.INPUT else _dtype(tensor))
    shape = tuple(extent.evaluate(dims) for extent in tensor.shape)
    if values.shape != shape or values.dtype != _dtype(tensor):
        raise ArgumentError(
            f"{tensor.name} is {values.dtype}{list(values.shape)}: "
            f"pass {_dtype(tensor)}{list(shape)}"
        )
    unwritten = param.role is Role.OUTPUT
    return _Storage(values, np.zeros(shape, np.bool_) if unwritten else None)


def _dtype(tensor: Tensor) -> np.dtype[Any]:
    return tensor.dtype.numpy


@dataclass(slots=True)
class _Run:
    """The state of one execution: memory and the values of axes and dims."""

    kernel: str
    storage: dict[str, _Storage]
    names: dict[str, int]
    order: Order
    record: Recorder | None = None
    axes: list[str] = field(default_factory=list)

    def block(self, block: Block, shuffled: bool) -> None:
        for statement in block.statements:
            self.statement(statement, shuffled)

    def statement(self, statement: Stmt, shuffled: bool) -> None:
        """Run one statement; *shuffled* tells a FUSED loop how its parent runs."""
        match statement:
            case For():
                self.loop(statement, shuffled)
            case If():
                if all(form.evaluate(self.names) >= 0 for form in statement.conditions):
                    self.block(statement.body, shuffled)
            case Store() | Reduce():
                self.write(statement)
            case Scatter():
                self.scatter(statement)
            case Alloc():
                self.storage[statement.tensor.name] = self.reserved(statement.tensor)
            case _:
                assert_never(statement)

    def reserved(self, tensor: Tensor) -> _Storage:
        shape = tuple(max(0, extent) for extent in self.element(tensor.shape))
        try:
            return _Storage(np.empty(shape, _dtype(tensor)), np.zeros(shape, np.bool_))
        except (MemoryError, ValueError) as error:
            size = min(prod(shape) * tensor.dtype.bytes, 2**62)
            raise OutOfMemoryError(no_memory(self.kernel, tensor), size) from error

    def loop(self, loop: For, shuffled: bool) -> None:
        start = max(self.element(loop.starts))
        stop = min(self.element(loop.stops))
        iterations: Sequence[int] = range(start, stop, loop.step)
        shuffled = loop.kind is LoopKind.PARALLEL or (
            shuffled and loop.kind is LoopKind.FUSED
        )
        if shuffled:
            iterations = _reordered(iterations, self.order)
        self.axes.append(loop.axis)
        for position in iterations:
            self.names[loop.axis] = position
            self.block(loop.body, shuffled)
        self.axes.pop()

    def write(self, statement: Store | Reduce) -> None:
        element = self.element(statement.index)
        op = statement.op if isinstance(statement, Reduce) else None
        self.assign(statement, element, op, self.value(statement.value))

    def scatter(self, statement: Scatter) -> None:
        condition = statement.condition
        if condition is None or self.value(condition):
            value = self.value(statement.value)
            self.assign(statement, self.chosen(statement), statement.op, value)

    def assign(
        self, statement: Write, element: Element, op: ReduceOp | None, value: Any
    ) -> None:
        if op is not None:
            before = self.read(statement.tensor, element, statement.span)
            value = BINARY[op.value](before, value)
        target = self.checked(statement.tensor, element, statement.span)
        if self.record is not None:
            self.record(statement, element, self.names)
        target.values[element] = value
        if target.written is not None:
            target.written[element] = True

    def value(self, expr: Expr) -> Any:
        match expr:
            case Const():
                return expr.dtype.numpy.type(expr.value)
            case Index():
                return np.int64(expr.value.evaluate(self.names)).astype(
                    expr.dtype.numpy
                )
            case Load():
                return self.read(expr.tensor, self.element(expr.index), expr.span)
            case Gather():
                return self.read(expr.tensor, self.chosen(expr), expr.span)
            case Unary():
                return apply_unary(expr.op, self.value(expr.operand), expr.dtype)
            case Binary():
                left, right = self.value(expr.left), self.value(expr.right)
                return apply_binary(expr.op, left, right, expr.dtype)
            case Call():
                return apply_call(expr.function, self.value(expr.operand), expr.dtype)
            case Select():
                return self.select(expr)
            case Cast():
                return apply_cast(self.value(expr.operand), expr.dtype)
            case _:
                assert_never(expr)

    def select(self, expr: Select) -> Any:
        """Evaluate both branches; what the other one gathers need not exist."""
        taken, other = expr.then, expr.otherwise
        if not self.value(expr.condition):
            taken, other = other, taken
        with suppress(SubscriptError):
            self.value(other)
        return self.value(taken)

    def chosen(self, access: Gather | Scatter) -> Element:
        """Return the element that data chooses, after a check of its subscripts."""
        element = tuple(int(self.value(part)) for part in access.index)
        shape = self.storage[access.tensor].values.shape
        for position in chosen_by_data(access.index):
            if not 0 <= element[position] < shape[position]:
                site = site_of(self.kernel, access, position)
                raise out_of_range(site, element[position], shape[position])
        return element

    def element(self, forms: tuple[Affine, ...]) -> Element:
        return tuple(form.evaluate(self.names) for form in forms)

    def read(self, tensor: str, element: Element, span: Span | None) -> Any:
        source = self.checked(tensor, element, span)
        if source.written is not None and not source.written[element]:
            raise CheckError(
                f"{_element(tensor, element)} is read before it is written"
                f"{self.place(span)}"
            )
        return source.values[element]

    def checked(self, tensor: str, element: Element, span: Span | None) -> _Storage:
        """Return the storage of *tensor*, after a check of the subscripts."""
        storage = self.storage[tensor]
        shape = storage.values.shape
        inside = (0 <= i < n for i, n in zip(element, shape, strict=True))
        if not all(inside):
            raise CheckError(
                f"{_element(tensor, element)} is outside {tensor}, "
                f"whose shape is {list(shape)}{self.place(span)}"
            )
        return storage

    def place(self, span: Span | None) -> str:
        """Say in which iteration and source line the run is."""
        axes = ", ".join(f"{axis}={self.names[axis]}" for axis in self.axes)
        where = f" at {axes}" if axes else ""
        return where + (f" ({span.file}:{span.line})" if span else "")


def _reordered(iterations: Sequence[int], order: Order) -> Sequence[int]:
    match order:
        case "forward":
            return iterations
        case "reverse":
            return iterations[::-1]
        case "interleaved":
            return [*iterations[::2], *iterations[1::2]]
        case _:
            assert_never(order)


def _element(tensor: str, element: Element) -> str:
    return f"{tensor}[{', '.join(map(str, element))}]" if element else tensor
