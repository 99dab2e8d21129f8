"""Complex numbers taken apart into pairs of real ones, program to program.

Before:                                 After, where `Z` is a parameter and `t` a local:

    t = local c64 in registers              t = local f32[2] in registers
    t = Z[i] * Z[i]                         t[0] = Z[i, 0]*Z[i, 0] - Z[i, 1]*Z[i, 1]
                                            t[1] = Z[i, 0]*Z[i, 1] + Z[i, 1]*Z[i, 0]

In memory that the caller passes, the two parts are neighbours. A local tensor has all
real parts of its last dimension before the imaginary ones, so that lanes along it are
neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from ..ir.nodes import (
    Alloc,
    Binary,
    Block,
    Const,
    Expr,
    For,
    Function,
    Gather,
    If,
    Load,
    Reduce,
    ReduceOp,
    Scatter,
    Stmt,
    Store,
    Unary,
)
from ..ir.walk import walk
from .complex_places import Pair, Places
from .complex_terms import Terms, mul, reads_chosen, select


@dataclass(frozen=True, slots=True)
class Split:
    """A function without complex numbers.

    *scalars* names the two parameters that stand for each complex one of rank 0.
    """

    function: Function
    scalars: dict[str, tuple[str, str]]


def split_complex(function: Function, contract: bool) -> Split:
    """Return *function* on real numbers; *contract* allows fused multiply-adds."""
    if not _has_complex(function):
        return Split(function, {})
    places = Places(function)
    splitter = _Splitter(places, contract)
    params = tuple(each for p in function.params for each in places.param(p))
    body = splitter.block(function.body)
    return Split(replace(function, params=params, body=body), places.scalars)


def _has_complex(function: Function) -> bool:
    tensors = [param.tensor for param in function.params]
    nodes = list(walk(function))
    tensors += [node.tensor for node in nodes if isinstance(node, Alloc)]
    return any(tensor.dtype.kind == "complex" for tensor in tensors) or any(
        isinstance(node, Expr) and node.dtype.kind == "complex" for node in nodes
    )


class _Splitter:
    def __init__(self, places: Places, contract: bool) -> None:
        self._places = places
        self._contract = contract

    def block(self, block: Block) -> Block:
        statements: list[Stmt] = []
        for statement in block.statements:
            match statement:
                case For() | If():
                    body = self.block(statement.body)
                    statements.append(replace(statement, body=body))
                case Alloc():
                    statements.append(self._places.alloc(statement))
                case Store() | Reduce():
                    statements.extend(self._leaf(statement))
                case Scatter():
                    statements.extend(self._scatter(statement))
                case _:
                    assert_never(statement)
        return Block(tuple(statements))

    def _leaf(self, leaf: Store | Reduce) -> list[Stmt]:
        terms = Terms(self._places)
        if leaf.value.dtype.kind != "complex":
            value = terms.real(leaf.value)
            return [*terms.before, replace(leaf, value=value)]
        if isinstance(leaf, Reduce) and leaf.op is ReduceOp.ADD:
            products = self._products(leaf, terms)
            if products is not None:
                return [*terms.before, *products]
        if isinstance(leaf, Reduce) and leaf.op is ReduceOp.MUL:
            old = Load(leaf.tensor, leaf.index, leaf.value.dtype)
            whole = Binary("mul", old, leaf.value, old.dtype)
            leaf = Store(leaf.tensor, leaf.index, whole, leaf.instance, span=leaf.span)
        pair = terms.parts(leaf.value)
        if leaf.tensor in _tensors_read(leaf.value):
            pair = terms.named(pair)  # the first store would change the second value
        return [*terms.before, *(self._part(leaf, p, v) for p, v in enumerate(pair))]

    def _scatter(self, scatter: Scatter) -> list[Stmt]:
        dtype = scatter.value.dtype
        if dtype.kind == "complex" and scatter.op is ReduceOp.MUL:
            old = Gather(scatter.tensor, scatter.index, dtype, scatter.checked)
            whole = Binary("mul", old, scatter.value, dtype)
            scatter = replace(scatter, op=None, value=whole)
        always = Terms(self._places)
        where, condition = always, scatter.condition
        if condition is not None:
            condition = always.real(condition)
            careful = any(map(reads_chosen, (scatter.value, *scatter.index)))
            where = Terms(self._places, always.before, careful)
        index = tuple(map(where.real, scatter.index))
        scatter = replace(scatter, condition=condition, index=index)
        if dtype.kind != "complex":
            stores = [replace(scatter, value=where.real(scatter.value))]
        else:
            stores = self._both_parts(scatter, where.parts(scatter.value), always)
        return [*always.before, *stores]

    def _both_parts(self, scatter: Scatter, pair: Pair, terms: Terms) -> list[Scatter]:
        """Return the stores of *pair*: the first must not change what the second uses.

        So all of it is computed before, but for what may exist only where the condition
        holds: that is zero elsewhere.
        """
        condition = scatter.condition
        if condition is not None:
            condition, _ = terms.named((condition,))

        def known(values: tuple[Expr, ...]) -> Pair:
            if condition is not None and any(map(reads_chosen, values)):
                zero = Const(values[0].dtype.numpy.type(0).item(), values[0].dtype)
                values = tuple(select(condition, each, zero) for each in values)
            return terms.named(values)

        pair = known(pair)
        index = tuple(
            known((part,))[0] if scatter.tensor in _tensors_read(part) else part
            for part in scatter.index
        )
        scatter = replace(scatter, condition=condition)
        return [
            replace(
                scatter, index=self._places.chosen(scatter.tensor, index, p), value=v
            )
            for p, v in enumerate(pair)
        ]

    def _part(self, leaf: Store | Reduce, part: int, value: Expr) -> Stmt:
        return replace(
            leaf, index=self._places.place(leaf.tensor, leaf.index, part), value=value
        )

    def _products(self, leaf: Reduce, terms: Terms) -> list[Stmt] | None:
        """Return the sum of a product as four multiply-adds, None for other sums."""
        value = leaf.value
        if not (self._contract and isinstance(value, Binary) and value.op == "mul"):
            return None
        if leaf.tensor in _tensors_read(value):
            return None  # the first update may change a factor of the others
        (a, b), (c, d) = (terms.atoms(each) for each in (value.left, value.right))
        minus = Unary("neg", b, b.dtype)
        pairs = ((0, a, c), (0, minus, d), (1, a, d), (1, b, c))
        return [self._part(leaf, p, mul(x, y)) for p, x, y in pairs]


def _tensors_read(expr: Expr) -> set[str]:
    return {node.tensor for node in walk(expr) if isinstance(node, Load | Gather)}
