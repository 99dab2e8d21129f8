"""From a scheduled function to the text of a Python module.

`emit_source` is pure text work: nothing is imported or compiled. With *runtime_sizes*
the outer tile sizes become arguments, so that schedules which differ only in them share
one text and one compilation.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..ir.dtypes import DTYPES, DType, i64
from ..ir.nodes import Function, Param, Tensor
from ..ir.walk import allocations, loops
from .choices import has_checks
from .complex_parts import split_complex
from .emit import Emitter
from .expressions import Value, type_token
from .faults import Site
from .lower import lower
from .sizes import lift_sizes
from .storage import Storage, Stride
from .vocabulary import OFFERED, OPERATIONS
from .writer import Writer

LAYOUTS = ("C", "F", "U", "A")
"""Stride classes: row-major, column-major, unit last stride, any strides."""

_OPTIONS = """\
    cache=True,
    nogil=True,
    error_model="numpy",
    boundscheck=False,
    no_rewrites=True,
    no_cfunc_wrapper=True,
"""
# Of Numba's transformations of parallel loops only the loop itself is wanted.
_PARALLEL = """\
    parallel={
        "prange": True,
        "fusion": False,
        "reduction": False,
        "numpy": False,
        "setitem": False,
        "comprehension": False,
        "inplace_binop": False,
        "stencil": False,
    },
"""
# Python never calls the body of a parallel loop.
_PART = "    no_cpython_wrapper=True,\n"


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a module with one entry function, and its lifted sizes.

    It is *threaded* if there are loops that may run on several threads. Where there are
    *sites*, the last argument is the fault word, which holds the number of one of them,
    from 1 on.
    """

    name: str
    text: str
    sizes: tuple[int, ...]
    threaded: bool
    sites: tuple[Site, ...] = ()


def emit_source(
    function: Function,
    layouts: Sequence[str] | None = None,
    *,
    numerics: str = "reassoc",
    parallel: bool = True,
    runtime_sizes: bool = False,
) -> Source:
    """Return *function* as the text of a Python module.

    *layouts* gives the stride class of each parameter ("C" for all by default).
    """
    step_names: Mapping[str, str] = {}
    sizes: dict[str, int] = {}
    if runtime_sizes:
        function, step_names, sizes = lift_sizes(function)
    given = function.params
    split = split_complex(function, contract=numerics != "bitwise")
    function = lower(split.function)
    identifiers = _identifiers(function)
    writer = Writer(set(identifiers.values()) | _RESERVED)
    emitter = Emitter(
        function,
        writer=writer,
        identifiers=identifiers,
        step_names={axis: identifiers[each] for axis, each in step_names.items()},
        contract=numerics != "bitwise",
        parallel=parallel,
    )
    classes = layouts or ["C"] * len(given)
    arguments = [
        _declare(param, layout, emitter, writer, identifiers, split.scalars)
        for param, layout in zip(given, classes, strict=True)
    ]
    arguments += [identifiers[dim.name] for dim in function.dims]
    if has_checks(function):
        arguments.append(_declare_fault(emitter, writer))
    emitter.run(function.body)
    entry = identifiers[function.name]
    head = f"def {entry}({', '.join(arguments)}):"
    body = writer.text(1)
    lines = _header(emitter, function.name, numerics)
    for part, parameters, text in emitter.parts:
        lines += ["", "", _decorator(_PART), f"def {part}({', '.join(parameters)}):"]
        lines.append(text.rstrip())
    lines += ["", "", _decorator(_PARALLEL if emitter.parts else ""), head, body]
    text = "\n".join(lines)
    sites = tuple(emitter.choices.sites)
    return Source(entry, text, tuple(sizes.values()), bool(emitter.parts), sites)


def _declare_fault(emitter: Emitter, writer: Writer) -> str:
    """Bind the address of the fault word; return the argument's name."""
    argument, emitter.choices.fault = writer.fresh("fault_array"), writer.fresh("fault")
    emitter.used.add("address")
    writer.line(f"{emitter.choices.fault} = address({argument})")
    return argument


def _identifiers(function: Function) -> dict[str, str]:
    """Give every axis, dim and tensor a name that generated code does not use."""
    names = [function.name]
    names += [param.tensor.name for param in function.params]
    names += [dim.name for dim in function.dims]
    names += [*loops(function), *allocations(function)]
    taken: set[str] = set(names)
    result = {}
    for each in names:
        safe = each
        while _is_reserved(safe) or (safe != each and safe in taken):
            safe += "_"
        result[each] = safe
    return result


def _is_reserved(word: str) -> bool:
    """Whether generated code may use *word* for something else than a variable."""
    return word in _RESERVED or keyword.iskeyword(word) or bool(_VECTOR.match(word))


