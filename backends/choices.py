"""Elements that data chooses: subscripts computed, tested, and used safely.

A subscript out of range touches no memory, whatever the size of the tensor. If its
value is used, the first one found goes into the fault word, which the call looks at.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce

from ..errors import BackendError
from ..ir.affine import Affine, name
from ..ir.dtypes import boolean
from ..ir.nodes import Function, Gather, Index, Scatter, Tensor
from ..ir.walk import allocations, chosen_accesses
from .declarations import Declarations
from .expressions import UPDATES, Expressions, Value, Visit
from .faults import Site, site_of
from .point import Point
from .storage import LANE, Addresses, Storage
from .writer import Writer


@dataclass(frozen=True, slots=True)
class _Place:
    """The subscripts of an element, and the conditions under which it exists.

    A subscript is a form, or a vector of 64-bit integers. *reports* are the lines that
    keep a fault.
    """

    storage: Storage
    index: tuple[Affine | Value, ...]
    inside: tuple[Value, ...]
    reports: tuple[str, ...]


class Choices:
    """Write gathers and scatters of one function; *sites* are what is checked."""

    def __init__(
        self,
        function: Function,
        writer: Writer,
        addresses: Addresses,
        expressions: Expressions,
        declared: Declarations,
    ) -> None:
        self._kernel = function.name
        self._writer = writer
        self._addresses = addresses
        self._expressions = expressions
        self._declared = declared
        self._dims = {dim.name for dim in function.dims}
        self._locals = allocations(function)
        self._shapes: dict[str, Tensor] = {
            **{param.tensor.name: param.tensor for param in function.params},
            **{each: alloc.tensor for each, alloc in self._locals.items()},
        }
        self.sites: dict[Site, int] = {}
        self.fault = "fault"

    # --- gathers ------------------------------------------------------------------

    def gather(
        self,
        gather: Gather,
        visit: Visit,
        used: Value | None,
        point: Point,
        live: str | None,
    ) -> Value:
        """Write the read of an element; *live* is the mask of lanes that exist."""
        place = self._place(gather, visit, used, point, live)
        alive = [Value(live, boolean, point.lanes)] if live else []
        conditions = [*place.inside, *alive]
        text, lanes = self._read(gather, place, point, conditions)
        variable = self._writer.fresh(f"{place.storage.base}_value")
        self._writer.line(f"{variable} = {text}")
        # After the read: LLVM narrows subscripts only where no branch is in between.
        for report in place.reports:
            self._writer.line(report)
        return Value(variable, gather.dtype, lanes)

    def _read(
        self, gather: Gather, place: _Place, point: Point, conditions: list[Value]
    ) -> tuple[str, int]:
        expressions, lanes = self._expressions, point.lanes
        base = place.storage.base
        offset = expressions.offset(place.storage, place.index, lanes)
        if offset.lane == 0:
            token = expressions.token(gather.dtype, 0)
            holds = self._anywhere(conditions)
            if holds is None:
                return expressions.call("load", base, offset.text, token), 0
            return expressions.call("load_if", holds, base, offset.text, token), 0
        mask = self._all([expressions.spread(each, lanes) for each in conditions])
        token = expressions.token(gather.dtype, lanes)
        return expressions.load_lanes(place.storage, offset, token, mask), lanes

    def _anywhere(self, conditions: list[Value]) -> str | None:
        """Return the condition that all hold, in some lane; None if there is none."""
        return self._all(
            self._expressions.call("any_lane", each.text) if each.lanes else each.text
            for each in conditions
        )

    def _all(self, conditions: Iterable[str]) -> str | None:
        """Return the conjunction of *conditions*; None if there is none."""
        texts = [*conditions]
        if not texts:
            return None
        return reduce(lambda a, b: self._expressions.call("logical_and", a, b), texts)

    # --- subscripts -----------------------------------------------------------------

    def _place(
        self,
        access: Gather | Scatter,
        visit: Visit,
        used: Value | None,
        point: Point,
        live: str | None,
    ) -> _Place:
        """Write the subscripts of *access*, and tests of their range."""
        storage = self._declared.storage.get(access.tensor)
        if storage is None:
            raise BackendError(
                f"data chooses elements of {access.tensor!r}, which is in registers; "
                'stage it with memory="array"'
            )
        index: list[Affine | Value] = []
        inside: list[Value] = []
        reports: list[str] = []
        for position, part in enumerate(access.index):
            if isinstance(part, Index):
                index.append(point.at(part.value))
                continue
            value = self._subscript(visit(part))
            index.append(value if value.lanes else name(value.text))
            if access.checked:
                size = self._size(access.tensor, position, point)
                test = self._expressions.call("within", value.text, size)
                holds = Value(test, boolean, value.lanes)
                inside.append(self._expressions.named(holds, "inside"))
                site = site_of(self._kernel, access, position)
                bad = self._bad(inside[-1], used, point, live)
                reports.append(self._report(site, value, size, bad))
        if len(storage.strides) > len(index):
            index.append(name(LANE))
        return _Place(storage, tuple(index), tuple(inside), tuple(reports))

    def _subscript(self, value: Value) -> Value:
        """Return *value* as a variable that nothing else assigns."""
        variable = self._writer.fresh("at")
        self._writer.line(f"{variable} = {value.text}")
        if not value.lanes:
            self._writer.define(variable)
        return Value(variable, value.dtype, value.lanes)

    def _size(self, tensor: str, position: int, point: Point) -> str:
        form = point.at(self._shapes[tensor].shape[position])
        text = self._addresses.integer(form)
        if tensor not in self._locals or form.is_constant or str(form) in self._dims:
            return text
        return f"max({text}, 0)"  # a local tensor of a negative size has no elements

    def _bad(
        self, inside: Value, used: Value | None, point: Point, live: str | None
    ) -> Value:
        text = self._expressions.call("logical_not", inside.text)
        bad = Value(text, boolean, inside.lanes)
        if used is not None:
            bad = self._expressions.combine("logical_and", bad, used)
        if live is not None:
            alive = Value(live, boolean, point.lanes)
            if not bad.lanes:
                alive = Value(self._expressions.call("any_lane", live), boolean, 0)
            bad = self._expressions.combine("logical_and", bad, alive)
        return bad

    def _report(self, site: Site, value: Value, size: str, bad: Value) -> str:
        number = self.sites.setdefault(site, len(self.sites) + 1)
        position = self._expressions.spread(value, bad.lanes)
        arguments = [self.fault, str(number), position, size, bad.text]
        return self._expressions.call("report_fault", *arguments)

    # --- scatters -------------------------------------------------------------------

    def scatter(self, leaf: Scatter, point: Point, visit: Visit) -> None:
        """Write an assignment or update of an element, outside vectorized loops."""
        with ExitStack() as blocks:
            if leaf.condition is not None:
                condition = visit(leaf.condition)
                blocks.enter_context(self._writer.block(f"if {condition.text}:"))
            place = self._place(leaf, visit, None, point, None)
            for report in place.reports:
                self._writer.line(report)
            value = self._expressions.named(visit(leaf.value), "new")
            if place.inside:
                test = self._anywhere(list(place.inside))
                blocks.enter_context(self._writer.block(f"if {test}:"))
            self._assign(leaf, place, value)
        self._writer.forget(leaf.tensor)

    def _assign(self, leaf: Scatter, place: _Place, value: Value) -> None:
        base = place.storage.base
        offset = self._expressions.offset(place.storage, place.index, 0).text
        if leaf.op is not None:
            token = self._expressions.token(value.dtype, 0)
            old = self._expressions.call("load", base, offset, token)
            value = self._expressions.combine(
                UPDATES[leaf.op], Value(old, value.dtype, 0), value
            )
        call = self._expressions.call("store", base, offset, value.text)
        self._writer.line(f"{call}{self._writer.comment(leaf)}")


def has_checks(function: Function) -> bool:
    """Return whether a call of *function* has to look at the fault word."""
    return any(access.checked for access in chosen_accesses(function))
