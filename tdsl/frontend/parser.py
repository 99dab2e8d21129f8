"""Kernels: Python functions to IR, one method for each kind of statement."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..ir.nodes import (
    Block,
    Function,
    Stmt,
)
from ..ir.verify import verify
from .advice import REFUSED_STATEMENTS
from .assignments import AssignmentParser
from .captured import Captured, capture
from .emission import Emitter, loop
from .expressions import ExpressionParser
from .loops import Header, LoopParser
from .names import Names
from .results import check_results, returned_names, returned_params
from .scope import Axis, Scope, Temporary
from .signature import SignatureParser
from .source import Source, read_source


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
        Block(tuple(body)),
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
    loops: LoopParser = field(init=False)
    assignments: AssignmentParser = field(init=False)

    def __post_init__(self) -> None:
        """Set up the parsers of headers and of assignments."""
        emitter = Emitter(self.scope)
        self.loops = LoopParser(self.expressions)
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
            self.statement(node, nodes[position + 1 :], block)

    def statement(
        self, node: ast.stmt, rest: list[ast.stmt], block: list[Stmt]
    ) -> None:
        """Translate one statement; *rest* follows it in its block."""
        match node:
            case ast.For():
                self._nest(self.loops.headers(node), node, block)
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
            case ast.Pass():
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

    # --- loops ----------------------------------------------------------------

    def _nest(self, headers: list[Header], node: ast.For, block: list[Stmt]) -> None:
        if not headers:
            self.block(node.body, block)
            return
        header = headers[0]
        inner: list[Stmt] = []
        axis = self.scope.unique(header.name)
        with self.scope.block():
            self.scope.bind(header.name, Axis(axis, node.lineno))
            self.scope.axes.append(axis)
            self._nest(headers[1:], node, inner)
            self.scope.axes.pop()
        block.append(loop(axis, header, inner))


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
