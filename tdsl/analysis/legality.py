"""Questions about a program that schedules ask before they change it.

Answers are conservative: where integer sets cannot express or decide a question, a loop
is not concurrent and must not be distributed. Memory counts here, not values.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..ir.nodes import (
    Alloc,
    Block,
    For,
    Function,
    Gather,
    If,
    Load,
    Reduce,
    Scatter,
    Stmt,
    Store,
)
from ..ir.walk import walk, walk_nest
from .building import build_model
from .dependence import clashes, find_conflict
from .meeting import Dependence
from .model import Access, Model, Occurrence
from .sets import IslError, UnsupportedError, bounded, later_image, same_prefix
from .validate import LOCK

OPERATIONS = 100_000
"""How many elementary steps isl may take for one question."""


class Legality:
    """Answers about the loops of one function.

    A question about a loop needs a model of that loop alone, which then serves those
    about loops inside as well.
    """

    def __init__(self, function: Function) -> None:
        """Ask about *function*."""
        self._function = function
        self._models: dict[str, Model | None] = {}
        self._concurrent: dict[str, bool] = {}

    def is_concurrent(self, axis: str) -> bool:
        """Whether no two iterations of *axis* touch an element that one writes."""
        if axis not in self._concurrent:
            self._concurrent[axis] = not self._has_clash(axis)
        return self._concurrent[axis]

    def carried(self, axis: str, tensor: str) -> Dependence | None:
        """Return a dependence on *tensor* between iterations of *axis*, if known.

        None where integer sets do not find one, even if there may be one.
        """
        model = self._model(axis)
        if model is None:
            return None
        others = frozenset(model.storage) - {tensor}
        try:
            with LOCK, bounded(OPERATIONS):
                return find_conflict(model, axis, others)
        except IslError:
            return None

    def sums_of(self, loop: For) -> tuple[str, ...] | None:
        """Return the tensors that iterations of *loop* share only to add up in them.

        None if they share others as well, or a tensor that they also read.
        """
        sums = _only_summed(loop)
        if not sums or self._has_clash(loop.axis, frozenset(sums)):
            return None
        return sums

    def feeds_itself(self, axis: str) -> bool:
        """Whether an iteration of *axis* may read what an earlier one has written.

        The value that an update continues from does not count.
        """
        model = self._model(axis)
        if model is None:
            return True
        inside = [o for o in model.occurrences if axis in o.axes]
        try:
            with LOCK, bounded(OPERATIONS):
                return any(
                    _meets(model, axis, a, a.write, read, in_text=False)
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
        model = self._model(loop.axis)
        if model is None:
            return True
        try:
            with LOCK, bounded(OPERATIONS):
                return _touches_again(
                    model,
                    loop.axis,
                    self._occurrences(model, loop, first),
                    self._occurrences(model, loop, second),
                    in_text=first < second,
                )
        except IslError:
            return True

    def _occurrences(self, model: Model, loop: For, number: int) -> list[Occurrence]:
        statement = loop.body.statements[number]
        inside = {id(leaf) for leaf, _ in walk_nest(Block((statement,)))}
        return [o for o in model.occurrences if id(o.leaf) in inside]

    def _has_clash(self, axis: str, ignored: frozenset[str] = frozenset()) -> bool:
        model = self._model(axis)
        if model is None:
            return True
        try:
            with LOCK, bounded(OPERATIONS):
                return any(clashes(model, axis, ignored))
        except IslError:
            return True

    def _model(self, axis: str) -> Model | None:
        """Return a model that knows all of the loop *axis*, None if there is none."""
        for whole, model in self._models.items():
            place = model and model.places.get(axis)
            if place and whole in place.axes:
                return model
        if axis not in self._models:
            self._models[axis] = self._build_model(axis)
        return self._models[axis]

    def _build_model(self, axis: str) -> Model | None:
        body = _alone(self._function.body, axis)
        assert body is not None, axis
        try:
            with LOCK, bounded(OPERATIONS):
                return build_model(replace(self._function, body=body))
        except (UnsupportedError, IslError):
            return None


def _alone(block: Block, axis: str) -> Block | None:
    """Return *block* with no leaf outside of the loop *axis*, None if it is not there.

    Loops and guards around it stay, and the tensors declared there.
    """
    declared: list[Stmt] = []
    for statement in block.statements:
        match statement:
            case For() if statement.axis == axis:
                return Block((*declared, statement))
            case For() | If():
                body = _alone(statement.body, axis)
                if body is not None:
                    return Block((*declared, replace(statement, body=body)))
            case Alloc():
                declared.append(statement)
    return None


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
