"""Local tensors and parameters: variables for registers, addresses for memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..ir.affine import Affine, constant
from ..ir.dtypes import DType
from ..ir.nodes import Alloc
from .expressions import Expressions, Value
from .point import Point
from .registers import RegisterLayout
from .shortage import Shortages
from .storage import Addresses, Storage, Stride
from .writer import Region, Writer


@dataclass(slots=True)
class Registers:
    """A register tensor in variables: its layout, and where they are declared."""

    layout: RegisterLayout
    dtype: DType
    private_lanes: int
    declarations: Region
    depth: int
    started: set[str]


class Declarations:
    """What the emitter knows about the tensors in scope."""

    def __init__(
        self,
        writer: Writer,
        addresses: Addresses,
        expressions: Expressions,
        identifiers: Mapping[str, str],
        layouts: Mapping[str, RegisterLayout],
        shortages: Shortages,
    ) -> None:
        self.storage: dict[str, Storage] = {}
        self.scalars: dict[str, Value] = {}
        self.registers: dict[str, Registers] = {}
        self._writer = writer
        self._addresses = addresses
        self._expressions = expressions
        self._ids = identifiers
        self._layouts = layouts
        self._shortages = shortages
        self._allocated: set[str] = set()

    def declare(self, alloc: Alloc, point: Point) -> None:
        """Give a local tensor variables, or memory."""
        tensor = alloc.tensor
        layout = self._layouts.get(tensor.name)
        if layout is not None:
            region = Region("")
            self._writer.stack[-1].items.append(region)
            depth = len(self._writer.stack) - point.branches
            self.registers[tensor.name] = Registers(
                layout, tensor.dtype, point.lanes, region, depth, set()
            )
            return
        self._alloc_array(alloc, point)

    def _alloc_array(self, alloc: Alloc, point: Point) -> None:
        """Take aligned memory outside all serial loops that do not size it."""
        tensor, addresses, writer = alloc.tensor, self._addresses, self._writer
        extents = [point.at(extent) for extent in tensor.shape]
        if point.lanes:
            extents.append(constant(point.lanes))
        depth = max([writer.floor, *map(addresses.depth, extents)])
        strides = self.contiguous_strides(tensor.name, extents, depth)
        memory = writer.fresh(f"{tensor.name}_memory")
        base = self._ids[tensor.name]
        if tensor.name in self._allocated:
            base = writer.fresh(base)
        self._allocated.add(tensor.name)
        region = writer.stack[depth]
        self._expressions.use("address", "keep")
        # Numba cannot loop over no extents: a scalar is a row of one element.
        extents = extents or [constant(1)]
        sizes = [str(tensor.dtype.bytes), *map(addresses.integer, extents)]
        size = f"bytes_of({', '.join(sizes)})"
        region.items += self._shortages.reserve(memory, size, tensor, point.parallel)
        region.items.append(f"{base} = (address({memory}) + 63) & -64")
        region.tail.append(f"keep({memory})")
        self.storage[tensor.name] = Storage(
            tensor.name, base, tensor.dtype.name, tuple(strides)
        )

    def contiguous_strides(
        self, tensor: str, extents: list[Affine], depth: int
    ) -> list[Stride]:
        """Return row-major strides for *extents*, naming the products of sizes."""
        strides = [Stride(1)]
        for position in range(len(extents) - 1, 0, -1):
            strides.append(self._times(tensor, strides[-1], extents[position], depth))
        return strides[::-1] if extents else []

    def _times(self, tensor: str, stride: Stride, extent: Affine, depth: int) -> Stride:
        if extent.is_constant:
            return Stride(stride.factor * extent.constant, stride.names)
        text = self._addresses.integer(extent)
        if not text.isidentifier():
            text = self._writer.named(f"{tensor}_extent", text, depth)
        return Stride(stride.factor, (*stride.names, text))

    # --- registers ----------------------------------------------------------------

    def register(
        self, tensor: str, index: tuple[Affine, ...], *, assigned: bool = False
    ) -> str:
        """Return the variable that holds an element at constant subscripts.

        It starts as zero where its tensor is declared, unless what comes first is that
        it is *assigned* as a whole, in any case: Numba has no variables without a
        value. Nobody sees these zeros, as the program writes before it reads.
        """
        registers = self.registers[tensor]
        variable = self._register_name(tensor, index)
        if variable not in registers.started:
            registers.started.add(variable)
            if not assigned:
                lanes = registers.private_lanes or registers.layout.lanes
                zero = self._expressions.zero(registers.dtype, lanes)
                registers.declarations.items.append(f"{variable} = {zero}")
        return variable

    def _register_name(self, tensor: str, index: tuple[Affine, ...]) -> str:
        layout = self.registers[tensor].layout
        numbers = []
        for position, form in enumerate(index):
            assert form.is_constant, (tensor, index)
            group = layout.lanes if position == layout.lane_dimension else 1
            numbers.append(form.constant // group)
        return "_".join([self._ids[tensor], *map(str, numbers)])
