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

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import inf
from typing import assert_never

from ..ir.affine import Affine, constant
from ..ir.dtypes import DType, boolean, f32, f64, i64
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
    Memory,
    Param,
    Reduce,
    ReduceOp,
    Role,
    Scatter,
    Select,
    Stmt,
    Store,
    Tensor,
    Unary,
)
from ..ir.walk import loops, walk

Pair = tuple[Expr, Expr]
Forms = tuple[Affine, ...]
Exprs = tuple[Expr, ...]


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
    splitter = _Splitter(function, contract)
    params = tuple(each for p in function.params for each in splitter.param(p))
    body = splitter.block(function.body)
    return Split(replace(function, params=params, body=body), splitter.scalars)


def _has_complex(function: Function) -> bool:
    tensors = [param.tensor for param in function.params]
    nodes = list(walk(function))
    tensors += [node.tensor for node in nodes if isinstance(node, Alloc)]
    return any(tensor.dtype.kind == "complex" for tensor in tensors) or any(
        isinstance(node, Expr) and node.dtype.kind == "complex" for node in nodes
    )


class _Splitter:
    def __init__(self, function: Function, contract: bool) -> None:
        self._contract = contract
        self._arrays: set[str] = set()
        self.scalars: dict[str, tuple[str, str]] = {}
        self._taken = {param.tensor.name for param in function.params}
        self._taken |= {dim.name for dim in function.dims} | set(loops(function))
        nodes = walk(function)
        self._taken |= {n.tensor.name for n in nodes if isinstance(n, Alloc)}
        for param in function.params:
            tensor = param.tensor
            if tensor.dtype.kind != "complex":
                continue
            if tensor.shape:
                self._arrays.add(tensor.name)
            else:
                real, imaginary = (self._fresh(f"{tensor.name}_{p}") for p in "ri")
                self.scalars[tensor.name] = real, imaginary

    def _fresh(self, stem: str) -> str:
        while stem in self._taken:
            stem += "_"
        self._taken.add(stem)
        return stem

    def param(self, param: Param) -> Iterator[Param]:
        tensor = param.tensor
        if tensor.dtype.kind != "complex":
            yield param
        elif tensor.shape:
            shape = (*tensor.shape, constant(2))
            yield replace(param, tensor=Tensor(tensor.name, tensor.dtype.part, shape))
        else:
            for name in self.scalars[tensor.name]:
                yield Param(Tensor(name, tensor.dtype.part, ()), Role.INPUT)

    # --- statements ---------------------------------------------------------------

    def block(self, block: Block) -> Block:
        statements: list[Stmt] = []
        for statement in block.statements:
            match statement:
                case For() | If():
                    body = self.block(statement.body)
                    statements.append(replace(statement, body=body))
                case Alloc():
                    statements.append(self._alloc(statement))
                case Store() | Reduce():
                    statements.extend(self._leaf(statement))
                case Scatter():
                    statements.extend(self._scatter(statement))
                case _:
                    assert_never(statement)
        return Block(tuple(statements))

    def _alloc(self, alloc: Alloc) -> Alloc:
        tensor = alloc.tensor
        if tensor.dtype.kind != "complex":
            return alloc
        shape = (*tensor.shape[:-1], constant(2), *tensor.shape[-1:])
        return replace(alloc, tensor=Tensor(tensor.name, tensor.dtype.part, shape))

    def _place(self, tensor: str, index: Forms, part: int) -> Forms:
        if tensor in self._arrays:
            return (*index, constant(part))
        return (*index[:-1], constant(part), *index[-1:])

    def _leaf(self, leaf: Store | Reduce) -> list[Stmt]:
        terms = _Terms(self, [])
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
        if leaf.tensor in _read(leaf.value):
            pair = terms.named(pair)  # the first store would change the second value
        return [*terms.before, *(self._part(leaf, p, v) for p, v in enumerate(pair))]

    def _scatter(self, scatter: Scatter) -> list[Stmt]:
        conditional = scatter.condition is not None and _chooses(scatter.value)
        terms = _Terms(self, [], inline=conditional)
        condition = None
        if scatter.condition is not None:
            condition = terms.real(scatter.condition)
        index = tuple(terms.real(each) for each in scatter.index)
        scatter = replace(scatter, condition=condition, index=index)
        if scatter.value.dtype.kind != "complex":
            value = terms.real(scatter.value)
            return [*terms.before, replace(scatter, value=value)]
        if scatter.op is ReduceOp.MUL:
            old = Gather(scatter.tensor, index, scatter.value.dtype, scatter.checked)
            whole = Binary("mul", old, scatter.value, old.dtype)
            scatter = replace(scatter, op=None, value=whole)
            terms.inline = scatter.condition is not None
        pair = terms.parts(scatter.value)
        if not terms.inline or not _chooses(scatter.value):
            pair = terms.named(pair)
        parts = [
            replace(scatter, index=self._chosen(scatter.tensor, index, p), value=value)
            for p, value in enumerate(pair)
        ]
        return [*terms.before, *parts]

    def _chosen(self, tensor: str, index: Exprs, part: int) -> Exprs:
        number = Index(constant(part), i64)
        if tensor in self._arrays:
            return (*index, number)
        return (*index[:-1], number, *index[-1:])

    def gather(self, gather: Gather, index: Exprs) -> Pair:
        """Return the two parts of an element that data chooses."""
        first, second = (
            replace(
                gather,
                index=self._chosen(gather.tensor, index, p),
                dtype=gather.dtype.part,
            )
            for p in (0, 1)
        )
        return first, second

    def _part(self, leaf: Store | Reduce, part: int, value: Expr) -> Stmt:
        return replace(
            leaf, index=self._place(leaf.tensor, leaf.index, part), value=value
        )

    def _products(self, leaf: Reduce, terms: _Terms) -> list[Stmt] | None:
        """Return the sum of a product as four multiply-adds, None for other sums."""
        value = leaf.value
        if not (self._contract and isinstance(value, Binary) and value.op == "mul"):
            return None
        (a, b), (c, d) = (terms.atoms(each) for each in (value.left, value.right))
        minus = Unary("neg", b, b.dtype)
        pairs = ((0, a, c), (0, minus, d), (1, a, d), (1, b, c))
        return [self._part(leaf, p, _mul(x, y)) for p, x, y in pairs]

    def load(self, load: Load) -> Pair:
        """Return the two parts of an element."""
        dtype = load.dtype.part
        if load.tensor in self.scalars:
            real, imaginary = self.scalars[load.tensor]
            return Load(real, (), dtype), Load(imaginary, (), dtype)
        first, second = (
            Load(load.tensor, self._place(load.tensor, load.index, p), dtype)
            for p in (0, 1)
        )
        return first, second

    def variables(self, dtype: DType, count: int) -> Tensor:
        """Return a new local tensor for *count* values."""
        return Tensor(self._fresh("parts"), dtype, (constant(count),))


