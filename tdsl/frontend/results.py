"""What a kernel gives back: returned tensors, and outputs that must be written."""

from __future__ import annotations

import ast

from ..errors import KernelTypeError
from ..ir.nodes import Param, Role, Tensor
from ..ir.printer import print_tensor
from .scope import Array, Scope
from .source import Source


def returned_names(source: Source) -> frozenset[str]:
    """Return the names in the last statement, if that is a return."""
    return frozenset(
        node.id for node in _return_values(source) if isinstance(node, ast.Name)
    )


def _return_values(source: Source) -> list[ast.expr]:
    last = source.definition.body[-1]
    if not isinstance(last, ast.Return) or last.value is None:
        return []
    return last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]


def returned_params(
    source: Source, scope: Scope, annotated: list[Tensor] | None
) -> list[Param]:
    """Return a parameter for each returned tensor, in order."""
    nodes = _return_values(source)
    arrays: list[Array] = []
    for node in nodes:
        array = _returned(source, scope, node)
        if array in arrays:
            raise source.type_error(node, "this tensor is returned twice")
        arrays.append(array)
    if annotated is not None:
        _check_annotation(source, nodes, arrays, annotated)
    return [Param(array.tensor, Role.OUTPUT, returned=True) for array in arrays]


def _returned(source: Source, scope: Scope, node: ast.expr) -> Array:
    if not isinstance(node, ast.Name):
        raise source.syntax_error(
            node,
            "return tensors by name: write `C = tdsl.zeros(shape, dtype)`, fill it, "
            "and `return C`",
        )
    binding = scope.find(node.id)
    if not isinstance(binding, Array):
        if binding is None:
            where = " at the end of the kernel" if node.id in scope.assigned else ""
            raise source.type_error(node, f"unknown name `{node.id}`{where}")
        raise source.type_error(
            node,
            f"`{node.id}` is no tensor: return a tensor of one element, "
            "`tdsl.zeros((1,), f32)`",
        )
    if binding.role is Role.INPUT:
        raise source.type_error(
            node, f"`{node.id}` is an input: copy it into a tensor to return that"
        )
    if binding.role is not None:
        raise source.type_error(
            node,
            f"`{node.id}` is a result already, as the caller passes it: "
            "drop it from the return",
        )
    return binding


def _check_annotation(
    source: Source,
    nodes: list[ast.expr],
    arrays: list[Array],
    annotated: list[Tensor],
) -> None:
    returns = source.definition.returns
    assert returns is not None
    if annotated and not arrays:
        raise source.type_error(
            returns, "the kernel returns nothing: end it with `return C`"
        )
    if len(arrays) != len(annotated):
        raise source.type_error(
            returns,
            f"the kernel returns {len(arrays)} "
            f"tensor{'s' * (len(arrays) != 1)}, and the annotation names "
            f"{len(annotated)}",
        )
    for node, array, wanted in zip(nodes, arrays, annotated, strict=True):
        tensor = array.tensor
        if (tensor.dtype, tensor.shape) != (wanted.dtype, wanted.shape):
            raise source.type_error(
                node,
                f"`{tensor.name}` is {print_tensor(tensor)}, but the annotation "
                f"promises {print_tensor(wanted)}",
            )


def check_results(
    source: Source, scope: Scope, params: list[Param], returned: list[Param]
) -> None:
    """Check that there is a result, and that each one is written."""
    if not returned and all(param.role is Role.INPUT for param in params):
        raise source.type_error(
            source.definition,
            f"{source.definition.name} has no result: return a tensor, or write into "
            "a parameter declared as `tdsl.out(f32[M, N])`",
        )
    for param in (*params, *returned):
        if param.role is Role.INPUT:
            continue
        array = scope.blocks[0][_written_name(scope, param)]
        assert isinstance(array, Array)
        if not array.written:
            raise _unwritten(source, array, param)


def _written_name(scope: Scope, param: Param) -> str:
    for name, binding in scope.blocks[0].items():
        if isinstance(binding, Array) and binding.tensor is param.tensor:
            return name
    raise AssertionError(param)


def _unwritten(source: Source, array: Array, param: Param) -> KernelTypeError:
    name, kind = param.tensor.name, print_tensor(param.tensor)
    if param.returned:
        return source.type_error(
            array.node, f"`{name}` is returned, but nothing is written to it"
        )
    instead = f"write to it, or declare it as `{name}: {kind}`"
    return source.type_error(
        array.node, f"nothing is written to the output `{name}`: {instead}"
    )
