"""Compile a scheduled function for the CPU.

`compile_function` gives a `CompiledFunction` whose entry is a Numba dispatcher: one
positional argument per parameter (an array, or a number for a scalar), then one integer
per dim, then the lifted sizes. Where data chooses elements that are checked, a function
around the dispatcher raises what went wrong. One module is made per combination of
stride classes, when it is first asked for; machine code is made at its first call or by
`compile`.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import config, types
from numba.np import numpy_support

from ..errors import BackendError
from ..ir.nodes import Function, Param, Role
from ..target import Target
from .faults import checked_entry
from .modules import load_module
from .parameters import LAYOUTS
from .source import Source, emit_source
from .threads import check_threads, start_threads

_COMPILING = threading.RLock()
_NUMBERS: dict[str, Any] = {  # Python's, by kind: what a scalar parameter is given
    "float": types.float64,
    "complex": types.complex128,
    "int": types.int64,
    "bool": types.boolean,
}


_BITS = np.dtype(np.uint16)


class _BitsEntry:
    """An entry for Numba, which knows no arrays of 16-bit floats, on their bits."""

    def __init__(self, entry: Any, function: Function) -> None:
        self._entry = entry
        self._positions = tuple(
            position
            for position, param in enumerate(function.params)
            if param.tensor.dtype.is_storage and param.tensor.shape
        )

    def __call__(self, *arguments: Any) -> None:
        given = list(arguments)
        for position in self._positions:
            given[position] = given[position].view(_BITS)
        self._entry(*given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._entry, name)


class CompiledFunction:
    """A function as generated modules, one per combination of stride classes."""

    def __init__(
        self,
        function: Function,
        target: Target,
        *,
        numerics: str,
        parallel: bool,
        runtime_sizes: bool,
    ) -> None:
        self.function = function
        self.target = target
        self._options = {
            "numerics": numerics,
            "parallel": parallel,
            "runtime_sizes": runtime_sizes,
        }
        self._sources: dict[tuple[str, ...], Source] = {}
        self._dispatchers: dict[tuple[str, ...], Any] = {}
        self._entries: dict[tuple[str, ...], Any] = {}
        self._paths: dict[tuple[str, ...], Path] = {}
        self._default = ("C",) * len(function.params)

    @property
    def entry(self) -> Any:
        """The code for row-major arrays."""
        return self.entry_for(self._default)

    @property
    def source(self) -> str:
        """The generated text for row-major arrays."""
        return self.source_for(self._default).text

    @property
    def sizes(self) -> tuple[int, ...]:
        """The lifted sizes, which follow the dims in a call."""
        return self.source_for(self._default).sizes

    @property
    def path(self) -> Path:
        """The file of the generated module for row-major arrays."""
        self.entry_for(self._default)
        return self._paths[self._default]

    def source_for(self, layouts: Sequence[str]) -> Source:
        """Return the generated module's text for these stride classes."""
        key = self._key(layouts)
        if key not in self._sources:
            self._sources[key] = emit_source(self.function, key, **self._options)  # type: ignore[arg-type]
        return self._sources[key]

    def entry_for(self, layouts: Sequence[str]) -> Any:
        """Return the code for these stride classes, one per parameter.

        "C" row-major, "F" column-major, "U" unit last stride, "A" any strides; the
        class of a scalar parameter is ignored. It is the dispatcher of Numba, behind a
        check of the fault word where subscripts may be out of range.
        """
        key = self._key(layouts)
        if self.source_for(key).threaded:
            check_threads(self.function.name)
        entry = self._entries.get(key)
        if entry is None:
            entry = self._dispatcher_for(key)
            sites = self.source_for(key).sites
            if sites:
                entry = checked_entry(entry, sites)
            self._entries[key] = entry
        return entry

    def _dispatcher_for(self, key: tuple[str, ...]) -> Any:
        entry = self._dispatchers.get(key)
        if entry is None:
            source = self.source_for(key)
            if self._options["parallel"]:
                start_threads()
            try:
                module = load_module(self.function.name, source.text)
            except SyntaxError as problem:
                raise _too_nested(self.function, problem) from problem
            entry = getattr(module, source.name)
            if any(p.tensor.dtype.is_storage for p in self.function.params):
                entry = _BitsEntry(entry, self.function)
            assert module.__file__ is not None
            self._paths[key] = Path(module.__file__)
            self._dispatchers[key] = entry
        return entry

    def _key(self, layouts: Sequence[str]) -> tuple[str, ...]:
        wrong = [each for each in layouts if each not in LAYOUTS]
        if wrong or len(layouts) != len(self.function.params):
            raise BackendError(
                f"stride classes {tuple(layouts)}: give one of {', '.join(LAYOUTS)} "
                f"for each of the {len(self.function.params)} parameters"
            )
        return tuple(
            _layout_class(layout, len(param.tensor.shape))
            for layout, param in zip(layouts, self.function.params, strict=True)
        )

    def compile(self, layouts: Sequence[str] | None = None) -> None:
        """Make machine code now, for inputs that may be written to and others.

        The dispatcher then compiles no more: it converts what it is given.
        """
        key = self._key(layouts or self._default)
        entry, signature = self._dispatcher_for(key), self._signature(key)
        with _COMPILING:
            if signature in entry.overloads:
                return
            entry.disable_compile(False)
            try:
                entry.compile(signature)
            except Exception as problem:
                raise _failure(self.function, self.target, problem) from problem
            entry.disable_compile()

    def _signature(self, layouts: Sequence[str]) -> tuple[Any, ...]:
        arguments: list[Any] = []
        for param, layout in zip(self.function.params, layouts, strict=True):
            arguments.append(_argument_type(param, layout))
        source = self.source_for(layouts)
        arguments += [types.int64] * (len(self.function.dims) + len(source.sizes))
        if source.sites:
            arguments.append(types.Array(types.int64, 1, "C"))
        return tuple(arguments)

    def assembly(self, layouts: Sequence[str] | None = None) -> str:
        """Return the machine code as text, compiled afresh."""
        chosen = layouts or self._default
        entry = self._dispatcher_for(self._key(chosen))
        options = {**entry.targetoptions}
        options.pop("cache", None)
        options.pop("nopython", None)
        fresh = numba.njit(**options)(entry.py_func)
        signature = self._signature(self._key(chosen))
        try:
            fresh.compile(signature)
        except Exception as problem:
            raise _failure(self.function, self.target, problem) from problem
        return str("\n".join(fresh.inspect_asm().values()))


