"""Programs of the campaign: those of `tests.fuzz` with more operations, and kernels."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from tdsl.analysis.validate import validate
from tdsl.ir.dtypes import DTYPES, DType, f32, f64
from tdsl.ir.nodes import (
    Binary,
    Call,
    Cast,
    Expr,
    Function,
    Reduce,
    Scatter,
    Stmt,
    Store,
    Unary,
)
from tdsl.ir.numerics import Numerics
from tdsl.ir.walk import rewrite, rewrite_expr

from ..backends.programs import PROGRAMS, in_double
from ..fuzz.campaign import sizes
from ..fuzz.programs import random_program
from .types import complexified, stored

FLOATS = (f32, f64)
INTEGERS = tuple(dtype for dtype in DTYPES.values() if dtype.kind == "int")
CLASSES: tuple[Numerics, ...] = ("reassoc", "reassoc", "bitwise", "fast")
_FUNCTIONS = (
    *("sqrt", "exp", "log", "tanh", "abs", "sigmoid", "erf", "sin", "cos"),
    *("rsqrt", "exp2", "expm1", "log2", "log1p", "floor", "ceil"),
)
_OPERATIONS = ("div", "min", "max", "sub", "add", "mul", "floordiv", "mod", "pow")


@dataclass(frozen=True, slots=True)
class Subject:
    """A program, its numerics class, and sizes to run it at."""

    function: Function
    numerics: Numerics
    sizes: tuple[dict[str, int], ...]


def random_subject(rng: random.Random) -> Subject:
    """Return a program whose meaning is defined, which the proof tells."""
    while True:
        numerics = rng.choice(CLASSES)
        if rng.random() < 0.25:
            program = PROGRAMS[rng.choice(sorted(PROGRAMS))]
            function = program.function
            if rng.random() < 0.5:
                function = in_double(function)
            dims = {name: min(size, 12) for name, size in program.dims.items()}
            places: tuple[dict[str, int], ...] = (dims,)
        else:
            function = random_function(rng)
            every = list(sizes(function.dims))
            places = tuple(rng.sample(every, min(2, len(every))))
        if validate(function, function, numerics).verdict == "proved":
            return Subject(function, numerics, places)


def random_function(rng: random.Random) -> Function:
    """Return a random program: of floats, stored ones, complex ones or integers."""
    kind = rng.choice(("float", "float", "stored", "complex", "integer"))
    dtype = rng.choice(INTEGERS if kind == "integer" else FLOATS)
    function = enriched(random_program(rng, dtype), rng)
    match kind:
        case "stored":
            return stored(function, rng)
        case "complex":
            return complexified(function, rng)
    return function


def enriched(function: Function, rng: random.Random) -> Function:
    """Return *function* with operations and functions that it lacks, in places."""

    def expression(expr: Expr) -> Expr:
        subscript = isinstance(expr, Binary) and expr.op == "mod"
        if expr.dtype.kind == "int" and isinstance(expr, Binary) and not subscript:
            return _other_integers(expr, rng)
        if expr.dtype.kind != "float":
            return expr
        if isinstance(expr, Binary) and rng.random() < 0.3:
            return _mixed(replace(expr, op=rng.choice(_OPERATIONS)), rng)
        if rng.random() < 0.07:
            return Call(rng.choice(_FUNCTIONS), expr, expr.dtype)
        return expr if rng.random() > 0.05 else Unary("neg", expr, expr.dtype)

    def statement(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Store | Reduce | Scatter) and rng.random() < 0.8:
            return replace(stmt, value=rewrite_expr(stmt.value, expression))
        return stmt

    return rewrite(function, statement)


def _mixed(expr: Binary, rng: random.Random) -> Expr:
    """Return *expr*, at times computed in the other float type."""
    other: DType = f64 if expr.dtype == f32 else f32
    if rng.random() > 0.2:
        return expr
    left, right = Cast(expr.left, other), Cast(expr.right, other)
    return Cast(Binary(expr.op, left, right, other), expr.dtype)


def _other_integers(expr: Binary, rng: random.Random) -> Expr:
    """Return *expr* with another operation or in another integer type, at times."""
    if rng.random() < 0.2:
        expr = replace(expr, op=rng.choice(("floordiv", "mod", "sub", "mul", "min")))
    if rng.random() < 0.1:
        return Call("abs", expr, expr.dtype)
    if rng.random() > 0.2:
        return expr
    other = rng.choice((*INTEGERS, *FLOATS))
    left, right = Cast(expr.left, other), Cast(expr.right, other)
    return Cast(Binary(expr.op, left, right, other), expr.dtype)
