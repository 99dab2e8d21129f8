"""Parameters of the entry function: bound to addresses and values before the body."""

from __future__ import annotations

from collections.abc import Mapping

from ..ir.affine import Affine
from ..ir.nodes import Param, Tensor
from .emit import Emitter
from .expressions import Value, type_token
from .storage import Storage, Stride
from .writer import Writer

LAYOUTS = ("C", "F", "U", "A")
"""Stride classes: row-major, column-major, unit last stride, any strides."""


class Parameters:
    """Write the lines that bind parameters, and tell the emitter of them.

    *scalars* names the two numbers that stand for each complex one.
    """

    def __init__(
        self,
        emitter: Emitter,
        writer: Writer,
        identifiers: Mapping[str, str],
        scalars: Mapping[str, tuple[str, str]],
    ) -> None:
        self._emitter = emitter
        self._writer = writer
        self._ids = identifiers
        self._scalars = scalars

    def bind(self, param: Param, layout: str) -> str:
        """Bind a parameter to its address or value; return the argument's name."""
        tensor = param.tensor
        if tensor.name in self._scalars:
            return self._complex_number(tensor)
        if not tensor.shape:
            return self._number(tensor)
        return self._array(tensor, layout)

    def bind_fault(self) -> str:
        """Bind the address of the fault word; return the argument's name."""
        argument, fault = self._writer.fresh("fault_array"), self._writer.fresh("fault")
        self._emitter.choices.fault = fault
        self._emitter.used.add("address")
        self._writer.line(f"{fault} = address({argument})")
        return argument

    # --- numbers ------------------------------------------------------------------

    def _number(self, tensor: Tensor) -> str:
        base = self._ids[tensor.name]
        argument = self._writer.fresh(f"{base}_argument")
        token = type_token(tensor.dtype, 0)
        self._emitter.types.add((tensor.dtype, 0))
        if tensor.dtype.is_storage:
            self._emitter.used.add("convert")
            self._writer.line(f"{base} = convert({argument}, {token})")
        else:
            self._writer.line(f"{base} = {token}({argument})")
        self._emitter.declared.scalars[tensor.name] = Value(base, tensor.dtype, 0)
        return argument

    def _complex_number(self, tensor: Tensor) -> str:
        argument = self._writer.fresh(f"{tensor.name}_argument")
        dtype = tensor.dtype.part
        token = type_token(dtype, 0)
        self._emitter.types.add((dtype, 0))
        parts = self._scalars[tensor.name]
        for part, attribute in zip(parts, ("real", "imag"), strict=True):
            name = self._ids[part]
            self._writer.line(f"{name} = {token}({argument}.{attribute})")
            self._emitter.declared.scalars[part] = Value(name, dtype, 0)
        return argument

    # --- arrays -------------------------------------------------------------------

    def _array(self, tensor: Tensor, layout: str) -> str:
        base = self._ids[tensor.name]
        argument = self._writer.fresh(f"{base}_array")
        self._emitter.used.add("address")
        self._writer.line(f"{base} = address({argument})")
        strides = self._strides(tensor, layout, argument)
        self._emitter.declared.storage[tensor.name] = Storage(
            tensor.name, base, tensor.dtype.part.name, tuple(strides)
        )
        return argument

    def _strides(self, tensor: Tensor, layout: str, argument: str) -> list[Stride]:
        extents = list(tensor.shape)
        if layout == "C":
            strides = self._contiguous(tensor, extents)
        elif layout == "F":
            strides = self._contiguous(tensor, extents[::-1])[::-1]
        else:
            strides = self._measured(tensor, layout, argument)
        if tensor.dtype.kind != "complex":
            return strides
        return [*(_in_parts(stride, layout) for stride in strides), Stride(1)]

    def _contiguous(self, tensor: Tensor, extents: list[Affine]) -> list[Stride]:
        return self._emitter.declared.contiguous_strides(tensor.name, extents, 0)

    def _measured(self, tensor: Tensor, layout: str, argument: str) -> list[Stride]:
        base, rank = self._ids[tensor.name], len(tensor.shape)
        # Strides of complex arrays may be odd multiples of a part's size.
        size = tensor.dtype.part.bytes
        strides = []
        for axis in range(rank):
            if layout == "U" and axis == rank - 1:
                strides.append(Stride(1))
                continue
            expression = f"{argument}.strides[{axis}] // {size}"
            name = self._writer.named(f"{base}_stride{axis}", expression, 0)
            strides.append(Stride(1, (name,)))
        return strides


def _in_parts(stride: Stride, layout: str) -> Stride:
    """Return the stride of a complex array in parts of numbers."""
    measured = layout in ("U", "A") and bool(stride.names)
    return stride if measured else Stride(2 * stride.factor, stride.names)
