"""Why a step is refused: the dependence that it would break, in the words of a message.

Memory and the order of the program as it stands count here. Whether a step that is not
refused keeps what matters is for the proof to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..analysis.certificate import DEPENDENCES, DependenceKind
from ..analysis.meeting import Dependence
from ..analysis.parts import KINDS, dependence_between
from ..errors import ScheduleError
from ..ir.nodes import For, Function, Stmt
from .checks import path_to

_CERTAINLY = "carries", "has"


@dataclass(frozen=True, slots=True)
class Reason:
    """A dependence, where one is known, as two pieces of a message."""

    found: Dependence | None

    @property
    def because(self) -> str:
        """The loop, the kind of dependence and the tensor after a colon, or nothing."""
        if self.found is None:
            return ""
        carries, has = ("may carry", "may have") if self.found.chosen else _CERTAINLY
        if self.found.axis is not None:
            place = f'loop "{self.found.axis}" {carries}'
        elif self.found.inside is not None:
            place = f'an iteration of loop "{self.found.inside}" {has}'
        else:
            place = f"the kernel {has}"
        return f': {place} {DEPENDENCES[self.found.kind]} "{self.found.tensor}"'

    @property
    def witness(self) -> str:
        """Sizes and two iterations that meet in an element on new lines, or nothing."""
        return f"\n{self.found.witness}" if self.found is not None else ""


def kept_order(
    function: Function,
    first: Sequence[Stmt],
    second: Sequence[Stmt],
    tensor: str | None = None,
    *,
    kinds: Sequence[DependenceKind] = KINDS,
) -> Reason:
    """Return why runs of *second* stay after those of *first*, if they must.

    The two agree in all loops around these statements. Only *tensor* counts, if given.
    """
    depth = _loops_around(function, (*first, *second))
    found = dependence_between(
        function, first, second, tensor=tensor, kinds=kinds, depth=depth
    )
    return Reason(found)


def either_order(
    function: Function,
    one: Sequence[Stmt],
    other: Sequence[Stmt],
    tensor: str | None = None,
) -> Reason:
    """Return why runs of *one* and of *other* stay in their order, if they must."""
    reason = kept_order(function, one, other, tensor)
    return reason if reason.found else kept_order(function, other, one, tensor)


def _loops_around(function: Function, statements: Sequence[Stmt]) -> int:
    """Return how many loops are around all of *statements*."""
    paths = [path_to(function, each) for each in statements]
    count = 0
    for nodes in zip(*paths, strict=False):
        if any(node is not nodes[0] for node in nodes):
            break
        count += isinstance(nodes[0], For)
    return count


def check_before(
    function: Function, root: Stmt, consumer: Stmt, target: For, *, moving: str
) -> None:
    """Refuse to move *root* into the loop *target* if it comes before.

    *consumer*, in the same block as *root*, is or contains it.
    """
    path = path_to(function, consumer)
    block = path[-1].body if path else function.body
    order = [id(statement) for statement in block.statements]
    if order.index(id(root)) > order.index(id(consumer)):
        reason = kept_order(function, [consumer], [root])
        raise ScheduleError(
            f'compute_at: {moving} comes after loop "{target.axis}"{reason.because}; '
            f"name a loop that follows it{reason.witness}"
        )
