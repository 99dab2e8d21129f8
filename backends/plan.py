"""Decisions that the emitter needs before it writes a line.

Where a tile loop (`tile_loops.py`) has other bounds than its extent, each of them is
a *guard*, a form that is >= 0 where the iteration exists. A guard is *full* where it
holds for the whole tile, a condition on what surrounds it.

A guard need not be tested for a write to a register tensor when every access to that
tensor stands under the same guard of the same element: the elements beyond it are never
seen. What such dead iterations read must still be memory of ours (`is_safe`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..ir.affine import Affine, name
from ..ir.nodes import (
    Alloc,
    Block,
    For,
    Function,
    Gather,
    If,
    Index,
    Load,
    LoopKind,
    Memory,
    Reduce,
    Scatter,
    Stmt,
    Store,
    Write,
)
from ..ir.walk import allocations, chosen_accesses, reads, walk
from .facts import Facts
from .tile_loops import TILE_KINDS, TileLoop, extremes, is_divided, tile_loop


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition `form >= 0` on an iteration; *full* makes it hold in all the tile."""

    form: Affine
    full: Affine | None


@dataclass(frozen=True, slots=True)
class LeafPlan:
    """The guards of one statement and which of them need no test for its target."""

    guards: tuple[Guard, ...]
    dropped: frozenset[Affine]
    rectangular: bool


