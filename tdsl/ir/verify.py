"""What well-formed IR is, as a list of checks that can be run between passes."""

from __future__ import annotations

from typing import assert_never

from .affine import Affine
from .extents import fixed_extent
from .nodes import (
    Alloc,
    Binary,
    Block,
    Call,
    Cast,
    Const,
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
    Reduce,
    ReduceOp,
    Role,
    Scatter,
    Select,
    Stmt,
    Store,
    Tensor,
    Unary,
    Write,
)
from .walk import chosen_by_data, walk

_ARITHMETIC = frozenset(
    {"add", "sub", "mul", "div", "floordiv", "mod", "pow", "min", "max"}
)
_COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
_LOGIC = frozenset({"and", "or"})
_REAL = frozenset({"floordiv", "mod", "pow", "min", "max", "lt", "le", "gt", "ge"})
_PARTS = frozenset({"abs", "real", "imag"})


def verify(function: Function) -> None:
    """Assert that *function* is well-formed; the message names what is not."""
    _verify_names(function)
    dims = frozenset(dim.name for dim in function.dims)
    for dim in function.dims:
        _require(dim.min >= 0 and dim.multiple >= 1, f"dim {dim.name}: {dim}")
        _require(
            dim.max is None or dim.min <= dim.max, f"dim {dim.name} is empty: {dim}"
        )
    for param in function.params:
        tensor = param.tensor
        _verify_forms(tensor.shape, dims, f"shape of {tensor.name}")
        scalar = not tensor.shape
        _require(not scalar or param.role is Role.INPUT, f"scalar result {tensor.name}")
        output = param.role is Role.OUTPUT
        _require(output or not param.returned, f"returned {tensor.name} is no output")
    _verify_assumptions(function, dims)
    roles = {param.tensor.name: param.role for param in function.params}
    tensors = {param.tensor.name: param.tensor for param in function.params}
    scope = _Scope(dims, dims, tensors, roles, parent=None)
    _verify_block(function.body, scope)


def _verify_assumptions(function: Function, dims: frozenset[str]) -> None:
    known = function.assumptions
    _verify_forms(known.conditions, dims, "assumption")
    given = {p.tensor.name: p for p in function.params if p.role is Role.INPUT}
    for name, lower, upper in known.in_range:
        _verify_forms((lower, upper), dims, f"range of {name}")
    for name in (*(name for name, _, _ in known.in_range), *known.injective):
        integer = name in given and given[name].tensor.dtype.kind == "int"
        _require(integer, f"assumed {name} is no integer input")


def _require(condition: object, message: str) -> None:
    # Not `assert`: a proof relies on these checks, and `python -O` drops assertions.
    if not condition:
        raise AssertionError(message)


def _verify_names(function: Function) -> None:
    names = [dim.name for dim in function.dims]
    names += [param.tensor.name for param in function.params]
    for node in walk(function):
        if isinstance(node, For):
            names.append(node.axis)
        elif isinstance(node, Alloc):
            names.append(node.tensor.name)
    seen: set[str] = set()
    for name in names:
        _require(name.isidentifier(), f"{name!r} is no identifier")
        _require(name not in seen, f"{name} names two things")
        seen.add(name)


class _Scope:
    """What is visible: dims, axes (with the dims in *names*) and tensors."""

    def __init__(
        self,
        dims: frozenset[str],
        names: frozenset[str],
        tensors: dict[str, Tensor],
        roles: dict[str, Role],
        parent: For | None,
    ) -> None:
        self.dims, self.names, self.tensors = dims, names, tensors
        self.roles, self.parent = roles, parent

    def inside(self, loop: For | None) -> _Scope:
        names = self.names if loop is None else self.names | {loop.axis}
        return _Scope(self.dims, names, dict(self.tensors), self.roles, loop)


def _verify_block(block: Block, scope: _Scope) -> None:
    _require(isinstance(block.statements, tuple), "the statements of a block: no tuple")
    for statement in block.statements:
        _verify_statement(statement, scope)


