"""Expressions of a scheduled statement against those of the original.

Both must be the same operations on loads that pair up in evaluation order. Where the
original loads a local tensor and the schedule has an expression instead, the producer
was inlined: its expression takes the place of the load.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..ir.affine import Affine
from ..ir.nodes import (
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Gather,
    Index,
    Load,
    Select,
    Unary,
)
from ..ir.printer import print_expr
from ..ir.walk import chosen_by_data, reads


@dataclass(frozen=True, slots=True)
class Iteration:
    """An original statement at *coordinates* over the axes of another statement."""

    label: str
    coordinates: tuple[Affine, ...]


@dataclass(frozen=True, slots=True)
class Pairing:
    """Read number *load* of a scheduled statement is *read* of an original one."""

    load: int
    original: Iteration
    read: int
    gather: Gather | None = None


class MismatchError(Exception):
    """Say where a scheduled statement computes something else."""


Producer = Callable[[Iteration, int], tuple[Iteration, Expr, Mapping[str, Affine]]]


class Matcher:
    """Walks a scheduled and an original expression side by side."""

    def __init__(self, producer: Producer) -> None:
        """Use *producer* for the statement that fills what an original read loads."""
        self._producer = producer
        self._count = 0
        self.pairings: list[Pairing] = []
        self.equal_forms: list[tuple[Affine, Affine]] = []

    def match(
        self,
        expr: Expr,
        original: Expr,
        where: Iteration,
        axes: Mapping[str, Affine],
    ) -> None:
        """Pair the loads of *expr* with those of *original* at iteration *where*.

        *axes* gives the original axes over the scheduled ones.
        """
        numbers = {id(load): number for number, load in enumerate(reads(original))}
        self._match(expr, original, _Context(where, axes, numbers))

    def _match(self, expr: Expr, original: Expr, context: _Context) -> None:
        if isinstance(original, Load):
            self._load(expr, original, context)
            return
        if isinstance(original, Gather):
            self._gather(expr, original, context)
            return
        if type(expr) is not type(original) or expr.dtype != original.dtype:
            raise MismatchError(_difference(expr, original))
        match expr, original:
            case Const(), Const():
                if repr(expr.value) != repr(original.value):
                    raise MismatchError(_difference(expr, original))
            case Index(), Index():
                form = original.value.substitute(context.axes)
                if form != expr.value:
                    self.equal_forms.append((expr.value, form))
            case _:
                if _operation(expr) != _operation(original):
                    raise MismatchError(_difference(expr, original))
        for mine, theirs in zip(_operands(expr), _operands(original), strict=True):
            self._match(mine, theirs, context)

    def _load(self, expr: Expr, original: Load, context: _Context) -> None:
        number = context.numbers[id(original)]
        if isinstance(expr, Load):
            if expr.dtype != original.dtype:
                raise MismatchError(_difference(expr, original))
            self.pairings.append(Pairing(self._count, context.where, number))
            self._count += 1
            return
        try:
            where, value, axes = self._producer(context.where, number)
        except MismatchError as error:
            text = f"{_difference(expr, original)}, and {error}"
            raise MismatchError(text) from None
        self.match(expr, value, where, axes)

    def _gather(self, expr: Expr, original: Gather, context: _Context) -> None:
        """Pair gathers whose data choose along the same dimensions, by equal values.

        Their affine subscripts are compared by what they read, as those of loads.
        """
        chosen = chosen_by_data(original.index)
        if (
            not isinstance(expr, Gather)
            or (expr.dtype, expr.checked) != (original.dtype, original.checked)
            or len(expr.index) != len(original.index)
            or chosen_by_data(expr.index) != chosen
        ):
            raise MismatchError(_difference(expr, original))
        number = context.numbers[id(original)]
        self.pairings.append(Pairing(self._count, context.where, number, expr))
        self._count += 1
        for position in chosen:
            self._match(expr.index[position], original.index[position], context)


@dataclass(frozen=True, slots=True)
class _Context:
    where: Iteration
    axes: Mapping[str, Affine]
    numbers: Mapping[int, int]


def _operation(expr: Expr) -> str:
    match expr:
        case Unary() | Binary():
            return expr.op
        case Call():
            return expr.function
        case _:
            return ""


def _operands(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case Binary():
            return expr.left, expr.right
        case Unary() | Call() | Cast():
            return (expr.operand,)
        case Select():
            return expr.condition, expr.then, expr.otherwise
        case _:
            return ()


def _difference(expr: Expr, original: Expr) -> str:
    return f"computes {print_expr(expr)} where the kernel has {print_expr(original)}"
