"""`k = tdsl.argmax(A[i] for i in range(M))`, and `argmin`.

Of elements of a tensor, these are two reductions, which schedules may run in any order:
the largest element, then the first position of that value. Where the elements are
computed, one loop compares each one, once, with the best so far. Either way the first
NaN is the largest and the smallest value, as in NumPy.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..ir.affine import name as name_form
from ..ir.dtypes import DType, boolean, i64
from ..ir.nodes import (
    Alloc,
    Binary,
    Const,
    Expr,
    Index,
    Load,
    Memory,
    ReduceOp,
    Select,
    Span,
    Stmt,
    Tensor,
)
from ..ir.ranges import range_of_axis
from .builtins import function_name
from .captured import root_name
from .emission import Emitter, loop
from .expressions import ExpressionParser
from .loops import Header, LoopParser
from .scope import Axis
from .values import convert, index

_OPS = {"argmax": ReduceOp.MAX, "argmin": ReduceOp.MIN}
_BETTER = {ReduceOp.MAX: "gt", ReduceOp.MIN: "lt"}


@dataclass(frozen=True, slots=True)
class _Search:
    """One call: the loop, what it looks at, and where the results go."""

    op: ReduceOp
    header: Header
    node: ast.GeneratorExp
    best: str
    position: str
    span: Span


@dataclass(frozen=True, slots=True)
class PositionParser:
    """Translate `argmax` and `argmin` in the current scope."""

    expressions: ExpressionParser
    loops: LoopParser
    emitter: Emitter

    def operation(self, node: ast.expr) -> ReduceOp | None:
        """Return which extreme *node* looks for, if it is such a call."""
        if not isinstance(node, ast.Call) or root_name(node.func) is None:
            return None
        return _OPS.get(function_name(self.expressions.callee(node)) or "")

    def find(
        self, op: ReduceOp, node: ast.Call, position: str, block: list[Stmt]
    ) -> None:
        """Append the search that *node* is; its result is the variable *position*."""
        source, scope = self.expressions.source, self.expressions.scope
        text, span = source.text(node.func), source.span(node)
        match node:
            case ast.Call(args=[ast.GeneratorExp() as generator], keywords=[]):
                header = self._header(generator, text)
            case _:
                raise source.syntax_error(
                    node, f"write `{text}(A[i] for i in range(M))`"
                )
        best = scope.derived("best")
        search = _Search(op, header, generator, best, position, span)
        value, axis = self._element(search)
        self._declare(search, value.dtype, block)
        if isinstance(value, Load) and value.index:
            self._two_loops(search, value, axis, block)
        else:
            self._one_loop(search, value, axis, block)

    def _header(self, node: ast.GeneratorExp, text: str) -> Header:
        source, first = self.expressions.source, node.generators[0]
        if len(node.generators) > 1 or first.ifs:
            raise source.syntax_error(
                node,
                f"`{text}` looks along one loop, without `if`: write "
                f"`{text}(A[i] for i in range(M))`",
            )
        fake = ast.For(first.target, first.iter, [], [])
        headers = self.loops.headers(ast.copy_location(fake, first.target))
        header = headers[0]
        if len(headers) > 1 or len(header.starts) > 1 or len(header.stops) > 1:
            raise source.syntax_error(
                first.iter,
                f"`{text}` looks along one range, with one start and one stop",
            )
        extent = header.stops[0] - header.starts[0]
        if not self.expressions.scope.facts.implies(extent - 1):
            raise source.type_error(
                first.iter,
                f"`{source.text(first.iter)}` may be empty, and then there is no "
                f"{text.rpartition('.')[2]}: assume that it is not, as in "
                f"`tdsl.assume({header.stops[0]} > {header.starts[0]})`",
            )
        return header

    def _element(self, search: _Search) -> tuple[Expr, str]:
        """Return what is compared, in a new loop, and the axis of that loop."""
        scope, header = self.expressions.scope, search.header
        axis = scope.unique(header.name)
        with scope.block(), scope.facts.within(*header.bounds(name_form(axis))):
            scope.bind(header.name, Axis(axis, search.span.line))
            scope.ranges[axis] = range_of_axis(
                header.starts, header.stops, scope.ranges
            )
            value = self.expressions.value(search.node.elt)
        if value.dtype.kind not in ("int", "float"):
            raise self.expressions.source.type_error(
                search.node.elt, f"numbers have an order, and {value.dtype} has none"
            )
        return convert(value, value.dtype), axis

    def _declare(self, search: _Search, dtype: DType, block: list[Stmt]) -> None:
        span = search.span
        none = Const(search.op.identity(dtype), dtype, span=span)
        for name, kind in ((search.best, dtype), (search.position, i64)):
            block.append(Alloc(Tensor(name, kind, ()), Memory.REGISTER, span=span))
        self.emitter.store(search.best, (), none, block, span)

    def _two_loops(
        self, search: _Search, value: Load, axis: str, block: list[Stmt]
    ) -> None:
        op, header, span = search.op, search.header, search.span
        scope = self.expressions.scope
        first: list[Stmt] = []
        scope.axes.append(axis)
        self.emitter.reduce(op, search.best, (), value, first, span)
        scope.axes.pop()
        block.append(loop(axis, header, first))
        last = convert(index(header.stops[0] - 1, span), i64)
        self.emitter.store(search.position, (), last, block, span)
        second: list[Stmt] = []
        again, axis = self._element(search)
        best = Load(search.best, (), value.dtype, span=span)
        same: Expr = Binary("eq", again, best, boolean, span=span)
        if value.dtype.kind == "float":
            nan = Binary("ne", again, again, boolean, span=span)
            same = Binary("or", same, nan, boolean, span=span)
        here = Index(name_form(axis), i64, span=span)
        never = Const(ReduceOp.MIN.identity(i64), i64, span=span)
        found = Select(same, here, never, i64, span=span)
        scope.axes.append(axis)
        self.emitter.reduce(ReduceOp.MIN, search.position, (), found, second, span)
        scope.axes.pop()
        block.append(loop(axis, header, second))

    def _one_loop(
        self, search: _Search, value: Expr, axis: str, block: list[Stmt]
    ) -> None:
        header, span, dtype = search.header, search.span, value.dtype
        scope = self.expressions.scope
        start = convert(index(header.starts[0], span), i64)
        self.emitter.store(search.position, (), start, block, span)
        inner: list[Stmt] = []
        scope.axes.append(axis)
        element = self.emitter.kept(value, scope.derived("element"), inner)
        best = Load(search.best, (), dtype, span=span)
        better: Expr = Binary(_BETTER[search.op], element, best, boolean, span=span)
        if dtype.kind == "float":
            nan = Binary("ne", element, element, boolean, span=span)
            first = Binary("eq", best, best, boolean, span=span)
            both = Binary("and", nan, first, boolean, span=span)
            better = Binary("or", better, both, boolean, span=span)
        better = self.emitter.kept(better, scope.derived("better"), inner)
        here = Index(name_form(axis), i64, span=span)
        for name, new in ((search.best, element), (search.position, here)):
            old = Load(name, (), new.dtype, span=span)
            chosen = Select(better, new, old, new.dtype, span=span)
            self.emitter.store(name, (), chosen, inner, span)
        scope.axes.pop()
        block.append(loop(axis, header, inner))
