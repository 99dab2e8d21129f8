"""The answer of a proof: a verdict, what was checked, and a witness if refuted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..ir.nodes import Span

KERNEL = "the kernel itself"
"""The name of the checks of what the user wrote; their reasons begin with a verb."""

Verdict = Literal["proved", "refuted", "unknown"]
DependenceKind = Literal["flow", "anti", "output", "reduction"]

DEPENDENCES: dict[DependenceKind, str] = {
    "flow": "a flow dependence on",
    "anti": "an anti-dependence on",
    "output": "an output dependence on",
    "reduction": "a reduction into",
}
"""What keeps two iterations in order: a write and then a read, the reverse, two writes,
or two updates of a sum."""


@dataclass(frozen=True, slots=True)
class Witness:
    """Concrete sizes and iterations that show the fault, and the element touched."""

    dims: tuple[tuple[str, int], ...]
    iterations: tuple[str, ...]
    element: str

    def __str__(self) -> str:
        sizes = ", ".join(f"{dim}={size}" for dim, size in self.dims)
        lines = [f"with {sizes}:" if sizes else "always:"]
        lines += [f"  {iteration}" for iteration in self.iterations]
        if not any(each.endswith(self.element) for each in self.iterations):
            lines.append(f"  element {self.element}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one of the checks that make up a proof.

    A fault of the kernel has the *span* of the text that is at fault, where known.
    """

    name: str
    verdict: Verdict
    reason: str = ""
    witness: Witness | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is known about a scheduled function.

    *proved* means that it computes the same values as the original for all sizes that
    the dims allow, however its parallel and vector loops run; *reassociated*, that
    some reductions add up in another order. *unknown* is neither legal nor illegal.
    """

    verdict: Verdict
    reason: str
    checks: tuple[Check, ...]
    witness: Witness | None = None
    reassociated: bool = False

    @property
    def kernel_fault(self) -> Check | None:
        """What is wrong with the kernel, whatever its schedule, or None."""
        faults = (c for c in self.checks if (c.name, c.verdict) == (KERNEL, "refuted"))
        return next(faults, None)

    def __str__(self) -> str:
        lines = [f"{self.verdict}: {self.reason}"]
        if self.witness is not None:
            lines.append(str(self.witness))
        return "\n".join(lines)


def conclude(checks: Sequence[Check], reassociated: bool) -> Certificate:
    """Return the certificate that follows from *checks*."""
    for verdict in ("refuted", "unknown"):
        for check in checks:
            if check.verdict == verdict:
                reason = f"{check.name}: {check.reason}"
                return Certificate(verdict, reason, tuple(checks), check.witness)
    order = "up to the order of reductions" if reassociated else "in the same order"
    reason = f"the same values as the kernel, {order}"
    return Certificate("proved", reason, tuple(checks), None, reassociated)
