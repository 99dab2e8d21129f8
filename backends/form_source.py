"""The text of an evaluation in which errors share causes: see `form_rules.py`.

A float that the program writes has a row of weights besides its parts: one array for
all elements of a tensor, with a last dimension for the noises. That of a sum also has
the noise that stands for its roundings, once it has been read.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.affine import Affine
from ..ir.dtypes import DType
from ..ir.nodes import Function, Load, Reduce, Role, Store, Tensor
from ..ir.numerics import Numerics
from .scalar_source import HEADER, Number, Writer
from .scalar_text import form_of, place_of

_HEADER = HEADER.replace(
    "\n\n\n@njit", "\nfrom tdsl.backends.form_rules import *\n\n\n@njit"
)
WEIGHTS_AN_ITERATION = 8
"""How many weights take about as long as an iteration without any."""


def form_source(function: Function, numerics: Numerics) -> str:
    """Return a module as `scalar_source` does. Its `evaluate` takes the rows (and the
    noises of sums) after the other parts of each parameter, and *noises* first: how
    many there are, and at most.
    """
    cost = f"(1 + noises[0] // {WEIGHTS_AN_ITERATION})"
    return _FormWriter(function, numerics, _HEADER, cost, ("noises",)).text()


@dataclass(slots=True)
class _FormWriter(Writer):
    def arguments(self, tensor: str) -> list[str]:
        return [*self.parts(tensor), *self.rows(tensor)]

    def rows(self, tensor: str) -> list[str]:
        """Return the names of the arrays of weights of a tensor, if it has any."""
        if not has_rows(self.function, self.tensors[tensor]):
            return []
        return [f"S_{tensor}"] + [f"W_{tensor}"] * (tensor in self.reductions)

    def alloc(self, tensor: Tensor) -> None:
        Writer.alloc(self, tensor)
        shape = "".join(f"max(0, {form_of(form)}), " for form in tensor.shape)
        for rows in self.rows(tensor.name):
            weights = rows.startswith("S_")
            size, fill = ("noises[1]", "0.0") if weights else ("2", "-1.0")
            self.write(f"{rows} = np.full(({shape}{size},), {fill})")

    def row(self, tensor: str, index: tuple[Affine, ...], last: str = "") -> str:
        """Return the text of an element's weights, or the first of them."""
        places = [] if tensor in self.local else [place_of(form) for form in index]
        return f"S_{tensor}[{', '.join([*places, last or ':'])}]"

    def own(self, tensor: str, index: tuple[Affine, ...], last: str = ":") -> str:
        """Return the text of the noise that stands for the roundings of a sum."""
        return self.row(tensor, index, last).replace("S_", "W_", 1)

    def store(self, statement: Store) -> None:
        tensor, index = statement.tensor, statement.index
        if not self.rows(tensor):
            Writer.store(self, statement)
            return
        value, error, row = self.expr(statement.value)
        self.count += 1
        names = f"e{self.count}", f"s{self.count}"
        self.write(f"{', '.join(names)} = named({error}, {row}, noises)")
        op = self.reductions.get(tensor)
        self.assign(tensor, index, self.lifted(op, (value, names[0]), tensor, 0))
        self.write(f"{self.row(tensor, index, ':noises[0]')} = {names[1]}")
        if op is not None:
            size = self.elements(tensor, index)[2]
            self.write(f"{size} += reach(0.0, {names[1]})")
            self.write(f"{self.own(tensor, index, '0')} = -1.0")

    def reduce(self, statement: Reduce) -> None:
        tensor, index = statement.tensor, statement.index
        if not self.rows(tensor):
            Writer.reduce(self, statement)
            return
        value = self.expr(statement.value)
        self.count += 1
        names = [f"p{self.count}_{part}" for part in range(4)]
        self.write(f"{', '.join(names)} = form_lift({', '.join(value)})")
        elements = self.elements(tensor, index)
        for element, name in zip(elements, names, strict=True):
            self.write(f"{element} += {name}")
        self.write(f"{elements[1]} += added({self.row(tensor, index)}, {value[2]})")
        self.write(f"{self.own(tensor, index, '0')} = -1.0")

    def load(self, expr: Load) -> Number:
        if expr.dtype.kind != "float":
            return Writer.load(self, expr)
        elements = self.elements(expr.tensor, expr.index)
        if not self.rows(expr.tensor):
            return self.form(", ".join([*elements, "nothing()"]))
        row = self.row(expr.tensor, expr.index, ":noises[0]")
        if expr.tensor not in self.reductions:
            return self.form(", ".join([*elements, row]))
        own, rule = self.own(expr.tensor, expr.index), self.rule(expr.dtype, "add")
        return self.apply("settle", expr.dtype, *elements, row, own, "noises", rule)

    def form(self, text: str) -> Number:
        """Assign a number with its weights to new variables; return their names."""
        self.count += 1
        names = f"v{self.count}", f"e{self.count}", f"s{self.count}"
        self.write(f"{', '.join(names)} = {text}")
        return names

    def exact(self, value: str, dtype: DType) -> Number:
        none = ("nothing()",) if dtype.kind == "float" else ()
        return (*Writer.exact(self, value, dtype), *none)

    def called(self, rule: str, dtype: DType, *arguments: str) -> str:
        prefix = "form_" if dtype.kind == "float" else ""
        return Writer.called(self, prefix + rule, dtype, *arguments)

    def apply(self, rule: str, dtype: DType, *arguments: str) -> Number:
        text = self.called(rule, dtype, *arguments)
        return self.form(text) if dtype.kind == "float" else self.let(text)


def has_rows(function: Function, tensor: Tensor) -> bool:
    """Whether elements of *tensor* are floats that *function* writes."""
    inputs = {p.tensor.name for p in function.params if p.role is Role.INPUT}
    return tensor.dtype.kind == "float" and tensor.name not in inputs
