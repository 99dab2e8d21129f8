"""The values that loops with steps take: remainders by their step."""

from __future__ import annotations

from collections.abc import Mapping

from ..ir.affine import Affine, constant
from ..ir.nodes import Dim, For
from .bounds import Loops, multiple_of


def residue(
    form: Affine, modulus: int, loops: Loops, dims: Mapping[str, Dim]
) -> Affine:
    """Return a form that leaves the remainder of *form* by *modulus*, the simplest.

    It is constant where the remainder is known to be.
    """
    total = constant(form.constant)
    for atom, coefficient in form.terms:
        term = Affine(((atom, coefficient),))
        if multiple_of(term, loops, dims) % modulus == 0:
            continue
        if isinstance(atom, str) and atom in loops:
            loop = loops[atom]
            starts = {
                residue(start * coefficient, modulus, loops, dims)
                for start in loop.starts
            }
            if coefficient * loop.step % modulus == 0 and len(starts) == 1:
                total = total + starts.pop()
                continue
        total = total + term
    return Affine(total.terms, total.constant % modulus)


def remainder_of(loop: For, loops: Loops, dims: Mapping[str, Dim]) -> Affine | None:
    """Return what all values of *loop* leave by its step, or None if that varies."""
    if loop.step == 1:
        return constant(0)
    found = {residue(start, loop.step, loops, dims) for start in loop.starts}
    return found.pop() if len(found) == 1 else None
