"""Faults of the kernel itself, which no schedule mends, at the user's own line."""

from __future__ import annotations

import linecache
from dataclasses import replace

from .analysis.certificate import Check
from .analysis.validate import validate
from .errors import KernelFaultError
from .ir.nodes import Function, Load, Select, Span, Store
from .ir.printer import print_expr
from .ir.walk import reads, walk


def reject_faults(function: Function) -> None:
    """Raise KernelFaultError where the kernel as written has a fault of its own."""
    fault = validate(function, function).kernel_fault
    if fault is not None:
        raise fault_error(function, fault)


def fault_error(function: Function, fault: Check) -> KernelFaultError:
    """Return the error for a kernel that the proof found at *fault*."""
    dims = fault.witness.dims if fault.witness else ()
    sizes = ", ".join(f"{name}={size}" for name, size in dims)
    where = f" for {sizes}" if sizes else ""
    span = fault.span or function.span
    message = (
        f"{function.name}: the kernel {fault.reason}{where}: "
        f"{_advice(function, fault)}{span.calls if span else ''}"
    )
    return KernelFaultError(message, *([_details(span)] if span else []))


def _details(span: Span) -> tuple[str, int, int, str, int, int]:
    text = linecache.getline(span.file, span.line)
    columns = (span.column + 1, span.end_column + 1)
    return (span.file, span.line, columns[0], text, span.end_line, columns[1])


def _advice(function: Function, fault: Check) -> str:
    for name, size in fault.witness.dims if fault.witness else ():
        least = size + 1
        if _is_sound_from(function, name, least):
            text = f'tdsl.dim("{name}", min={least})'
            return f"if {name} is always at least {least}, declare it so: {text}"
    if "fit in i64" in fault.reason:
        return (
            "give the dims a max, or write a number that may wrap around as "
            "`i64(i) * 3`"
        )
    if "outside" in fault.reason:
        if _is_conditional(function, fault.span):
            return (
                "both sides of a conditional are evaluated, except where the condition "
                "of an `if` statement has only loop variables and dims; or split the "
                "range: `for i in range(1, M)`"
            )
        return "change the subscript, the range of its loop, or the shape"
    conditional = _predicated(function, fault.span)
    if conditional is not None:
        condition = conditional.span
        line = f" of line {condition.line}" if condition else ""
        target = conditional.otherwise
        assert isinstance(target, Load)
        return (
            f"it is written only where the condition{line} holds; write "
            f"`{print_expr(target)}` before, or in every branch"
        )
    return "write every element first, for instance with tdsl.zeros"


def _predicated(function: Function, span: Span | None) -> Select | None:
    """Return the choice between a new value and the old one, which is at *span*."""
    for node in walk(function):
        match node:
            case Store(value=Select(otherwise=Load() as old) as value):
                same = (old.tensor, old.index) == (node.tensor, node.index)
                if same and span is not None and old.span == node.span == span:
                    return value
    return None


def _is_conditional(function: Function, span: Span | None) -> bool:
    """Whether the access at *span* is one side of a conditional expression."""
    return span is not None and any(
        load.span == span
        for node in walk(function)
        if isinstance(node, Select)
        for side in (node.then, node.otherwise)
        for load in reads(side)
    )


def _is_sound_from(function: Function, name: str, least: int) -> bool:
    """Whether the fault is gone where the dim *name* is at least *least*."""
    dims = tuple(
        replace(dim, min=least) if dim.name == name else dim for dim in function.dims
    )
    if any(dim.max is not None and dim.max < dim.min for dim in dims):
        return False
    larger = replace(function, dims=dims)
    return validate(larger, larger).verdict == "proved"
