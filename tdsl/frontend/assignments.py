"""Assignments of a kernel: to elements, variables and tensors, and updates."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from ..ir.affine import Affine
from ..ir.dtypes import DType
from ..ir.nodes import (
    Alloc,
    Expr,
    Memory,
    ReduceOp,
    Role,
    Span,
    Stmt,
    Tensor,
)
from ..ir.printer import print_tensor
from ..ir.walk import reads
from .advice import IN_PLACE_OPERATORS
from .branches import assigns_inside
from .builtins import function_name
from .emission import Emitter
from .expressions import ExpressionParser, is_index
from .operations import binary, extreme, negate
from .scope import Alias, Array, Axis, Scalar, Scope, Temporary
from .source import Source
from .subscripts import Subscripts, read_element
from .tensors import Creation, TensorParser
from .updates import Update, augmented_update, find_update, reads_target
from .values import Mismatch, Value, can_store, convert

_OPERATION = {ReduceOp.ADD: "add", ReduceOp.MUL: "mul"}


@dataclass(slots=True)
class AssignmentParser:
    """Translate assignments in the current scope."""

    expressions: ExpressionParser
    emitter: Emitter
    returned: frozenset[str]
    tensors: TensorParser = field(init=False)

    def __post_init__(self) -> None:
        """Set up the parser of tensors."""
        self.tensors = TensorParser(self.expressions, self.emitter, self.returned)

    @property
    def source(self) -> Source:
        """The text of the kernel."""
        return self.expressions.source

    @property
    def scope(self) -> Scope:
        """The names of the kernel."""
        return self.expressions.scope

    def assign(
        self,
        target: ast.expr,
        value: ast.expr,
        rest: list[ast.stmt],
        block: list[Stmt],
    ) -> None:
        """Translate `target = value`; *rest* follows it in its block."""
        match target:
            case ast.Subscript():
                update = find_update(target, value, self._callee_name)
                if update is None:
                    self._store(target, value, block)
                else:
                    self._reduce(target, update, block)
            case ast.Name():
                self._assign_name(target, value, rest, block)
            case ast.Tuple() | ast.List():
                raise self.source.syntax_error(
                    target, "write one assignment for each variable"
                )
            case _:
                raise self.source.syntax_error(
                    target, "assign to a variable or to an element, `C[i, j] = x`"
                )

    def _callee_name(self, node: ast.Call) -> str | None:
        return function_name(self.expressions.callee(node))

    def _store(self, target: ast.Subscript, node: ast.expr, block: list[Stmt]) -> None:
        value = self.expressions.value(node)
        array, index = self._written(target)
        expr = self._stored(node, value, array.tensor.dtype, self.source.text(target))
        span = self._statement_span(target, node)
        self.emitter.store(array.tensor.name, index, expr, block, span)
        array.initialised = array.written = True

    def _written(self, target: ast.Subscript) -> tuple[Array, Subscripts]:
        array, index = self.expressions.element(target)
        if array.role is Role.INPUT:
            raise self.source.type_error(target, self.is_input(array))
        return array, index

    def is_input(self, array: Array) -> str:
        """Return the message for a write to *array*, an input."""
        kind = print_tensor(array.tensor)
        return (
            f"`{array.tensor.name}` is an input and cannot be written: declare it as "
            f"`tdsl.inout({kind})`, or as `tdsl.out({kind})` if all of it is written"
        )

    def _stored(self, node: ast.expr, value: Value, dtype: DType, target: str) -> Expr:
        """Return *value* as *dtype*, if that loses nothing."""
        if not can_store(value, dtype):
            text = self.source.text(node)
            instead = f"{text} != 0" if dtype.kind == "bool" else f"{dtype}({text})"
            if value.dtype.kind == "complex" and dtype.kind != "complex":
                instead = f"{dtype}(real({text}))"
            kind = f"the number {text}" if value.weak else f"a value of {value.dtype}"
            raise self.source.type_error(
                node,
                f"cannot store {kind} in `{target}`, which is {dtype}: "
                f"write `{instead}`{self._guesses(target, value, dtype)}",
            )
        try:
            return convert(value, dtype)
        except Mismatch as mismatch:
            raise self.source.type_error(node, str(mismatch)) from None

    def _guesses(self, target: str, value: Value, dtype: DType) -> str:
        """Return a hint about variables that got their dtype from a number alone."""
        loaded = {each.tensor for each in reads(value.expr)}
        for name, binding in self.scope.bindings():
            if not (isinstance(binding, Temporary) and binding.guessed):
                continue
            if binding.name in loaded or name == target:
                wanted = value.dtype if name == target else dtype
                return (
                    f"; or start `{name}` as `{wanted}(...)` in line {binding.line}, "
                    f"as a plain number makes it {binding.dtype}"
                )
        return ""

    def _assign_name(
        self,
        target: ast.Name,
        node: ast.expr,
        rest: list[ast.stmt],
        block: list[Stmt],
    ) -> None:
        self.expressions.refuse_operators(node)
        binding = self._assignable(target)
        if isinstance(node, ast.Call) and self.tensors.is_creation(node):
            self.tensors.make(target, self.tensors.creation(node), block)
            return
        if isinstance(node, ast.Name) and isinstance(self.scope.find(node.id), Array):
            raise self.source.type_error(
                node,
                f"`{target.id} = {node.id}` makes no copy of a tensor: "
                f"use `{node.id}`, or copy its elements in a loop",
            )
        span = self._statement_span(target, node)
        if isinstance(binding, Temporary):
            update = find_update(target, node, self._callee_name)
            if update is not None:
                self._reduce_name(target, binding, update, block)
                return
            value = self.expressions.value(node)
            self._store_name(target.id, binding, value, node, block)
            return
        value = self.expressions.value(node)
        joined = target.id in self.scope.joined
        if is_index(value) and not joined and not _updated_inside(target.id, rest):
            self.scope.bind(target.id, Alias(value))
            return
        if value.dtype.is_storage:  # arithmetic on the variable is in f32
            value = Value(convert(value, value.dtype.computed))
        self._new_temporary(target.id, value, node, block, span)

    def _assignable(self, target: ast.Name) -> Temporary | Alias | None:
        name, binding = target.id, self.scope.find(target.id)
        match binding:
            case Axis():
                what = f"the variable of the loop in line {binding.line}"
            case Array() if binding.role is None:
                what = f"the tensor of line {binding.line}"
            case Array():
                tensor = binding.tensor
                index = ", ".join("ijklmn"[: len(tensor.shape)])
                raise self.source.type_error(
                    target,
                    f"`{name}` is a tensor, {print_tensor(tensor)}: assign to its "
                    f"elements in a loop, `{name}[{index}] = x`",
                )
            case Scalar():
                what = "a parameter"
            case _:
                return binding
        raise self.source.type_error(
            target, f"`{name}` is {what}: assign to another name"
        )

    def declare(self, node: ast.AnnAssign, block: list[Stmt]) -> None:
        """Translate `x: f32 = 0`."""
        target = node.target
        if not isinstance(target, ast.Name) or node.value is None:
            raise self.source.syntax_error(
                node, "a declaration names a variable and a value: `x: f32 = 0`"
            )
        if self._assignable(target) is not None:
            raise self.source.type_error(
                target, f"`{target.id}` has a dtype already: drop the annotation"
            )
        dtype = self.expressions.names.dtype(node.annotation)
        value = self.expressions.value(node.value)
        declared = Value(self._stored(node.value, value, dtype, target.id))
        span = self.source.span(node)
        self._new_temporary(target.id, declared, node.value, block, span)

    def _new_temporary(
        self,
        name: str,
        value: Value,
        node: ast.expr,
        block: list[Stmt],
        span: Span,
    ) -> None:
        joined = self.scope.joined.get(name)
        temporary = None if joined is None else joined.temporary
        if temporary is None:
            temporary = self.scope.temporary(name, value, span.line)
            tensor = Tensor(temporary.name, temporary.dtype, ())
            place = block if joined is None else joined.block
            place.append(Alloc(tensor, Memory.REGISTER, span=span))
        if joined is not None:
            joined.temporary = temporary
            self.scope.bind(name, temporary)
        self._store_name(name, temporary, value, node, block)

    def _store_name(
        self,
        name: str,
        temporary: Temporary,
        value: Value,
        node: ast.expr,
        block: list[Stmt],
    ) -> None:
        temporary.meet(value)
        expr = self._stored(node, value, temporary.dtype, name)
        self.emitter.store(temporary.name, (), expr, block, self.source.span(node))

    # --- updates --------------------------------------------------------------

    def augment(self, node: ast.AugAssign, block: list[Stmt]) -> None:
        """Translate `target += value`."""
        update = augmented_update(node)
        target = node.target
        if update is None:
            raise self._no_update(node)
        if isinstance(target, ast.Subscript):
            self._reduce(target, update, block)
            return
        if not isinstance(target, ast.Name):
            raise self.source.syntax_error(
                target, "update a variable or an element, `C[i, j] += x`"
            )
        binding = self._assignable(target)
        if not isinstance(binding, Temporary):
            self.expressions.value(_read(target))
            raise self.source.type_error(target, f"`{target.id}` cannot be updated")
        self._reduce_name(target, binding, update, block)

    def _no_update(self, node: ast.AugAssign) -> Exception:
        target, value = self.source.text(node.target), self.source.text(node.value)
        op = IN_PLACE_OPERATORS.get(type(node.op))
        if op is None:
            return self.source.syntax_error(
                node, "updates are `+=`, `-=`, `*=`, and `x = max(x, y)` or `min`"
            )
        simple = isinstance(node.value, ast.Name | ast.Constant | ast.Subscript)
        right = value if simple else f"({value})"
        return self.source.syntax_error(
            node, f"`{op}=` is no update: write `{target} = {target} {op} {right}`"
        )

    def _reduce(self, target: ast.Subscript, update: Update, block: list[Stmt]) -> None:
        value = self._operand(update)
        array, index = self._written(target)
        if not array.initialised:
            raise self.source.type_error(target, self.expressions.uninitialised(target))
        array.written = True
        tensor, span = array.tensor, self._statement_span(target, update.operand)
        text = self.source.text(target)
        self._check_number(target, update, tensor.dtype)
        if reads_target(target, update.operand):
            load = Value(read_element(tensor, index, span))
            whole = self._combine(target, update, load, value, span)
            expr = self._stored(update.operand, whole, tensor.dtype, text)
            self.emitter.store(tensor.name, index, expr, block, span)
            return
        expr = self._stored(update.operand, value, tensor.dtype, text)
        self.emitter.reduce(update.op, tensor.name, index, expr, block, span)

    def _reduce_name(
        self,
        target: ast.Name,
        temporary: Temporary,
        update: Update,
        block: list[Stmt],
    ) -> None:
        span = self._statement_span(target, update.operand)
        if reads_target(target, update.operand):
            load = self.expressions.value(_read(target))
            value = self._operand(update)
            whole = self._combine(target, update, load, value, span)
            self._store_name(target.id, temporary, whole, update.operand, block)
            return
        value = self._operand(update)
        temporary.meet(value)
        self._check_number(target, update, temporary.dtype)
        expr = self._stored(update.operand, value, temporary.dtype, target.id)
        self.emitter.reduce(update.op, temporary.name, (), expr, block, span)

    def _operand(self, update: Update) -> Value:
        value = self.expressions.value(update.operand)
        if not update.negated:
            return value
        try:
            return negate(value, self.source.span(update.operand))
        except Mismatch as mismatch:
            raise self.source.type_error(update.operand, str(mismatch)) from None

    def _combine(
        self, target: ast.expr, update: Update, left: Value, right: Value, span: Span
    ) -> Value:
        try:
            if update.op in _OPERATION:
                return binary(_OPERATION[update.op], left, right, span)
            return extreme(update.op.value, left, right, span)
        except Mismatch as mismatch:
            raise self.source.type_error(target, str(mismatch)) from None

    def _check_number(self, target: ast.expr, update: Update, dtype: DType) -> None:
        text = self.source.text(target)
        if dtype.kind == "bool":
            instead = f"bool and cannot be updated: write `{text} = {text} or x`"
        elif dtype.is_storage:
            instead = (
                f"{dtype}, which is computed with in f32: update a variable of f32, or "
                f"write `{text} = {dtype}(...)`"
            )
        elif dtype.kind == "complex" and update.op not in _OPERATION:
            instead = f"{dtype}, and complex numbers have no `{update.op.value}`"
        else:
            return
        raise self.source.type_error(target, f"`{text}` is {instead}")

    # --- results of calls, and places -----------------------------------------

    def result(
        self,
        target: ast.Name,
        shape: tuple[Affine, ...],
        dtype: DType,
        block: list[Stmt],
    ) -> str:
        """Bind *target* to a new tensor that a call fills; return its name."""
        self._assignable(target)
        array = self.tensors.make(target, Creation(shape, dtype, None), block)
        array.initialised = array.written = True
        return array.tensor.name

    def _statement_span(self, target: ast.expr, value: ast.expr) -> Span:
        first, last = self.source.span(target), self.source.span(value)
        if (first.line, first.column) > (last.line, last.column):
            return first
        return Span(
            first.file, first.line, first.column, last.end_line, last.end_column
        )


def _read(target: ast.Name) -> ast.Name:
    return ast.copy_location(ast.Name(target.id, ast.Load()), target)


def _updated_inside(name: str, rest: list[ast.stmt]) -> bool:
    """Whether a loop or `if` in *rest* assigns *name*, or a statement updates it."""
    return any(
        assigns_inside(name, statement)
        or (
            isinstance(statement, ast.AugAssign)
            and isinstance(statement.target, ast.Name)
            and statement.target.id == name
        )
        for statement in rest
    )
