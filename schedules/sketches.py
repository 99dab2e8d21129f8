"""Search spaces derived from the structure of a function.

A `Sketch` covers each top-level loop with a part that knows how to schedule it: a
register-tiled `Contraction` where a nest accumulates over an axis with reuse, a plain
`LoopNest` elsewhere. A point of the space is a config, and a config builds a `Schedule`
from public primitives only, so what a search finds can be printed, edited, replayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ..analysis.access import perfect_nest, subscript_names
from ..ir.nodes import For, Function, Reduce, Store
from ..ir.numerics import Numerics
from ..ir.walk import reads
from ..target import Target
from .contraction import Contraction
from .nests import LoopNest
from .params import Choice, Config, Param, Part
from .roles import find_roles
from .schedule import Schedule

__all__ = ["Choice", "Config", "Param", "Sketch", "sketch"]


@dataclass(frozen=True)
class Sketch:
    """The decisions about a function, and the way from decisions to a schedule."""

    function: Function
    parts: tuple[Part, ...]

    @cached_property
    def params(self) -> tuple[Param, ...]:
        """The decisions of every part, in program order."""
        return tuple(param for part in self.parts for param in part.params)

    def default(self) -> dict[str, Choice]:
        """Return the config that needs no search."""
        return {param.name: param.default for param in self.params}

    def build(self, config: Config) -> Schedule:
        """Return the schedule of *config*; raise `ScheduleError` if infeasible."""
        schedule = Schedule(self.function)
        for part in self.parts:
            schedule = part.apply(schedule, config)
        return schedule


def sketch(function: Function, target: Target, numerics: Numerics) -> Sketch:
    """Return the sketch of *function* for *target*.

    Contractions keep the order of each element's updates, so they serve every numerics
    class; sums along vector lanes need `reassoc`.
    """
    inits: dict[str, str] = {}
    parts: dict[str, Part] = {}  # by label, or by axis for nests of many statements
    for loop in function.body.statements:
        if not isinstance(loop, For):
            continue
        part = _contraction(loop, inits, target)
        if part is None:
            plain = LoopNest(loop, target, numerics != "bitwise")
            parts[_label(loop) or loop.axis] = plain
            inits |= _initialised(loop)
        else:
            parts[part.roles.label] = part
            if part.roles.init is not None:  # it moves into the tiles of this part
                del parts[inits.pop(part.roles.nest.statement.tensor)]
    return Sketch(function, tuple(parts.values()))


def _contraction(
    loop: For, inits: Mapping[str, str], target: Target
) -> Contraction | None:
    nest = perfect_nest(loop)
    if (
        nest is None
        or not isinstance(nest.statement, Reduce)
        or not nest.reduction
        or not nest.is_rectangular
    ):
        return None
    roles = find_roles(nest, inits)
    return None if roles is None else Contraction(roles, target)


def _label(loop: For) -> str | None:
    nest = perfect_nest(loop)
    if nest is None or nest.statement.instance is None:
        return None
    return nest.statement.instance.label


def _initialised(loop: For) -> dict[str, str]:
    """Return the tensor that *loop* stores each element of once, and the label.

    A nest that updates what is there already is no initialisation.
    """
    nest = perfect_nest(loop)
    if nest is None or not isinstance(nest.statement, Store):
        return {}
    leaf = nest.statement
    read = {each.tensor for each in reads(leaf.value)}
    if leaf.instance is None or leaf.tensor in read:
        return {}
    if set(nest.axes) != subscript_names(leaf):
        return {}
    return {leaf.tensor: leaf.instance.label}
