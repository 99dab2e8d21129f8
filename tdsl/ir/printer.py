"""IR to readable text, for people, golden files and hashes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from .affine import Affine, FloorDiv
from .nodes import (
    Alloc,
    Assumptions,
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
    Scatter,
    Select,
    Stmt,
    Store,
    Tensor,
    Unary,
)

_INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    "and": "and",
    "or": "or",
}
_UPDATE = {ReduceOp.ADD: "+=", ReduceOp.MUL: "*="}


def print_function(function: Function) -> str:
    """Return *function* as indented text, one statement a line."""
    params = ", ".join(_param(param) for param in function.params)
    dims = ", ".join(_dim(dim) for dim in function.dims)
    head = f"def {function.name}({params})" + (f" for {dims}" if dims else "") + ":"
    facts = (f"    assume {fact}" for fact in _facts(function.assumptions))
    return "\n".join([head, *facts, *_block(function.body, "    ")]) + "\n"


def print_block(block: Block) -> str:
    """Return the statements of *block* as indented text."""
    return "\n".join(_block(block, "")) + "\n"


def print_expr(expr: Expr) -> str:
    """Return *expr* as text with every nested operation in parentheses."""
    match expr:
        case Const():
            return repr(expr.value)
        case Index():
            return f"{expr.dtype}({expr.value})"
        case Load():
            return _element(expr.tensor, expr.index)
        case Gather():
            return print_chosen(expr)
        case Unary():
            return (
                f"(-{print_expr(expr.operand)})"
                if expr.op == "neg"
                else (f"(not {print_expr(expr.operand)})")
            )
        case Binary():
            left, right = print_expr(expr.left), print_expr(expr.right)
            if expr.op in _INFIX:
                return f"({left} {_INFIX[expr.op]} {right})"
            return f"{expr.op}({left}, {right})"
        case Call():
            return f"{expr.function}({print_expr(expr.operand)})"
        case Select():
            then, condition = print_expr(expr.then), print_expr(expr.condition)
            return f"({then} if {condition} else {print_expr(expr.otherwise)})"
        case Cast():
            return f"{expr.dtype}({print_expr(expr.operand)})"
        case _:
            assert_never(expr)


def print_chosen(access: Gather | Scatter) -> str:
    """Return the element that data chooses, and whether that is not checked."""
    parts = [
        str(part.value) if isinstance(part, Index) else print_expr(part)
        for part in access.index
    ]
    name = access.tensor if access.checked else f"{access.tensor}.unchecked"
    return f"{name}[{', '.join(parts)}]"


def print_tensor(tensor: Tensor) -> str:
    """Return `f32[M, K]`, or `f32` for a scalar."""
    if not tensor.shape:
        return str(tensor.dtype)
    return f"{tensor.dtype}[{', '.join(map(str, tensor.shape))}]"


def print_loop(loop: For) -> str:
    """Return the header of *loop*."""
    start, stop = bound("max", loop.starts), bound("min", loop.stops)
    kind = "" if loop.kind is LoopKind.SERIAL else f"  # {loop.kind.value}"
    step = "" if loop.step == 1 else f", {loop.step}"
    span = stop if start == "0" and not step else f"{start}, {stop}{step}"
    return f"for {loop.axis} in range({span}):{kind}"


def bound(function: str, forms: tuple[Affine, ...]) -> str:
    """Return the forms joined by *function*, or the only form."""
    if len(forms) == 1:
        return str(forms[0])
    return f"{function}({', '.join(map(str, forms))})"


def print_condition(form: Affine) -> str:
    """Return `form >= 0` as people write it: `M >= N + 1`, or `M % 4 == 0`."""
    for atom, count in form.terms:
        if isinstance(atom, FloorDiv) and count == atom.divisor:
            multiple = Affine(((atom, count),))
            if form == multiple - atom.numerator:
                return f"{_operand(atom.numerator)} % {count} == 0"
    left = [(atom, count) for atom, count in form.terms if count > 0]
    right = [(atom, -count) for atom, count in form.terms if count < 0]
    more, less = max(form.constant, 0), max(-form.constant, 0)
    if not left:
        return f"{Affine(tuple(right), less)} <= {more}"
    return f"{Affine(tuple(left), more)} >= {Affine(tuple(right), less)}"


def _operand(form: Affine) -> str:
    return str(form) if str(form).isidentifier() else f"({form})"


def _param(param: Param) -> str:
    role = "" if param.role.value == "input" else f"{param.role.value} "
    return f"{param.tensor.name}: {role}{print_tensor(param.tensor)}"


def _dim(dim: Dim) -> str:
    facts = [f"{dim.min}<={dim.name}" if dim.min else dim.name]
    if dim.max is not None:
        facts = [f"{facts[0]}<={dim.max}"]
    return facts[0] + (f"%{dim.multiple}==0" if dim.multiple != 1 else "")


def _facts(known: Assumptions) -> Iterator[str]:
    yield from map(print_condition, known.conditions)
    for tensor, lower, upper in known.in_range:
        yield f"{lower} <= {tensor} < {upper}"
    yield from (f"injective({tensor})" for tensor in known.injective)


def _element(tensor: str, index: tuple[Affine, ...]) -> str:
    return f"{tensor}[{', '.join(map(str, index))}]" if index else tensor


def _instance(instance: Instance | None) -> str:
    if instance is None:
        return ""
    return f"  # {instance.label}[{', '.join(map(str, instance.coordinates))}]"


def _block(block: Block, indent: str) -> Iterator[str]:
    for statement in block.statements:
        yield from _statement(statement, indent)


def _updated(op: ReduceOp | None, target: str, value: str) -> str:
    if op is None:
        return f"{target} = {value}"
    if op in _UPDATE:
        return f"{target} {_UPDATE[op]} {value}"
    return f"{target} = {op.value}({target}, {value})"


def _statement(statement: Stmt, indent: str) -> Iterator[str]:
    match statement:
        case For():
            yield indent + print_loop(statement)
            yield from _block(statement.body, indent + "    ")
        case If():
            conditions = " and ".join(f"{form} >= 0" for form in statement.conditions)
            yield f"{indent}if {conditions}:"
            yield from _block(statement.body, indent + "    ")
        case Store():
            target = _element(statement.tensor, statement.index)
            text = f"{target} = {print_expr(statement.value)}"
            yield indent + text + _instance(statement.instance)
        case Reduce():
            target = _element(statement.tensor, statement.index)
            text = _updated(statement.op, target, print_expr(statement.value))
            yield indent + text + _instance(statement.instance)
        case Scatter():
            target = print_chosen(statement)
            text = _updated(statement.op, target, print_expr(statement.value))
            if statement.condition is not None:
                text = f"if {print_expr(statement.condition)}: {text}"
            yield indent + text + _instance(statement.instance)
        case Alloc():
            where = " in registers" if statement.memory is Memory.REGISTER else ""
            name, shape = statement.tensor.name, print_tensor(statement.tensor)
            yield f"{indent}{name} = local {shape}{where}"
        case _:
            assert_never(statement)
