"""Kernels: Python functions to IR, one method for each kind of statement."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..ir.affine import Affine
from ..ir.affine import constant as constant_form
from ..ir.affine import name as name_form
from ..ir.dtypes import DType
from ..ir.nodes import (
    Alloc,
    Block,
    Expr,
    For,
    Function,
    Instance,
    Load,
    LoopKind,
    Memory,
    Reduce,
    ReduceOp,
    Role,
    Span,
    Stmt,
    Store,
    Tensor,
)
from ..ir.printer import print_tensor
from ..ir.verify import verify
from ..ir.walk import walk
from .builtins import TENSOR_FUNCTIONS, function_name
from .captured import Captured, capture, root_name
from .expressions import ExpressionParser, is_index
from .loops import Header, LoopParser
from .results import check_results, returned_names, returned_params
from .scope import Alias, Array, Axis, Scalar, Scope, Temporary
from .signature import SignatureParser
from .source import Source, read_source
from .tensors import Creation, TensorParser
from .updates import Update, augmented_update, find_update, reads_target
from .values import Mismatch, Value, binary, can_store, convert, extreme, negate

_REFUSED: dict[type[ast.stmt], str] = {
    ast.If: "`if` is not in the kernel language yet: write `x if c else y`",
    ast.While: "`while` is not in the kernel language: write `for i in range(...)`",
    ast.With: "`with` is not in the kernel language: put it around the call",
    ast.Try: "`try` is not in the kernel language: put it around the call",
    ast.Raise: "a kernel cannot raise: check the arguments outside",
    ast.Assert: "`assert` is not in the kernel language: give the dims assumptions, "
    'as in tdsl.dim("M", min=1, multiple=8)',
    ast.FunctionDef: "a kernel cannot define functions: write them out in place",
    ast.ClassDef: "a kernel cannot define classes",
    ast.Import: "import at the top of the file, outside the kernel",
    ast.ImportFrom: "import at the top of the file, outside the kernel",
    ast.Global: "`global` is not in the kernel language: return a tensor",
    ast.Nonlocal: "`nonlocal` is not in the kernel language: return a tensor",
    ast.Delete: "`del` is not in the kernel language: a variable ends with its block",
    ast.Break: "`break` is not in the kernel language: bound the range instead",
    ast.Continue: "`continue` is not in the kernel language: write `x if c else y`",
    ast.Match: "`match` is not in the kernel language: write `x if c else y`",
}
_IN_PLACE: dict[type[ast.operator], str] = {
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_OPERATION = {ReduceOp.ADD: "add", ReduceOp.MUL: "mul"}


def parse(
    pyfunc: Callable[..., Any], namespace: Mapping[str, Any] | None = None
) -> Function:
    """Return the IR of *pyfunc*, verified.

    *namespace* gives variables that annotations kept as text may need and that the
    function itself does not capture.
    """
    source = read_source(pyfunc)
    captured = capture(pyfunc, namespace)
    function, scope = _parse_once(pyfunc, source, captured, {})
    known: dict[int, Temporary] = {}
    while any(temporary.weak for temporary in scope.temporaries): pass
    verify(function)
    return function


def _parse_once(
    pyfunc: Callable[..., Any],
    source: Source,
    captured: Captured,
    known: Mapping[int, Temporary],
) -> tuple[Function, Scope]:
    definition = source.definition
    scope = Scope(_names(definition), _assigned(definition), known=known)
    expressions = ExpressionParser(source, captured, scope)
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
    labels: int = 0
    tensors: TensorParser = field(init=False)
    loops: LoopParser = field(init=False)

    def __post_init__(self) -> None:
        """Set up the parsers of headers and of tensors."""
        self.tensors = TensorParser(self.expressions)
        self.loops = LoopParser(self.expressions)

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
                self._assign(target, node.value, rest, block)
            case ast.Assign():
                raise self.source.syntax_error(
                    node, "`a = b = c` is not in the kernel language: assign twice"
                )
            case ast.AnnAssign():
                self._declare(node, block)
            case ast.AugAssign():
                self._augment(node, block)
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
                raise self.source.syntax_error(node, _REFUSED.get(type(node), default))

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
        block.append(_loop(axis, header, inner))

    # --- assignments ----------------------------------------------------------

    def _assign(
        self,
        target: ast.expr,
        value: ast.expr,
        rest: list[ast.stmt],
        block: list[Stmt],
    ) -> None:
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
        self._emit_store(array.tensor.name, index, expr, block, span)
        array.initialised = array.written = True

    def _written(self, target: ast.Subscript) -> tuple[Array, tuple[Affine, ...]]:
        array, index = self.expressions.element(target)
        if array.role is Role.INPUT:
            kind = print_tensor(array.tensor)
            raise self.source.type_error(
                target,
                f"`{array.tensor.name}` is an input and cannot be written: declare it "
                f"as `tdsl.inout({kind})`, or as `tdsl.out({kind})` if all of it is "
                "written",
            )
        return array, index

    def _stored(self, node: ast.expr, value: Value, dtype: DType, target: str) -> Expr:
        """Return *value* as *dtype*, if that loses nothing."""
        if not can_store(value, dtype):
            text = self.source.text(node)
            instead = f"{text} != 0" if dtype.kind == "bool" else f"{dtype}({text})"
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
        loaded = {each.tensor for each in walk(value.expr) if isinstance(each, Load)}
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
        binding = self._assignable(target)
        if isinstance(node, ast.Call) and self._makes_tensor(node):
            self._make_tensor(target, self.tensors.creation(node), block)
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
        if is_index(value) and not _updated_inside(target.id, rest):
            self.scope.bind(target.id, Alias(value))
            return
        self._new_temporary(target.id, value, node, block, span)

    def _assignable(self, target: ast.Name) -> Temporary | Alias | None:
        name, binding = target.id, self.scope.find(target.id)
        match binding:
            case Axis():
                what = f"the variable of the loop in line {binding.line}"
            case Array() if binding.role is None:
                what = f"the tensor of line {binding.line}"
            case Array() | Scalar():
                what = "a parameter"
            case _:
                return binding
        raise self.source.type_error(
            target, f"`{name}` is {what}: assign to another name"
        )

    def _declare(self, node: ast.AnnAssign, block: list[Stmt]) -> None:
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
        dtype = self.expressions.dtype(node.annotation)
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
        temporary = self.scope.temporary(name, value, span.line)
        tensor = Tensor(temporary.name, temporary.dtype, ())
        block.append(Alloc(tensor, Memory.REGISTER, span=span))
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
        self._emit_store(temporary.name, (), expr, block, self.source.span(node))

    # --- updates --------------------------------------------------------------

    def _augment(self, node: ast.AugAssign, block: list[Stmt]) -> None:
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
        op = _IN_PLACE.get(type(node.op))
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
        self._check_number(target, tensor.dtype, text)
        if reads_target(target, update.operand):
            load = Value(Load(tensor.name, index, tensor.dtype, span=span))
            whole = self._combine(target, update, load, value, span)
            expr = self._stored(update.operand, whole, tensor.dtype, text)
            self._emit_store(tensor.name, index, expr, block, span)
            return
        expr = self._stored(update.operand, value, tensor.dtype, text)
        self._emit_reduce(update.op, tensor.name, index, expr, block, span)

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
        expr = self._stored(update.operand, value, temporary.dtype, target.id)
        self._check_number(target, temporary.dtype, target.id)
        self._emit_reduce(update.op, temporary.name, (), expr, block, span)

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

    def _check_number(self, target: ast.expr, dtype: DType, text: str) -> None:
        if dtype.kind == "bool":
            raise self.source.type_error(
                target,
                f"`{text}` is bool and cannot be updated: write `{text} = {text} or x`",
            )

    # --- tensors and leaves ---------------------------------------------------

    def _makes_tensor(self, node: ast.Call) -> bool:
        return (
            root_name(node.func) is not None
            and self._callee_name(node) in TENSOR_FUNCTIONS
        )

    def _make_tensor(
        self, target: ast.Name, creation: Creation, block: list[Stmt]
    ) -> None:
        name, span = self.scope.unique(target.id), self.source.span(target)
        tensor = Tensor(name, creation.dtype, creation.shape)
        filled = creation.fill is not None
        array = Array(tensor, None, target.lineno, target, filled, written=filled)
        self.scope.bind(target.id, array)
        if len(self.scope.blocks) > 1 or target.id not in self.returned:
            block.append(Alloc(tensor, Memory.ARRAY, span=span))
        if creation.fill is not None:
            self._fill(tensor, convert(creation.fill, tensor.dtype), block, span)

    def _fill(self, tensor: Tensor, value: Expr, block: list[Stmt], span: Span) -> None:
        """Append the nest that sets each element of *tensor* to *value*."""
        suffixes = ["_" + letter for letter in "ijklmnopqr"[: len(tensor.shape)]]
        axes = [self.scope.derived(tensor.name, suffix) for suffix in suffixes]
        self.scope.axes.extend(axes)
        inner: list[Stmt] = []
        index = tuple(name_form(axis) for axis in axes)
        self._emit_store(tensor.name, index, value, inner, span)
        del self.scope.axes[-len(axes) :]
        zero = (constant_form(0),)
        for axis, size in zip(reversed(axes), reversed(tensor.shape), strict=True):
            inner = [_loop(axis, Header(axis, zero, (size,), 1, span), inner)]
        block.extend(inner)

    def _instance(self) -> Instance:
        label = f"S{self.labels}"
        self.labels += 1
        return Instance(label, tuple(name_form(axis) for axis in self.scope.axes))

    def _emit_store(
        self,
        tensor: str,
        index: tuple[Affine, ...],
        value: Expr,
        block: list[Stmt],
        span: Span,
    ) -> None:
        block.append(Store(tensor, index, value, self._instance(), span=span))

    def _emit_reduce(
        self,
        op: ReduceOp,
        tensor: str,
        index: tuple[Affine, ...],
        value: Expr,
        block: list[Stmt],
        span: Span,
    ) -> None:
        block.append(Reduce(op, tensor, index, value, self._instance(), span=span))

    def _statement_span(self, target: ast.expr, value: ast.expr) -> Span:
        first, last = self.source.span(target), self.source.span(value)
        if (first.line, first.column) > (last.line, last.column):
            return first
        return Span(
            first.file, first.line, first.column, last.end_line, last.end_column
        )


def _read(target: ast.Name) -> ast.Name:
    return ast.copy_location(ast.Name(target.id, ast.Load()), target)


def _loop(axis: str, header: Header, body: list[Stmt]) -> For:
    return For(
        axis,
        header.starts,
        header.stops,
        header.step,
        LoopKind.SERIAL,
        Block(tuple(body)),
        span=header.span,
    )


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _updated_inside(name: str, rest: list[ast.stmt]) -> bool:
    """Whether a loop in *rest* assigns *name*, or a statement updates it."""

    def assigns(node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Name)
            and node.id == name
            and isinstance(node.ctx, ast.Store)
        )

    for statement in rest:
        if isinstance(statement, ast.For) and any(map(assigns, ast.walk(statement))):
            return True
        if isinstance(statement, ast.AugAssign) and assigns(statement.target):
            return True
    return False
