"""Inequalities between affine forms: solving them for one name, without floors."""

from __future__ import annotations

from collections.abc import Callable

from .affine import Affine, FloorDiv, name

Residue = Callable[[Affine, int], Affine]
"""The remainder of a form by a positive integer, as far as it is known."""


def known_residue(form: Affine, divisor: int) -> Affine:
    """Return *form* without the terms that *divisor* divides, by their coefficients."""
    terms = tuple(term for term in form.terms if term[1] % divisor)
    return Affine(terms, form.constant % divisor)


def unfloored(
    form: Affine, residue: Residue = known_residue, about: frozenset[str] | None = None
) -> Affine:
    """Return a form that is >= 0 for the same integers as *form*, with fewer floors.

    Of `rest + k*(n//d) >= 0`, where k divides rest, `d*rest + k*n >= 0` is left; a
    constant remainder of rest can be dropped first. With *about*, only floors that
    mention one of these names go.
    """
    for atom, k in form.terms:
        if not isinstance(atom, FloorDiv):
            continue
        if about is not None and not about & atom.numerator.names():
            continue
        rest = form - Affine(((atom, k),))
        over = residue(rest, abs(k))
        if not over.is_constant:
            continue
        whole = (rest - over) * atom.divisor
        if k > 0:
            return unfloored(whole + atom.numerator * k, residue, about)
        slack = (atom.divisor - 1) * -k
        return unfloored(whole + slack + atom.numerator * k, residue, about)
    return form


def least(form: Affine, axis: str, remainder: Affine, step: int) -> Affine:
    """Return the least value of *axis* with *form* >= 0, which bounds it from below.

    Only values that leave *remainder* by *step* count.
    """
    coefficient = form.coefficient(axis)
    assert coefficient > 0
    bound = name(axis) * coefficient - form  # coefficient * axis >= bound
    width = coefficient * step
    offset = bound - remainder * coefficient
    return remainder + (offset + (width - 1)) // width * step


def stop_after(form: Affine, axis: str) -> Affine:
    """Return one more than the greatest *axis* with *form* >= 0, a bound from above."""
    coefficient = form.coefficient(axis)
    assert coefficient < 0
    return (form - name(axis) * coefficient) // -coefficient + 1


def is_linear(form: Affine, axis: str) -> bool:
    """Whether *axis* occurs in no floor division of *form*."""
    return axis not in (form - name(axis) * form.coefficient(axis)).names()
