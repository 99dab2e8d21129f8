"""Statements: values computed, masked where iterations may not exist, and stored."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import BackendError
from ..ir.affine import Affine, name
from ..ir.nodes import (
    Binary,
    Expr,
    Gather,
    Load,
    Reduce,
    ReduceOp,
    Scatter,
    Store,
    Write,
)
from .choices import Choices
from .declarations import Declarations
from .expressions import UPDATES, Expressions, Value, Visit
from .masks import LaneMasks
from .plan import LeafPlan, Plan
from .point import NO_MASKS, Masks, Point, is_nonnegative
from .products import is_product
from .storage import LANE, Addresses, without_lane
from .writer import Writer, identifiers_in


class Elements:
    """Write the leaf statements of a function."""

    def __init__(
        self,
        writer: Writer,
        addresses: Addresses,
        expressions: Expressions,
        declared: Declarations,
        choices: Choices,
        plan: Plan,
        identifiers: Mapping[str, str],
    ) -> None:
        self._writer = writer
        self._addresses = addresses
        self._expressions = expressions
        self._declared = declared
        self._choices = choices
        self._plan = plan
        self._ids = identifiers
        self._masks = LaneMasks(writer, addresses, expressions)
        self._dropped: frozenset[Affine] = frozenset()

    def write(self, leaf: Write, point: Point) -> None:
        """Write a statement at a point of the tile loops."""
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
            elif is_nonnegative(form) or dropped:
                continue
            elif point.lanes and plan.rectangular:
                scalars.append(form)
                self._dropped |= {guard.form}
            else:
                tests.append(self._addresses.test(form))
        masks = Masks(tuple(lanes), tuple(scalars), tuple(kept))
        if tests:
            with self._writer.block(f"if {' and '.join(tests)}:"):
                self._guarded_leaf(leaf, plan, point, masks)
        else:
            self._guarded_leaf(leaf, plan, point, masks)

    def _guarded_leaf(
        self, leaf: Write, plan: LeafPlan, point: Point, masks: Masks
    ) -> None:
        if isinstance(leaf, Scatter):
            visit = self._writing(point, masks)
            self._choices.scatter(leaf, point, visit)
        elif masks.lanes and not plan.rectangular:
            mask = self._masks.mask(masks.lanes, (), point)
            with self._writer.block(f"if {self._expressions.call('any_lane', mask)}:"):
                self.assign(leaf, self._value(leaf, point, masks), point, masks)
        else:
            self.assign(leaf, self._value(leaf, point, masks), point, masks)

    def _value(self, leaf: Store | Reduce, point: Point, masks: Masks) -> Value:
        write = self._writing(point, masks)
        if isinstance(leaf, Store):
            return write(leaf.value)
        old = self._old(leaf, point, masks)
        value = leaf.value
        if isinstance(value, Binary) and self._fuses(leaf.op, value):
            a, b = self._expressions.factors(value, write)
            return self._expressions.multiply_add(a, b, old)
        return self._expressions.combine(UPDATES[leaf.op], old, write(value))

    def _writing(
        self,
        point: Point,
        masks: Masks,
        used: Value | None = None,
        narrow: bool = False,
    ) -> Visit:
        """Return the function that writes expressions at *point*.

        With *narrow*, what is the same in all lanes is loaded as one number.
        """

        def read(load: Load) -> Value:
            return self._read(load, point, masks, narrow=narrow)

        def gather(node: Gather, used: Value | None) -> Value:
            live = None
            if masks.lanes or masks.scalars:
                live = self._masks.mask(masks.lanes, masks.scalars, point)
            visit = self._writing(point, masks, used, narrow=True)
            return self._choices.gather(node, visit, used, point, live)

        def write(expr: Expr) -> Value:
            lanes = point.lanes
            return self._expressions.write(expr, lanes, read, point.at, gather, used)

        return write

    def unmasked(self, leaf: Store | Reduce, point: Point) -> Value:
        """Write what *leaf* assigns in an iteration that exists, and return it."""
        self._dropped = frozenset()
        return self._value(leaf, point, NO_MASKS)

    def combine(self, leaf: Reduce, value: Value, point: Point) -> None:
        """Write the update of a reduction by *value*, in all iterations."""
        old = self._old(leaf, point, NO_MASKS)
        total = self._expressions.combine(UPDATES[leaf.op], old, value)
        self.assign(leaf, total, point, NO_MASKS)

    def _old(self, leaf: Reduce, point: Point, masks: Masks) -> Value:
        """Return the value that a reduction updates."""
        load = Load(leaf.tensor, leaf.index, leaf.value.dtype)
        return self._read(load, point, masks, target=True)

    def _fuses(self, op: ReduceOp, value: Binary) -> bool:
        return (
            op is ReduceOp.ADD
            and self._expressions.contracts
            and value.dtype.kind == "float"
            and is_product(value)
        )

    # --- reading ------------------------------------------------------------------

    def _read(
        self,
        load: Load,
        point: Point,
        masks: Masks,
        target: bool = False,
        narrow: bool = False,
    ) -> Value:
        if load.tensor in self._declared.scalars:
            return self._declared.scalars[load.tensor]
        if load.tensor in self._declared.registers:
            return self._read_register(load, point)
        return self._read_memory(load, point, masks, target, narrow)

    def _read_register(self, load: Load, point: Point) -> Value:
        registers = self._declared.registers[load.tensor]
        index, has_lane = without_lane(tuple(map(point.at, load.index)))
        variable = self._declared.register(load.tensor, index)
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

    def _read_memory(
        self, load: Load, point: Point, masks: Masks, target: bool, narrow: bool
    ) -> Value:
        expressions = self._expressions
        storage = self._declared.storage[load.tensor]
        index = self._index(load, point)
        offset = expressions.offset(storage, index, point.lanes)
        unsafe = id(load) in self._plan.unsafe or target
        scalars = masks.scalars if target else ()
        mask = None
        if unsafe and (masks.lanes or scalars):
            mask = self._masks.mask(masks.lanes, scalars, point)
        if offset.lane == 0:
            place = storage.base, offset.text
            lanes, token = 0, expressions.token(load.dtype, 0)
            text = expressions.call("load", *place, token)
            # What is converted first is spread over the lanes after that.
            if point.lanes and not narrow and load.dtype.bytes >= 4:
                lanes, token = point.lanes, expressions.token(load.dtype, point.lanes)
                text = expressions.call("load_splat", *place, token)
            return self._loaded(load, text, lanes)
        token = expressions.token(load.dtype, point.lanes)
        text = expressions.load_lanes(storage, offset, token, mask)
        return self._loaded(load, text, point.lanes)

    def _loaded(self, load: Load, text: str, lanes: int) -> Value:
        depth = len(self._writer.stack) - 1
        stem = f"{self._ids[load.tensor]}_value"
        variable = self._writer.named(stem, text, depth, owner=load.tensor)
        return Value(variable, load.dtype, lanes)

    def _index(self, access: Load | Store | Reduce, point: Point) -> tuple[Affine, ...]:
        """Return the subscripts over integer variables, and the lane where it is one.

        What a dead iteration reads from a parameter is moved to the last live one.
        """
        exact = dict(point.exact)
        if id(access) in self._plan.unsafe:
            for axis, limits in point.limits.items():
                dropped = any(axis in form.names() for form in self._dropped)
                if dropped and any(axis in form.names() for form in access.index):
                    exact[axis] = name(self._clamp(axis, exact[axis], limits))
        index = tuple(form.substitute(exact) for form in access.index)
        storage = self._declared.storage[access.tensor]
        private = len(storage.strides) > len(index)
        return (*index, name(LANE)) if private else index

    def _clamp(self, axis: str, form: Affine, limits: tuple[str, ...]) -> str:
        text = self._addresses.integer(form)
        depth = max(
            [self._addresses.depth(form)]
            + [
                self._writer.depth(each)
                for limit in limits
                for each in identifiers_in(limit)
            ]
        )
        expression = f"min({text}, {', '.join(limits)})"
        return self._writer.named(f"{self._ids[axis]}_at", expression, depth)

    # --- writing ------------------------------------------------------------------

    def assign(
        self,
        leaf: Store | Reduce,
        value: Value,
        point: Point,
        masks: Masks,
    ) -> None:
        """Write the assignment of a computed value."""
        if leaf.tensor in self._declared.registers:
            self._write_register(leaf, value, point, masks)
        else:
            self._write_memory(leaf, value, point, masks)

    def _write_register(
        self, leaf: Store | Reduce, value: Value, point: Point, masks: Masks
    ) -> None:
        registers = self._declared.registers[leaf.tensor]
        index, has_lane = without_lane(tuple(map(point.at, leaf.index)))
        layout = registers.layout
        lanes = layout.lanes if has_lane else registers.private_lanes
        if point.lanes and not lanes:
            self._refuse_scalar_write(leaf)
        masked = lanes and (masks.kept or masks.scalars)
        dimension = None if has_lane else layout.lane_dimension
        always = len(self._writer.stack) - point.branches <= registers.depth
        whole = always and not masked and dimension is None
        variable = self._declared.register(leaf.tensor, index, assigned=whole)
        text = self._expressions.spread(value, lanes) if lanes else value.text
        if masked:
            mask = self._masks.mask(masks.kept, masks.scalars, point)
            text = self._expressions.call("select", mask, text, variable)
        elif dimension is not None:
            lane = str(index[dimension].constant % layout.lanes)
            text = self._expressions.call("insert", variable, text, lane)
        comment = self._writer.comment(leaf)
        if not self._writer.rename_last(text, variable, comment):
            self._writer.line(f"{variable} = {text}{comment}")

    def _refuse_scalar_write(self, leaf: Store | Reduce) -> None:
        raise BackendError(
            f"the lanes of a vectorized loop all write one element of {leaf.tensor!r}; "
            "use rfactor, or vectorize another loop"
        )

    def _write_memory(
        self, leaf: Store | Reduce, value: Value, point: Point, masks: Masks
    ) -> None:
        expressions = self._expressions
        storage = self._declared.storage[leaf.tensor]
        index = self._index(leaf, point)
        offset = expressions.offset(storage, index, point.lanes)
        arguments = [storage.base, offset.text]
        operation, text = "store", value.text
        if point.lanes:
            if offset.lane == 0:
                self._refuse_scalar_write(leaf)
            text = expressions.spread(value, point.lanes)
            if offset.lane is None:
                operation = "scatter"
            elif offset.lane != 1:
                operation = "store_strided"
                arguments.append(str(offset.lane))
            if masks.lanes or masks.scalars:
                operation += "_masked"
                arguments.append(self._masks.mask(masks.lanes, masks.scalars, point))
        call = expressions.call(operation, *arguments, text)
        self._writer.forget(leaf.tensor)
        self._writer.line(f"{call}{self._writer.comment(leaf)}")
