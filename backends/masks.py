"""Masks: the lanes of a vectorized loop in which forms are >= 0."""

from __future__ import annotations

from ..ir.affine import Affine, name
from ..ir.dtypes import boolean, i64
from .expressions import Expressions
from .point import Point
from .storage import LANE, Addresses
from .writer import Writer, identifiers_in


class LaneMasks:
    """Write masks, each once where it is needed first."""

    def __init__(
        self, writer: Writer, addresses: Addresses, expressions: Expressions
    ) -> None:
        self._writer = writer
        self._addresses = addresses
        self._expressions = expressions

    def mask(
        self, lanes: tuple[Affine, ...], scalars: tuple[Affine, ...], point: Point
    ) -> str:
        """Return the mask of the lanes for which all the forms are >= 0."""
        texts = [self._lane_mask(form, point) for form in dict.fromkeys(lanes)]
        if not texts:
            token = self._expressions.token(boolean, point.lanes)
            texts = [self._expressions.call("first_lanes", str(point.lanes), token)]
        result = texts[0]
        for text in texts[1:]:
            both = self._expressions.call("logical_and", result, text)
            result = self._named_mask(both)
        for form in scalars:
            number = self._addresses.integer(form)
            text = self._expressions.call("mask_where", number, result)
            result = self._named_mask(text)
        return result

    def _named_mask(self, text: str) -> str:
        depth = max(map(self._writer.depth, identifiers_in(text)))
        return self._writer.named("mask", text, depth, owner="")

    def _lane_mask(self, form: Affine, point: Point) -> str:
        """Return the mask of the lanes in which *form* is >= 0."""
        expressions, lanes = self._expressions, point.lanes
        token = expressions.token(boolean, lanes)
        slope = form.coefficient(LANE)
        rest = form - name(LANE) * slope
        if slope == -1 and LANE not in rest.names():
            count = self._addresses.integer(rest + 1)
            text = expressions.call("first_lanes", count, token)
        else:
            integers = expressions.lane_integers(form, lanes)
            zero = expressions.call("splat", "0", expressions.token(i64, lanes))
            text = expressions.call("ge", integers, zero)
        return self._named_mask(text)
