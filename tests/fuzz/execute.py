"""Run IR functions fast and exactly, to compare a schedule with its kernel.

A function becomes Python text over the integers modulo a prime: reductions give the
same result in any order, and different expressions almost never the same one. Reading
what nothing wrote, or outside a tensor, raises `FaultError`. Parallel loops can run
forward, backward or shuffled; vector loops run each statement for all lanes before the
next.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, assert_never

from tdsl.ir.affine import Affine, FloorDiv
from tdsl.ir.nodes import (
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
    Reduce,
    Role,
    Scatter,
    Select,
    Stmt,
    Store,
    Unary,
)

PRIME = (1 << 61) - 1
Order = Literal["forward", "backward", "shuffled"]
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
ORDERS: tuple[Order, ...] = ("forward", "backward", "shuffled")


class FaultError(Exception):
    """A read of an unwritten element, or an access outside a tensor."""


@dataclass(slots=True)
class Buffer:
    """The elements of one tensor; None is one that nothing has written."""

    shape: tuple[int, ...]
    elements: dict[tuple[int, ...], int]

    def load(self, *index: int) -> int:
        """Return an element that has been written."""
        try:
            return self.elements[index]
        except KeyError:
            raise FaultError(f"reads {list(index)} of {self.shape}") from None

    def store(self, value: int, *index: int) -> None:
        """Write an element inside the shape."""
        for place, size in zip(index, self.shape, strict=True):
            if not 0 <= place < size:
                raise FaultError(f"writes {list(index)} of {self.shape}")
        self.elements[index] = value


Program = Callable[[dict[str, Buffer], dict[str, int], Callable[[range], Any]], None]


def compile_function(function: Function, ordered: bool = False) -> Program:
    """Return *function* as a callable on buffers, dims and an iteration order.

    With *ordered*, sums and products depend on the order of their updates.
    """
    lines = ["def program(buffers, dims, order):"]
    lines += [
        f"    {p.tensor.name} = buffers[{p.tensor.name!r}]" for p in function.params
    ]
    lines += [f"    {dim.name} = dims[{dim.name!r}]" for dim in function.dims]
    lines += _block(function.body, "    ", LoopKind.SERIAL) or ["    pass"]
    scope: dict[str, Any] = {"Buffer": Buffer, "opaque": _opaque, "power": _power}
    scope["update"] = _mixed if ordered else _plain
    exec("\n".join(lines), scope)
    program: Program = scope["program"]
    return program


def initial(function: Function, dims: dict[str, int], seed: int) -> dict[str, Buffer]:
    """Return the parameters with random content; outputs are unwritten."""
    rng = random.Random(seed)
    buffers: dict[str, Buffer] = {}
    for param in function.params:
        shape = tuple(size.evaluate(dims) for size in param.tensor.shape)
        buffer = Buffer(shape, {})
        if param.tensor.name in function.assumptions.injective:
            places = [*_indices(shape)]
            values = rng.sample(range(len(places)), len(places))
            buffer.elements.update(zip(places, values, strict=True))
        elif param.role is not Role.OUTPUT:
            for index in _indices(shape):
                buffer.elements[index] = rng.randrange(PRIME)
        buffers[param.tensor.name] = buffer
    return buffers


def ordering(order: Order, seed: int) -> Callable[[range], Any]:
    """Return what a parallel loop iterates over."""
    rng = random.Random(seed)

    def shuffled(values: range) -> list[int]:
        result = list(values)
        rng.shuffle(result)
        return result

    match order:
        case "forward":
            return iter
        case "backward":
            return reversed
        case "shuffled":
            return shuffled
        case _:
            assert_never(order)


def _indices(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not shape:
        yield ()
        return
    for place in range(shape[0]):
        for rest in _indices(shape[1:]):
            yield (place, *rest)


def _opaque(name: str, value: int) -> int:
    return (value * value * 31 + len(name) * value + 7) % PRIME


def _power(left: int, right: int) -> int:
    return (left * 17 + right * right * 3 + 11) % PRIME


def _plain(op: str, old: int, value: int) -> int:
    match op:
        case "add":
            return (old + value) % PRIME
        case "mul":
            return old * value % PRIME
        case "max":
            return max(old, value)
        case _:
            return min(old, value)


def _mixed(op: str, old: int, value: int) -> int:
    if op in ("add", "mul"):
        return (old * 1_000_003 + value * value + len(op)) % PRIME
    return _plain(op, old, value)


def _block(block: Block, indent: str, around: LoopKind) -> list[str]:
    lines: list[str] = []
    for statement in block.statements:
        lines += _statement(statement, indent, around)
    return lines


def _statement(statement: Stmt, indent: str, around: LoopKind) -> list[str]:
    match statement:
        case For():
            return _loop(statement, indent, around)
        case If():
            test = " and ".join(
                f"({_text(form)}) >= 0" for form in statement.conditions
            )
            body = _block(statement.body, indent + "    ", around)
            return [f"{indent}if {test}:", *(body or [f"{indent}    pass"])]
        case Alloc():
            shape = ", ".join(_text(size) for size in statement.tensor.shape)
            comma = "," if statement.tensor.shape else ""
            return [f"{indent}{statement.tensor.name} = Buffer(({shape}{comma}), {{}})"]
        case Store() | Reduce():
            return [f"{indent}{_write(statement, _value(statement))}"]
        case Scatter():
            return _scatter(statement, indent)
        case _:
            assert_never(statement)


def _loop(loop: For, indent: str, around: LoopKind) -> list[str]:
    kind = around if loop.kind is LoopKind.FUSED else loop.kind
    start, stop = _bound("max", loop.starts), _bound("min", loop.stops)
    values = f"range({start}, {stop}, {loop.step})"
    leaves = all(isinstance(s, Store | Reduce) for s in loop.body.statements)
    if loop.kind is LoopKind.VECTORIZED and leaves:
        lines: list[str] = []
        for leaf in loop.body.statements:
            assert isinstance(leaf, Store | Reduce)
            lines.append(
                f"{indent}lanes = [{_value(leaf)} for {loop.axis} in {values}]"
            )
            lines.append(f"{indent}for {loop.axis}, lane in zip({values}, lanes):")
            lines.append(f"{indent}    {_write(leaf, 'lane')}")
        return lines
    if kind in (LoopKind.PARALLEL, LoopKind.VECTORIZED):
        values = f"order({values})"
    body = _block(loop.body, indent + "    ", kind)
    return [f"{indent}for {loop.axis} in {values}:", *(body or [f"{indent}    pass"])]


def _bound(function: str, forms: tuple[Affine, ...]) -> str:
    if len(forms) == 1:
        return _text(forms[0])
    return f"{function}({', '.join(map(_text, forms))})"


def _write(statement: Store | Reduce, value: str) -> str:
    index = "".join(f", {_text(form)}" for form in statement.index)
    return f"{statement.tensor}.store({value}{index})"


def _value(statement: Store | Reduce) -> str:
    value = _expr(statement.value)
    if isinstance(statement, Store):
        return value
    index = ", ".join(map(_text, statement.index))
    op, old = statement.op.value, f"{statement.tensor}.load({index})"
    return f"update({op!r}, {old}, {value})"


def _scatter(scatter: Scatter, indent: str) -> list[str]:
    test = "True" if scatter.condition is None else _expr(scatter.condition)
    index = "".join(f", {_subscript(part)}" for part in scatter.index)
    inner = f"{indent}    "
    lines = [f"{indent}if {test}:", f"{inner}at = (None{index})"]
    value = _expr(scatter.value)
    if scatter.op is not None:
        old = f"{scatter.tensor}.load(*at[1:])"
        value = f"update({scatter.op.value!r}, {old}, {value})"
    return [*lines, f"{inner}{scatter.tensor}.store({value}, *at[1:])"]


def _subscript(part: Expr) -> str:
    return _text(part.value) if isinstance(part, Index) else _expr(part)


def _operation(op: str, left: str, right: str) -> str:
    match op:
        case "add" | "sub" | "mul":
            sign = {"add": "+", "sub": "-", "mul": "*"}[op]
            return f"(({left} {sign} {right}) % {PRIME})"
        case "mod":
            return f"({left} % {right})"
        case "max" | "min":
            return f"{op}({left}, {right})"
        case "and" | "or":
            return f"int(bool({left} {op} {right}))"
        case "lt" | "le" | "gt" | "ge" | "eq" | "ne":
            return f"int({left} {_COMPARISONS[op]} {right})"
        case _:
            return f"power({left}, {right})"


def _text(form: Affine) -> str:
    """Return *form* as Python, where `4*N//4` is not `4*(N//4)`."""
    parts = [str(form.constant)]
    for atom, coefficient in form.terms:
        text = atom
        if isinstance(atom, FloorDiv):
            text = f"(({_text(atom.numerator)})//{atom.divisor})"
        parts.append(f"{coefficient}*{text}")
    return " + ".join(parts)


def _expr(expr: Expr) -> str:
    match expr:
        case Const():
            return _constant(expr)
        case Index():
            return f"(({_text(expr.value)}) % {PRIME})"
        case Load():
            return f"{expr.tensor}.load({', '.join(map(_text, expr.index))})"
        case Gather():
            index = ", ".join(map(_subscript, expr.index))
            return f"{expr.tensor}.load({index})"
        case Unary(op="not"):
            return f"int(not {_expr(expr.operand)})"
        case Unary():
            return f"(-{_expr(expr.operand)} % {PRIME})"
        case Binary():
            return _operation(expr.op, _expr(expr.left), _expr(expr.right))
        case Call():
            return f"opaque({expr.function!r}, {_expr(expr.operand)})"
        case Select():
            then, other = _expr(expr.then), _expr(expr.otherwise)
            return f"(({then}, {other})[not {_expr(expr.condition)}])"
        case Cast():
            return _expr(expr.operand)
        case _:
            assert_never(expr)


def _constant(expr: Const) -> str:
    if expr.value < -PRIME:  # the identity of max: no residue is smaller
        return "0"
    if expr.value > PRIME:
        return str(PRIME)
    return str(int(expr.value) % PRIME)
