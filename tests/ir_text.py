"""Read a function from the text that `print_function` writes, for tests."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from tdsl.ir.affine import Affine, affine
from tdsl.ir.dtypes import DTYPES, DType, boolean, f32, i64
from tdsl.ir.nodes import (
    Alloc,
    Binary,
    Block,
    Call,
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

_OPERATORS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
}
_HEADER = re.compile(r"def (\w+)\((.*)\)(?: for (.*))?:$")
_DIM = re.compile(r"(?:(\d+)<=)?(\w+)(?:<=(\d+))?(?:%(\d+)==0)?$")


def read_function(text: str) -> Function:
    """Return the function printed as *text*."""
    lines = text.strip("\n").split("\n")
    match = _HEADER.match(lines[0])
    assert match, lines[0]
    reader = _Reader(lines)
    params = tuple(reader.param(part) for part in _split(match[2]))
    dims = tuple(_dim(part) for part in _split(match[3] or ""))
    body = "\n".join(
        re.sub(r"= local (.*?)( in registers)?(\s*#.*)?$", r"= \1", line)
        for line in lines[1:]
    )
    tree = ast.parse("if True:\n" + body).body[0]
    assert isinstance(tree, ast.If)
    return Function(match[1], params, dims, reader.block(tree.body))


def _split(text: str) -> list[str]:
    parts = re.split(r",\s*(?![^\[\(]*[\]\)])", text)
    return [part.strip() for part in parts if part.strip()]


def _dim(text: str) -> Dim:
    match = _DIM.match(text)
    assert match, text
    low, label, high, multiple = match.groups()
    return Dim(label, int(low or 0), int(high) if high else None, int(multiple or 1))


def _forms(node: ast.expr, function: str) -> tuple[Affine, ...]:
    if isinstance(node, ast.Call) and ast.unparse(node.func) == function:
        return tuple(_form(arg) for arg in node.args)
    return (_form(node),)


def _form(node: ast.expr) -> Affine:
    match node:
        case ast.Constant(value=int(value)):
            return affine(value)
        case ast.Name(id=label):
            return affine(label)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_form(operand)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _form(left), _form(right)
            if isinstance(op, ast.Add | ast.Sub):
                return a + b if isinstance(op, ast.Add) else a - b
            if isinstance(op, ast.Mult):
                return b * a.constant if a.is_constant else a * b.constant
            return a // b.constant if isinstance(op, ast.FloorDiv) else a % b.constant
    raise AssertionError(ast.unparse(node))


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self.lines = ["if True:", *lines[1:]]
        self.tensors: dict[str, Tensor] = {}

    def comment(self, node: ast.stmt) -> str:
        return self.lines[node.lineno - 1].partition("#")[2].strip()

    def tensor(self, label: str, node: ast.expr) -> Tensor:
        if isinstance(node, ast.Name):
            tensor = Tensor(label, DTYPES[node.id], ())
        else:
            assert isinstance(node, ast.Subscript)
            tensor = Tensor(label, DTYPES[ast.unparse(node.value)], _index(node.slice))
        self.tensors[label] = tensor
        return tensor

    def param(self, text: str) -> Param:
        label, _, kind = text.partition(":")
        words = kind.split(maxsplit=1)
        role = Role(words.pop(0)) if words[0] in ("output", "inout") else Role.INPUT
        expr = ast.parse(" ".join(words), mode="eval").body
        return Param(self.tensor(label.strip(), expr), role)

    def block(self, body: list[ast.stmt]) -> Block:
        return Block(
            tuple(
                self.statement(node) for node in body if not isinstance(node, ast.Pass)
            )
        )

    def statement(self, node: ast.stmt) -> Stmt:
        match node:
            case ast.For(target=ast.Name(id=axis), iter=ast.Call(args=args)):
                start = args[0] if len(args) > 1 else ast.Constant(0)
                stop = args[1] if len(args) > 1 else args[0]
                step = _form(args[2]).constant if len(args) > 2 else 1
                kind = LoopKind(self.comment(node) or "serial")
                bounds = _forms(start, "max"), _forms(stop, "min")
                return For(axis, *bounds, step, kind, self.block(node.body))
            case ast.If(test=test, body=[only]) if only.lineno == node.lineno:
                scatter = self.statement(only)
                assert isinstance(scatter, Scatter)
                return replace(scatter, condition=self.expr(test))
            case ast.If(test=test, body=body):
                tests = test.values if isinstance(test, ast.BoolOp) else [test]
                forms = [
                    _form(part.left) for part in tests if isinstance(part, ast.Compare)
                ]
                return If(tuple(forms), self.block(body))
            case ast.Assign(targets=[target], value=value):
                return self.assignment(node, target, value)
            case ast.AugAssign(target=target, op=op, value=value):
                reduce = ReduceOp(_OPERATORS[type(op)])
                return self.reduce(node, reduce, target, value)
        raise AssertionError(ast.unparse(node))

    def assignment(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> Stmt:
        line = self.lines[node.lineno - 1]
        if "= local " in line:
            assert isinstance(target, ast.Name)
            memory = Memory.REGISTER if "in registers" in line else Memory.ARRAY
            return Alloc(self.tensor(target.id, value), memory)
        if (
            isinstance(value, ast.Call)
            and ast.unparse(value.func) in ("max", "min")
            and ast.unparse(value.args[0]) == ast.unparse(target)
        ):
            op = ReduceOp(ast.unparse(value.func))
            return self.reduce(node, op, target, value.args[1])
        place = self.element(target)
        expr = self.expr(value)
        if isinstance(place, Gather):
            return self.scatter(node, place, None, expr)
        return Store(place.tensor, place.index, expr, self.instance(node))

    def reduce(
        self, node: ast.stmt, op: ReduceOp, target: ast.expr, value: ast.expr
    ) -> Stmt:
        place = self.element(target)
        expr = self.expr(value)
        if isinstance(place, Gather):
            return self.scatter(node, place, op, expr)
        return Reduce(op, place.tensor, place.index, expr, self.instance(node))

    def scatter(
        self, node: ast.stmt, place: Gather, op: ReduceOp | None, value: Expr
    ) -> Scatter:
        instance = self.instance(node)
        checked = place.checked
        return Scatter(place.tensor, place.index, op, value, instance, checked=checked)

    def instance(self, node: ast.stmt) -> Instance | None:
        text = self.comment(node)
        if not text or text[0].islower():
            return None
        expr = ast.parse(text.replace("[]", ""), mode="eval").body
        if isinstance(expr, ast.Name):
            return Instance(expr.id, ())
        assert isinstance(expr, ast.Subscript)
        return Instance(ast.unparse(expr.value), _index(expr.slice))

    def element(self, node: ast.expr) -> Load | Gather:
        label = ast.unparse(node.value if isinstance(node, ast.Subscript) else node)
        if not isinstance(node, ast.Subscript):
            return Load(label, (), self.tensors[label].dtype)
        label, _, unchecked = label.partition(".")
        dtype = self.tensors[label].dtype
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not any(self.is_chosen(part) for part in parts):
            return Load(label, _index(node.slice), dtype)
        index = tuple(self.subscript(part) for part in parts)
        return Gather(label, index, dtype, not unchecked)

    def is_chosen(self, part: ast.expr) -> bool:
        """Whether *part* is no affine form: it reads a tensor or calls a function."""
        return any(
            isinstance(each, ast.Call)
            or (isinstance(each, ast.Name) and each.id in self.tensors)
            for each in ast.walk(part)
        )

    def subscript(self, part: ast.expr) -> Expr:
        return self.expr(part) if self.is_chosen(part) else Index(_form(part), i64)

    def expr(self, node: ast.expr) -> Expr:
        match node:
            case ast.Constant(value=value):
                assert isinstance(value, int | float)
                return Const(value, i64 if isinstance(value, int) else f32)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.expr(operand)
                if isinstance(inner, Const):
                    return Const(-inner.value, inner.dtype)
                return Unary("neg", inner, inner.dtype)
            case ast.BinOp(left=left, op=op, right=right):
                a, b = self.expr(left), self.expr(right)
                return Binary(_OPERATORS[type(op)], a, b, a.dtype)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                a, b = self.expr(left), self.expr(right)
                return Binary(_OPERATORS[type(op)], a, b, boolean)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                a, b = self.expr(body), self.expr(orelse)
                return Select(self.expr(test), a, b, a.dtype)
            case ast.Call(func=ast.Name(id=function), args=args):
                return self.call(function, args)
        return self.element(node)

    def call(self, function: str, args: list[ast.expr]) -> Expr:
        if function in DTYPES and not self.is_chosen(args[0]):
            return Index(_form(args[0]), DTYPES[function])
        operands = [self.expr(arg) for arg in args]
        if function in DTYPES:
            return Cast(operands[0], DTYPES[function])
        dtype: DType = operands[0].dtype
        if len(operands) == 2:
            return Binary(function, operands[0], operands[1], dtype)
        return Call(function, operands[0], dtype)


def _index(node: ast.expr) -> tuple[Affine, ...]:
    return tuple(
        _form(part) for part in (node.elts if isinstance(node, ast.Tuple) else [node])
    )