def _declare(
    param: Param,
    layout: str,
    emitter: Emitter,
    writer: Writer,
    identifiers: Mapping[str, str],
    scalars: Mapping[str, tuple[str, str]],
) -> str:
    """Bind a parameter to its address or value; return the argument's name.

    *scalars* names the two numbers that stand for each complex one.
    """
    tensor = param.tensor
    if tensor.name in scalars:
        names = [identifiers[name] for name in scalars[tensor.name]]
        return _declare_parts(tensor, scalars[tensor.name], names, emitter, writer)
    base = identifiers[tensor.name]
    if not tensor.shape:
        argument = writer.fresh(f"{base}_argument")
        token = type_token(tensor.dtype, 0)
        emitter.types.add((tensor.dtype, 0))
        if tensor.dtype.is_storage:
            emitter.used.add("convert")
            writer.line(f"{base} = convert({argument}, {token})")
        else:
            writer.line(f"{base} = {token}({argument})")
        emitter.declared.scalars[tensor.name] = Value(base, tensor.dtype, 0)
        return argument
    argument = writer.fresh(f"{base}_array")
    emitter.used.add("address")
    writer.line(f"{base} = address({argument})")
    extents = list(tensor.shape)
    strides: list[Stride]
    if layout == "C":
        strides = emitter.declared.contiguous_strides(tensor.name, extents, 0)
    elif layout == "F":
        strides = emitter.declared.contiguous_strides(tensor.name, extents[::-1], 0)[
            ::-1
        ]
    else:
        strides = []
        for axis in range(len(extents)):
            if layout == "U" and axis == len(extents) - 1:
                strides.append(Stride(1))
                continue
            # Strides of complex arrays may be odd multiples of a part's size.
            size = tensor.dtype.part.bytes
            expression = f"{argument}.strides[{axis}] // {size}"
            name = writer.named(f"{base}_stride{axis}", expression, 0)
            strides.append(Stride(1, (name,)))
    if tensor.dtype.kind == "complex":
        strides = [_in_parts(stride, layout) for stride in strides] + [Stride(1)]
    emitter.declared.storage[tensor.name] = Storage(
        tensor.name, base, tensor.dtype.part.name, tuple(strides)
    )
    return argument


def _in_parts(stride: Stride, layout: str) -> Stride:
    """Return the stride of a complex array in parts of numbers."""
    measured = layout in ("U", "A") and bool(stride.names)
    return stride if measured else Stride(2 * stride.factor, stride.names)


def _declare_parts(
    tensor: Tensor,
    parts: Sequence[str],
    names: Sequence[str],
    emitter: Emitter,
    writer: Writer,
) -> str:
    argument = writer.fresh(f"{tensor.name}_argument")
    dtype = tensor.dtype.part
    emitter.types.add((dtype, 0))
    for part, name, attribute in zip(parts, names, ("real", "imag"), strict=True):
        writer.line(f"{name} = {type_token(dtype, 0)}({argument}.{attribute})")
        emitter.declared.scalars[part] = Value(name, dtype, 0)
    return argument


def _header(emitter: Emitter, function: str, numerics: str) -> list[str]:
    lines = [f'"""{function}, generated by tdsl; numerics: {numerics}."""', ""]
    types = sorted(emitter.types, key=lambda t: (t[0].name, t[1]))
    scalars = sorted(
        {
            _import_of(dtype)
            for dtype in (i64, *(dtype for dtype, _ in types))
            if not dtype.is_storage
        }
    )
    lines += ["import numpy as np", f"from numba import {', '.join(scalars)}"]
    lines += ["from numba import njit" + (", prange" if emitter.parts else "")]
    named = [t for t in types if t[1] or t[0].is_storage]
    called = emitter.used | ({"vector"} if named else set())
    for module, names in OFFERED.items():
        used = sorted(called & names)
        if used:
            lines += _import(f"tdsl.backends.{module}", used)
    lines += [""] if named else []
    lines += [
        f'{type_token(dtype, lanes)} = vector("{dtype.name}", {lanes})'
        for dtype, lanes in named
    ]
    return lines


def _import(module: str, names: list[str]) -> list[str]:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= 88:
        return [line]
    return [f"from {module} import (", *(f"    {each}," for each in names), ")"]


def _import_of(dtype: DType) -> str:
    """Return how a module imports a scalar type from Numba under its token."""
    token = type_token(dtype, 0)
    return token if dtype.kind == "bool" else f"{dtype.numpy.name} as {token}"


def _decorator(extra: str) -> str:
    return f"@njit(\n{_OPTIONS}{extra})"


def _token_names() -> set[str]:
    tokens = {type_token(dtype, 0) for dtype in DTYPES.values()}
    return tokens | {"np", "njit", "prange"}


_VECTOR = re.compile(f"({'|'.join(DTYPES)})x[0-9]+$")
"""The names of vector types: see `type_token`."""
_RESERVED = (
    _token_names() | OPERATIONS | {"range", "min", "max", "abs", "int", "float", "bool"}
)
