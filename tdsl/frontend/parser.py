"""Kernels: Python functions to IR."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from ..ir.nodes import Block, Function, Stmt
from ..ir.verify import verify
from .captured import Captured, capture
from .emission import numbered
from .expressions import ExpressionParser
from .names import Names
from .nesting import TOO_DEEP, too_deep
from .results import check_results, returned_names, returned_params
from .scope import Scope, Temporary
from .signature import SignatureParser
from .source import Source, read_source
from .statements import KernelParser
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
        try:
            function, scope = _parse_once(pyfunc, source, captured, known)
        except RecursionError:
            raise source.syntax_error(source.definition, TOO_DEEP) from None
        found = scope.inferred()
        if not found:
            place = too_deep(function)
            if place is not None:
                raise source.error_at(place, TOO_DEEP)
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
        scope.assumptions,
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