def _verify_statement(statement: Stmt, scope: _Scope) -> None:
    match statement:
        case For():
            _verify_loop(statement, scope)
            _verify_block(statement.body, scope.inside(statement))
        case If():
            _require(statement.conditions, "an If without conditions")
            _verify_forms(statement.conditions, scope.names, "condition")
            _verify_block(statement.body, scope.inside(None))
        case Store() | Reduce():
            _verify_write(statement, scope)
        case Scatter():
            _verify_scatter(statement, scope)
        case Alloc():
            tensor = statement.tensor
            _verify_forms(tensor.shape, scope.names, f"shape of {tensor.name}")
            scalar = not tensor.shape
            register = statement.memory is Memory.REGISTER
            _require(register or not scalar, f"scalar {tensor.name} is not a register")
            scope.tensors[tensor.name] = tensor
        case _:
            assert_never(statement)


def _verify_loop(loop: For, scope: _Scope) -> None:
    where = f"loop {loop.axis}"
    _require(loop.starts and loop.stops, f"{where} has no start or no stop")
    _require(
        isinstance(loop.step, int) and loop.step >= 1, f"{where}: step {loop.step}"
    )
    _verify_forms(loop.starts, scope.names, where)
    _verify_forms(loop.stops, scope.names, where)
    if loop.kind is LoopKind.VECTORIZED:
        _require(loop.step == 1, f"vectorized {where} has step {loop.step}")
    if loop.kind in (LoopKind.VECTORIZED, LoopKind.UNROLLED):
        _require(
            fixed_extent(loop) is not None, f"{loop.kind.value} {where} has no size"
        )
    if loop.kind is LoopKind.FUSED:
        parent = scope.parent
        _require(
            parent is not None and parent.body.statements == (loop,),
            f"fused {where} is not alone in the loop around it",
        )


def _verify_write(statement: Store | Reduce, scope: _Scope) -> None:
    name = statement.tensor
    tensor = _verify_element(name, statement.index, scope)
    if isinstance(statement, Reduce):
        _verify_reduction(tensor, statement.op)
    _verify_target(tensor, statement, scope)


def _verify_scatter(statement: Scatter, scope: _Scope) -> None:
    tensor = _verify_chosen(statement, scope)
    if statement.condition is not None:
        condition = _verify_expr(statement.condition, scope)
        _require(condition == "bool", f"a condition of dtype {condition}")
    if statement.op is not None:
        _verify_reduction(tensor, statement.op)
    _verify_target(tensor, statement, scope)


def _verify_reduction(tensor: Tensor, op: ReduceOp) -> None:
    _require(isinstance(op, ReduceOp), f"reduction {op}")
    name, dtype = tensor.name, tensor.dtype
    _require(dtype.kind != "bool", f"a reduction of the bool {name}")
    _require(not dtype.is_storage, f"a reduction of {dtype}: {name}")
    ordered = op in (ReduceOp.MAX, ReduceOp.MIN)
    _require(not ordered or dtype.kind != "complex", f"{op.value} of {dtype}: {name}")


def _verify_target(tensor: Tensor, statement: Write, scope: _Scope) -> None:
    name = tensor.name
    role = scope.roles.get(name)
    _require(role is not Role.INPUT, f"a write to the input {name}")
    dtype = _verify_expr(statement.value, scope)
    _require(dtype == tensor.dtype.name, f"{dtype} stored in {name}: {tensor.dtype}")
    if statement.instance is not None:
        _verify_instance(statement.instance, scope)


def _verify_instance(instance: Instance, scope: _Scope) -> None:
    _require(instance.label, "an instance without a label")
    _verify_forms(instance.coordinates, scope.names, f"instance {instance.label}")


def _verify_element(name: str, index: tuple[Affine, ...], scope: _Scope) -> Tensor:
    _require(name in scope.tensors, f"{name} is not declared here")
    tensor = scope.tensors[name]
    rank, given = len(tensor.shape), len(index)
    _require(rank == given, f"{name} has rank {rank} but {given} subscripts")
    _verify_forms(index, scope.names, f"subscript of {name}")
    return tensor


def _verify_chosen(access: Gather | Scatter, scope: _Scope) -> Tensor:
    name = access.tensor
    _require(name in scope.tensors, f"{name} is not declared here")
    tensor = scope.tensors[name]
    rank, given = len(tensor.shape), len(access.index)
    _require(rank == given, f"{name} has rank {rank} but {given} subscripts")
    _require(chosen_by_data(access.index), f"every subscript of {name} is affine")
    for part in access.index:
        dtype = _verify_expr(part, scope)
        _require(dtype == "i64", f"a subscript of {name} has dtype {dtype}")
    return tensor