@dataclass(slots=True)
class _Terms:
    """The values of one statement; *before* computes what is used more than once.

    That must not be where an element that data chooses is read for one branch only: a
    subscript out of range is a fault there. Then *inline* computes it more than once.
    """

    owner: _Splitter
    before: list[Stmt] = field(default_factory=list)
    inline: bool = False

    def named(self, values: tuple[Expr, ...]) -> Pair:
        """Return *values*, all of one dtype, as variables."""
        if self.inline:
            return values[0], values[-1]
        tensor = self.owner.variables(values[0].dtype, len(values))
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
                return self.owner.load(expr)
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
                return self.owner.gather(expr, index)
            case Select():
                condition = self.real(expr.condition)
                branches = self._branches(expr)
                a, b = branches.parts(expr.then)
                c, d = branches.parts(expr.otherwise)
                return _choose(condition, a, c), _choose(condition, b, d)
            case Cast():
                return self._cast(expr)
            case Index():
                raise AssertionError(expr)

    def _branches(self, expr: Select) -> _Terms:
        """Return how to compute the branches of *expr*."""
        careful = _chooses(expr.then) or _chooses(expr.otherwise)
        return _Terms(self.owner, self.before, self.inline or careful)

    def _cast(self, expr: Cast) -> Pair:
        dtype = expr.dtype.part
        if expr.operand.dtype.kind != "complex":
            return Cast(self.real(expr.operand), dtype), Const(0.0, dtype)
        real, imaginary = self.parts(expr.operand)
        return Cast(real, dtype), Cast(imaginary, dtype)

    def _product(self, expr: Binary) -> Pair:
        (a, b), (c, d) = self.atoms(expr.left), self.atoms(expr.right)
        return _sub(_mul(a, c), _mul(b, d)), _add(_mul(a, d), _mul(b, c))

    def _quotient(self, expr: Binary) -> Pair:
        """Return the quotient by Smith's method, as NumPy does."""
        (a, b), (c, d) = self.atoms(expr.left), self.atoms(expr.right)
        zero, one = Const(0.0, a.dtype), Const(1.0, a.dtype)
        size, other = _abs(c), _abs(d)
        flat = Binary("ge", size, other, boolean)
        large, small = self.named((_choose(flat, c, d), _choose(flat, d, c)))
        ratio, _ = self.named((_div(small, large),))
        scale, _ = self.named((_div(one, _add(large, _mul(small, ratio))),))
        real = _choose(flat, _add(a, _mul(b, ratio)), _add(_mul(a, ratio), b))
        imaginary = _choose(flat, _sub(b, _mul(a, ratio)), _sub(_mul(b, ratio), a))
        none = Binary(
            "and",
            Binary("eq", size, zero, boolean),
            Binary("eq", other, zero, boolean),
            boolean,
        )
        return (
            _choose(none, _div(a, size), _mul(real, scale)),
            _choose(none, _div(b, size), _mul(imaginary, scale)),
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
            root: Expr = Call("sqrt", _add(_mul(x, x), _mul(y, y)), f64)
        else:
            x, y = self.named((_abs(a), _abs(b)))
            high, low = Binary("max", x, y, dtype), Binary("min", x, y, dtype)
            large, small = self.named((high, low))
            ratio, _ = self.named((_div(small, large),))
            one = Const(1.0, f64)
            root = _mul(large, Call("sqrt", _add(one, _mul(ratio, ratio)), f64))
            nothing = Binary("eq", large, Const(0.0, f64), boolean)
            root = _choose(nothing, Const(0.0, f64), root)
        infinity = Const(inf, f64)
        endless = Binary(
            "or",
            Binary("eq", x, infinity, boolean),
            Binary("eq", y, infinity, boolean),
            boolean,
        )
        result = _choose(endless, infinity, root)
        return result if dtype == f64 else Cast(result, dtype)


def _read(expr: Expr) -> set[str]:
    return {node.tensor for node in walk(expr) if isinstance(node, Load | Gather)}


def _chooses(expr: Expr) -> bool:
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


def _mul(x: Expr, y: Expr) -> Expr:
    return Binary("mul", x, y, x.dtype)


def _div(x: Expr, y: Expr) -> Expr:
    return Binary("div", x, y, x.dtype)


def _choose(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    return Select(condition, then, otherwise, then.dtype)
