"""Integer affine forms: the index arithmetic of the IR.

An `Affine` is `constant + sum(coefficient * atom)` where an atom is a name (a loop
axis or a dim) or a `FloorDiv` of an affine form by a positive integer. Forms are
kept canonical (sorted, no zero coefficient), so equal forms compare equal. Sympy is
never used here: these run in every pass and in the search loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd


@dataclass(frozen=True, slots=True)
class FloorDiv:
    """The floor of *numerator* divided by the positive integer *divisor*."""

    numerator: Affine
    divisor: int

    def __str__(self) -> str:
        text = str(self.numerator)
        return f"{text if text.isidentifier() else f'({text})'}//{self.divisor}"

    def __lt__(self, other: Atom) -> bool:
        """Order the atoms of a form: names come first, then floors by their text."""
        return isinstance(other, FloorDiv) and str(self) < str(other)

    def __gt__(self, other: Atom) -> bool:
        return isinstance(other, str) or other < self


Atom = str | FloorDiv


@dataclass(frozen=True, slots=True)
class Affine:
    """`constant + sum(coefficient * atom)`, canonical and hashable."""

    terms: tuple[tuple[Atom, int], ...] = ()
    constant: int = 0

    def __add__(self, other: Affine | int) -> Affine:
        return self._plus(other, 1)

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Affine | int) -> Affine:
        return self._plus(other, -1)

    def _plus(self, other: Affine | int, times: int) -> Affine:
        if isinstance(other, int):
            return Affine(self.terms, self.constant + other * times)
        coefficients = dict(self.terms)
        for atom, coefficient in other.terms:
            coefficients[atom] = coefficients.get(atom, 0) + coefficient * times
        return _canonical(coefficients, self.constant + other.constant * times)

    def __radd__(self, other: int) -> Affine:
        return self + other

    def __rsub__(self, other: int) -> Affine:
        return -self + other

    def __mul__(self, factor: int) -> Affine:
        if factor == 0:
            return Affine()
        terms = tuple((atom, value * factor) for atom, value in self.terms)
        return Affine(terms, self.constant * factor)

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> Affine:
        """Divide by the positive integer *divisor*, rounding down.

        Terms whose coefficient *divisor* divides leave the floor, and a factor that the
        others share with *divisor* is divided out; both are exact.
        """
        if divisor <= 0:
            raise ValueError(f"floor division by {divisor}: the divisor must be >= 1")
        if divisor == 1:
            return self
        whole: dict[Atom, int] = {}
        rest: dict[Atom, int] = {}
        for atom, coefficient in self.terms:
            if coefficient % divisor == 0:
                whole[atom] = coefficient // divisor
            else:
                rest[atom] = coefficient
        quotient, remainder = divmod(self.constant, divisor)
        if not rest:
            return _canonical(whole, quotient)
        # (2*H + 3)//4 is (H + 1)//2: dividing in two steps rounds down the same.
        shared = gcd(divisor, *rest.values())
        inner = {atom: coefficient // shared for atom, coefficient in rest.items()}
        numerator = _canonical(inner, remainder // shared)
        floor = FloorDiv(numerator, divisor // shared)
        whole[floor] = whole.get(floor, 0) + 1
        return _canonical(whole, quotient)

    def __mod__(self, divisor: int) -> Affine:
        return self - (self // divisor) * divisor

    @property
    def is_constant(self) -> bool:
        """Whether no name occurs."""
        return not self.terms

    def coefficient(self, name: str) -> int:
        """Return the coefficient of *name* outside floor divisions (0 if absent)."""
        return dict(self.terms).get(name, 0)

    def names(self) -> frozenset[str]:
        """Return every name that occurs, also inside floor divisions."""
        found: set[str] = set()
        for atom, _ in self.terms:
            if isinstance(atom, str):
                found.add(atom)
            else:
                found |= atom.numerator.names()
        return frozenset(found)

    def substitute(self, values: Mapping[str, Affine]) -> Affine:
        """Replace names by affine forms; return *self* where nothing changes."""
        constant = self.constant
        coefficients: dict[Atom, int] = {}
        changed = False
        for atom, coefficient in self.terms:
            form = _substituted(atom, values)
            if form is None:
                coefficients[atom] = coefficients.get(atom, 0) + coefficient
                continue
            changed = True
            constant += form.constant * coefficient
            for part, times in form.terms:
                coefficients[part] = coefficients.get(part, 0) + times * coefficient
        return _canonical(coefficients, constant) if changed else self

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Return the integer value, given one for each name."""
        total = self.constant
        for atom, coefficient in self.terms:
            if isinstance(atom, str):
                total += coefficient * values[atom]
            else:
                total += coefficient * (atom.numerator.evaluate(values) // atom.divisor)
        return total

    def __str__(self) -> str:
        parts: list[str] = []
        for atom, coefficient in self.terms:
            size = abs(coefficient)
            # `4*(M//4)` and `-(M//4)`: without parentheses they mean something else.
            tight = size != 1 or (coefficient < 0 and not parts)
            text = f"({atom})" if tight and isinstance(atom, FloorDiv) else f"{atom}"
            text = text if size == 1 else f"{size}*{text}"
            parts.append(f" {'-' if coefficient < 0 else '+'} {text}")
        if self.constant or not parts:
            parts.append(f" {'-' if self.constant < 0 else '+'} {abs(self.constant)}")
        joined = "".join(parts)
        return joined[3:] if joined.startswith(" + ") else f"-{joined[3:]}"


def _substituted(atom: Atom, values: Mapping[str, Affine]) -> Affine | None:
    """Return *atom* with names replaced by affine forms, None where it has none."""
    if isinstance(atom, str):
        return values.get(atom)
    numerator = atom.numerator.substitute(values)
    return None if numerator is atom.numerator else numerator // atom.divisor


def _canonical(coefficients: Mapping[Atom, int], constant: int) -> Affine:
    terms = [term for term in coefficients.items() if term[1]]
    if len(terms) > 1:
        terms.sort()
    return Affine(tuple(terms), constant)


def name(identifier: str) -> Affine:
    """Return the affine form of one axis or dim."""
    return Affine(((identifier, 1),))


def constant(value: int) -> Affine:
    """Return the affine form of an integer."""
    return Affine((), value)


def affine(value: Affine | int | str) -> Affine:
    """Coerce an integer, a name or an affine form to an affine form."""
    if isinstance(value, Affine):
        return value
    return name(value) if isinstance(value, str) else constant(value)
