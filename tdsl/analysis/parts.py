"""Dependences between parts of a program as it stands: what keeps them in order.

A step that would have to break one is refused with it, so that a message can name two
iterations. Memory counts here, not values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from ..ir.nodes import Function, Stmt
from ..ir.walk import walk
from .building import build_model
from .certificate import DependenceKind
from .legality import OPERATIONS
from .meeting import Dependence, Touch, kind_of, pairs_in_order
from .model import Model
from .sets import IslError, UnsupportedError, bounded, sample_pair
from .validate import LOCK

KINDS: tuple[DependenceKind, ...] = ("flow", "reduction", "output", "anti")


def dependence_between(
    function: Function,
    first: Iterable[Stmt],
    second: Iterable[Stmt],
    *,
    tensor: str | None = None,
    kinds: Sequence[DependenceKind] = KINDS,
    depth: int = 0,
) -> Dependence | None:
    """Return a dependence of runs of *second* on earlier ones of *first*, if known.

    It is of the first of *kinds* that there is, on *tensor* if one is given, between
    runs that agree in *depth* loops. None where integer sets do not find one, even if
    there may be one.
    """
    try:
        with LOCK, bounded(OPERATIONS):
            model = build_model(function)
            sides = _touches(model, first, tensor), _touches(model, second, tensor)
            return next(_found(model, sides, kinds, depth), None)
    except (UnsupportedError, IslError):
        return None


def _touches(
    model: Model, statements: Iterable[Stmt], tensor: str | None
) -> list[Touch]:
    inside = {id(node) for each in statements for node in walk(each)}
    return [
        Touch(occurrence, access)
        for occurrence in model.occurrences
        if id(occurrence.leaf) in inside
        for access in (occurrence.write, *occurrence.reads)
        if tensor in (None, access.tensor)
    ]


def _found(
    model: Model,
    sides: tuple[Sequence[Touch], Sequence[Touch]],
    kinds: Sequence[DependenceKind],
    depth: int,
) -> Iterator[Dependence]:
    for kind in kinds:
        for first, second in product(*sides):
            same = first.access.tensor == second.access.tensor
            if not same or kind_of(first, second) != kind:
                continue
            for level, pairs in pairs_in_order(first, second, depth):
                params, here, there = sample_pair(pairs)
                runs = (first, here), (second, there)
                yield Dependence.between(model, params, level, runs)
