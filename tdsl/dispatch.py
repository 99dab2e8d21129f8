"""From a call to compiled code: keys of entries, and a generated function."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .arguments import Array, shares_elements
from .dispatch_text import (
    C_ORDER,
    CODE_BITS,
    F_ORDER,
    INNER_AXIS,
    UNIT_STRIDE,
    USED_NAMES,
    CallWriter,
)
from .dispatch_text import dtype_name as name_of
from .ir.nodes import Function
from .memory_order import axis_last, inner_axis

Dispatcher = Callable[[tuple[Any, ...], dict[str, Any]], Any]
Key = int | tuple[int, ...]
_CLASSES = {C_ORDER: "C", F_ORDER: "F", UNIT_STRIDE: "U"}


def stride_code(array: Array) -> int:
    """Return the stride class of *array* as a number of `CODE_BITS` bits."""
    flags = array.flags.num
    if code := flags & C_ORDER or flags & F_ORDER:
        return int(code)
    if array.strides[-1] == array.itemsize:
        return UNIT_STRIDE
    return inner_code(array)


def inner_code(array: Array) -> int:
    """Return the stride code of an array whose last axis has no unit stride.

    It says also whether the array is row-major once that axis is the last one: the code
    for these is no code for others.
    """
    axis = inner_axis(array)
    if axis is None:
        return 0
    flags = array.transpose(axis_last(array.ndim, axis)).flags.num
    return INNER_AXIS * (axis + 1) | int(flags & C_ORDER)


def stride_classes(function: Function, values: Sequence[Any]) -> tuple[str, ...]:
    """Return C, F, U or A for each parameter; a number counts as C."""
    return tuple(
        _CLASSES.get(stride_code(value), "A") if param.tensor.shape else "C"
        for param, value in zip(function.params, values, strict=True)
    )


def entry_key(function: Function, values: Sequence[Any], dims: tuple[int, ...]) -> Key:
    """Return the key of an entry: the stride codes of the arrays, then *dims*.

    *dims* is empty where one entry serves all sizes.
    """
    layout = position = 0
    for param, value in zip(function.params, values, strict=True):
        if param.tensor.shape:
            layout |= stride_code(value) << position
            position += CODE_BITS
    return (layout, *dims) if dims else layout


def _has_plain_names(function: Function) -> bool:
    """Whether no name of the kernel is one that the text gives another meaning."""
    names = {param.tensor.name for param in function.params}
    names |= {dim.name for dim in function.dims}
    return not (names & USED_NAMES or any(name.startswith("_") for name in names))


def make_dispatcher(
    function: Function,
    entries: Mapping[Key, Callable[..., Any]],
    slow: Dispatcher,
    *,
    by_size: bool,
) -> Dispatcher:
    """Return the function that a call of the kernel runs.

    *by_size*: whether *entries* has an entry for each combination of sizes. The text of
    the function is a file to tracebacks and debuggers.
    """
    names: dict[str, Any] = {
        "_get": entries.get,
        "_slow": slow,
        "_ndarray": np.ndarray,
        "_empty": np.empty,
        "_floats": frozenset({int, np.float32, np.float64, np.int32, np.int64}),
        "_may_share": np.may_share_memory,
        "_shares_elements": shares_elements,
        "_inner_code": inner_code,
    }
    dtypes = {param.tensor.dtype for param in function.params}
    names |= {name_of(dtype): dtype.numpy for dtype in dtypes}
    writer = CallWriter(function, by_size)
    if not (_has_plain_names(function) and writer.solves()):
        return slow
    text = "\n".join(writer.lines()) + "\n"
    file = f"<tdsl call of {function.name} {id(entries):x}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), names)
    dispatcher: Dispatcher = names["call"]
    return dispatcher
