"""Where tensors are and how an element's address is written.

A stride is an integer times named sizes. The offset of an element is collected as terms
by the loop that changes them, and the part that an inner loop leaves alone is named
outside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..ir.affine import Affine, FloorDiv, name
from .writer import Writer

LANE = "@lane"  # the lane number in a vectorized loop, in substituted forms


@dataclass(frozen=True, slots=True)
class Stride:
    """*factor* times the integer variables *names*."""

    factor: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Storage:
    """A tensor in memory: the variable that holds its address, and its strides."""

    tensor: str
    base: str
    dtype: str
    strides: tuple[Stride, ...]


@dataclass(frozen=True, slots=True)
class Offset:
    """An element offset, and how far apart the elements of two lanes are.

    *lane* is an integer, the text of a run-time stride, or None where the lanes have no
    common stride (a floor division of the lane number).
    """

    text: str
    lane: int | str | None


def without_lane(index: tuple[Affine, ...]) -> tuple[tuple[Affine, ...], bool]:
    """Return *index* without the lane number, and whether it had one."""
    has_lane = any(LANE in form.names() for form in index)
    plain = tuple(f - name(LANE) if LANE in f.names() else f for f in index)
    return plain, has_lane


class Addresses:
    """Write integer forms and element offsets as text."""

    def __init__(self, writer: Writer, identifiers: Mapping[str, str]) -> None:
        self._writer = writer
        self._identifiers = identifiers

    def integer(self, form: Affine) -> str:
        """Return the text of *form*, which holds no lane number."""
        terms = [(c, (self._atom(atom),)) for atom, c in form.terms]
        return _sum([*terms, (form.constant, ())])

    def test(self, form: Affine) -> str:
        """Return `form >= 0` as a comparison of two sums without minus signs."""
        left: list[tuple[int, tuple[str, ...]]] = []
        right: list[tuple[int, tuple[str, ...]]] = []
        for atom, coefficient in form.terms:
            side = right if coefficient > 0 else left
            side.append((abs(coefficient), (self._atom(atom),)))
        constant = form.constant
        if constant == -1 and left:
            return f"{_sum(left)} < {_sum(right)}"
        (right if constant > 0 else left).append((abs(constant), ()))
        return f"{_sum(left)} <= {_sum(right)}"

    def depth(self, form: Affine) -> int:
        """Return the region in which *form* can be computed."""
        names = (self._identifiers.get(n, n) for n in form.names())
        return max(map(self._writer.depth, names), default=0)

    def _atom(self, atom: str | FloorDiv) -> str:
        if isinstance(atom, str):
            return self._identifiers.get(atom, atom)
        text = self.integer(atom.numerator)
        text = (
            f"({text})//{atom.divisor}"
            if " " in text or "*" in text
            else (f"{text}//{atom.divisor}")
        )
        return self._writer.named("whole", text, self.depth(atom.numerator))

    def offset(self, storage: Storage, index: tuple[Affine, ...]) -> Offset:
        """Return the offset of an element; subscripts may hold the lane number."""
        terms: dict[tuple[str, ...], int] = {}
        lane_terms: dict[tuple[str, ...], int] = {}
        for stride, subscript in zip(storage.strides, index, strict=True):
            for atom, coefficient in (*subscript.terms, ("", subscript.constant)):
                if isinstance(atom, FloorDiv) and LANE in atom.numerator.names():
                    return Offset("", None)
                target = lane_terms if atom == LANE else terms
                own = () if atom in ("", LANE) else (self._atom(atom),)
                key = tuple(sorted((*own, *stride.names)))
                target[key] = target.get(key, 0) + coefficient * stride.factor
        text = self._prefixed(storage.tensor, {k: c for k, c in terms.items() if c})
        lane = {key: c for key, c in lane_terms.items() if c}
        if not lane:
            return Offset(text, 0)
        if set(lane) == {()}:
            return Offset(text, lane[()])
        return Offset(text, _sum([(c, key) for key, c in lane.items()]))

    def _prefixed(self, tensor: str, terms: dict[tuple[str, ...], int]) -> str:
        """Return the sum, with what outer loops fix named outside the inner ones."""
        constant = terms.pop((), 0)
        levels: dict[int, list[tuple[int, tuple[str, ...]]]] = {}
        for key, coefficient in sorted(terms.items()):
            depth = max(map(self._writer.depth, key))
            levels.setdefault(depth, []).append((coefficient, key))
        innermost = len(self._writer.stack) - 1
        text = ""
        for depth in sorted(levels):
            extra = levels[depth]
            parts = [(1, (text,)), *extra] if text else extra
            text = _sum(parts)
            if depth < innermost and not text.isidentifier():
                text = self._writer.named(f"{tensor}_at", text, depth)
        return _sum([(1, (text,)), (constant, ())]) if text else str(constant)


def _sum(terms: list[tuple[int, tuple[str, ...]]]) -> str:
    """Return the text of a sum of products; no term gives 0."""
    text = ""
    for coefficient, factors in sorted(terms, key=lambda term: term[0] < 0):
        if coefficient == 0:
            continue
        size = abs(coefficient)
        product = "*".join(
            ([str(size)] if size != 1 or not factors else []) + [*factors]
        )
        sign = " - " if coefficient < 0 else " + "
        text += (sign if text else sign.strip(" +")) + product
    return text or "0"
