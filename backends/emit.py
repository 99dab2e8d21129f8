"""A scheduled function as readable Python source for Numba.

The statements are written in order; loops become `for` or `prange`, unrolled loops are
repeated, vectorized loops become lanes. Where a tile may be cut short by the edge of
the data the code is written twice, for full tiles without tests and for the rest with
masks and guards, with the choice outside the loops that it does not depend on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import assert_never

from ..errors import BackendError
from ..ir.affine import Affine, name
from ..ir.dtypes import DType
from ..ir.nodes import (
    Alloc,
    Block,
    For,
    Function,
    If,
    Load,
    LoopKind,
    Reduce,
    Scatter,
    Stmt,
    Store,
)
from .choices import Choices
from .declarations import Declarations
from .elements import UPDATES, Elements
from .expressions import Expressions, Value, type_token
from .outline import free_names, fused_chain, is_uneven
from .plan import Plan, TileLoop
from .point import Point, is_nonnegative
from .registers import register_layouts
from .storage import LANE, Addresses
from .worth import LEAST, Work
from .writer import Region, Writer, block_text


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
        self._known = {dim.name for dim in function.dims}
        self._plan = Plan(function)
        self._addresses = Addresses(writer, identifiers)
        self._expressions = Expressions(
            writer, self._addresses, self.used, self.types, contract
        )
        self.declared = Declarations(
            writer,
            self._addresses,
            self._expressions,
            identifiers,
            register_layouts(function),
        )
        self.choices = Choices(
            function, writer, self._addresses, self._expressions, self.declared
        )
        self._elements = Elements(
            writer,
            self._addresses,
            self._expressions,
            self.declared,
            self.choices,
            self._plan,
            identifiers,
        )

    def run(self, body: Block) -> None:
        """Write *body* into the writer's open region."""
        self._block(body, Point({}, {}))

    # --- statements ---------------------------------------------------------------

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
                self.declared.declare(statement, point)
            case Store() | Reduce() | Scatter():
                self._elements.write(statement, point)
            case _:
                assert_never(statement)

    def _if(self, statement: If, point: Point) -> None:
        forms = [point.at(form) for form in statement.conditions]
        tests = [
            self._addresses.test(form)
            for form in forms
            if LANE not in form.names() and not is_nonnegative(form)
        ]
        if not tests:
            self._block(statement.body, point)
            return
        with self._writer.block(
            f"if {' and '.join(tests)}:{self._writer.comment(statement)}"
        ):
            self._block(statement.body, point)

    # --- loops --------------------------------------------------------------------

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
        branches = point.branches + 1
        assumed = point.assumed | conditions
        full = replace(point, assumed=assumed, branches=branches)
        floor = self._writer.floor
        with self._writer.block(f"if {' and '.join(tests)}:"):
            self._loop(loop, full)
        with self._writer.block("else:"):
            self._writer.floor = len(self._writer.stack) - 1
            self._loop(loop, replace(point, decided=True, branches=branches))
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
        span = (
            f"{start}, {stop}, {step}"
            if step != "1"
            else (stop if start == "0" else f"{start}, {stop}")
        )
        axis = self._ids[loop.axis]
        tile = self._plan.tiles.get(loop.axis)
        if tile:
            satisfied = point.satisfied | set(tile.guards)
            point = replace(point, satisfied=satisfied)
        with self._writer.block(
            f"for {axis} in range({span}):{self._writer.comment(loop)}"
        ):
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
        chain = fused_chain(loop)
        counts = []
        for each in chain:
            start, stop = self._bounds(each, point)
            counts.append(self._count(each, start, stop))
        counter = writer.fresh(f"{self._ids[loop.axis]}_n")
        total = " * ".join(counts)
        dealt = self._dealt(total, counter) if is_uneven(chain) else counter
        header = f"for {counter} in prange({total}):"
        outside = writer.floor, writer.barrier
        number = writer.fresh("number")
        writer.open(header + self._writer.comment(loop))
        writer.floor = writer.barrier = len(writer.stack) - 1
        self._decode_counter(chain, counts, number, point)
        self._block(chain[-1].body, replace(point, parallel=True))
        self._known -= {each.axis for each in chain}
        writer.floor, writer.barrier = outside
        region = writer.take()
        call = self._outline(region, number)
        parallel = Region(region.header, [call(dealt)])
        if len(writer.stack) == 1:
            writer.stack[0].items.append(parallel)
        else:
            self._where_it_pays(chain, total, parallel, call, point)

    def _where_it_pays(
        self,
        chain: list[For],
        total: str,
        parallel: Region,
        call: Callable[[str], str],
        point: Point,
    ) -> None:
        """Write *parallel* for where it does enough, and a plain loop for elsewhere."""
        items = self._writer.stack[-1].items
        work = Work(lambda form: self._addresses.integer(point.at(form)), self._step)
        each = work.of_each(chain)
        counter = self._writer.fresh(f"{self._ids[chain[0].axis]}_s")
        serial = Region(f"for {counter} in range({total}):", [call(counter)])
        items.append(Region(f"if {LEAST} <= {total} * ({each}):", [parallel]))
        items.append(Region("else:", [serial]))

    def _dealt(self, total: str, counter: str) -> str:
        """Return the iteration that runs as number *counter*, dealt out like cards.

        Numba gives each thread a stretch of the numbers, but the iterations of a
        triangle grow from one end to the other.
        """
        writer = self._writer
        depth = len(writer.stack) - 1
        self.used.add("dealing_step")
        step = writer.named("deal", f"dealing_step({total})", depth)
        return f"{counter} * {step} % ({total})"

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

    def _outline(self, region: Region, number: str) -> Callable[[str], str]:
        """Turn the body of a parallel loop into a function of its own.

        Numba's passes for parallel loops then see one call: they take their time from
        the size of the body, and have rewritten variables that they should not. The
        result writes the call of that function for a given iteration.
        """
        part = self._writer.fresh(f"{self._entry}_part")
        body = block_text(region, 1)
        arguments = free_names(body, number, self._globals())
        self.parts.append((part, [number, *arguments], body))
        rest = "".join(f", {each}" for each in arguments)
        return lambda counter: f"{part}(i64({counter}){rest})"

    def _globals(self) -> set[str]:
        tokens = {type_token(dtype, lanes) for dtype, lanes in self.types}
        return (
            self.used | tokens | {"np", "i64", "range", "min", "max", "True", "False"}
        )

    def _count(self, loop: For, start: str, stop: str) -> str:
        step = self._step(loop)
        length = stop if start == "0" else f"{stop} - ({start})"
        if step == "1":
            text = f"max({length}, 0)"
        else:
            text = f"max(({length} + {step} - 1) // {step}, 0)"
        return self._writer.named(
            f"{self._ids[loop.axis]}_count", text, len(self._writer.stack) - 1
        )

    # --- tile loops ---------------------------------------------------------------

    def _tile(self, loop: For, point: Point) -> None:
        tile = self._plan.tiles[loop.axis]
        if tile.extent == 0:
            return
        tests = self._nonempty(loop, tile, point)
        if tests:
            with self._writer.block(f"if {' and '.join(tests)}:"):
                self._tile_body(loop, tile, point)
        else:
            self._tile_body(loop, tile, point)

    def _nonempty(self, loop: For, tile: TileLoop, point: Point) -> list[str]:
        tests = []
        if id(loop) in self._plan.masked_chunks:
            return []
        for form in self._plan.nonempty[id(loop)]:
            if self._plan.full.get(form) in point.assumed:
                continue
            exact = point.at(form.substitute({loop.axis: tile.start}))
            if LANE not in exact.names() and not is_nonnegative(exact):
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
        if self._transposition(loop, tile, point):
            return
        limits = point.limits
        stops = [
            point.at(stop)
            for stop in loop.stops
            if self._plan.full.get(stop - 1 - name(loop.axis)) not in point.assumed
            and stop - 1 - name(loop.axis) in self._plan.full
        ]
        if stops and not any(LANE in stop.names() for stop in stops):
            limits = {
                **limits,
                loop.axis: tuple(self._last(loop, start, s) for s in stops),
            }
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

    def _transposition(self, loop: For, tile: TileLoop, point: Point) -> bool:
        """Write `for i: for k: T[k, i] = X[i, k]` as loads and a transposing store."""
        if point.lanes or loop.step != 1 or len(loop.body.statements) != 1:
            return False
        inner = loop.body.statements[0]
        if not isinstance(inner, For) or inner.kind is not LoopKind.VECTORIZED:
            return False
        (leaf, *more), lanes = inner.body.statements, self._plan.tiles[inner.axis]
        if more or not isinstance(leaf, Store) or lanes.extent < 2:
            return False
        if loop.axis in lanes.start.names():
            return False
        exact = {**point.exact, inner.axis: point.at(lanes.start) + name(LANE)}
        row = replace(point, exact=exact, lanes=lanes.extent)
        if not self._elements.is_transposition(leaf, loop.axis, row):
            return False
        start = point.at(tile.start)
        points = [
            replace(row, exact={**exact, loop.axis: start + number})
            for number in range(tile.extent)
        ]
        stride = self._elements.lane_stride(leaf, points[0])
        if stride in (0, 1, None):
            return False
        self._elements.write_columns(leaf, str(stride), points)
        return True

    def _whole_reduction(self, loop: For, tile: TileLoop, point: Point) -> bool:
        """Write `for l: s += part[l]` over all lanes of a vector as one reduction."""
        if len(loop.body.statements) != 1 or not self._contract or point.lanes:
            return False
        leaf = loop.body.statements[0]
        if not isinstance(leaf, Reduce) or not isinstance(leaf.value, Load):
            return False
        if any(loop.axis in form.names() for form in leaf.index) or tile.guards:
            return False
        plan = self._plan.leaves[id(leaf)]
        if any(g.full not in point.assumed for g in plan.guards):
            return False
        source = self.declared.registers.get(leaf.value.tensor)
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
        groups, tensor = [], leaf.value.tensor
        for offset in range(0, tile.extent, lanes):
            index[dimension] = along + offset
            groups.append(self.declared.register_name(tensor, tuple(index)))
            self.declared.see_started(source, groups[-1])
        total = groups[0]
        for group in groups[1:]:
            total = self._expressions.call(UPDATES[leaf.op], total, group)
        reduce_ = f"reduce_{leaf.op.value}"
        value = Value(self._expressions.call(reduce_, total), leaf.value.dtype, 0)
        self._elements.combine(leaf, value, point)
        return True


def _extreme(function: str, texts: list[str]) -> str:
    texts = list(dict.fromkeys(texts))
    return texts[0] if len(texts) == 1 else f"{function}({', '.join(texts)})"
