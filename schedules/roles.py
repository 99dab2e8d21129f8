"""The parts that the axes and operands of an accumulating nest play."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..analysis.access import (
    Nest,
    is_contiguous,
    statement_loads,
    subscript_names,
)
from ..ir.extents import exact_iterations, fixed_extent
from ..ir.nodes import For, Load


@dataclass(frozen=True, slots=True)
class Roles:
    """Who is who in `for outer, rows, columns, reduction: C[..] += f(loads)`.

    *columns* is the axis along which the target is contiguous: vector lanes. *rows* is
    an axis that no operand indexed by *columns* depends on, so that each vector loaded
    serves every row; None where there is no such reuse. *outer* are the other spatial
    axes. *init* labels the nest that initialises the target, where there is one.
    """

    nest: Nest
    columns: str
    rows: str | None
    outer: tuple[str, ...]
    init: str | None

    @property
    def label(self) -> str:
        """The label of the accumulating statement."""
        instance = self.nest.statement.instance
        assert instance is not None
        return instance.label

    @property
    def reduction(self) -> tuple[str, ...]:
        """The axes summed over, outermost first."""
        return self.nest.reduction

    @property
    def column_operands(self) -> tuple[Load, ...]:
        """The loads that vary along the columns, one a tensor."""
        return self._operands(lambda names: self.columns in names)

    @property
    def row_operands(self) -> tuple[Load, ...]:
        """The loads that vary along the rows but not the columns, one a tensor."""
        return self._operands(
            lambda names: self.rows in names and self.columns not in names
        )

    def _operands(self, wanted: Callable[[frozenset[str]], bool]) -> tuple[Load, ...]:
        """Return the wanted loads of which no other one has another form.

        Others of the same tensor, `A[i, k] * A[j, k]`, are told apart by their axes.
        """
        every = statement_loads(self.nest.statement)
        chosen: list[Load] = []
        for load in every:
            names = subscript_names(load)
            forms = {
                other.index
                for other in every
                if other.tensor == load.tensor and subscript_names(other) == names
            }
            if len(forms) == 1 and load not in chosen and wanted(names):
                chosen.append(load)
        return tuple(chosen)

    def extent(self, axis: str) -> int | None:
        """Return the number of iterations of *axis* where it is a constant."""
        return exact_iterations(self._loop(axis))

    def most(self, axis: str) -> int | None:
        """Return the greatest number of iterations of *axis* where one is known."""
        return fixed_extent(self._loop(axis))

    def _loop(self, axis: str) -> For:
        (loop,) = (loop for loop in self.nest.loops if loop.axis == axis)
        return loop


def has_window(load: Load) -> bool:
    """Whether some subscript mixes axes (`h + r`), so that packing would copy twice."""
    return any(len(form.terms) > 1 for form in load.index)


def find_roles(nest: Nest, inits: Mapping[str, str]) -> Roles | None:
    """Return the roles in *nest*, or None where no axis suits vector lanes.

    Operands that are not contiguous along the columns must be packed, which pays only
    where rows reuse them. *inits* gives the label of each tensor's initial store.
    """
    statement = nest.statement
    columns = next((a for a in nest.spatial if is_contiguous(statement, a)), None)
    if columns is None:
        return None
    varying = [
        load for load in statement_loads(statement) if columns in subscript_names(load)
    ]
    used = {name for load in varying for name in subscript_names(load)}
    rows = next((axis for axis in reversed(nest.spatial) if axis not in used), None)
    if not varying:
        return None
    if rows is None and not all(is_contiguous(load, columns) for load in varying):
        return None
    outer = tuple(axis for axis in nest.spatial if axis not in (rows, columns))
    return Roles(nest, columns, rows, outer, inits.get(statement.tensor))
