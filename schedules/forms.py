"""Affine forms as arguments of primitives: integers, or text such as `N - 2`."""

from __future__ import annotations

import ast
from collections.abc import Collection

from ..errors import ScheduleError
from ..ir.affine import Affine, affine, constant, name
from .checks import quoted


def read_form(given: str | int, known: Collection[str], argument: str) -> Affine:
    """Return the form that *given* stands for, over the names *known*.

    *argument* is what it is called in messages, with the primitive: `cut: at`.
    """
    shown = f"{argument}={given!r}".replace("'", '"')
    if isinstance(given, int):
        return constant(given)
    try:
        form = _read(ast.parse(given.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError):
        form = None
    if form is None:
        raise ScheduleError(
            f"{shown} is no affine form; write sums of names and integers, with "
            'products and floor divisions by integers, as in "N - 2" or "8*(N//8)"'
        )
    unknown = sorted(form.names() - set(known))
    if unknown:
        raise ScheduleError(
            f"{shown} uses {quoted(unknown)}; it may use the dims and the axes around "
            f"the loop: {quoted(known) or 'there are none'}"
        )
    return form


def _read(node: ast.expr) -> Affine | None:
    match node:
        case ast.Name(id=identifier):
            return name(identifier)
        case ast.Constant(value=int(value)):
            return affine(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _read(operand)
            return None if inner is None else -inner
        case ast.BinOp(left=left, op=op, right=right):
            one, other = _read(left), _read(right)
            return None if one is None or other is None else _combined(one, op, other)
    return None


def _combined(one: Affine, op: ast.operator, other: Affine) -> Affine | None:
    match op:
        case ast.Add():
            return one + other
        case ast.Sub():
            return one - other
        case ast.Mult() if other.is_constant:
            return one * other.constant
        case ast.Mult() if one.is_constant:
            return other * one.constant
        case ast.FloorDiv() if other.is_constant and other.constant > 0:
            return one // other.constant
        case ast.Mod() if other.is_constant and other.constant > 0:
            return one % other.constant
    return None