class Plan:
    """The guards, safe loads and shared conditions of every statement of a function."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.tiles: dict[str, TileLoop] = {}
        self.steps: dict[str, int] = {}
        self.leaves: dict[int, LeafPlan] = {}
        self.pending: dict[int, frozenset[Affine]] = {}
        self.parallel_inside: set[int] = set()
        self.stored: dict[int, frozenset[str]] = {}
        self.unsafe: set[int] = set()
        self.masked_chunks: set[int] = set()
        self.register_axes: set[str] = set()
        self.full: dict[Affine, Affine | None] = {}
        self.nonempty: dict[int, tuple[Affine, ...]] = {}
        self.locals = allocations(function)
        self._places: dict[str, tuple[For | If, ...]] = {}
        self._index_tiles(function.body)
        accesses = list(self._accesses(function.body, ()))
        for tensor, index, _ in accesses:
            local = self.locals.get(tensor)
            if local is not None and local.memory is Memory.REGISTER:
                self.register_axes.update(n for form in index for n in form.names())
        for tile in reversed(self.tiles.values()):
            if tile.axis in self.register_axes:
                self.register_axes |= tile.start.names()
        self._common = self._common_guards(accesses)
        self._block(function.body, ())

    # --- pass 1: tile loops and where locals are declared ---------------------------

    def _index_tiles(self, block: Block) -> None:
        for statement in block.statements:
            if isinstance(statement, For):
                if statement.kind in TILE_KINDS:
                    self.tiles[statement.axis] = tile_loop(statement)
                self.steps[statement.axis] = statement.step
            if isinstance(statement, For | If):
                self._index_tiles(statement.body)

    def _accesses(
        self, block: Block, outer: tuple[For | If, ...]
    ) -> Iterator[tuple[str, tuple[Affine, ...], tuple[For | If, ...]]]:
        for statement in block.statements:
            if isinstance(statement, For | If):
                yield from self._accesses(statement.body, (*outer, statement))
            elif isinstance(statement, Alloc):
                self._places[statement.tensor.name] = outer
            else:
                yield statement.tensor, _forms(statement), outer
                for read in reads(statement):
                    yield read.tensor, _forms(read), outer

    # --- guards ---------------------------------------------------------------------

    def tiles_of(self, outer: tuple[For | If, ...]) -> list[TileLoop]:
        """Return the tile loops among *outer*, innermost first."""
        return [
            self.tiles[node.axis]
            for node in reversed(outer)
            if isinstance(node, For) and node.axis in self.tiles
        ]

    def _guards(self, outer: tuple[For | If, ...]) -> tuple[Guard, ...]:
        tiles = self.tiles_of(outer)
        if not tiles:
            return ()
        forms = [form for tile in reversed(tiles) for form in tile.guards]
        lanes = {tile.axis for tile in tiles if self._is_vector(outer, tile.axis)}
        for node in outer:
            if isinstance(node, If):
                forms += [f for f in node.conditions if f.names() & lanes]
        facts = self._facts(outer)
        result = []
        for form in dict.fromkeys(forms):
            least = extremes(form, tiles, self.steps)
            if least is None or not facts.holds(least[0]):
                result.append(Guard(form, least[0] if least else None))
                self.full[form] = result[-1].full
        return self._without_implied(result, tiles)

    def _without_implied(
        self, guards: list[Guard], tiles: list[TileLoop]
    ) -> tuple[Guard, ...]:
        """Drop guards that another one implies, as `j_v < N` implies `j_u < N`."""
        kept = list(guards)
        for guard in guards:
            for other in kept:
                if other is guard:
                    continue
                bounds = extremes(guard.form - other.form, tiles, self.steps)
                if bounds and bounds[0].is_constant and bounds[0].constant >= 0:
                    kept.remove(guard)
                    break
        return tuple(kept)

    def _facts(self, outer: tuple[For | If, ...]) -> Facts:
        loops = [
            node
            for node in outer
            if isinstance(node, For) and node.axis not in self.tiles
        ]
        return Facts(self.function.dims, loops)

    @staticmethod
    def _is_vector(outer: tuple[For | If, ...], axis: str) -> bool:
        return any(
            isinstance(node, For)
            and node.axis == axis
            and node.kind is LoopKind.VECTORIZED
            for node in outer
        )

    # --- guards that need no test ---------------------------------------------------

    def _common_guards(
        self,
        accesses: list[tuple[str, tuple[Affine, ...], tuple[For | If, ...]]],
    ) -> dict[str, frozenset[Affine]]:
        """Return, per register tensor, the guards that all its accesses share."""
        common: dict[str, frozenset[Affine]] = {}
        guards: dict[tuple[int, ...], tuple[Guard, ...]] = {}
        for tensor, index, outer in accesses:
            local = self.locals.get(tensor)
            if local is None or local.memory is not Memory.REGISTER:
                continue
            key = tuple(map(id, outer))
            if key not in guards:
                guards[key] = self._guards(outer)
            forms = frozenset(
                self.about_elements(tensor, index, g.form) for g in guards[key]
            ) - {None}
            found = frozenset(form for form in forms if form is not None)
            common[tensor] = common.get(tensor, found) & found
        return common

    def about_elements(
        self, tensor: str, index: tuple[Affine, ...], form: Affine
    ) -> Affine | None:
        """Return *form* over the subscripts `@0, @1, ...` of *tensor*, if possible.

        Only names that are in scope where the tensor is declared may be left.
        """
        scope = {
            node.axis for node in self._places[tensor] if isinstance(node, For)
        } | {dim.name for dim in self.function.dims}
        for axis in form.names() - scope:
            for position, subscript in enumerate(index):
                if subscript.coefficient(axis) == 1 and not is_divided(subscript, axis):
                    inverse = name(f"@{position}") - (subscript - name(axis))
                    form = form.substitute({axis: inverse})
                    break
        outside = form.names() - scope
        return form if all(each.startswith("@") for each in outside) else None

    # --- pass 2: plans for leaves, shared conditions upwards --------------------------

    def _block(self, block: Block, outer: tuple[For | If, ...]) -> None:
        for statement in block.statements:
            self._statement(statement, outer)

    def _statement(self, statement: Stmt, outer: tuple[For | If, ...]) -> None:
        pending: frozenset[Affine] = frozenset()
        if isinstance(statement, For | If):
            self._block(statement.body, (*outer, statement))
            if isinstance(statement, For) and statement.axis in self.tiles:
                self._nonempty(statement, outer)
            stored: set[str] = set()
            for child in statement.body.statements:
                pending |= self.pending[id(child)]
                stored |= self.stored[id(child)]
                if id(child) in self.parallel_inside:
                    self.parallel_inside.add(id(statement))
            if isinstance(statement, For) and statement.kind is LoopKind.PARALLEL:
                self.parallel_inside.add(id(statement))
            self.stored[id(statement)] = frozenset(stored)
        elif isinstance(statement, Store | Reduce | Scatter):
            pending = self._leaf(statement, outer)
            self.stored[id(statement)] = frozenset({statement.tensor})
        else:
            self.stored[id(statement)] = frozenset({statement.tensor.name})
        self.pending[id(statement)] = pending

    def _nonempty(self, loop: For, outer: tuple[For | If, ...]) -> None:
        """Note the guards that may fail already at the start of a tile loop."""
        tile, facts = self.tiles[loop.axis], self._facts(outer)
        forms = tuple(
            form
            for form in tile.guards
            if not facts.holds(form.substitute({loop.axis: tile.start}))
        )
        self.nonempty[id(loop)] = forms
        if loop.kind is LoopKind.VECTORIZED and self._reads_by_lane(loop, tile, forms):
            self.masked_chunks.add(id(loop))

    def _reads_by_lane(
        self, loop: For, tile: TileLoop, forms: tuple[Affine, ...]
    ) -> bool:
        """Return whether masks alone make a vectorized loop safe that may be empty.

        That is so for a chunk, which starts at the axis of a tile loop and ends where
        that does: the first chunk is not empty, so what does not use this axis may be
        read for the others. No load that could leave its tensor may use it. Where masks
        are tested or gathers wait for them, a test of the bound is cheaper.
        """
        origin = next(
            (each for each in self.tiles.values() if tile.start == name(each.axis)),
            None,
        )
        if origin is None or any(chosen_accesses(loop)):
            return False
        at_start = {form.substitute({loop.axis: tile.start}) for form in forms}
        if not at_start <= set(origin.guards):
            return False
        leaves = [n for n in walk(loop) if isinstance(n, Store | Reduce)]
        return all(
            self.leaves[id(leaf)].rectangular
            and not any(
                id(load) in self.unsafe and origin.axis in f.names()
                for load in reads(leaf)
                for f in _forms(load)
            )
            for leaf in leaves
        )

    def _leaf(self, statement: Write, outer: tuple[For | If, ...]) -> frozenset[Affine]:
        guards = self._guards(outer)
        dropped: frozenset[Affine] = frozenset()
        rectangular = self._rectangular(outer)
        # A dead iteration may only write where the tensor has room for it, and must not
        # report a subscript that nobody uses.
        chosen = any(chosen_accesses(statement))
        if rectangular and not chosen and self.is_safe(statement, self.tiles_of(outer)):
            common = self._common.get(statement.tensor, frozenset())
            dropped = frozenset(
                guard.form
                for guard in guards
                if common
                and self.about_elements(statement.tensor, _forms(statement), guard.form)
                in common
            )
        self.leaves[id(statement)] = LeafPlan(guards, dropped, rectangular)
        tiles = self.tiles_of(outer)
        unsafe = [read for read in reads(statement) if not self.is_safe(read, tiles)]
        self.unsafe.update(map(id, unsafe))
        if len(dropped) == len(guards) and not unsafe:
            return frozenset()
        return frozenset(guard.full for guard in guards if guard.full is not None)

    def _rectangular(self, outer: tuple[For | If, ...]) -> bool:
        tiles = self.tiles_of(outer)
        axes = {tile.axis for tile in tiles}
        for tile in tiles:
            if any(form.names() & axes - {tile.axis} for form in tile.guards):
                return False
        return not any(
            isinstance(node, If) and any(f.names() & axes for f in node.conditions)
            for node in outer
        )

    def is_safe(self, access: Load | Gather | Write, tiles: list[TileLoop]) -> bool:
        """Return whether *access* touches memory of ours in every iteration of tiles.

        That counts the iterations that guards would leave out.
        """
        if isinstance(access, Gather | Scatter):
            return False
        if not access.index:
            return True
        axes = {tile.axis for tile in tiles}
        local = self.locals.get(access.tensor)
        for position, subscript in enumerate(access.index):
            if not subscript.names() & axes:
                continue
            if local is None:
                return False
            bounds = extremes(subscript, tiles, self.steps)
            if bounds is None:
                return False
            low, beyond = bounds[0], local.tensor.shape[position] - 1 - bounds[1]
            if not (low.is_constant and low.constant >= 0):
                return False
            if not (beyond.is_constant and beyond.constant >= 0):
                return False
        return True


def _forms(access: Load | Gather | Write) -> tuple[Affine, ...]:
    """Return the affine subscripts of *access*: none of a tensor that data indexes."""
    if isinstance(access, Gather | Scatter):
        return tuple(part.value for part in access.index if isinstance(part, Index))
    return access.index
