"""Questions about a program that schedules ask before they change it.

Answers are conservative: where integer sets cannot express or decide a question, a loop
is not concurrent and must not be distributed. Memory counts here, not values.
"""

from __future__ import annotations

from collections import Counter

from ..ir.nodes import Alloc, For, Function, Gather, Load, Reduce, Scatter, Store
from ..ir.walk import walk
from .dependence import Dependence, find_conflict
from .model import Access, Model, Occurrence, build_model
from .sets import IslError, UnsupportedError, bounded, later_image, same_prefix
from .validate import LOCK

OPERATIONS = 100_000
"""How many elementary steps isl may take for one question."""


class Legality:
    """Answers about one function, whose model is built once."""

    def __init__(self, function: Function) -> None:
        """Ask about *function*."""
        self._function = function
        self._model: Model | None = None
        self._concurrent: dict[str, bool] = {}
        try:
            with LOCK, bounded(OPERATIONS):
                self._model = build_model(function)
        except (UnsupportedError, IslError):
            return

    def is_concurrent(self, axis: str) -> bool:
        """Whether no two iterations of *axis* touch an element that one writes."""
        if axis not in self._concurrent:
            self._concurrent[axis] = self._ask_concurrent(axis)
        return self._concurrent[axis]

    def carried(self, axis: str, tensor: str) -> Dependence | None:
        """Return a dependence on *tensor* between iterations of *axis*, if known.

        None where integer sets do not find one, even if there may be one.
        """
        if self._model is None:
            return None
        others = frozenset(self._model.storage) - {tensor}
        try:
            with LOCK, bounded(OPERATIONS):
                return find_conflict(self._model, axis, others)
        except IslError:
            return None

    def sums_of(self, loop: For) -> tuple[str, ...] | None:
        """Return the tensors that iterations of *loop* share only to add up in them.

        None if they share others as well, or a tensor that they also read.
        """
        sums = _only_summed(loop)
        if self._model is None or not sums:
            return None
        try:
            with LOCK, bounded(OPERATIONS):
                conflict = find_conflict(self._model, loop.axis, frozenset(sums))
        except IslError:
            return None
        return None if conflict else sums

    def feeds_itself(self, axis: str) -> bool:
        """Whether an iteration of *axis* may read what an earlier one has written.

        The value that an update continues from does not count.
        """
        if self._model is None:
            return True
        inside = [o for o in self._model.occurrences if axis in o.axes]
        try:
            with LOCK, bounded(OPERATIONS):
                return any(
                    _meets(self._model, axis, a, a.write, read, in_text=False)
                    for a in inside
                    for b in inside
                    for read in b.reads
                    if read.tensor == a.write.tensor
                )
        except IslError:
            return True

    def must_follow(self, loop: For, first: int) -> set[int]:
        """Return the statements of *loop* that depend on statement number *first*.

        Directly or through others, in the same iteration or in a later one; that
        *first* depends on itself directly does not count. If it is not one of them, the
        loop may run all that are not, then *first*, then these, each in a loop of its
        own.
        """
        found: set[int] = set()
        waiting = [first]
        while waiting:
            at = waiting.pop()
            for other in range(len(loop.body.statements)):
                itself = at == other == first
                if other in found or itself:
                    continue
                if self._depends(loop, at, other):
                    found.add(other)
                    waiting.append(other)
        return found

    def _depends(self, loop: For, first: int, second: int) -> bool:
        """Whether *second* touches what *first* touched before it, one writing."""
        if self._model is None:
            return True
        try:
            with LOCK, bounded(OPERATIONS):
                return _touches_again(
                    self._model,
                    loop.axis,
                    self._occurrences(self._model, loop, first),
                    self._occurrences(self._model, loop, second),
                    in_text=first < second,
                )
        except IslError:
            return True

    def _occurrences(self, model: Model, loop: For, number: int) -> list[Occurrence]:
        statement = loop.body.statements[number]
        inside = {id(node) for node in walk(statement)}
        return [o for o in model.occurrences if id(o.statement) in inside]

    def _ask_concurrent(self, axis: str) -> bool:
        if self._model is None:
            return False
        try:
            with LOCK, bounded(OPERATIONS):
                return find_conflict(self._model, axis) is None
        except IslError:
            return False


def _only_summed(loop: For) -> tuple[str, ...]:
    """Return the tensors that one update in *loop*, and nothing else there, uses."""
    private = {n.tensor.name for n in walk(loop) if isinstance(n, Alloc)}
    uses = Counter(
        node.tensor
        for node in walk(loop)
        if isinstance(node, Load | Gather | Store | Reduce | Scatter)
    )
    return tuple(
        node.tensor
        for node in walk(loop)
        if isinstance(node, Reduce)
        and uses[node.tensor] == 1
        and node.tensor not in private
        and not any(loop.axis in form.names() for form in node.index)
    )


def _touches_again(
    model: Model,
    axis: str,
    first: list[Occurrence],
    second: list[Occurrence],
    *,
    in_text: bool,
) -> bool:
    return any(
        _meets(model, axis, a, access, other, in_text=in_text)
        for a in first
        for b in second
        for access in (a.write, *a.reads)
        for other in (b.write, *b.reads)
        if access.tensor == other.tensor and (access is a.write or other is b.write)
    )


def _meets(
    model: Model,
    axis: str,
    first: Occurrence,
    access: Access,
    other: Access,
    *,
    in_text: bool,
) -> bool:
    """Whether *other* touches what *access* did, later or (*in_text*) at once."""
    position = first.axes.index(axis)
    pairs = access.relation.apply_range(other.relation.reverse())
    pairs = same_prefix(pairs, position)
    if in_text and not same_prefix(pairs, position + 1).is_empty():
        return True
    if axis in model.storage[access.tensor].axes:
        return False
    return not later_image(pairs, position).is_empty()
