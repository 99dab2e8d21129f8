"""Random programs: rectangular, triangular and strided loops, branches that affine
forms or data decide, stencils in place and in time, reductions, scalar temporaries,
local tensors, calls, and in some of them gathers and scatters, over symbolic sizes.

A tensor dimension of class D has D + 4 elements and an axis of class D runs inside
[0, D), so that a subscript `axis + offset` with an offset up to 4 stays in bounds. A
subscript that data decides is a remainder by the size, or an element of an input that
holds each subscript once.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from tdsl.ir.affine import Affine, affine, constant, name
from tdsl.ir.dtypes import DType, boolean, i64
from tdsl.ir.nodes import (
    Alloc,
    Assumptions,
    Binary,
    Block,
    Cast,
    Const,
    Dim,
    Expr,
    For,
    Function,
    Gather,
    If,
    Index,
    Instance,
    Load,
    LoopKind,
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
from tdsl.ir.walk import rewrite_block

from .constructs import branched, called, other_tensors, predicated

Extent = str | int
"""A class of sizes: the name of a dim, or a constant."""

Loops = list[tuple[For, Extent]]


@dataclass(slots=True)
class _Generator:
    rng: random.Random
    dims: tuple[Dim, ...]
    dtype: DType
    chooses: bool
    shapes: dict[str, tuple[Extent, ...]] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    writable: list[str] = field(default_factory=list)
    keys: dict[str, Extent] = field(default_factory=dict)
    count: dict[str, int] = field(default_factory=dict)

    def fresh(self, base: str) -> str:
        number = self.count.get(base, 0)
        self.count[base] = number + 1
        return f"{base}{number}"

    def constant(self, value: int) -> Const:
        number = float(value) if self.dtype.kind == "float" else value
        return Const(number, self.dtype)

    def extent(self) -> Extent:
        choices: list[Extent] = [*(dim.name for dim in self.dims), 3]
        return self.rng.choice(choices)

    def tensor(self, label: str, rank: int) -> Tensor:
        extents = tuple(self.extent() for _ in range(rank))
        self.shapes[label] = extents
        shape = tuple(affine(extent) + 4 for extent in extents)
        self.tensors[label] = Tensor(label, self.dtype, shape)
        return self.tensors[label]

    def key(self, label: str) -> Tensor:
        """Return an input that holds each subscript of a class of sizes once."""
        self.keys[label] = extent = self.extent()
        return Tensor(label, i64, (affine(extent) + 4,))

    def nest(self) -> Block:
        loops: list[tuple[For, Extent]] = []
        for _ in range(self.rng.choice([1, 1, 2, 2, 2, 3])):
            loops.append(self.loop(loops))
        body = self.innermost(loops)
        for depth in range(len(loops), 0, -1):
            loop = loops[depth - 1][0]
            body = Block(
                (
                    For(
                        loop.axis,
                        loop.starts,
                        loop.stops,
                        loop.step,
                        LoopKind.SERIAL,
                        body,
                    ),
                )
            )
            outer = loops[: depth - 1]
            if depth > 1 and self.rng.random() < 0.25:
                extra = self.statement(outer)
                both = [*body.statements, extra]
                self.rng.shuffle(both)
                body = Block(tuple(both))
            if depth > 1 and self.rng.random() < 0.12:
                body = self.branch(body, outer)
        return body

    def branch(self, then: Block, loops: Loops) -> Block:
        """Return *then* under a condition, in some cases with an `else`."""
        conditions = tuple(
            self.condition(loops) for _ in range(self.rng.choice([1, 1, 2]))
        )
        otherwise = None
        if self.rng.random() < 0.5:
            otherwise = Block((self.statement(loops),))
        return Block(branched(conditions, then, otherwise))

    def condition(self, loops: Loops) -> Affine:
        """Return a form over axes and dims of either sign."""
        rng = self.rng
        loop, extent = rng.choice(loops)
        axis = name(loop.axis)
        others = [name(other.axis) for other, _ in loops if other is not loop]
        half = affine(extent) // 2
        other = rng.choice([*others, *others, constant(1), constant(2), half])
        return rng.choice([axis - other, other - axis, axis + other - 4])

    def time(self) -> Block:
        """Return one or two stencils in a loop over time."""
        rng = self.rng
        whole = {n: s for n, s in self.shapes.items() if n in self.writable and s}
        target = rng.choice(sorted(whole)) if whole else ""
        if not target:
            return self.nest()
        like = [n for n, s in whole.items() if s == whole[target]]
        time = self.fresh("i")
        parts: list[Stmt] = []
        source = target
        for _ in range(rng.choice([1, 2, 2])):
            target = rng.choice(like)
            parts += self.stencil(source, target).statements
            source = target
        stop = affine(self.extent() if rng.random() < 0.5 else rng.choice([2, 3]))
        body = Block(tuple(parts))
        body = _with_outer(body, time)
        loop = For(time, (constant(0),), (stop,), 1, LoopKind.SERIAL, body)
        return Block((loop,))

    def stencil(self, source: str, target: str) -> Block:
        """Return a nest that writes *target* from neighbours in *source*."""
        rng = self.rng
        loops: Loops = []
        for extent in self.shapes[target]:
            bounds = (constant(rng.choice([0, 0, 1])),), (affine(extent),)
            axis = self.fresh("i")
            loops.append((For(axis, *bounds, 1, LoopKind.SERIAL, Block(())), extent))
        axes = [name(loop.axis) for loop, _ in loops]
        value: Expr | None = None
        for _ in range(rng.choice([2, 3])):
            index = tuple(axis + 1 + rng.choice([-1, 0, 1]) for axis in axes)
            load = Load(source, index, self.dtype)
            value = load if value is None else Binary("add", value, load, self.dtype)
        assert value is not None
        here = tuple(axis + 1 for axis in axes)
        leaf: Stmt = Store(target, here, value, self.instance(loops))
        if rng.random() < 0.3:
            leaf = Reduce(ReduceOp.ADD, target, here, value, self.instance(loops))
        body = Block((leaf,))
        if rng.random() < 0.15:
            body = Block((If((self.condition(loops),), body),))
        for loop, _ in reversed(loops):
            body = Block((replace(loop, body=body),))
        return body

    def call(self, block: Block) -> Block:
        """Return *block* once more, on other tensors."""
        arguments = other_tensors(block, self.tensors, {*self.writable}, self.rng)
        return called(block, arguments, self.fresh)

    def loop(self, loops: list[tuple[For, Extent]]) -> tuple[For, Extent]:
        rng = self.rng
        extent = self.extent()
        same = [name(loop.axis) for loop, other in loops if other == extent]
        starts, stops = [constant(rng.choice([0, 0, 0, 1]))], [affine(extent)]
        if same and rng.random() < 0.4:
            if rng.random() < 0.5:
                starts = [rng.choice(same) + rng.choice([0, 0, 1])]
            else:
                stops.append(rng.choice(same) + rng.choice([0, 1]))
        if rng.random() < 0.1:
            stops.append(affine(extent) - 1)
        step = 2 if rng.random() < 0.1 else 1
        loop = For(
            self.fresh("i"),
            tuple(starts),
            tuple(stops),
            step,
            LoopKind.SERIAL,
            Block(()),
        )
        return loop, extent

    def innermost(self, loops: list[tuple[For, Extent]]) -> Block:
        rng = self.rng
        statements: list[Stmt] = []
        if rng.random() < 0.2:
            statements += self.temporary(loops)
        for _ in range(rng.choice([1, 1, 1, 2])):
            statements.append(self.statement(loops))
        if rng.random() < 0.15:
            statements = self.decided(statements, loops)
        if rng.random() < 0.15:
            start = rng.randrange(len(statements))
            if not any(isinstance(s, Alloc) for s in statements[start:]):
                then = Block(tuple(statements[start:]))
                statements[start:] = self.branch(then, loops).statements
        return Block(tuple(statements))

    def decided(self, statements: list[Stmt], loops: Loops) -> list[Stmt]:
        """Return *statements* where data decides whether they run."""
        if any(isinstance(each, Alloc) for each in statements):
            return statements
        label = self.fresh("c")
        test = Binary("lt", self.load(loops), self.load(loops), boolean)
        first = Store(label, (), test, self.instance(loops))
        chosen = Load(label, (), boolean)
        alloc = Alloc(Tensor(label, boolean, ()), Memory.REGISTER)
        leaves = [predicated(each, chosen, self.dtype) for each in statements]
        return [alloc, first, *leaves]

    def reduction(self) -> Block:
        """Return a sum, product or maximum over the innermost loops of a nest."""
        rng = self.rng
        loops: list[tuple[For, Extent]] = []
        target = rng.choice(self.writable)
        forms: list[Affine] = []
        for extent in self.shapes[target]:
            if rng.random() < 0.3:
                forms.append(constant(rng.randrange(4)))
                continue
            axis = self.fresh("i")
            stop = (affine(extent),)
            kind = LoopKind.SERIAL
            loop = For(axis, (constant(0),), stop, 1, kind, Block(()))
            loops.append((loop, extent))
            forms.append(name(axis) + rng.randrange(4))
        for _ in range(rng.choice([1, 1, 2])):
            loops.append(self.loop(loops))
        op = rng.choice([ReduceOp.ADD, ReduceOp.ADD, ReduceOp.MUL, ReduceOp.MAX])
        value = self.expr(loops)
        instance = self.instance(loops)
        body = Block((Reduce(op, target, tuple(forms), value, instance),))
        for loop, _ in reversed(loops):
            body = Block((replace(loop, body=body),))
        return body

    def temporary(self, loops: list[tuple[For, Extent]]) -> list[Stmt]:
        label = self.fresh("t")
        value = self.expr(loops)
        self.shapes[label] = ()
        instance = self.instance(loops)
        tensor = Tensor(label, self.dtype, ())
        first = Store(label, (), value, instance)
        use = self.write(
            loops,
            Binary("add", Load(label, (), self.dtype), self.load(loops), self.dtype),
        )
        del self.shapes[label]
        return [Alloc(tensor, Memory.REGISTER), first, use]

    def instance(self, loops: list[tuple[For, Extent]]) -> Instance:
        return Instance(self.fresh("S"), tuple(name(loop.axis) for loop, _ in loops))

    def statement(self, loops: list[tuple[For, Extent]]) -> Stmt:
        return self.write(loops, self.expr(loops))

    def write(self, loops: list[tuple[For, Extent]], value: Expr) -> Stmt:
        target = self.rng.choice(self.writable)
        index = self.subscripts(target, loops)
        if self.chooses and self.rng.random() < 0.2:
            return self.scatter(target, index, value, loops)
        if self.rng.random() < 0.45:
            op = self.rng.choice(
                [ReduceOp.ADD, ReduceOp.ADD, ReduceOp.MUL, ReduceOp.MAX, ReduceOp.MIN]
            )
            return Reduce(op, target, index, value, self.instance(loops))
        return Store(target, index, value, self.instance(loops))

    def subscripts(
        self, tensor: str, loops: list[tuple[For, Extent]]
    ) -> tuple[Affine, ...]:
        rng = self.rng
        forms: list[Affine] = []
        for extent in self.shapes[tensor]:
            axes = [name(loop.axis) for loop, other in loops if other == extent]
            if not axes or rng.random() < 0.1:
                forms.append(constant(rng.randrange(4)))
                continue
            axis = rng.choice(axes)
            kind = rng.random()
            if kind < 0.08:
                forms.append(axis // 2 + rng.randrange(4))
            elif kind < 0.16:
                forms.append(affine(extent) + 3 - axis - rng.randrange(3))
            else:
                forms.append(axis + rng.choice([0, 0, 0, 1, 2, 3]))
        return tuple(forms)

    def load(self, loops: list[tuple[For, Extent]]) -> Load | Gather:
        tensor = self.rng.choice([*self.shapes])
        index = self.subscripts(tensor, loops)
        if self.chooses and index and self.rng.random() < 0.2:
            return Gather(tensor, self.chosen(tensor, index, loops), self.dtype)
        return Load(tensor, index, self.dtype)

    def chosen(
        self, tensor: str, index: tuple[Affine, ...], loops: list[tuple[For, Extent]]
    ) -> tuple[Expr, ...]:
        """Return *index* with one or more subscripts that data decides."""
        parts: list[Expr] = [Index(form, i64) for form in index]
        first = self.rng.randrange(len(parts))
        if (known := self.known(tensor, first, loops)) is not None:
            parts[first] = known
            return tuple(parts)
        for position, extent in enumerate(self.shapes[tensor]):
            if position == first or self.rng.random() < 0.3:
                value: Expr = self.load(loops)
                if self.dtype != i64:
                    value = Cast(value, i64)
                size = Index(affine(extent) + 4, i64)
                parts[position] = Binary("mod", value, size, i64)
        return tuple(parts)

    def known(self, tensor: str, position: int, loops: Loops) -> Expr | None:
        """Return an element of an input that holds each subscript once."""
        extent = self.shapes[tensor][position]
        keys = [label for label, size in self.keys.items() if size == extent]
        axes = [name(loop.axis) for loop, other in loops if other == extent]
        if not keys or not axes:
            return None
        form = self.rng.choice(axes) + self.rng.choice([0, 0, 0, 1])
        return Load(self.rng.choice(keys), (form,), i64)

    def scatter(
        self, target: str, index: tuple[Affine, ...], value: Expr, nest: Loops
    ) -> Scatter:
        op = self.rng.choice([None, None, ReduceOp.ADD, ReduceOp.MAX])
        condition = None
        if self.rng.random() < 0.3:
            condition = Binary("lt", self.load(nest), self.load(nest), boolean)
        parts = self.chosen(target, index, nest)
        return Scatter(target, parts, op, value, self.instance(nest), condition)

    def expr(self, loops: list[tuple[For, Extent]], depth: int = 0) -> Expr:
        rng = self.rng
        kind = rng.random()
        if depth > 1 or kind < 0.35:
            return self.load(loops)
        if kind < 0.42:
            return self.constant(rng.choice([0, 1, 5]))
        if kind < 0.48:
            return Index(rng.choice([name(loop.axis) for loop, _ in loops]), self.dtype)
        left, right = self.expr(loops, depth + 1), self.expr(loops, depth + 1)
        if kind < 0.55:
            condition = Binary("lt", left, right, boolean)
            return Select(condition, left, self.expr(loops, depth + 1), self.dtype)
        if kind < 0.6:
            return Unary("neg", left, self.dtype)
        op = rng.choice(["add", "add", "sub", "mul", "mul", "max", "min"])
        return Binary(op, left, right, self.dtype)

    def filled(self, tensor: Tensor, value: Expr) -> Stmt:
        """Return a nest that writes all of *tensor*."""
        axes = tuple(self.fresh("z") for _ in tensor.shape)
        index = tuple(name(axis) for axis in axes)
        body: Stmt = Store(tensor.name, index, value, Instance(self.fresh("S"), index))
        for axis, size in reversed(list(zip(axes, tensor.shape, strict=True))):
            body = For(
                axis, (constant(0),), (size,), 1, LoopKind.SERIAL, Block((body,))
            )
        return body


def _with_outer(body: Block, axis: str) -> Block:
    """Return *body*, inside a loop over *axis*, with that in its instances."""

    def rule(statement: Stmt) -> Stmt:
        if not isinstance(statement, Store | Reduce | Scatter):
            return statement
        own = statement.instance
        assert own is not None
        coordinates = (name(axis), *own.coordinates)
        return replace(statement, instance=replace(own, coordinates=coordinates))

    return rewrite_block(body, rule)


def random_program(rng: random.Random, dtype: DType = i64) -> Function:
    """Return a random function on one dtype, well-defined in most cases."""
    labels = ["N", "M"][: rng.choice([1, 2])]
    dims = tuple(
        Dim(
            label,
            rng.choice([0, 0, 1, 2]),
            rng.choice([None, None, 9]),
            rng.choice([1, 1, 1, 2]),
        )
        for label in labels
    )
    generator = _Generator(rng, dims, dtype, chooses=rng.random() < 0.3)
    params, statements = _arguments(generator)
    if generator.chooses and rng.random() < 0.6:
        params.append(Param(generator.key("P"), Role.INPUT))
    if rng.random() < 0.2:
        params.append(Param(generator.tensor("s", 0), Role.INPUT))
    if rng.random() < 0.35:
        tensor = generator.tensor("L", rng.choice([1, 1, 2]))
        statements.append(Alloc(tensor, Memory.ARRAY))
        statements.append(
            generator.filled(tensor, generator.constant(rng.choice([0, 3])))
        )
        generator.writable.append("L")
    for _ in range(rng.choice([1, 1, 2, 3])):
        kind = rng.random()
        make = generator.nest
        if kind < 0.45:
            make = generator.reduction if kind < 0.3 else generator.time
        block = make()
        statements += block.statements
        if rng.random() < 0.12:
            statements += generator.call(block).statements
    body, known = Block(tuple(statements)), _assumptions(generator)
    return Function("random", tuple(params), dims, body, known)


def _arguments(generator: _Generator) -> tuple[list[Param], list[Stmt]]:
    """Return the parameters, and nests that write those without a value at entry."""
    rng = generator.rng
    params: list[Param] = []
    statements: list[Stmt] = []
    for label in ("A", "B", "C")[: rng.choice([2, 3])]:
        tensor = generator.tensor(label, rng.choice([1, 1, 2]))
        role = rng.choice([Role.INPUT, Role.INOUT, Role.INOUT, Role.OUTPUT])
        if label == "A":
            role = Role.INOUT
        params.append(Param(tensor, role))
        if role is Role.OUTPUT:
            statements.append(generator.filled(tensor, generator.constant(0)))
        if role is not Role.INPUT:
            generator.writable.append(label)
    return params, statements


def _assumptions(generator: _Generator) -> Assumptions:
    rng, labels = generator.rng, [dim.name for dim in generator.dims]
    conditions: tuple[Affine, ...] = ()
    if len(labels) > 1 and rng.random() < 0.2:
        first, second = map(name, labels)
        conditions = (rng.choice([first - second, second - first + 1]),)
    ranges = tuple(
        (label, constant(0), affine(extent) + 4)
        for label, extent in generator.keys.items()
    )
    return Assumptions(conditions, ranges, tuple(generator.keys))
