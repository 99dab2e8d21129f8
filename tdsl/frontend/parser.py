"""Kernels: Python functions to IR, one method for each kind of statement."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..ir.affine import name as name_form
from ..ir.dtypes import boolean
from ..ir.nodes import (
    Alloc,
    Block,
    Const,
    Function,
    Load,
    Memory,
    Stmt,
    Tensor,
)
from ..ir.verify import verify
from .advice import REFUSED_STATEMENTS
from .assignments import AssignmentParser
from .branches import leaves_iteration, leaves_loop, surely_assigned
from .captured import Captured, capture
from .conditions import ConditionParser
from .emission import Emitter, condition, loop, numbered
from .expressions import ExpressionParser
from .loops import Header, LoopParser
from .names import Names
from .predication import Choice, branched, guarded, with_condition_in_place, written
from .ranges import range_of_axis
from .results import check_results, returned_names, returned_params
from .scope import Axis, Scope, Temporary
from .signature import SignatureParser
from .source import Source, read_source
from .subscripts import trusted


def parse(
    pyfunc: Callable[..., Any], namespace: Mapping[str, Any] | None = None
) -> Function:
    """Return the IR of *pyfunc*, verified.

    *namespace* gives variables that annotations kept as text may need and that the
    function itself does not capture.
    """
    source = read_source(pyfunc)
    captured = capture(pyfunc, namespace)
    known: dict[int, Temporary] = {}
    while True:
        function, scope = _parse_once(pyfunc, source, captured, known)
        found = scope.inferred()
        if not found:
            function = trusted(function)
            verify(function)
            return function
        known |= found


def _parse_once(
    pyfunc: Callable[..., Any],
    source: Source,
    captured: Captured,
    known: Mapping[int, Temporary],
) -> tuple[Function, Scope]:
    definition = source.definition
    scope = Scope(_names(definition), _assigned(definition), known=known)
    expressions = ExpressionParser(Names(source, captured, scope))
    signature = SignatureParser(pyfunc, expressions)
    params = signature.params()
    parser = KernelParser(expressions, returned_names(source))
    body: list[Stmt] = []
    parser.body(definition.body, body)
    returned = returned_params(source, scope, signature.result())
    check_results(source, scope, params, returned)
    function = Function(
        definition.name,
        (*params, *returned),
        tuple(scope.dims.values()),
        numbered(Block(tuple(body))),
        span=source.span(definition),
    )
    return function, scope


def _names(definition: ast.FunctionDef) -> frozenset[str]:
    """Return every name in the text, which derived names must avoid."""
    names = {node.id for node in ast.walk(definition) if isinstance(node, ast.Name)}
    return frozenset(names | {argument.arg for argument in definition.args.args})


def _assigned(definition: ast.FunctionDef) -> frozenset[str]:
    """Return the local variables: whatever the body assigns or loops over."""
    return frozenset(
        node.id
        for node in ast.walk(definition)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )


@dataclass(slots=True)
class KernelParser:
    """Translate statements, appending to the block that is being built."""

    expressions: ExpressionParser
    returned: frozenset[str]
    running: list[str] = field(default_factory=list)
    loops: LoopParser = field(init=False)
    conditions: ConditionParser = field(init=False)
    assignments: AssignmentParser = field(init=False)

    def __post_init__(self) -> None:
        """Set up the parsers of headers and of assignments."""
        emitter = Emitter(self.scope)
        self.loops = LoopParser(self.expressions)
        self.conditions = ConditionParser(self.expressions)
        self.assignments = AssignmentParser(self.expressions, emitter, self.returned)

    @property
    def source(self) -> Source:
        """The text of the kernel."""
        return self.expressions.source

    @property
    def scope(self) -> Scope:
        """The names of the kernel."""
        return self.expressions.scope

    def body(self, nodes: list[ast.stmt], block: list[Stmt]) -> None:
        """Translate the body of the function: no docstring, and the return last."""
        if _is_text(nodes[0]):
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
                self.assignments.assign(target, node.value, rest, block)
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
            case ast.Expr():
                raise self._no_effect(node)
            case _:
                default = f"`{type(node).__name__}` is not in the kernel language"
                raise self.source.syntax_error(
                    node, REFUSED_STATEMENTS.get(type(node), default)
                )

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
        names = surely_assigned(then) & surely_assigned(otherwise)
        span = self.source.span(node.test)
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
                condition(case.when, inner, block, span)

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
