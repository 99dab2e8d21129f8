"""Generate the code of a call: straight-line checks, then the compiled entry.

The generated function takes the cheap path where every argument is what the kernel
expects, and calls *slow* for everything else: other array types, wrong shapes, missing
arguments. Its text is a readable file to tracebacks and debuggers.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .arguments import LARGEST_DIM, shares_elements
from .ir.affine import Affine
from .ir.nodes import Dim, Function, Param, Role

Dispatcher = Callable[[tuple[Any, ...], dict[str, Any]], Any]
Key = int | tuple[int, ...]
_CONTIGUOUS = 0x3  # C or Fortran order, in numpy's flags
_ALIGNED, _WRITABLE = 0x100, 0x400


def entry_key(
    function: Function, values: tuple[Any, ...], dims: tuple[int, ...]
) -> Key:
    """Return the key of an entry: two bits of layout for each tensor, then *dims*.

    *dims* is empty where one entry serves all sizes.
    """
    layout = 0
    tensors = [v for v in values if isinstance(v, np.ndarray)]
    params = [param for param in function.params if param.tensor.shape]
    for position, (param, array) in enumerate(zip(params, tensors, strict=True)):
        bits = array.flags.num & _CONTIGUOUS
        # A returned array is fresh as a rule, and then the call does not look.
        layout |= (1 if param.returned and bits & 1 else bits) << 2 * position
    return (layout, *dims) if dims else layout


def make_dispatcher(
    function: Function,
    entries: Mapping[Key, Callable[..., Any]],
    slow: Callable[[tuple[Any, ...], dict[str, Any]], Any],
    *,
    by_size: bool,
) -> Dispatcher:
    """Return the function that a call of the kernel runs.

    *by_size*: whether *entries* has an entry for each combination of sizes.
    """
    names = _internal_names(entries, slow)
    writer = _Writer(function, by_size)
    taken = {param.tensor.name for param in function.params}
    taken |= {dim.name for dim in function.dims}
    if taken & (names.keys() | {"args", "kwargs"}) or not writer.solves():
        return slow
    text = "\n".join(writer.lines()) + "\n"
    file = f"<tdsl call of {function.name} {id(entries):x}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), names)
    dispatcher: Dispatcher = names["call"]
    return dispatcher


def _internal_names(entries: Any, slow: Any) -> dict[str, Any]:
    dtypes = {f"_{name}": np.dtype(name) for name in _DTYPES}
    return dtypes | {
        "_get": entries.get,
        "_slow": slow,
        "_ndarray": np.ndarray,
        "_empty": np.empty,
        "_may_share": np.may_share_memory,
        "_shares_elements": shares_elements,
    }


_DTYPES = ("float32", "float64", "int32", "int64", "bool")


@dataclass(frozen=True, slots=True)
class _Solution:
    """`name = (size - rest) / factor`, and *size* is a dimension of a parameter."""

    name: str
    rest: Affine
    factor: int


@dataclass(slots=True)
class _Writer:
    """Write the text of one dispatcher."""

    function: Function
    by_size: bool
    known: set[str] = field(default_factory=set)
    solutions: dict[tuple[str, int], _Solution] = field(default_factory=dict)

    @property
    def given(self) -> list[Param]:
        return [param for param in self.function.params if not param.returned]

    @property
    def tensors(self) -> list[Param]:
        return [param for param in self.function.params if param.tensor.shape]

    def solves(self) -> bool:
        """Find how each dim follows from the shapes; say whether all of them do."""
        progress = True
        while progress:
            progress = False
            for param in self.given:
                for axis, form in enumerate(param.tensor.shape):
                    progress |= self._solve(param, axis, form)
        return self.known == {dim.name for dim in self.function.dims}

    def _solve(self, param: Param, axis: int, form: Affine) -> bool:
        unknown = form.names() - self.known
        if len(unknown) != 1:
            return False
        (name,) = unknown
        factor = form.coefficient(name)
        rest = form - Affine(((name, factor),)) if factor else form
        if name in rest.names():
            return False
        self.known.add(name)
        self.solutions[param.tensor.name, axis] = _Solution(name, rest, factor)
        return True

    def lines(self) -> Iterator[str]:
        """Yield the lines of the function `call`."""
        yield "def call(args, kwargs):"
        yield f"    if kwargs or len(args) != {len(self.given)}:"
        yield "        return _slow(args, kwargs)"
        if self.given:
            names = ", ".join(param.tensor.name for param in self.given)
            yield f"    {names}, = args"
        for lines in (self._types(), self._sizes(), self._memory(), self._results()):
            yield from (f"    {line}" for line in lines)
        yield from (f"    {line}" for line in self._entry())

    def _types(self) -> Iterator[str]:
        for param in self.given:
            tensor, name = param.tensor, param.tensor.name
            if tensor.shape:
                yield from _refuse(
                    f"type({name}) is not _ndarray",
                    f"{name}.dtype is not _{tensor.dtype.numpy.name}",
                    f"{name}.ndim != {len(tensor.shape)}",
                )
            else:
                yield from _refuse(*_number_faults(name, param))

    def _sizes(self) -> Iterator[str]:
        faults: list[str] = []
        for param in self.given:
            if not param.tensor.shape:
                continue
            targets = [
                self._target(param, axis) for axis in range(len(param.tensor.shape))
            ]
            yield f"{', '.join(targets)}, = {param.tensor.name}.shape"
        for (name, axis), solution in self.solutions.items():
            if solution.rest == Affine() and solution.factor == 1:
                continue
            size = f"{_size(name, axis)} - ({python_form(solution.rest)})"
            yield f"{solution.name}, _rest = divmod({size}, {solution.factor})"
            yield from _refuse("_rest")
        for param in self.given:
            for axis, form in enumerate(param.tensor.shape):
                if (param.tensor.name, axis) not in self.solutions:
                    size = _size(param.tensor.name, axis)
                    faults.append(f"{size} != {python_form(form)}")
        for dim in self.function.dims:
            faults.extend(self._dim_faults(dim))
        if self.function.dims:
            every = " | ".join(dim.name for dim in self.function.dims)
            faults.append(f"({every}) > {LARGEST_DIM}")
        yield from _refuse(*faults)

    def _target(self, param: Param, axis: int) -> str:
        solution = self.solutions.get((param.tensor.name, axis))
        if solution and solution.rest == Affine() and solution.factor == 1:
            return solution.name
        return _size(param.tensor.name, axis)

    def _dim_faults(self, dim: Dim) -> Iterator[str]:
        direct = any(
            solution.name == dim.name and solution.rest == Affine()
            for solution in self.solutions.values()
        )
        if dim.min > 0 or not direct:
            yield f"{dim.name} < {dim.min}"
        if dim.max is not None:
            yield f"{dim.name} > {dim.max}"
        if dim.multiple != 1:
            yield f"{dim.name} % {dim.multiple}"

    def _memory(self) -> Iterator[str]:
        tensors = [param for param in self.given if param.tensor.shape]
        for param in tensors:
            yield f"{_flags(param)} = {param.tensor.name}.flags.num"
        faults = []
        for param in tensors:
            wanted = _ALIGNED | (0 if param.role is Role.INPUT else _WRITABLE)
            faults.append(f"{_flags(param)} & {wanted} != {wanted}")
        yield from _refuse(*faults)
        written = [param for param in tensors if param.role is not Role.INPUT]
        for position, param in enumerate(written):
            name = param.tensor.name
            others = [p for p in tensors if p.role is Role.INPUT] + written[:position]
            yield from _refuse(
                f"not {_flags(param)} & {_CONTIGUOUS} and _shares_elements({name})",
                *(f"_may_share({name}, {other.tensor.name})" for other in others),
            )

    def _results(self) -> Iterator[str]:
        returned = [param for param in self.function.params if param.returned]
        forms = {form for param in returned for form in param.tensor.shape}
        odd = [form for form in forms if not str(form).isidentifier()]
        yield from _refuse(*sorted(f"{python_form(form)} < 0" for form in odd))
        if not returned:
            return
        yield "try:"
        for param in returned:
            tensor = param.tensor
            shape = ", ".join(python_form(form) for form in tensor.shape)
            yield f"    {tensor.name} = _empty(({shape},), _{tensor.dtype.numpy.name})"
        yield "except (MemoryError, ValueError):"
        yield "    return _slow(args, kwargs)"

    def _entry(self) -> Iterator[str]:
        layout = [
            f"({_flags(param)} & {_CONTIGUOUS}) << {2 * position}"
            if not param.returned
            else str(1 << 2 * position)
            for position, param in enumerate(self.tensors)
        ]
        sizes = [dim.name for dim in self.function.dims]
        key = " | ".join(layout) or "0"
        if self.by_size:
            key = f"({', '.join([key, *sizes])},)"
        yield f"_entry = _get({key})"
        yield from _refuse("_entry is None")
        names = [param.tensor.name for param in self.function.params]
        yield f"_entry({', '.join([*names, *sizes])})"
        results = [
            param.tensor.name for param in self.function.params if param.returned
        ]
        if results:
            yield f"return {', '.join(results)}"


def _refuse(*faults: str) -> Iterator[str]:
    if faults:
        yield f"if {' or '.join(faults)}:"
        yield "    return _slow(args, kwargs)"


def _number_faults(name: str, param: Param) -> Iterator[str]:
    dtype = param.tensor.dtype
    match dtype.kind:
        case "float":
            yield f"type({name}) is not float"
            if dtype.bits == 32:
                largest = float(np.finfo(np.float32).max)
                yield f"not {-largest!r} <= {name} <= {largest!r}"
        case "int":
            limit = 1 << (dtype.bits - 1)
            yield f"type({name}) is not int"
            yield f"not {-limit} <= {name} < {limit}"
        case "bool":
            yield f"type({name}) is not bool"


def _flags(param: Param) -> str:
    return f"_{param.tensor.name}_flags"


def _size(tensor: str, axis: int) -> str:
    return f"_{tensor}_{axis}"


def python_form(form: Affine) -> str:
    """Return *form* as a Python expression over its names."""
    parts = [str(form.constant)] if form.constant or not form.terms else []
    for atom, coefficient in form.terms:
        if isinstance(atom, str):
            text = atom
        else:
            text = f"(({python_form(atom.numerator)}) // {atom.divisor})"
        parts.append(text if coefficient == 1 else f"{coefficient} * {text}")
    return " + ".join(parts)
