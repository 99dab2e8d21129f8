"""Whether a body first overwrites what it uses, so that nothing need be loaded."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.affine import name
from ..ir.nodes import Block, If
from .bounds import is_nonnegative
from .boxes import Place
from .regions import Access, accesses, plain_axis, relevant, signature, touches


def leading_overwrites(
    body: Block, tensor: str, region: tuple[int, int], place: Place
) -> tuple[int, list[Access], bool]:
    """Return where the staged region starts, its accesses, and whether to load.

    *region* holds the positions of the first and last use of *tensor* in *body*.
    Leading statements that only write, but not provably everything, stay outside:
    what they write is then loaded.
    """
    statements = body.statements
    first, last = region
    found = list(accesses(Block(statements[first : last + 1]), tensor))
    while not _is_overwritten_first(found, place):
        head = list(accesses(Block((statements[first],)), tensor))
        rest = [i for i in range(first + 1, last + 1) if touches(statements[i], tensor)]
        if not rest or any(access.kind != "store" for access in head):
            return first, found, True
        tail = list(accesses(Block(statements[rest[0] : last + 1]), tensor))
        if all(access.kind == "load" for access in tail):
            return first, found, True
        first, found = rest[0], tail
    return first, found, False


def _is_overwritten_first(found: Sequence[Access], place: Place) -> bool:
    """Return whether the first access stores every element that the others use."""
    first = found[0]
    if first.kind != "store" or any(isinstance(node, If) for node in first.path):
        return False
    if relevant(first).keys() != first.loops.keys():
        return False
    return all(
        _runs_over_the_same(first, other) or _covers(first, other, place)
        for other in found[1:]
    )


def _runs_over_the_same(first: Access, other: Access) -> bool:
    """Return whether *other* uses the elements of *first* in the same way.

    They may share only loops that the subscripts need: then each element is used
    after the store to it.
    """
    shared = first.loops.keys() & other.loops.keys()
    return shared <= relevant(other).keys() and signature(first) == signature(other)


def _covers(first: Access, other: Access, place: Place) -> bool:
    """Return whether each subscript of *other* is in the range that *first* stores.

    In the loops that both share, *other* must use the same subscript.
    """
    own = first.loops
    shared = own.keys() & other.loops.keys()
    scope = {**place.around, **other.loops}
    storing: list[str] = []
    for form, used in zip(first.index, other.index, strict=True):
        axis = plain_axis(form, own)
        if axis is None or axis in shared:
            if form != used:
                return False
            storing += [name for name in form.names() if name in own]
            continue
        loop = own[axis]
        bounds = (*loop.starts, *loop.stops)
        inner = own.keys() - shared
        if loop.step != 1 or any(bound.names() & inner for bound in bounds):
            return False
        place_used = used - (form - name(axis))
        gaps = [place_used - start for start in loop.starts]
        gaps += [stop - 1 - place_used for stop in loop.stops]
        if not all(is_nonnegative(gap, scope, place.dims) for gap in gaps):
            return False
        storing.append(axis)
    # Each loop of the store runs along a subscript of its own.
    return sorted(storing) == sorted(own)