def _layout_class(layout: str, rank: int) -> str:
    """Return *layout*, or row-major where that is the same thing."""
    return layout if rank > 1 or (rank == 1 and layout == "A") else "C"


def _argument_type(param: Param, layout: str) -> Any:
    """Return the type of an argument: of an input, one that any array converts to."""
    dtype, rank = param.tensor.dtype, len(param.tensor.shape)
    if not rank:
        return types.uint64 if dtype.name == "u64" else _NUMBERS[dtype.kind]
    order: Any = layout if layout in ("C", "F") else "A"
    element = numpy_support.from_dtype(_BITS if dtype.is_storage else dtype.numpy)
    return types.Array(element, rank, order, readonly=param.role is Role.INPUT)


def compile_function(
    function: Function,
    target: Target,
    *,
    numerics: str = "reassoc",
    parallel: bool = True,
    runtime_sizes: bool = False,
) -> CompiledFunction:
    """Return *function* ready to run on *target*.

    *numerics* "bitwise" keeps every operation; otherwise products and sums contract to
    fused multiply-adds. With *runtime_sizes* the outer tile sizes are arguments.
    """
    _check_process(target)
    return CompiledFunction(
        function,
        target,
        numerics=numerics,
        parallel=parallel,
        runtime_sizes=runtime_sizes,
    )


def _check_process(target: Target) -> None:
    """Refuse a target that this process does not compile for."""
    wanted = target.environment()
    if not wanted or getattr(config, "CPU_NAME", None) == target.cpu:
        return
    settings = " ".join(f"{key}='{value}'" for key, value in wanted.items())
    raise BackendError(
        f"this process compiles for its own CPU, not for {target.name!r}; start Python "
        f"with {settings}"
    )


def _too_nested(function: Function, problem: SyntaxError) -> BackendError:
    return BackendError(
        f"the code of {function.name!r} is nested too deep for Python ({problem.msg}): "
        "split fewer loops, or give parts of long expressions to variables"
    )


def _failure(function: Function, target: Target, problem: Exception) -> BackendError:
    text = str(problem).strip() or type(problem).__name__
    last = text.splitlines()[-1]
    return BackendError(
        f"Numba could not compile {function.name!r} for {target.name} ({target.cpu}): "
        f"{last}; this is a fault of tdsl, and another schedule may avoid it"
    )
