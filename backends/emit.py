"""A scheduled function as readable Python source for Numba.

The statements are written in order; loops become `for` or `prange`, unrolled loops are
repeated, vectorized loops become lanes. Where a tile may be cut short by the edge of
the data the code is written twice, for full tiles without tests and for the rest with
masks and guards, with the choice outside the loops that it does not depend on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import assert_never

from ..errors import BackendError
from ..ir.affine import Affine, affine, constant, name
from ..ir.dtypes import DType
from ..ir.nodes import (
    Alloc,
    Block,
    For,
    Function,
    If,
    Load,
    LoopKind,
    Memory,
    Reduce,
    ReduceOp,
    Stmt,
    Store,
)
from .expressions import Expressions, Value, type_token
from .plan import LeafPlan, Plan, TileLoop
from .registers import RegisterLayout, register_layouts
from .storage import LANE, Addresses, Storage, Stride
from .writer import Region, Writer, block_text

_UPDATES = {
    ReduceOp.ADD: "add",
    ReduceOp.MUL: "mul",
    ReduceOp.MIN: "minimum",
    ReduceOp.MAX: "maximum",
}


@dataclass(frozen=True, slots=True)
class Point:
    """Where in the tile loops the writer stands.

    *exact* gives each tile axis over integer variables and the lane number; *limits*
    the last coordinate that exists for unrolled axes that may run past it. The full
    conditions in *assumed* are known to hold, and so are the guards in *satisfied*;
    *decided* means that this is the code for partial tiles.
    """

    exact: Mapping[str, Affine]
    limits: Mapping[str, tuple[str, ...]]
    lanes: int = 0
    assumed: frozenset[Affine] = frozenset()
    satisfied: frozenset[Affine] = frozenset()
    decided: bool = False
    parallel: bool = False

    def at(self, form: Affine) -> Affine:
        """Return *form* with the tile axes replaced."""
        return form.substitute(self.exact)


@dataclass(frozen=True, slots=True)
class _Masks:
    """What restricts a statement in a vectorized loop, as forms that are >= 0.

    *lanes* differ between lanes, *scalars* do not; *kept* are the lane forms that a
    write to a register tensor has to respect.
    """

    lanes: tuple[Affine, ...]
    scalars: tuple[Affine, ...]
    kept: tuple[Affine, ...]


@dataclass(slots=True)
class Registers:
    """A register tensor in variables: its layout, and where they are declared."""

    layout: RegisterLayout
    dtype: DType
    private_lanes: int
    declarations: Region
    depth: int
    started: set[str]


class Emitter:
    """Write the body of one function; `Emitter(...).run()` does it all."""

    def __init__(
        self,
        function: Function,
        *,
        writer: Writer,
        identifiers: Mapping[str, str],
        step_names: Mapping[str, str],
        contract: bool,
        parallel: bool,
    ) -> None:
        self._writer = writer
        self._ids = identifiers
        self._steps = step_names
        self._contract = contract
        self._parallel = parallel
        self.used: set[str] = set()
        self.types: set[tuple[DType, int]] = set()
        self.has_prange = False
        self.parts: list[tuple[str, list[str], str]] = []
        self._entry = identifiers[function.name]
        self._plan = Plan(function, parallel)
        self._layouts = register_layouts(function)
        self._addresses = Addresses(writer, identifiers)
        self._expressions = Expressions(
            self._addresses, self.used, self.types, contract
        )
        self.storage: dict[str, Storage] = {}
        self.scalars: dict[str, Value] = {}
        self._registers: dict[str, Registers] = {}
        self._allocated: set[str] = set()
        self._known = {dim.name for dim in function.dims}
        self._dropped: frozenset[Affine] = frozenset()
        self._line: tuple[str, int] | None = None
        self._reassociate = contract

    def run(self, body: Block) -> None:
        """Write *body* into the writer's open region."""
        self._block(body, Point({}, {}))

    # --- statements -------------------------------------------------------------------

    def _block(self, block: Block, point: Point) -> None:
        for statement in block.statements:
            self._statement(statement, point)

    def _statement(self, statement: Stmt, point: Point) -> None:
        match statement:
            case For():
                self._loop(statement, point)
            case If():
                self._if(statement, point)
            case Alloc():
                self._alloc(statement, point)
            case Store() | Reduce():
                self._leaf(statement, point)
            case _:
                assert_never(statement)

    def _comment(self, statement: Stmt) -> str:
        span = statement.span
        if span is None or self._line == (span.file, span.line):
            return ""
        self._line = (span.file, span.line)
        return f"  # {PurePath(span.file).name}:{span.line}"

    @contextmanager
    def _region(self, header: str) -> Iterator[Region]:
        region = self._writer.open(header)
        yield region
        self._writer.close()

    def _if(self, statement: If, point: Point) -> None:
        forms = [point.at(form) for form in statement.conditions]
        tests = [
            self._addresses.test(form)
            for form in forms
            if LANE not in form.names() and not _is_nonnegative(form)
        ]
        if not tests:
            self._block(statement.body, point)
            return
        with self._region(f"if {' and '.join(tests)}:{self._comment(statement)}"):
            self._block(statement.body, point)

    # --- loops ------------------------------------------------------------------------

    def _loop(self, loop: For, point: Point) -> None:
        if self._choose_full(loop, point):
            return
        if loop.axis in self._plan.tiles and not self._may_stay_a_loop(loop, point):
            self._tile(loop, point)
        elif self._runs_parallel(loop, point):
            self._parallel_loop(loop, point)
        else:
            self._serial_loop(loop, point)

    def _choose_full(self, loop: For, point: Point) -> bool:
        """Write *loop* for full tiles and again for the rest, if that is the place."""
        if point.decided or (self._parallel and id(loop) in self._plan.parallel_inside):
            return False
        conditions = self._plan.pending[id(loop)] - point.assumed
        names = {n for form in conditions for n in form.names()}
        if not conditions or not names <= self._known:
            return False
        tests = sorted(self._addresses.test(form) for form in conditions)
        full = replace(point, assumed=point.assumed | conditions)
        floor = self._writer.floor
        with self._region(f"if {' and '.join(tests)}:"):
            self._loop(loop, full)
        with self._region("else:"):
            self._writer.floor = len(self._writer.stack) - 1
            self._loop(loop, replace(point, decided=True))
            self._writer.floor = floor
        return True

    def _may_stay_a_loop(self, loop: For, point: Point) -> bool:
        """Return whether a partial tile needs no unrolling: that is less code."""
        return (
            point.decided
            and loop.kind is LoopKind.UNROLLED
            and bool(self._plan.tiles[loop.axis].guards)
            and loop.axis not in self._plan.register_axes
            and LANE
            not in {
                each
                for form in (*loop.starts, *loop.stops)
                for each in point.at(form).names()
            }
        )

    def _runs_parallel(self, loop: For, point: Point) -> bool:
        return (
            self._parallel
            and loop.kind is LoopKind.PARALLEL
            and not point.parallel
            and not point.exact
        )

    def _bounds(self, loop: For, point: Point) -> tuple[str, str]:
        forms = [*map(point.at, loop.starts), *map(point.at, loop.stops)]
        if any(LANE in form.names() for form in forms):
            raise BackendError(
                f"the range of loop {loop.axis!r} differs between the lanes of the "
                "vectorized loop around it; vectorize another loop, or reorder"
            )
        count = len(loop.starts)
        texts = [self._addresses.integer(form) for form in forms]
        return _extreme("max", texts[:count]), _extreme("min", texts[count:])

    def _step(self, loop: For) -> str:
        return self._steps.get(loop.axis, str(loop.step))

    def _enter(self, loop: For) -> None:
        for tensor in self._plan.stored[id(loop)]:
            self._writer.forget(tensor)

    def _serial_loop(self, loop: For, point: Point) -> None:
        self._enter(loop)
        start, stop = self._bounds(loop, point)
        step = self._step(loop)
        span = f"{start}, {stop}, {step}" if step != "1" else (
            stop if start == "0" else f"{start}, {stop}"
        )
        axis = self._ids[loop.axis]
        tile = self._plan.tiles.get(loop.axis)
        if tile:
            satisfied = point.satisfied | set(tile.guards)
            point = replace(point, satisfied=satisfied)
        with self._region(f"for {axis} in range({span}):{self._comment(loop)}"):
            self._inside(loop, point)

    def _inside(self, loop: For, point: Point) -> None:
        self._writer.define(self._ids[loop.axis])
        self._known.add(loop.axis)
        self._block(loop.body, point)
        self._known.discard(loop.axis)

    def _parallel_loop(self, loop: For, point: Point) -> None:
        """Write *loop* and the loops fused with it as one `prange` over all of them."""
        self._enter(loop)
        self.has_prange = True
        writer = self._writer
        chain = _fused_chain(loop)
        counts = []
        for each in chain:
            start, stop = self._bounds(each, point)
            counts.append(self._count(each, start, stop))
        counter = writer.fresh(f"{self._ids[loop.axis]}_n")
        header = f"for {counter} in prange({' * '.join(counts)}):"
        outside = writer.floor, writer.barrier
        number = writer.fresh("number")
        writer.open(header + self._comment(loop))
        writer.floor = writer.barrier = len(writer.stack) - 1
        self._decode_counter(chain, counts, number, point)
        self._block(chain[-1].body, replace(point, parallel=True))
        self._known -= {each.axis for each in chain}
        writer.floor, writer.barrier = outside
        self._outline(writer.take(), number, counter)

    def _decode_counter(
        self, chain: list[For], counts: list[str], number: str, point: Point
    ) -> None:
        """Compute the axes of the fused loops from their common counter."""
        for position, each in enumerate(chain):
            inner = "*".join(counts[position + 1 :])
            inner = f"({inner})" if "*" in inner else inner
            text = number
            if position:
                text = f"{number} % ({'*'.join(counts[position:])})"
            if inner:
                text = f"{text} // {inner}"
            start, _ = self._bounds(each, point)
            step = self._step(each)
            value = text if step == "1" else f"{text} * {step}"
            value = value if start == "0" else f"{start} + {value}"
            self._writer.line(f"{self._ids[each.axis]} = {value}")
            self._writer.define(self._ids[each.axis])
            self._known.add(each.axis)

    def _outline(self, region: Region, number: str, counter: str) -> None:
        """Turn the body of a parallel loop into a function of its own.

        Numba's passes for parallel loops then see one call: they take their time from
        the size of the body, and have rewritten variables that they should not.
        """
        part = self._writer.fresh(f"{self._entry}_part")
        body = block_text(region, 1)
        arguments = _free_names(body, number, self._globals())
        self.parts.append((part, [number, *arguments], body))
        call = f"{part}(i64({counter}){''.join(f', {each}' for each in arguments)})"
        self._writer.stack[-1].items.append(Region(region.header, [call]))

    def _globals(self) -> set[str]:
        tokens = {type_token(dtype, lanes) for dtype, lanes in self.types}
        return self.used | tokens | {"np", "i64", "range", "min", "max", "True", "False"}

    def _count(self, loop: For, start: str, stop: str) -> str:
        step = self._step(loop)
        length = stop if start == "0" else f"{stop} - ({start})"
        if step == "1":
            text = f"max({length}, 0)"
        else:
            text = f"max(({length} + {step} - 1) // {step}, 0)"
        return self._writer.named(f"{self._ids[loop.axis]}_count", text, len(
            self._writer.stack
        ) - 1)

    # --- tile loops ---------------------------------------------------------------------

    def _tile(self, loop: For, point: Point) -> None:
        tile = self._plan.tiles[loop.axis]
        if tile.extent == 0:
            return
        tests = self._nonempty(loop, tile, point)
        if tests:
            with self._region(f"if {' and '.join(tests)}:"):
                self._tile_body(loop, tile, point)
        else:
            self._tile_body(loop, tile, point)

    def _nonempty(self, loop: For, tile: TileLoop, point: Point) -> list[str]:
        tests = []
        if point.decided and id(loop) in self._plan.masked_chunks:
            return []
        for form in self._plan.nonempty[id(loop)]:
            if self._plan.full.get(form) in point.assumed:
                continue
            exact = point.at(form.substitute({loop.axis: tile.start}))
            if LANE not in exact.names() and not _is_nonnegative(exact):
                tests.append(self._addresses.test(exact))
        return tests

    def _tile_body(self, loop: For, tile: TileLoop, point: Point) -> None:
        start = point.at(tile.start)
        if loop.kind is LoopKind.VECTORIZED and tile.extent > 1:
            if point.lanes:
                raise BackendError(
                    f"the vectorized loop {loop.axis!r} stands inside another one"
                )
            exact = {**point.exact, loop.axis: start + name(LANE)}
            self._block(loop.body, replace(point, exact=exact, lanes=tile.extent))
            return
        if self._whole_reduction(loop, tile, point):
            return
        limits = point.limits
        stops = [
            point.at(stop)
            for stop in loop.stops
            if self._plan.full.get(stop - 1 - name(loop.axis)) not in point.assumed
            and stop - 1 - name(loop.axis) in self._plan.full
        ]
        if stops and not any(LANE in stop.names() for stop in stops):
            limits = {**limits, loop.axis: tuple(self._last(loop, start, s) for s in stops)}
        for number in range(0, tile.extent, loop.step):
            exact = {**point.exact, loop.axis: start + number}
            self._block(loop.body, replace(point, exact=exact, limits=limits))

    def _last(self, loop: For, start: Affine, stop: Affine) -> str:
        last = self._addresses.integer(stop - 1)
        if loop.step == 1:
            return last
        first = self._addresses.integer(start)
        distance = self._addresses.integer(stop - 1 - start)
        return f"{first} + ({distance}) // {loop.step} * {loop.step}"

    def _whole_reduction(self, loop: For, tile: TileLoop, point: Point) -> bool:
        """Write `for l: s += part[l]` over all lanes of a vector as one reduction."""
        if len(loop.body.statements) != 1 or not self._reassociate or point.lanes:
            return False
        leaf = loop.body.statements[0]
        if not isinstance(leaf, Reduce) or not isinstance(leaf.value, Load):
            return False
        if any(loop.axis in form.names() for form in leaf.index) or tile.guards:
            return False
        source = self._registers.get(leaf.value.tensor)
        if source is None or source.private_lanes or loop.step != 1:
            return False
        dimension, lanes = source.layout.lane_dimension, source.layout.lanes
        if dimension is None or tile.extent % lanes or lanes & (lanes - 1):
            return False
        index = [point.at(f) for f in leaf.value.index]
        along = index[dimension] - name(loop.axis) + point.at(tile.start)
        if any(loop.axis in form.names() for form in (*index[:dimension], along)):
            return False
        if not along.is_constant or along.constant % lanes:
            return False
        groups = []
        for offset in range(0, tile.extent, lanes):
            index[dimension] = along + offset
            groups.append(self._register_name(leaf.value.tensor, tuple(index), lanes))
        total = groups[0]
        for group in groups[1:]:
            total = self._expressions.call(_UPDATES[leaf.op], total, group)
        reduce_ = f"reduce_{leaf.op.value}"
        value = Value(self._expressions.call(reduce_, total), leaf.value.dtype, 0)
        self._assign(leaf, value, point, _Masks((), (), ()))
        return True

    # --- declarations -------------------------------------------------------------------

    def _alloc(self, alloc: Alloc, point: Point) -> None:
        tensor = alloc.tensor
        layout = self._layouts.get(tensor.name)
        self._registers.pop(tensor.name, None)
        self.storage.pop(tensor.name, None)
        if alloc.memory is Memory.REGISTER and layout is not None:
            region = Region("")
            self._writer.stack[-1].items.append(region)
            depth = len(self._writer.stack)
            if point.lanes:
                layout = RegisterLayout(None, 0)
            self._registers[tensor.name] = Registers(
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
        size = self.product(f"{tensor.name}_size", extents, depth)
        memory = writer.fresh(f"{tensor.name}_memory")
        base = self._ids[tensor.name]
        if tensor.name in self._allocated:
            base = writer.fresh(base)
        self._allocated.add(tensor.name)
        region = writer.stack[depth]
        self.used |= {"address", "keep"}
        region.items.append(
            f"{memory} = np.empty({size} * {tensor.dtype.bytes} + 64, np.uint8)"
        )
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
        return strides[::-1][len(strides) - len(extents) :] if extents else []

    def _times(self, tensor: str, stride: Stride, extent: Affine, depth: int) -> Stride:
        if extent.is_constant:
            return Stride(stride.factor * extent.constant, stride.names)
        text = self._addresses.integer(extent)
        if not text.isidentifier():
            text = self._writer.named(f"{tensor}_extent", text, depth)
        return Stride(stride.factor, (*stride.names, text))

    def product(self, stem: str, extents: list[Affine], depth: int) -> str:
        """Return the text of the product of *extents*."""
        stride = Stride(1)
        for extent in extents:
            stride = self._times(stem, stride, extent, depth)
        return "*".join([str(stride.factor), *stride.names])

    # --- leaves -------------------------------------------------------------------------

    def _leaf(self, leaf: Store | Reduce, point: Point) -> None:
        plan = self._plan.leaves[id(leaf)]
        self._dropped = plan.dropped
        tests, scalars, lanes, kept = [], [], [], []
        for guard in plan.guards:
            if guard.full in point.assumed or guard.form in point.satisfied:
                continue
            form = point.at(guard.form)
            dropped = guard.form in plan.dropped
            if LANE in form.names():
                lanes.append(form)
                kept += [] if dropped else [form]
            elif _is_nonnegative(form) or dropped:
                continue
            elif point.lanes and plan.rectangular:
                scalars.append(form)
                self._dropped |= {guard.form}
            else:
                tests.append(self._addresses.test(form))
        masks = _Masks(tuple(lanes), tuple(scalars), tuple(kept))
        if tests:
            with self._region(f"if {' and '.join(tests)}:"):
                self._guarded_leaf(leaf, plan, point, masks)
        else:
            self._guarded_leaf(leaf, plan, point, masks)

    def _guarded_leaf(
        self, leaf: Store | Reduce, plan: LeafPlan, point: Point, masks: _Masks
    ) -> None:
        if masks.lanes and not plan.rectangular:
            mask = self._mask(masks.lanes, (), point)
            with self._region(f"if {self._expressions.call('any_lane', mask)}:"):
                self._assign(leaf, self._value(leaf, point, masks), point, masks)
        else:
            self._assign(leaf, self._value(leaf, point, masks), point, masks)

    def _value(self, leaf: Store | Reduce, point: Point, masks: _Masks) -> Value:
        def read(load: Load) -> Value:
            return self._read(load, point, masks)

        def write(expr: object) -> Value:
            return self._expressions.write(expr, point.lanes, read, point.at)  # type: ignore[arg-type]

        if isinstance(leaf, Store):
            return write(leaf.value)
        old = self._read(
            Load(leaf.tensor, leaf.index, leaf.value.dtype), point, masks, target=True
        )
        value = leaf.value
        if (
            leaf.op is ReduceOp.ADD
            and self._contract
            and value.dtype.kind == "float"
            and getattr(value, "op", "") == "mul"
        ):
            a, b = write(value.left), write(value.right)  # type: ignore[union-attr]
            return self._expressions.multiply_add(a, b, old)
        return self._expressions.combine(_UPDATES[leaf.op], old, write(value))

    def _mask(
        self, lanes: tuple[Affine, ...], scalars: tuple[Affine, ...], point: Point
    ) -> str:
        """Return the mask of the lanes for which all the forms are >= 0."""
        texts = [self._lane_mask(form, point) for form in dict.fromkeys(lanes)]
        if not texts:
            token = self._expressions.token(_BOOL, point.lanes)
            texts = [self._expressions.call("first_lanes", str(point.lanes), token)]
        result = texts[0]
        for text in texts[1:]:
            both = self._expressions.call("logical_and", result, text)
            result = self._named_mask(both, 0)
        for form in scalars:
            number = self._addresses.integer(form)
            text = self._expressions.call("mask_where", number, result)
            result = self._named_mask(text, 0)
        return result

    def _named_mask(self, text: str, depth: int) -> str:
        depths = map(self._writer.depth, _identifiers(text))
        return self._writer.named("mask", text, max([depth, *depths]), owner="")

    def _lane_mask(self, form: Affine, point: Point) -> str:
        """Return the mask of the lanes in which *form* is >= 0."""
        expressions, lanes = self._expressions, point.lanes
        token = expressions.token(_BOOL, lanes)
        slope = form.coefficient(LANE)
        rest = form - name(LANE) * slope
        if slope == -1 and LANE not in rest.names():
            count = self._addresses.integer(rest + 1)
            text = expressions.call("first_lanes", count, token)
        else:
            integers = expressions.lane_integers(form, lanes)
            zero = expressions.call(
                "splat", "0", expressions.token(DType("i64", "int", 64), lanes)
            )
            text = expressions.call("ge", integers, zero)
        return self._named_mask(text, 0)

    # --- reading and writing elements ------------------------------------------------------

    def _register_name(self, tensor: str, index: tuple[Affine, ...], lanes: int) -> str:
        registers = self._registers[tensor]
        numbers = []
        for position, form in enumerate(index):
            assert form.is_constant, (tensor, index)
            if position == registers.layout.lane_dimension:
                numbers.append(form.constant // registers.layout.lanes)
            else:
                numbers.append(form.constant)
        return "_".join([self._ids[tensor], *map(str, numbers)])

    def _split_lane(self, tensor: str, index: tuple[Affine, ...]) -> tuple[
        tuple[Affine, ...], bool
    ]:
        """Return *index* without the lane number, and whether it had one."""
        lane = name(LANE)
        has_lane = any(LANE in form.names() for form in index)
        plain = tuple(f - lane if LANE in f.names() else f for f in index)
        return plain, has_lane

    def _read(
        self, load: Load, point: Point, masks: _Masks, target: bool = False
    ) -> Value:
        if load.tensor in self.scalars:
            return self.scalars[load.tensor]
        if load.tensor in self._registers:
            return self._read_register(load, point)
        return self._read_memory(load, point, masks, target)

    def _read_register(self, load: Load, point: Point) -> Value:
        registers = self._registers[load.tensor]
        index, has_lane = self._split_lane(
            load.tensor, tuple(map(point.at, load.index))
        )
        variable = self._register_name(load.tensor, index, 0)
        self._note_read(registers, variable)
        if registers.private_lanes:
            return Value(variable, registers.dtype, registers.private_lanes)
        layout = registers.layout
        if has_lane:
            return Value(variable, registers.dtype, layout.lanes)
        if layout.lane_dimension is not None:
            lane = index[layout.lane_dimension].constant % layout.lanes
            text = self._expressions.call("extract", variable, str(lane))
            return Value(text, registers.dtype, 0)
        return Value(variable, registers.dtype, 0)

    def _note_read(self, registers: Registers, variable: str) -> None:
        if variable not in registers.started:
            self._initialise(registers, variable)

    def _initialise(self, registers: Registers, variable: str) -> None:
        """Declare *variable* where its tensor is: its first write is conditional."""
        lanes = registers.private_lanes or registers.layout.lanes
        registers.started.add(variable)
        dtype = registers.dtype
        zero = "False" if dtype.kind == "bool" else "0"
        if lanes:
            token = self._expressions.token(dtype, lanes)
            zero = self._expressions.call("splat", zero, token)
        elif dtype.kind != "bool":
            zero = f"{self._expressions.token(dtype, 0)}(0)"
        registers.declarations.items.append(f"{variable} = {zero}")

    def _read_memory(
        self, load: Load, point: Point, masks: _Masks, target: bool
    ) -> Value:
        expressions = self._expressions
        storage = self.storage[load.tensor]
        index, private = self._index(load, point, safe=target)
        offset = self._addresses.offset(storage, index)
        unsafe = id(load) in self._plan.unsafe or target
        scalars = masks.scalars if target else ()
        mask = None
        if unsafe and (masks.lanes or scalars):
            mask = self._mask(masks.lanes, scalars, point)
        lanes = point.lanes
        if offset.lane == 0:
            token = expressions.token(load.dtype, 0)
            text = expressions.call("load", storage.base, offset.text, token)
            if lanes and not private:
                token = expressions.token(load.dtype, lanes)
                text = expressions.call("load_splat", storage.base, offset.text, token)
            return self._loaded(load, text, lanes)
        token = expressions.token(load.dtype, lanes)
        arguments = [storage.base, offset.text]
        operation = "load"
        if offset.lane is None:
            operation = "gather"
            arguments[1] = self._lane_offsets(storage, index, lanes)
        elif offset.lane != 1:
            operation = "load_strided"
            arguments.append(str(offset.lane))
        if mask:
            operation += "_masked"
            arguments.append(mask)
        text = expressions.call(operation, *arguments, token)
        return self._loaded(load, text, lanes)

    def _loaded(self, load: Load, text: str, lanes: int) -> Value:
        depth = len(self._writer.stack) - 1
        stem = f"{self._ids[load.tensor]}_value"
        variable = self._writer.named(stem, text, depth, owner=load.tensor)
        return Value(variable, load.dtype, lanes)

    def _lane_offsets(
        self, storage: Storage, index: tuple[Affine, ...], lanes: int
    ) -> str:
        expressions = self._expressions
        token = expressions.token(DType("i64", "int", 64), lanes)
        total = ""
        for stride, form in zip(storage.strides, index, strict=True):
            text = expressions.lane_integers(form, lanes)
            size = "*".join([str(stride.factor), *stride.names])
            if size != "1":
                factor = expressions.call("splat", size, token)
                text = expressions.call("mul", text, factor)
            total = expressions.call("add", total, text) if total else text
        return total

    def _index(
        self, access: Load | Store | Reduce, point: Point, safe: bool
    ) -> tuple[tuple[Affine, ...], bool]:
        """Return the subscripts over integer variables.

        What a dead iteration reads from a parameter is moved to the last live one.
        """
        exact = dict(point.exact)
        if not safe and id(access) in self._plan.unsafe:
            for axis, limits in point.limits.items():
                dropped = any(axis in form.names() for form in self._dropped)
                if dropped and any(axis in form.names() for form in access.index):
                    exact[axis] = name(self._clamp(axis, exact[axis], limits))
        index = tuple(form.substitute(exact) for form in access.index)
        storage = self.storage[access.tensor]
        private = len(storage.strides) > len(index)
        return ((*index, name(LANE)) if private else index), private

    def _clamp(self, axis: str, form: Affine, limits: tuple[str, ...]) -> str:
        text = self._addresses.integer(form)
        depth = max(
            [self._addresses.depth(form)]
            + [
                self._writer.depth(each)
                for limit in limits
                for each in _identifiers(limit)
            ]
        )
        expression = f"min({text}, {', '.join(limits)})"
        return self._writer.named(f"{self._ids[axis]}_at", expression, depth)

    def _assign(
        self,
        leaf: Store | Reduce,
        value: Value,
        point: Point,
        masks: _Masks,
    ) -> None:
        if leaf.tensor in self._registers:
            self._write_register(leaf, value, point, masks)
        else:
            self._write_memory(leaf, value, point, masks)

    def _write_register(
        self, leaf: Store | Reduce, value: Value, point: Point, masks: _Masks
    ) -> None:
        registers = self._registers[leaf.tensor]
        index, has_lane = self._split_lane(
            leaf.tensor, tuple(map(point.at, leaf.index))
        )
        variable = self._register_name(leaf.tensor, index, 0)
        lanes = registers.private_lanes
        layout = registers.layout
        if has_lane:
            lanes = layout.lanes
        elif point.lanes and not lanes:
            self._refuse_scalar_write(leaf)
        text = self._expressions.spread(value, lanes) if lanes else value.text
        conditional = len(self._writer.stack) > registers.depth
        if lanes and (masks.kept or masks.scalars):
            self._note_read(registers, variable)
            mask = self._mask(masks.kept, masks.scalars, point)
            text = self._expressions.call("select", mask, text, variable)
        elif layout.lane_dimension is not None and not has_lane:
            self._note_read(registers, variable)
            lane = str(index[layout.lane_dimension].constant % layout.lanes)
            text = self._expressions.call("insert", variable, text, lane)
        elif variable not in registers.started and conditional:
            self._initialise(registers, variable)
        registers.started.add(variable)
        self._writer.line(f"{variable} = {text}{self._comment(leaf)}")

    def _refuse_scalar_write(self, leaf: Store | Reduce) -> None:
        raise BackendError(
            f"the lanes of a vectorized loop all write one element of {leaf.tensor!r}; "
            "use rfactor, or vectorize another loop"
        )

    def _write_memory(
        self, leaf: Store | Reduce, value: Value, point: Point, masks: _Masks
    ) -> None:
        expressions = self._expressions
        storage = self.storage[leaf.tensor]
        index, _ = self._index(leaf, point, safe=True)
        offset = self._addresses.offset(storage, index)
        arguments = [storage.base, offset.text]
        operation, text = "store", value.text
        if point.lanes:
            if offset.lane == 0:
                self._refuse_scalar_write(leaf)
            text = expressions.spread(value, point.lanes)
            if offset.lane is None:
                operation = "scatter"
                arguments[1] = self._lane_offsets(storage, index, point.lanes)
            elif offset.lane != 1:
                operation = "store_strided"
                arguments.append(str(offset.lane))
            if masks.lanes or masks.scalars:
                operation += "_masked"
                arguments.append(self._mask(masks.lanes, masks.scalars, point))
        call = expressions.call(operation, *arguments, text)
        self._writer.forget(leaf.tensor)
        self._writer.line(f"{call}{self._comment(leaf)}")


_BOOL = DType("bool", "bool", 1)


def _is_nonnegative(form: Affine) -> bool:
    return form.is_constant and form.constant >= 0


def _extreme(function: str, texts: list[str]) -> str:
    texts = list(dict.fromkeys(texts))
    return texts[0] if len(texts) == 1 else f"{function}({', '.join(texts)})"


def _identifiers(text: str) -> list[str]:
    word = "".join(c if c.isalnum() or c == "_" else " " for c in text)
    return [each for each in word.split() if each.isidentifier()]


def _free_names(body: str, number: str, known: set[str]) -> list[str]:
    """Return the variables that *body* reads and does not define."""
    names = [node for node in ast.walk(ast.parse("def part():\n" + body))]
    loaded = [n.id for n in names if isinstance(n, ast.Name)]
    stored = {
        n.id for n in names if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    return sorted(set(loaded) - stored - known - {number})


def _fused_chain(loop: For) -> list[For]:
    """Return *loop* and the loops fused with it, as far as their ranges are fixed."""
    chain = [loop]
    while len(chain[-1].body.statements) == 1:
        inner = chain[-1].body.statements[0]
        if not isinstance(inner, For) or inner.kind is not LoopKind.FUSED:
            break
        axes = {each.axis for each in chain}
        if any(form.names() & axes for form in (*inner.starts, *inner.stops)):
            break
        chain.append(inner)
    return chain
