"""The statements of a kernel, one method for each kind."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from ..ir.affine import name as name_form
from ..ir.dtypes import boolean, i64
from ..ir.nodes import (
    Alloc,
    Const,
    Load,
    Memory,
    ReduceOp,
    Stmt,
    Tensor,
)
from ..ir.ranges import range_of_axis
from .advice import REFUSED_STATEMENTS
from .assignments import AssignmentParser
from .assumptions import AssumptionParser
from .branches import leaves_iteration, leaves_loop, surely_assigned
from .calls import CallParser
from .captured import root_name
from .conditions import ConditionParser
from .emission import Emitter, condition, loop
from .expressions import ExpressionParser
from .loops import Header, LoopParser
from .positions import PositionParser
from .predication import (
    Choice,
    branched,
    guarded,
    may_read_unset,
    with_condition_in_place,
    written,
)
from .scope import Axis, Scope, Temporary
from .source import Source

MOST_STATEMENTS = 500
ZERO: dict[str, float | int | bool] = {"float": 0.0, "int": 0, "bool": False}


@dataclass(slots=True)
class KernelParser:
    """Translate statements, appending to the block that is being built."""

    expressions: ExpressionParser
    returned: frozenset[str]
    running: list[str] = field(default_factory=list)
    loops: LoopParser = field(init=False)
    conditions: ConditionParser = field(init=False)
    assumptions: AssumptionParser = field(init=False)
    assignments: AssignmentParser = field(init=False)
    positions: PositionParser = field(init=False)
    calls: CallParser = field(init=False)

    def __post_init__(self) -> None:
        """Set up the parsers of headers and of assignments."""
        emitter = Emitter(self.scope)
        self.loops = LoopParser(self.expressions)
        self.conditions = ConditionParser(self.expressions)
        self.assumptions = AssumptionParser(self.expressions, self.conditions)
        self.assignments = AssignmentParser(self.expressions, emitter, self.returned)
        self.positions = PositionParser(self.expressions, self.loops, emitter)
        self.calls = CallParser(self.expressions, self.assignments)

    @property
    def source(self) -> Source:
        """The text of the kernel."""
        return self.expressions.source

    @property
    def scope(self) -> Scope:
        """The names of the kernel."""
        return self.expressions.scope

    def body(self, nodes: list[ast.stmt], block: list[Stmt]) -> None:
        """Translate the body of the function.

        It has a docstring and assumptions first, if any, and the return last.
        """
        if _is_text(nodes[0]):
            nodes = nodes[1:]
        while nodes and self.assumptions.is_assumption(nodes[0]):
            self.assumptions.assume(nodes[0])
            nodes = nodes[1:]
        if nodes and isinstance(nodes[-1], ast.Return):
            nodes = nodes[:-1]
        self.block(nodes, block)

    def block(self, nodes: list[ast.stmt], block: list[Stmt]) -> None:
        """Translate statements in order."""
        for position, node in enumerate(nodes):
            rest = nodes[position + 1 :]
            if isinstance(node, ast.If) and leaves_iteration(node):
                self._if(node, rest, block)
                return
            self.statement(node, rest, block)
            if isinstance(node, ast.Continue | ast.Break):
                return

    def statement(
        self, node: ast.stmt, rest: list[ast.stmt], block: list[Stmt]
    ) -> None:
        """Translate one statement; *rest* follows it in its block."""
        match node:
            case ast.For():
                self._loop(node, block)
            case ast.If():
                self._if(node, [], block)
            case ast.Break():
                stop = Const(False, boolean)
                span = self.source.span(node)
                self.assignments.emitter.store(self.running[-1], (), stop, block, span)
            case ast.Assign(targets=[target]):
                self._assign(target, node.value, rest, block)
            case ast.Assign():
                raise self.source.syntax_error(
                    node, "`a = b = c` is not in the kernel language: assign twice"
                )
            case ast.AnnAssign():
                self.assignments.declare(node, block)
            case ast.AugAssign():
                self.assignments.augment(node, block)
            case ast.Pass() | ast.Continue():
                return
            case ast.Return():
                raise self.source.syntax_error(
                    node, "`return` stands once, as the last statement of the kernel"
                )
            case ast.Expr(value=call):
                function = self.calls.called(call)
                if function is None:
                    raise self._no_effect(node)
                assert isinstance(call, ast.Call)
                self.calls.call(function, call, [], block)
            case _:
                default = f"`{type(node).__name__}` is not in the kernel language"
                raise self.source.syntax_error(
                    node, REFUSED_STATEMENTS.get(type(node), default)
                )

    def _assign(
        self,
        target: ast.expr,
        value: ast.expr,
        rest: list[ast.stmt],
        block: list[Stmt],
    ) -> None:
        """Translate `target = value`, of which a call is more than one statement."""
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        function, op = self.calls.called(value), self.positions.operation(value)
        if function is not None:
            assert isinstance(value, ast.Call)
            self.calls.call(function, value, parts, block)
        elif op is not None:
            assert isinstance(value, ast.Call)
            self._find(op, target, value, rest, block)
        elif isinstance(target, ast.Tuple):
            self._assign_all(target, value, rest, block)
        else:
            self.assignments.assign(target, value, rest, block)

    def _find(
        self,
        op: ReduceOp,
        target: ast.expr,
        value: ast.Call,
        rest: list[ast.stmt],
        block: list[Stmt],
    ) -> None:
        """Translate `k = tdsl.argmax(...)`."""
        new = isinstance(target, ast.Name) and self.scope.is_new(target.id)
        stem = target.id if isinstance(target, ast.Name) and new else "position"
        name = self.scope.unique(stem) if new else self.scope.derived(stem)
        self.positions.find(op, value, name, block)
        found = ast.copy_location(ast.Name(name, ast.Load()), value)
        variable = stem if new else name
        self.scope.bind(variable, Temporary(name, i64, False, value.lineno))
        if not new:
            self.assignments.assign(target, found, rest, block)

    def _assign_all(
        self,
        target: ast.Tuple,
        value: ast.expr,
        rest: list[ast.stmt],
        block: list[Stmt],
    ) -> None:
        """Translate `a, b = b, a`: every value is computed before the first store."""
        count = len(target.elts)
        if not isinstance(value, ast.Tuple) or len(value.elts) != count:
            raise self.source.syntax_error(
                target, f"write {count} values for {count} variables: `a, b = x, y`"
            )
        values = list(value.elts)
        changed: set[str] = set()
        for place, (part, each) in enumerate(zip(target.elts, values, strict=True)):
            names = {node.id for node in ast.walk(each) if isinstance(node, ast.Name)}
            if names & changed:
                new = ast.Name(self.scope.free("value"), ast.Store())
                ast.copy_location(new, each)
                self.assignments.assign(new, each, rest, block)
                values[place] = ast.copy_location(ast.Name(new.id, ast.Load()), each)
            owner = part.value if isinstance(part, ast.Subscript) else part
            changed.add(root_name(owner) or "")
        for part, each in zip(target.elts, values, strict=True):
            self.assignments.assign(part, each, rest, block)

    def _no_effect(self, node: ast.Expr) -> Exception:
        if not isinstance(node.value, ast.Constant):
            self.expressions.value(node.value)  # its own error says more
        return self.source.syntax_error(
            node, "this statement has no effect: assign its value to something"
        )

    # --- conditions -----------------------------------------------------------

    def _if(self, node: ast.If, rest: list[ast.stmt], block: list[Stmt]) -> None:
        """Translate an `if`; *rest* follows it where the iteration goes on."""
        then, otherwise = [*node.body, *rest], [*node.orelse, *rest]
        cases = self.conditions.cases(node.test)
        if len(cases) == 1 and isinstance(cases[0].outcome, bool):
            self.block(then if cases[0].outcome else otherwise, block)
            return
        if self.assignments.emitter.labels > MOST_STATEMENTS:
            raise self.source.syntax_error(
                node.test,
                f"this kernel comes to more than {MOST_STATEMENTS} statements, as each "
                "case of a condition has a copy of its block: nest fewer `!=`, `or` "
                "and `continue`",
            )
        names = surely_assigned(then) & surely_assigned(otherwise)
        span = self.source.span(node.test)
        unset: set[str] = set()
        with self.scope.joining(names, block) as new:
            for case in cases:
                inner: list[Stmt] = []
                with self.scope.facts.within(*case.when):
                    if isinstance(case.outcome, bool):
                        self._branch(then if case.outcome else otherwise, inner)
                    else:
                        yes, no = self._branch(then, []), self._branch(otherwise, [])
                        fresh = self.scope.joined_variables(new)
                        choice = Choice(case.outcome.expr, yes, no, fresh, span)
                        inner = self._selected(choice)
                fresh = self.scope.joined_variables(new)
                unset |= {each for each in fresh if may_read_unset(each, inner)}
                condition(case.when, inner, block, span)
            for name in sorted(unset):
                self._set_first(name, block)

    def _set_first(self, name: str, block: list[Stmt]) -> None:
        """Let the variable *name*, declared in *block*, start as 0."""
        for place, statement in enumerate(block):
            if isinstance(statement, Alloc) and statement.tensor.name == name:
                dtype, span = statement.tensor.dtype, statement.span
                assert span is not None
                zero = Const(ZERO[dtype.kind], dtype, span=span)
                start: list[Stmt] = []
                self.assignments.emitter.store(name, (), zero, start, span)
                block[place + 1 : place + 1] = start
                return

    def _branch(self, nodes: list[ast.stmt], block: list[Stmt]) -> list[Stmt]:
        with self.scope.block("`if`"):
            self.block(nodes, block)
        return block

    def _selected(self, choice: Choice) -> list[Stmt]:
        """Return the statements of both branches, each where it is taken."""
        test, span = choice.condition, choice.span
        changed = written([*choice.then, *choice.otherwise])
        match test:
            case Load(index=()) if test.tensor not in changed:
                return branched(choice)
        name = self.scope.derived("condition")
        load = Load(name, (), boolean, span=span)
        chosen = branched(replace(choice, condition=load))
        short = with_condition_in_place(name, test, chosen)
        if short is not None:
            return short
        tensor = Tensor(name, boolean, ())
        first: list[Stmt] = [Alloc(tensor, Memory.REGISTER, span=span)]
        self.assignments.emitter.store(name, (), test, first, span)
        return [*first, *chosen]

    # --- loops ----------------------------------------------------------------

    def _loop(self, node: ast.For, block: list[Stmt]) -> None:
        headers = self.loops.headers(node)
        running = ""
        if leaves_loop(node.body):
            running = self.scope.derived("running")
            span = headers[0].span
            tensor = Tensor(running, boolean, ())
            block.append(Alloc(tensor, Memory.REGISTER, span=span))
            start = Const(True, boolean, span=span)
            self.assignments.emitter.store(running, (), start, block, span)
        self.running.append(running)
        self._nest(headers, node, block)
        self.running.pop()

    def _body(self, node: ast.For, block: list[Stmt]) -> None:
        """Translate the body of a loop; after a `break` it has no effect."""
        running, inner = self.running[-1], list[Stmt]()
        self.block(node.body, inner)
        if running:
            span = self.source.span(node)
            live = Load(running, (), boolean, span=span)
            inner = guarded(live, inner, span, exempt=[running])
        block.extend(inner)

    def _nest(self, headers: list[Header], node: ast.For, block: list[Stmt]) -> None:
        if not headers:
            self._body(node, block)
            return
        header = headers[0]
        inner: list[Stmt] = []
        axis = self.scope.unique(header.name)
        bounds = header.bounds(name_form(axis))
        with self.scope.block(), self.scope.facts.within(*bounds):
            self.scope.bind(header.name, Axis(axis, node.lineno))
            self.scope.axes.append(axis)
            reach = range_of_axis(header.starts, header.stops, self.scope.ranges)
            self.scope.ranges[axis] = reach
            self._nest(headers[1:], node, inner)
            self.scope.axes.pop()
        block.append(loop(axis, header, inner))


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
