"""`@tdsl.testing.checked`: the mark of kernels that `pytest --tdsl` checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

from ..errors import ArgumentError
from ..ir.given import shown

if TYPE_CHECKING:  # marking a kernel loads nothing that checking needs
    from ..kernel import Kernel
    from .running import Prepare

_ATTRIBUTE = "tdsl_checked"


@dataclass(frozen=True, slots=True)
class Marks:
    """How a kernel asks to be checked; None leaves it to the command line."""

    examples: int | None = None
    seed: int | None = None
    prepare: Prepare | None = None


@overload
def checked(kernel: Kernel) -> Kernel: ...
@overload
def checked(
    *,
    examples: int | None = None,
    seed: int | None = None,
    prepare: Prepare | None = None,
) -> Callable[[Kernel], Kernel]: ...
def checked(
    kernel: Kernel | None = None,
    *,
    examples: int | None = None,
    seed: int | None = None,
    prepare: Prepare | None = None,
) -> Kernel | Callable[[Kernel], Kernel]:
    """Mark a kernel for `pytest --tdsl`, above `@tdsl.kernel`; return the kernel.

    The options are those of `check`; they win over those of the command line.
    """
    marks = Marks(examples, seed, prepare)

    def mark(kernel: Kernel) -> Kernel:
        if not hasattr(kernel, "with_schedule"):
            raise ArgumentError(
                f"{shown(kernel)} is no kernel: write @tdsl.testing.checked above "
                "@tdsl.kernel"
            )
        vars(kernel)[_ATTRIBUTE] = marks
        return kernel

    return mark if kernel is None else mark(kernel)


def marks_of(kernel: Kernel) -> Marks | None:
    """Return how *kernel* was marked, or None."""
    found = vars(kernel).get(_ATTRIBUTE)
    assert found is None or isinstance(found, Marks)
    return found
