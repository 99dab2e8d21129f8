"""The text of an evaluation with bounds that runs one iteration at a time.

Each value is a pair of variables, the number and its bound. A tensor that a reduction
updates has the parts of `accumulate.py`, any other one the number and its bound: one
array for each, or a variable if it is a local of rank 0. (`form_source.py` adds what
errors have in common.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import nan
from typing import assert_never

import numpy as np

from ..ir.affine import Affine
from ..ir.dtypes import DType
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
    Reduce,
    ReduceOp,
    Scatter,
    Select,
    Stmt,
    Store,
    Tensor,
    Unary,
)
from ..ir.numerics import Numerics
from ..ir.walk import walk
from .accumulate import rule_of
from .scalar_rules import (
    lift_add,
    lift_max,
    lift_min,
    lift_mul,
    settle_add,
    settle_extreme,
    settle_mul,
)
from .scalar_text import extreme_of, form_of, number_of, place_of, wrapped
from .semantics import COMPARISONS
from .uncertain import rounding
from .uncertain_calls import function_ulps

Number = tuple[str, str]
"""The texts of a number and of its bound."""

ROUNDED = {"add": "add", "sub": "sub", "mul": "mul", "div": "div"}
EXTREMES = {"min": "minimum", "max": "maximum"}
CALLS = {"sqrt": "root", "exp": "exponential"}
SIGNS = {
    **{"add": "+", "sub": "-", "mul": "*", "and": "and", "or": "or"},
    **{"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="},
}

HEADER = """\
from math import inf, nan

import numpy as np
from numba import njit
from tdsl.backends.scalar_rules import *


