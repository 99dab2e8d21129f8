"""What is known about axes and dims: enough to drop the guards that always hold.

`Facts.holds(form)` proves `form >= 0` by replacing each axis by one of its bounds,
innermost first, and each dim by its smallest or largest value. A loop that starts at 0
and steps by 12 up to a multiple of 12 is known to end 12 before its stop, which is what
makes full tiles free of guards. A "no" means "not proved".
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from ..ir.affine import Affine, FloorDiv
from ..ir.nodes import Dim, For


class Facts:
    """Bounds and congruences of the axes of *loops*, outermost first, and of *dims*."""

    def __init__(self, dims: Iterable[Dim], loops: Iterable[For] = ()) -> None:
        self._dims = {dim.name: dim for dim in dims}
        self._loops = {loop.axis: loop for loop in loops}
        self._order = {axis: depth for depth, axis in enumerate(self._loops)}
        self._known: dict[Affine, bool] = {}

    def holds(self, form: Affine) -> bool:
        """Return whether *form* is proved to be at least 0."""
        if form.is_constant:
            return form.constant >= 0
        known = self._known.get(form)
        if known is None:
            known = self._known[form] = self._prove(form)
        return known

    def _prove(self, form: Affine) -> bool:
        inside = frozenset(
            name
            for atom, _ in form.terms
            if isinstance(atom, FloorDiv)
            for name in atom.numerator.names()
        )
        axes = [name for name in form.names() if name in self._order]
        if not axes:
            return self._least(form) >= 0
        axis = max(axes, key=self._order.__getitem__)
        if axis in inside:
            return False
        return any(
            self.holds(form.substitute({axis: bound}))
            for bound in self._bounds(axis, form.coefficient(axis) > 0)
        )

    def _bounds(self, axis: str, lower: bool) -> Iterable[Affine]:
        loop = self._loops[axis]
        if lower:
            return loop.starts
        return [stop - self._gap(stop, axis) for stop in loop.stops]

    def _gap(self, stop: Affine, axis: str) -> int:
        """Return a number that *stop* always exceeds *axis* by, at least."""
        modulus, residue = self._congruence(stop - Affine(((axis, 1),)))
        if modulus == 0:
            return max(1, residue)
        return residue % modulus or modulus

    def _congruence(self, form: Affine) -> tuple[int, int]:
        """Return m and r with `form = r (mod m)`; m = 0 means that r is exact."""
        modulus, residue = 0, form.constant
        for atom, coefficient in form.terms:
            inner, value = (1, 0) if isinstance(atom, FloorDiv) else self._stride(atom)
            modulus = gcd(modulus, coefficient * inner)
            residue += coefficient * value
        return modulus, residue

    def _stride(self, name: str) -> tuple[int, int]:
        loop = self._loops.get(name)
        if loop is None:
            dim = self._dims.get(name)
            if dim is not None and dim.max == dim.min:
                return 0, dim.min
            return (1, 0) if dim is None else (dim.multiple, 0)
        if len(loop.starts) != 1:
            return 1, 0
        modulus, residue = self._congruence(loop.starts[0])
        return gcd(modulus, loop.step), residue

    def _least(self, form: Affine) -> float:
        """Return a lower bound of a form over dims."""
        total: float = form.constant
        for atom, coefficient in form.terms:
            dim = self._dims.get(atom) if isinstance(atom, str) else None
            if dim is None:
                return -float("inf")
            if coefficient > 0:
                total += coefficient * dim.min
            elif dim.max is None:
                return -float("inf")
            else:
                total += coefficient * dim.max
        return total
