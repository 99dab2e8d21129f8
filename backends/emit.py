"""A scheduled function as readable Python source for Numba.

The statements are written in order; loops become `for` or `prange`, unrolled loops are
repeated, vectorized loops become lanes. Where a tile may be cut short by the edge of
the data the code is written twice, for full tiles without tests and for the rest with
masks and guards, with the choice outside the loops that it does not depend on.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    LoopKind,
    Reduce,
    Scatter,
    Stmt,
    Store,
)
from .choices import Choices
from .declarations import Declarations
from .elements import Elements
from .expressions import Expressions
from .parallel_loops import ParallelLoops
from .plan import Plan
from .point import Point, is_nonnegative
from .ranges import Ranges
from .registers import register_layouts
from .shortage import Shortages
from .storage import LANE, Addresses
from .tile_loops import TileLoop
from .transpositions import Transpositions
from .whole_reductions import WholeReductions
from .writer import Writer


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
        self._contract = contract
        self._parallel = parallel
        self.used: set[str] = set()
        self.types: set[tuple[DType, int]] = set()
        self._known = {dim.name for dim in function.dims}
        self._plan = Plan(function)
        self._addresses = addresses = Addresses(writer, identifiers)
        expressions = Expressions(writer, addresses, self.used, self.types, contract)
        self._shortages = Shortages(function.name, writer, self.used)
        self.declared = declared = Declarations(
            writer,
            addresses,
            expressions,
            identifiers,
            register_layouts(function),
            self._shortages,
        )
        self.choices = Choices(function, writer, addresses, expressions, declared)
        self._elements = elements = Elements(
            writer,
            addresses,
            expressions,
            declared,
            self.choices,
            self._plan,
            identifiers,
        )
        self._whole_reductions = WholeReductions(
            writer, addresses, self._plan, declared, expressions, elements
        )
        self._transpositions = Transpositions(
            writer, self._plan, addresses, declared, expressions, elements
        )
        self._ranges = Ranges(writer, addresses, identifiers, step_names)
        self._parallel_loops = ParallelLoops(
            writer,
            addresses,
            self._ranges,
            identifiers,
            self.used,
            self.types,
            identifiers[function.name],
            self._shortages,
        )
        self.parts = self._parallel_loops.parts

    def run(self, body: Block) -> None:
        """Write *body* into the writer's open region."""
        self._shortages.open()
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
            self._enter(loop)
            self._parallel_loops.write(loop, point, self._inside_all)
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

    def _enter(self, loop: For) -> None:
        for tensor in self._plan.stored[id(loop)]:
            self._writer.forget(tensor)

    def _serial_loop(self, loop: For, point: Point) -> None:
        self._enter(loop)
        start, stop = self._ranges.bounds(loop, point)
        step = self._ranges.step(loop)
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

    def _inside_all(self, chain: list[For], point: Point) -> None:
        """Write the body of the fused loops *chain*, whose axes are defined."""
        axes = {loop.axis for loop in chain}
        self._known |= axes
        self._block(chain[-1].body, point)
        self._known -= axes

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
        if self._contract and self._whole_reductions.write(loop, tile, point):
            return
        if self._transpositions.write(loop, tile, point):
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
