"""Calls of `@tdsl.inline` functions: their bodies, evaluated on the arguments."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import replace
from itertools import islice

from ..ir.dtypes import DType
from ..ir.walk import walk
from .inline import InlineFunction
from .names import Names
from .scope import Alias, Scope
from .source import Source
from .values import Mismatch, Value, can_store, convert

LARGEST = 2000
"""An expression may have so many parts: a variable of a helper is no storage."""

Evaluate = Callable[[ast.expr, Names], Value]


def inlined(
    function: InlineFunction,
    call: ast.Call,
    arguments: list[Value],
    caller: Names,
    evaluate: Evaluate,
) -> Value:
    """Return the value of *call*, of *function* with *arguments*."""
    definition = function.source.definition
    name = definition.name
    if function in caller.scope.inlining:
        raise caller.source.type_error(
            call, f"`{name}` calls itself: write the expression out in place"
        )
    place = caller.source.span(call)
    source = replace(function.source, caller=place, callee=name)
    names = Names(source, function.captured, _scope(function, caller.scope))
    for parameter, node, value in zip(
        _parameters(source, call, caller.source), call.args, arguments, strict=True
    ):
        bound = _converted(function, parameter, node, value, caller.source)
        names.scope.bind(parameter.arg, Alias(bound))
    *statements, last = _statements(definition)
    for statement in statements:
        _assign(statement, names, evaluate)
    if not isinstance(last, ast.Return) or last.value is None:
        raise source.syntax_error(last, f"`{name}` ends without `return x`")
    result = evaluate(last.value, names)
    if len(list(islice(walk(result.expr), LARGEST))) == LARGEST:
        raise source.syntax_error(
            last, f"`{name}` grows too large here: use variables of the kernel"
        )
    return result


def _scope(function: InlineFunction, caller: Scope) -> Scope:
    assigned = frozenset(
        node.id
        for node in ast.walk(function.source.definition)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    scope = Scope(caller.written, assigned, used=caller.used, dims=caller.dims)
    scope.inlining = (*caller.inlining, function)
    scope.ranges = caller.ranges
    return scope


def _parameters(source: Source, call: ast.Call, caller: Source) -> list[ast.arg]:
    definition = source.definition
    parts, plain = definition.args, definition.args.args
    if any((parts.vararg, parts.kwarg, parts.kwonlyargs, parts.posonlyargs)) or (
        parts.defaults
    ):
        raise source.syntax_error(
            definition, f"`{definition.name}` has parameters that are no plain names"
        )
    given = len(call.args)
    if len(plain) != given:
        names = ", ".join(parameter.arg for parameter in plain)
        raise caller.type_error(
            call,
            f"`{definition.name}` takes ({names}), not {given} "
            f"argument{'s' * (given != 1)}",
        )
    return plain


def _converted(
    function: InlineFunction,
    parameter: ast.arg,
    node: ast.expr,
    value: Value,
    caller: Source,
) -> Value:
    """Return *value* as the annotated dtype, if there is one."""
    annotations = inspect.get_annotations(function.function)
    dtype = function.captured.evaluate(annotations.get(parameter.arg))
    if not isinstance(dtype, DType):
        return value
    if not can_store(value, dtype):
        text = caller.text(node)
        raise caller.type_error(
            node,
            f"`{parameter.arg}` of `{function.source.definition.name}` is {dtype}, "
            f"and `{text}` is {value.dtype}: write `{dtype}({text})`",
        )
    try:
        return Value(convert(value, dtype))
    except Mismatch as mismatch:
        raise caller.type_error(node, str(mismatch)) from None


def _statements(definition: ast.FunctionDef) -> list[ast.stmt]:
    first = definition.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return definition.body[1:] or definition.body
    return definition.body


def _assign(node: ast.stmt, names: Names, evaluate: Evaluate) -> None:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            names.scope.bind(name, Alias(evaluate(value, names)))
        case _:
            raise names.source.syntax_error(
                node,
                "an inline function has assignments to variables, and one return at "
                "its end: write conditions as `x if c else y`",
            )
