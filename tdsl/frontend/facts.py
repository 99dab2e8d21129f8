"""What is known of dims and loop variables at the statement being parsed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..analysis.sets import System
from ..ir.affine import Affine, name
from ..ir.nodes import Dim


@dataclass(slots=True)
class Facts:
    """Forms that are >= 0 here: bounds of loops, conditions around, assumptions."""

    dims: dict[str, Dim]
    forms: list[Affine] = field(default_factory=list)

    @contextmanager
    def within(self, *forms: Affine) -> Iterator[None]:
        """Add *forms* for a nested block."""
        count = len(self.forms)
        self.forms.extend(forms)
        yield
        del self.forms[count:]

    def possible(self, *forms: Affine) -> bool:
        """Whether *forms* can all be >= 0 at once."""
        wanted = [form for form in forms if not form.is_constant]
        if any(form.constant < 0 for form in forms if form.is_constant):
            return False
        if not wanted:
            return True
        known = [*wanted, *self.forms]
        names = sorted({each for form in known for each in form.names()})
        system = System((), names)
        system.nonnegative(*known, *self._of_dims(names))
        return not system.to_set("facts").is_empty()

    def implies(self, form: Affine) -> bool:
        """Whether *form* is always >= 0."""
        return not self.possible(-form - 1)

    def remaining(self, forms: tuple[Affine, ...]) -> tuple[Affine, ...]:
        """Return those of *forms* that the others and what is known do not imply."""
        kept = list(dict.fromkeys(forms))
        for form in tuple(kept):
            others = [each for each in kept if each is not form]
            if not self.possible(*others, -form - 1):
                kept = others
        return tuple(kept)

    def _of_dims(self, names: list[str]) -> Iterator[Affine]:
        for each in names:
            dim = self.dims.get(each)
            if dim is None:
                continue
            yield name(each) - dim.min
            if dim.max is not None:
                yield -name(each) + dim.max
            if dim.multiple != 1:
                yield -(name(each) % dim.multiple)
