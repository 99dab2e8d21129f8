"""Complex expressions as pairs of real ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf

from ..ir.affine import constant
from ..ir.dtypes import boolean, f32, f64
from ..ir.nodes import (
    Alloc,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Gather,
    Index,
    Load,
    Memory,
    Select,
    Stmt,
    Store,
    Unary,
)
from ..ir.walk import walk
from .complex_places import Pair, Places


@dataclass(slots=True)
class Terms:
    """The values of one statement; *before* computes what is used more than once.

    That must not be where an element that data chooses is read for one branch only: a
    subscript out of range is a fault there. Then *inline* computes it more than once.
    """

    places: Places
    before: list[Stmt] = field(default_factory=list)
    inline: bool = False

    def named(self, values: tuple[Expr, ...]) -> Pair:
        """Return *values*, all of one dtype, as variables."""
        if self.inline:
            return values[0], values[-1]
        tensor = self.places.variables(values[0].dtype, len(values))
        self.before.append(Alloc(tensor, Memory.REGISTER))
        found: list[Expr] = []
        for number, value in enumerate(values):
            index = (constant(number),)
            self.before.append(Store(tensor.name, index, value, None))
            found.append(Load(tensor.name, index, value.dtype))
        return found[0], found[-1]

    def atoms(self, expr: Expr) -> Pair:
        """Return the parts of *expr*, which may be used often."""
        pair = self.parts(expr)
        simple = all(isinstance(each, Load | Const) for each in pair)
        return pair if simple else self.named(pair)

    def parts(self, expr: Expr) -> Pair:
        """Return the real and the imaginary part of a complex expression."""
        match expr:
            case Const():
                number, dtype = complex(expr.value), expr.dtype.part
                return Const(number.real, dtype), Const(number.imag, dtype)
            case Load():
                return self.places.load(expr)
            case Unary():
                real, imaginary = self.parts(expr.operand)
                return _neg(real), _neg(imaginary)
            case Binary(op="mul"):
                return self._product(expr)
            case Binary(op="div"):
                return self._quotient(expr)
            case Binary():
                (a, b), (c, d) = self.parts(expr.left), self.parts(expr.right)
                dtype = expr.dtype.part
                return Binary(expr.op, a, c, dtype), Binary(expr.op, b, d, dtype)
            case Call():
                real, imaginary = self.parts(expr.operand)
                return real, _neg(imaginary)
            case Gather():
                index = tuple(self.real(each) for each in expr.index)
                return self.places.gather(expr, index)
            case Select():
                condition = self.real(expr.condition)
                branches = self._branches(expr)
                a, b = branches.parts(expr.then)
                c, d = branches.parts(expr.otherwise)
                return select(condition, a, c), select(condition, b, d)
            case Cast():
                return self._cast(expr)
            case Index():
                raise AssertionError(expr)

    def _branches(self, expr: Select) -> Terms:
        """Return how to compute the branches of *expr*."""
        careful = reads_chosen(expr.then) or reads_chosen(expr.otherwise)
        return Terms(self.places, self.before, self.inline or careful)

    def _cast(self, expr: Cast) -> Pair:
        dtype = expr.dtype.part
        if expr.operand.dtype.kind != "complex":
            return Cast(self.real(expr.operand), dtype), Const(0.0, dtype)
        real, imaginary = self.parts(expr.operand)
        return Cast(real, dtype), Cast(imaginary, dtype)

    def _product(self, expr: Binary) -> Pair:
        (a, b), (c, d) = self.atoms(expr.left), self.atoms(expr.right)
        return _sub(mul(a, c), mul(b, d)), _add(mul(a, d), mul(b, c))

    def _quotient(self, expr: Binary) -> Pair:
        """Return the quotient by Smith's method, as NumPy does."""
        (a, b), (c, d) = self.atoms(expr.left), self.atoms(expr.right)
        zero, one = Const(0.0, a.dtype), Const(1.0, a.dtype)
        size, other = _abs(c), _abs(d)
        flat = Binary("ge", size, other, boolean)
        large, small = self.named((select(flat, c, d), select(flat, d, c)))
        ratio, _ = self.named((_div(small, large),))
        scale, _ = self.named((_div(one, _add(large, mul(small, ratio))),))
        real = select(flat, _add(a, mul(b, ratio)), _add(mul(a, ratio), b))
        imaginary = select(flat, _sub(b, mul(a, ratio)), _sub(mul(b, ratio), a))
        none = Binary(
            "and",
            Binary("eq", size, zero, boolean),
            Binary("eq", other, zero, boolean),
            boolean,
        )
        return (
            select(none, _div(a, size), mul(real, scale)),
            select(none, _div(b, size), mul(imaginary, scale)),
        )

    def real(self, expr: Expr) -> Expr:
        """Return a real expression without complex operands."""
        match expr:
            case Call(function="real" | "imag") if _is_complex(expr.operand):
                return self.parts(expr.operand)[expr.function == "imag"]
            case Call(function="abs") if _is_complex(expr.operand):
                return self._modulus(expr)
            case Binary() if _is_complex(expr.left):
                (a, b), (c, d) = self.parts(expr.left), self.parts(expr.right)
                both = "and" if expr.op == "eq" else "or"
                first = Binary(expr.op, a, c, boolean)
                return Binary(both, first, Binary(expr.op, b, d, boolean), boolean)
            case Unary() | Call() | Cast():
                return replace(expr, operand=self.real(expr.operand))
            case Binary():
                left, right = self.real(expr.left), self.real(expr.right)
                return replace(expr, left=left, right=right)
            case Gather():
                index = tuple(self.real(each) for each in expr.index)
                return replace(expr, index=index)
            case Select():
                branches = self._branches(expr)
                return replace(
                    expr,
                    condition=self.real(expr.condition),
                    then=branches.real(expr.then),
                    otherwise=branches.real(expr.otherwise),
                )
            case _:
                return expr

    def _modulus(self, expr: Call) -> Expr:
        """Return the absolute value, without overflow on the way."""
        dtype = expr.dtype
        a, b = self.atoms(expr.operand)
        if dtype == f32:
            x, y = self.named((_abs(Cast(a, f64)), _abs(Cast(b, f64))))
            root: Expr = Call("sqrt", _add(mul(x, x), mul(y, y)), f64)
        else:
            x, y = self.named((_abs(a), _abs(b)))
            high, low = Binary("max", x, y, dtype), Binary("min", x, y, dtype)
            large, small = self.named((high, low))
            ratio, _ = self.named((_div(small, large),))
            one = Const(1.0, f64)
            root = mul(large, Call("sqrt", _add(one, mul(ratio, ratio)), f64))
            nothing = Binary("eq", large, Const(0.0, f64), boolean)
            root = select(nothing, Const(0.0, f64), root)
        infinity = Const(inf, f64)
        endless = Binary(
            "or",
            Binary("eq", x, infinity, boolean),
            Binary("eq", y, infinity, boolean),
            boolean,
        )
        result = select(endless, infinity, root)
        return result if dtype == f64 else Cast(result, dtype)


def reads_chosen(expr: Expr) -> bool:
    """Whether *expr* reads an element whose subscripts are checked."""
    return any(isinstance(node, Gather) and node.checked for node in walk(expr))


def _is_complex(expr: Expr) -> bool:
    return expr.dtype.kind == "complex"


def _neg(x: Expr) -> Expr:
    return Unary("neg", x, x.dtype)


def _abs(x: Expr) -> Expr:
    return Call("abs", x, x.dtype)


def _add(x: Expr, y: Expr) -> Expr:
    return Binary("add", x, y, x.dtype)


def _sub(x: Expr, y: Expr) -> Expr:
    return Binary("sub", x, y, x.dtype)


def mul(x: Expr, y: Expr) -> Expr:
    """Return the product of two real expressions."""
    return Binary("mul", x, y, x.dtype)


def _div(x: Expr, y: Expr) -> Expr:
    return Binary("div", x, y, x.dtype)


def select(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """Return *then* where *condition* holds, else *otherwise*."""
    return Select(condition, then, otherwise, then.dtype)