def _verify_forms(forms: tuple[Affine, ...], names: frozenset[str], what: str) -> None:
    _require(isinstance(forms, tuple), f"{what}: no tuple")
    for form in forms:
        if not isinstance(form, Affine):
            raise AssertionError(f"{what}: {form!r} is no affine form")
        unknown = form.names() - names
        if unknown:
            raise AssertionError(f"{what}: {min(unknown)} is not visible in {form}")


def _verify_expr(expr: Expr, scope: _Scope) -> str:
    """Assert that *expr* is well-formed; return the name of its dtype."""
    dtype = expr.dtype
    match expr:
        case Const():
            _verify_const(expr)
        case Index():
            _verify_forms((expr.value,), scope.names, "index")
            number = dtype.kind in ("int", "float") and not dtype.is_storage
            _require(number, f"an index of dtype {dtype}")
        case Load():
            tensor = _verify_element(expr.tensor, expr.index, scope)
            _require(dtype == tensor.dtype, f"load of {expr.tensor} as {dtype}")
        case Gather():
            tensor = _verify_chosen(expr, scope)
            _require(dtype == tensor.dtype, f"gather from {expr.tensor} as {dtype}")
        case Unary():
            _verify_unary(expr, _verify_expr(expr.operand, scope))
        case Binary():
            sides = _verify_expr(expr.left, scope), _verify_expr(expr.right, scope)
            _verify_binary(expr, *sides)
        case Call():
            _verify_expr(expr.operand, scope)
            _verify_call(expr)
        case Select():
            condition = _verify_expr(expr.condition, scope)
            _require(condition == "bool", f"a condition of dtype {condition}")
            for branch in (expr.then, expr.otherwise):
                found = _verify_expr(branch, scope)
                _require(found == dtype.name, f"a branch of dtype {found} in {dtype}")
        case Cast():
            _verify_expr(expr.operand, scope)
            source = expr.operand.dtype
            parts = source.kind != "complex" or dtype.kind == "complex"
            _require(parts, f"a cast of {source} to {dtype}")
        case _:
            assert_never(expr)
    return dtype.name


def _verify_const(expr: Const) -> None:
    kinds = {"float": float, "int": int, "bool": bool, "complex": complex}
    wanted = kinds[expr.dtype.kind]
    found = type(expr.value)
    _require(found is wanted, f"constant {expr.value!r} of dtype {expr.dtype}")


def _verify_unary(expr: Unary, operand: str) -> None:
    _require(expr.op in ("neg", "not"), f"operation {expr.op}")
    _require(operand == expr.dtype.name, f"{expr.op}: {operand} gives {expr.dtype}")
    _require((expr.op == "not") == (operand == "bool"), f"{expr.op} of {operand}")
    _require(not expr.dtype.is_storage, f"{expr.op} of {operand}")


def _verify_call(expr: Call) -> None:
    operand, dtype, function = expr.operand.dtype, expr.dtype, expr.function
    wanted = operand
    if operand.kind == "complex":
        _require(function in _PARTS | {"conj"}, f"{function} of {operand}")
        wanted = operand.part if function in _PARTS else operand
    _require(dtype == wanted, f"{function}: {operand} gives {dtype}")
    _require(operand.kind != "bool", f"{function} of bool")
    _require(not operand.is_storage, f"{function} of {operand}")


def _verify_binary(expr: Binary, left: str, right: str) -> None:
    op, dtype = expr.op, expr.dtype.name
    _require(left == right, f"{op} of {left} and {right}")
    operand = expr.left.dtype
    _require(not operand.is_storage, f"{op} of {left}")
    _require(operand.kind != "complex" or op not in _REAL, f"{op} of {left}")
    if op in _COMPARISONS:
        _require(dtype == "bool", f"{op} gives {dtype}")
        ordered = op not in ("eq", "ne")
        _require(not (ordered and left == "bool"), f"{op} of bools")
    elif op in _LOGIC:
        _require(left == dtype == "bool", f"{op} of {left} gives {dtype}")
    else:
        _require(op in _ARITHMETIC, f"operation {op}")
        _require(left == dtype != "bool", f"{op} of {left} gives {dtype}")
        division = op in ("div", "pow") and expr.dtype.kind == "int"
        _require(not division, f"{op} of {dtype}")
