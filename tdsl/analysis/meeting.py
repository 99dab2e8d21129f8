"""Two runs of statements that meet in one element, and which dependence that makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..ir.nodes import Reduce
from ..ir.walk import chosen_by_data
from .certificate import DEPENDENCES, DependenceKind, Witness
from .injective import subscripts
from .model import Access, Model, Occurrence, Reader
from .sets import Map, later_image, same_axis, same_prefix
from .witness import Concrete


def shared_loops(one: Reader | Occurrence, other: Reader | Occurrence) -> int:
    """Return how many loops are around both."""
    count = 0
    for mine, theirs in zip(one.path, other.path, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


@dataclass(frozen=True, slots=True)
class Touch:
    """An access that an occurrence makes."""

    occurrence: Occurrence
    access: Access

    @property
    def verb(self) -> str:
        """What it does to the element, in a witness."""
        if self.access is not self.occurrence.write:
            return "reads"
        is_update = isinstance(self.occurrence.statement, Reduce)
        return "updates" if is_update else "writes"

    @property
    def is_chosen(self) -> bool:
        """Whether data chooses the element."""
        index = subscripts(self.occurrence, self.access)
        return index is not None and bool(chosen_by_data(index))

    @property
    def is_scattered(self) -> bool:
        """Whether a scatter writes the element."""
        return self.verb != "reads" and self.occurrence.scatter is not None


Run = tuple[Touch, Sequence[int]]
"""A touch, and the counters of the loops around it."""


def kind_of(first: Touch, second: Touch) -> DependenceKind | None:
    """Return what keeps *second* after *first*, None for two readings."""
    match first.verb, second.verb:
        case "reads", "reads":
            return None
        case _, "reads":
            return "flow"
        case "reads", _:
            return "anti"
        case "updates", "updates" if first.occurrence is second.occurrence:
            return "reduction"
        case _, "updates":
            return "flow"
    return "output"


def pairs_in_order(
    first: Touch, second: Touch, depth: int = 0
) -> Iterator[tuple[int, Map]]:
    """Yield the pairs of runs that share an element, those of *first* coming first.

    They agree in *depth* loops at least. With each part of them comes how many loops
    they agree in: where these are all that are shared, the text gives the order.
    """
    one, other = first.occurrence, second.occurrence
    pairs = first.access.relation.apply_range(second.access.relation.reverse())
    pairs = same_prefix(pairs, depth)
    shared = shared_loops(one, other)
    for level in range(depth, shared):
        later = later_image(pairs, level)
        if not later.is_empty():
            yield level, later
        pairs = same_axis(pairs, level)
    # A statement reads before it writes.
    itself = one is other and kind_of(first, second) == "anti"
    if (one.sequence < other.sequence or itself) and not pairs.is_empty():
        yield shared, pairs


@dataclass(frozen=True, slots=True)
class Dependence:
    """Two runs that touch one element, at least one writing it.

    They part in the loop *axis*; where that is None, the text gives their order, in one
    iteration of the loop *inside* if there is one. With *chosen*, they meet if data
    decides so; with *scattered*, by a scatter.
    """

    kind: DependenceKind
    axis: str | None
    inside: str | None
    tensor: str
    witness: Witness
    chosen: bool = False
    scattered: bool = False

    @staticmethod
    def between(
        model: Model, params: Mapping[str, int], level: int, runs: tuple[Run, Run]
    ) -> Dependence:
        """Return the dependence of the second run on the first.

        *level* is the number of loops around both whose counters agree.
        """
        (first, here), (second, there) = runs
        concrete = Concrete(model, params)
        axes = first.occurrence.axes
        element = concrete.element(first.access, first.occurrence, here)
        lines = (
            f"{concrete.iteration(first.occurrence, here)} {first.verb} {element}",
            f"{concrete.iteration(second.occurrence, there)} {second.verb} it",
        )
        kind = kind_of(first, second)
        assert kind is not None, lines
        carried = level < shared_loops(first.occurrence, second.occurrence)
        return Dependence(
            kind,
            axes[level] if carried else None,
            axes[level - 1] if level else None,
            first.access.tensor,
            concrete.witness(lines, element),
            first.is_chosen or second.is_chosen,
            first.is_scattered or second.is_scattered,
        )

    def __str__(self) -> str:
        what = f"{DEPENDENCES[self.kind]} {self.tensor}"
        if self.chosen:
            text = f"loop {self.axis} may carry {what}, as data chooses its elements"
            assume = "if they differ, tdsl.assume(tdsl.injective(...)) says so"
            return f"{text}; {assume}" if self.scattered else text
        text = f"loop {self.axis} carries {what}"
        if self.kind == "reduction":
            return f"{text}: use rfactor to give each iteration its own partial result"
        return text
