"""The text of an evaluation in which errors share causes: see `form_rules.py`.

A float that the program writes has a sketch besides its parts: one array for all
elements of a tensor, with a last dimension for the lanes. That of a reduction lacks
what the terms since it was last read have for a rest, which is a part of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..ir.affine import Affine
from ..ir.dtypes import DType
from ..ir.nodes import (
    Binary,
    Expr,
    Function,
    Load,
    Reduce,
    ReduceOp,
    Role,
    Store,
    Tensor,
    Unary,
)
from ..ir.numerics import Numerics
from ..ir.walk import allocations, walk
from .scalar_source import (
    HEADER,
    LIFTS,
    SETTLES,
    Number,
    Writer,
    reductions,
)
from .scalar_text import form_of, place_of

_HEADER = HEADER.replace(
    "\n\n\n@njit",
    "\nfrom tdsl.backends.form_rules import *"
    "\nfrom tdsl.backends.sketches import *\n\n\n@njit",
)
COST = "8"
"""About how many iterations without sketches take as long as one with them."""


def form_source(function: Function, numerics: Numerics) -> str:
    """Return a module as `scalar_source` does. Its `evaluate` takes the sketches (and
    the rests of reductions) after the other parts of each parameter.
    """
    return _FormWriter(function, numerics, _HEADER, COST).text()


def sketched(function: Function) -> dict[str, Tensor]:
    """Return the tensors of which *function* writes floats, but for extremes."""
    tensors = [p.tensor for p in function.params if p.role is not Role.INPUT]
    tensors += [alloc.tensor for alloc in allocations(function).values()]
    extremes = {
        name
        for name, op in reductions(function).items()
        if op in (ReduceOp.MAX, ReduceOp.MIN)
    }
    return {
        tensor.name: tensor
        for tensor in tensors
        if tensor.dtype.kind == "float" and tensor.name not in extremes
    }


def products(function: Function) -> set[str]:
    """Return the locals that may hold a product.

    A schedule may put it in the place of a read, where it is fused with a sum: so one
    reader sees it rounded, and another one does not.
    """
    local = allocations(function).keys()
    stores = [n for n in walk(function) if isinstance(n, Store) and n.tensor in local]
    found: set[str] = set()
    while True:
        more = {s.tensor for s in stores if _is_product(s.value, found)}
        if more == found:
            return found
        found = more


def _is_product(expr: Expr, products: set[str]) -> bool:
    match expr:
        case Unary():
            return _is_product(expr.operand, products)
        case Load():
            return expr.tensor in products
        case Binary():
            return expr.op == "mul"
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Linear:
    """The texts of a number's rest, and of its slopes by the sketch of the element."""

    rest: str
    slopes: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _FormWriter(Writer):
    """Numbers are values with their whole errors; *linear* has the rest, by value.

    *errors* are those of the elements, by their sketches.
    """

    linear: dict[str, _Linear] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    sketched: dict[str, Tensor] = field(default_factory=dict)
    products: set[str] = field(default_factory=set)

    def text(self) -> str:
        self.sketched = sketched(self.function)
        self.products = products(self.function)
        self.write("scratch, noises = np.empty(LANES), np.zeros(1, np.int64)")
        return Writer.text(self)

    def arguments(self, tensor: str) -> list[str]:
        return [*self.parts(tensor), *self.extras(tensor)]

    def extras(self, tensor: str) -> list[str]:
        """Return the names of the sketches of a tensor, and of its rests."""
        if tensor not in self.sketched:
            return []
        return [f"S_{tensor}"] + [f"R_{tensor}"] * (tensor in self.reductions)

    def alloc(self, tensor: Tensor) -> None:
        Writer.alloc(self, tensor)
        shape = "".join(f"max(0, {form_of(form)}), " for form in tensor.shape)
        sketch, *rests = self.extras(tensor.name) or ("",)
        if sketch:
            self.write(f"{sketch} = np.zeros(({shape}LANES,))")
        for rest in rests:
            self.write(f"{rest} = np.zeros(({shape}))" if shape else f"{rest} = 0.0")

    def sketch(self, tensor: str, index: tuple[Affine, ...]) -> str:
        """Return the text of the sketch of an element."""
        places = ", ".join(place_of(form) for form in index)
        return f"S_{tensor}[{places}]" if index else f"S_{tensor}"

    def rest(self, tensor: str, index: tuple[Affine, ...]) -> str:
        """Return the text of what the sketch of an element of a reduction lacks."""
        return self.sketch(tensor, index).replace("S_", "R_", 1)

    # --- statements ---------------------------------------------------------------

    def store(self, statement: Store) -> None:
        tensor, index = statement.tensor, statement.index
        if tensor not in self.sketched:
            Writer.store(self, statement)
            return
        value, error = self.expr(statement.value)
        linear = self.form_of_number((value, error))
        self.write(f"draw(scratch, {linear.rest}, noises)")
        self.collect(linear.slopes)
        self.count += 1
        kept = f"e{self.count}"
        self.write(f"{kept} = keep({self.sketch(tensor, index)}, scratch, {error})")
        op = self.reductions.get(tensor)
        self.assign(tensor, index, self.lifted(op, (value, kept), tensor, 0))
        if op is not None:
            self.write(f"{self.rest(tensor, index)} = 0.0")

    def collect(self, slopes: Mapping[str, str], factor: str = "") -> None:
        """Add what a number has of the errors of elements."""
        for sketch, slope in slopes.items():
            self.write(f"mix(scratch, {factor}{slope}, {sketch})")

    def reduce(self, statement: Reduce) -> None:
        tensor = statement.tensor
        if tensor not in self.sketched:
            Writer.reduce(self, statement)
            return
        value = self.expr(statement.value)
        if statement.op is ReduceOp.ADD:
            self.add(statement, value)
        else:
            self.multiply(statement, value)
        self.update(statement, value)

    def add(self, statement: Reduce, value: Number) -> None:
        """Write what a term adds to the sketch and the rest of a sum."""
        tensor, index = statement.tensor, statement.index
        linear = self.form_of_number(value)
        sketch = self.sketch(tensor, index)
        if linear.slopes:
            self.write("scratch[:] = 0.0")
            self.collect(linear.slopes)
            self.write(f"mix({sketch}, 1.0, scratch)")
        rest = f"{linear.rest} + SLACK * {value[1]}"
        self.write(f"{self.rest(tensor, index)} += {rest}")

    def multiply(self, statement: Reduce, value: Number) -> None:
        """Write what a factor makes of the sketch and the rest of a product."""
        tensor, index = statement.tensor, statement.index
        linear = self.form_of_number(value)
        product, error = self.total(tensor, index)
        sketch, rest = self.sketch(tensor, index), self.rest(tensor, index)
        self.write("scratch[:] = 0.0")
        self.collect({sketch: value[0]})
        self.collect(linear.slopes, f"{product} * ")
        self.write(f"{sketch}[:] = scratch")
        mixed = f"{product}, {rest}, {error}, {value[0]}, {linear.rest}, {value[1]}"
        self.write(f"{rest} = form_mul({mixed}, 0.0, 0.0, inf)[1]")

    def finish(self) -> None:
        """Settle the results."""
        for param in self.function.params:
            name = param.tensor.name
            if name in self.sketched and name in self.reductions and param.tensor.shape:
                self.write(f"for at in np.ndindex(T0_{name}.shape):")
                parts = [f"{part}[at]" for part in self.parts(name)]
                extras = [f"{extra}[at]" for extra in self.extras(name)]
                self.indent += "    "
                self.settle(name, parts, extras)
                self.indent = self.indent[4:]

    def settle(self, tensor: str, parts: Sequence[str], extras: Sequence[str]) -> None:
        """Write that a reduction which is read goes on from what that gives.

        One that is read before its end keeps its order: see `analysis/original.py`.
        """
        op, (sketch, rest) = self.reductions[tensor], extras
        self.count += 1
        value, error = f"v{self.count}", f"e{self.count}"
        rule = self.rule(self.tensors[tensor].dtype, "add")
        total = parts[1]
        if op is ReduceOp.MUL:
            total = f"product_error({', '.join(parts[:3])})"
        settle, lift = SETTLES[op].__name__, LIFTS[op].__name__
        named = f"{error}, {total}, {rest}, {sketch}, scratch, noises"
        self.write(f"if {parts[-1]} > 0 or {rest} > 0:")
        for line in (
            f"{value}, {error} = {settle}({', '.join(parts)}, {rule})",
            f"{error} = settled({named})",
            f"{', '.join(parts)} = {lift}({value}, {error}, 0.0)",
            f"{rest} = 0.0",
        ):
            self.write(f"    {line}")

    # --- expressions --------------------------------------------------------------

    def load(self, expr: Load) -> Number:
        tensor, index = expr.tensor, expr.index
        if tensor not in self.sketched:
            return Writer.load(self, expr)
        sketch = self.sketch(tensor, index)
        if tensor in self.reductions:
            extras = sketch, self.rest(tensor, index)
            self.settle(tensor, self.elements(tensor, index), extras)
        value, error = self.total(tensor, index)
        slope = f"d{self.count}"
        self.write(f"{slope} = live({error})")
        self.errors[sketch], rest = error, "0.0"
        if tensor in self.products:
            rest = f"r{self.count}"
            rule = self.rule(expr.dtype, "mul")
            self.write(f"{rest} = form_rounded({value}, 0.0, {error}, {rule})[1]")
            error = f"({error} + {rest})"
        self.linear[value] = _Linear(rest, {sketch: slope})
        return value, error

    def total(self, tensor: str, index: tuple[Affine, ...]) -> Number:
        """Write the value of an element and its error, but for new roundings."""
        parts = self.elements(tensor, index)
        if self.reductions.get(tensor) is ReduceOp.MUL:
            return self.let(f"{parts[0]}, product_error({', '.join(parts[:3])})")
        return self.let(f"{parts[0]}, {parts[1]}")

    def form_of_number(self, number: Number) -> _Linear:
        """Return what is known of an error, or that it is all rest."""
        return self.linear.get(number[0], _Linear(number[1]))

    def apply(
        self, rule: str, dtype: DType, operands: Sequence[Number], *others: str
    ) -> Number:
        forms = [self.form_of_number(operand) for operand in operands]
        if not any(form.slopes for form in forms):
            return Writer.apply(self, rule, dtype, operands, *others)
        self.count += 1
        value, rest, error = (f"{kind}{self.count}" for kind in "vre")
        factors = [f"f{self.count}_{place}" for place in range(len(operands))]
        described = [
            f"{v}, {form.rest}, {e}"
            for (v, e), form in zip(operands, forms, strict=True)
        ]
        self.write(
            f"{', '.join([value, rest, *factors])} = "
            f"form_{rule}({', '.join([*described, *others])})"
        )
        slopes: dict[str, str] = {}
        for factor, form in zip(factors, forms, strict=True):
            for sketch, slope in form.slopes.items():
                before = f"{slopes[sketch]} + " if sketch in slopes else ""
                slopes[sketch] = f"{before}{factor} * {slope}"
        for place, (sketch, text) in enumerate(slopes.items()):
            slopes[sketch] = f"d{self.count}_{place}"
            self.write(f"{slopes[sketch]} = {text}")
        shares = [f"share({d}, {self.errors[s]})" for s, d in slopes.items()]
        self.write(f"{error} = {' + '.join([rest, *shares])}")
        self.linear[value] = _Linear(rest, slopes)
        return value, error