@njit(error_model="numpy", boundscheck=True, cache=True)
"""
LIFTS = {
    ReduceOp.ADD: lift_add,
    ReduceOp.MUL: lift_mul,
    ReduceOp.MAX: lift_max,
    ReduceOp.MIN: lift_min,
}
SETTLES = {
    ReduceOp.ADD: settle_add,
    ReduceOp.MUL: settle_mul,
    ReduceOp.MAX: settle_extreme,
    ReduceOp.MIN: settle_extreme,
}
COMBINE = {
    ReduceOp.ADD: ("{} + {}",) * 4,
    ReduceOp.MUL: ("{} * {}", "{} * {}", "{} + {}", "{} * {}", "{} + {}"),
    ReduceOp.MAX: ("most({}, {})", "wider({}, {})", "wider({}, {})"),
    ReduceOp.MIN: ("least({}, {})", "narrower({}, {})", "wider({}, {})"),
}


def scalar_source(function: Function, numerics: Numerics) -> str:
    """Return a module whose `evaluate` takes the parts of the parameters, the dims and
    a number of iterations, and returns whether that was enough of them.
    """
    return Writer(function, numerics).text()


def reductions(function: Function) -> dict[str, ReduceOp]:
    """Return what updates each tensor that a reduction does."""
    return {n.tensor: n.op for n in walk(function) if isinstance(n, Reduce)}


@dataclass(slots=True)
class Writer:
    """Writes the module of one function, a line a step."""

    function: Function
    numerics: Numerics
    header: str = HEADER
    cost: str = "1"
    lines: list[str] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    reductions: dict[str, ReduceOp] = field(default_factory=dict)
    local: set[str] = field(default_factory=set)
    count: int = 0
    indent: str = "    "

    def text(self) -> str:
        """Return the text of the module."""
        self.reductions = reductions(self.function)
        arguments: list[str] = []
        for param in self.function.params:
            self.tensors[param.tensor.name] = param.tensor
            arguments += self.arguments(param.tensor.name)
        arguments += [f"X_{dim.name}" for dim in self.function.dims]
        head = f"def evaluate({', '.join([*arguments, 'left'])}):"
        self.block(self.function.body)
        self.finish()
        return self.header + "\n".join([head, *self.lines, "    return True"]) + "\n"

    def arguments(self, tensor: str) -> list[str]:
        """Return the names of the arrays that stand for a parameter."""
        return self.parts(tensor)

    def finish(self) -> None:
        """Write what is left to do after the statements."""

    def parts(self, tensor: str) -> list[str]:
        """Return the names of a tensor's arrays or variables."""
        op = self.reductions.get(tensor)
        dtype = self.tensors[tensor].dtype
        number = 2 if op is None else len(rule_of(op, dtype).identity)
        return [f"T{part}_{tensor}" for part in range(number)]

    def write(self, text: str) -> None:
        """Add a line."""
        self.lines.append(self.indent + text)

    def let(self, text: str) -> Number:
        """Assign a number with its bound to new variables; return their names."""
        self.count += 1
        names = f"v{self.count}", f"e{self.count}"
        self.write(f"{names[0]}, {names[1]} = {text}")
        return names

    # --- statements ---------------------------------------------------------------

    def block(self, block: Block) -> None:
        """Write statements."""
        for statement in block.statements:
            self.statement(statement)

    def inside(self, block: Block) -> None:
        """Write statements one level deeper."""
        before = self.indent
        self.indent += "    "
        self.block(block)
        self.write("pass")
        self.indent = before

    def statement(self, statement: Stmt) -> None:
        """Write one statement."""
        match statement:
            case For():
                self.loop(statement)
            case If():
                tests = [f"{form_of(form)} >= 0" for form in statement.conditions]
                self.write(f"if {' and '.join(tests) or 'True'}:")
                self.inside(statement.body)
            case Store():
                self.store(statement)
            case Reduce():
                self.reduce(statement)
            case Alloc():
                self.alloc(statement.tensor)
            case Scatter():
                raise NotImplementedError
            case _:
                assert_never(statement)

    def loop(self, loop: For) -> None:
        """Write a loop, which ends the evaluation when it has run for long."""
        start = extreme_of("max", loop.starts)
        stop = extreme_of("min", loop.stops)
        axis = f"X_{loop.axis}"
        trips = f"max(0, ({stop} - {start}) // {loop.step}) + 1"
        self.write(f"left -= ({trips}) * {self.cost}")
        self.write("if left < 0:")
        self.write("    return False")
        self.write(f"for {axis} in range({start}, {stop}, {loop.step}):")
        self.inside(loop.body)

    def alloc(self, tensor: Tensor) -> None:
        """Write the arrays or variables of a local tensor."""
        self.tensors[tensor.name] = tensor
        floating = tensor.dtype.kind == "float"
        first = {"float": "nan", "int": "0", "bool": "False"}[tensor.dtype.kind]
        op = self.reductions.get(tensor.name)
        values = [first, "0.0"]
        if op is not None and floating:
            values = [repr(part) for part in LIFTS[op].py_func(nan, 0.0, 0.0)]
        if not tensor.shape:
            self.local.add(tensor.name)
            for part, value in zip(self.parts(tensor.name), values, strict=True):
                self.write(f"{part} = {value}")
            return
        shape = ", ".join(f"max(0, {form_of(form)})" for form in tensor.shape)
        kinds = {"float": "np.float64", "int": "np.int64", "bool": "np.bool_"}
        types = [kinds[tensor.dtype.kind]] + ["np.float64"] * (len(values) - 1)
        for part, value, type_ in zip(
            self.parts(tensor.name), values, types, strict=True
        ):
            self.write(f"{part} = np.full(({shape},), {value}, {type_})")

    def elements(self, tensor: str, index: tuple[Affine, ...]) -> list[str]:
        """Return the text of each part of an element."""
        if tensor in self.local:
            return self.parts(tensor)
        places = ", ".join(place_of(form) for form in index)
        return [f"{part}[{places or '()'}]" for part in self.parts(tensor)]

    def store(self, statement: Store) -> None:
        """Write an assignment."""
        op = self.reductions.get(statement.tensor)
        value = self.expr(statement.value)
        terms = self.lifted(op, value, statement.tensor, 0)
        self.assign(statement.tensor, statement.index, terms)

    def assign(
        self, tensor: str, index: tuple[Affine, ...], terms: tuple[str, ...]
    ) -> None:
        """Write what all parts of an element become."""
        for element, term in zip(self.elements(tensor, index), terms, strict=True):
            self.write(f"{element} = {term}")

    def lifted(
        self, op: ReduceOp | None, value: Number, tensor: str, number: int
    ) -> tuple[str, ...]:
        """Return the parts of a term, which counts as *number* operations."""
        if op is None or self.tensors[tensor].dtype.kind != "float":
            return value
        self.count += 1
        names = tuple(f"p{self.count}_{part}" for part in range(len(COMBINE[op])))
        lift = LIFTS[op].__name__
        self.write(f"{', '.join(names)} = {lift}({', '.join(value)}, {number}.0)")
        return names

    def reduce(self, statement: Reduce) -> None:
        """Write an update."""
        self.update(statement, self.expr(statement.value))

    def update(self, statement: Reduce, value: Number) -> None:
        """Write what the parts of an element become by an update with *value*."""
        op, dtype = statement.op, self.tensors[statement.tensor].dtype
        elements = self.elements(statement.tensor, statement.index)
        if dtype.kind == "float":
            terms = self.lifted(op, value, statement.tensor, 1)
            for element, term, text in zip(elements, terms, COMBINE[op], strict=True):
                self.write(f"{element} = {text.format(element, term)}")
            return
        new, error = COMBINE[op][0].format(elements[0], value[0]), value[1]
        if op is not ReduceOp.ADD:
            error = f"unsure({error})"
        self.write(f"{elements[0]} = {wrapped(new, dtype)}")
        self.write(f"{elements[1]} += {error}")

    # --- expressions --------------------------------------------------------------

    def expr(self, expr: Expr) -> Number:
        """Write what an expression takes; return the texts of its value."""
        match expr:
            case Const():
                return number_of(expr), "0.0"
            case Index():
                return self.index(expr)
            case Load():
                return self.load(expr)
            case Unary():
                operand = self.expr(expr.operand)
                if expr.dtype.kind == "float":
                    return self.apply("negate", expr.dtype, [operand])
                sign = "not" if expr.op == "not" else "-"
                value = wrapped(f"{sign} {operand[0]}", expr.dtype)
                return self.let(f"{value}, {operand[1]}")
            case Binary():
                return self.binary(expr)
            case Call():
                operand = self.expr(expr.operand)
                if expr.function == "abs":
                    return self.apply("absolute", expr.dtype, [operand])
                rule = self.rule(expr.dtype, expr.function)
                return self.apply(CALLS[expr.function], expr.dtype, [operand], rule)
            case Select():
                condition = self.expr(expr.condition)
                sides = [self.expr(expr.then), self.expr(expr.otherwise)]
                return self.apply("choose", expr.dtype, sides, *condition)
            case Cast():
                return self.cast(expr)
            case Gather():
                raise NotImplementedError
            case _:
                assert_never(expr)

    def index(self, expr: Index) -> Number:
        """Return an affine form as a number."""
        text = form_of(expr.value)
        if expr.dtype.kind == "float":
            return f"float(np.{expr.dtype.numpy}({text}))", "0.0"
        return self.let(f"{wrapped(text, expr.dtype)}, 0.0")

    def load(self, expr: Load) -> Number:
        """Write the reading of an element."""
        elements = self.elements(expr.tensor, expr.index)
        op, dtype = self.reductions.get(expr.tensor), self.tensors[expr.tensor].dtype
        if op is None or dtype.kind != "float":
            return self.let(", ".join(elements))
        settle = SETTLES[op].__name__
        return self.let(f"{settle}({', '.join(elements)}, {self.rule(dtype, 'add')})")

    def binary(self, expr: Binary) -> Number:
        """Write arithmetic, a comparison or logic."""
        left, right = self.expr(expr.left), self.expr(expr.right)
        operand = expr.left.dtype
        if expr.op in COMPARISONS:
            doubt = f"doubt({', '.join([*left, *right])})"
            return self.let(f"{left[0]} {SIGNS[expr.op]} {right[0]}, {doubt}")
        if expr.op in EXTREMES:
            return self.apply(EXTREMES[expr.op], operand, [left, right])
        if operand.kind == "float":
            rule = self.rule(expr.dtype, expr.op)
            return self.apply(ROUNDED[expr.op], operand, [left, right], rule)
        value = f"({left[0]} {SIGNS[expr.op]} {right[0]})"
        error = f"{left[1]} + {right[1]}"
        if expr.op not in ("add", "sub"):
            error = f"unsure({error})"
        return self.let(f"{wrapped(value, expr.dtype)}, {error}")

    def cast(self, expr: Cast) -> Number:
        """Write a conversion."""
        source, dtype = expr.operand.dtype, expr.dtype
        operand = self.expr(expr.operand)
        value, error = operand
        match source.kind, dtype.kind:
            case "float", "float":
                if dtype.bits >= source.bits:
                    return operand
                return self.apply("rounded", dtype, [operand], self.rule(dtype, "add"))
            case "bool", "float":
                whole, rule = "1.0", self.rule(dtype, "add")
                bit = f"int({value})", f"min({error}, 1.0)"
                return self.apply("from_integer", dtype, [bit], whole, rule)
            case "int", "float":
                whole = repr(2.0 ** (np.finfo(dtype.numpy).nmant + 1))
                rule = self.rule(dtype, "add")
                return self.apply("from_integer", dtype, [operand], whole, rule)
            case "bool", "int":
                return self.let(f"int({value}), {error}")
            case _:
                if dtype.bits >= source.bits:
                    return operand
                return self.apply("narrowed", dtype, [operand])

    def apply(
        self, rule: str, dtype: DType, operands: Sequence[Number], *others: str
    ) -> Number:
        """Assign what a rule for numbers of *dtype* gives to new variables."""
        texts = [text for operand in operands for text in operand]
        return self.let(f"{rule}({', '.join([*texts, *others])})")

    def rule(self, dtype: DType, operation: str) -> str:
        """Return the arguments that describe the rounding of an operation."""
        rule = rounding(dtype, function_ulps(operation, self.numerics))
        return f"{rule.unit!r}, {rule.tiny!r}, {rule.limit!r}"
