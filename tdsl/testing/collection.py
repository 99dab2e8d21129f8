"""What `pytest --tdsl` collects: an item for each kernel, and each tuned schedule."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ..analysis.cost import cost
from ..entries import Entry, entries, program_hash
from ..errors import TdslError
from ..kernel import Kernel
from ..schedules.schedule import Schedule
from .case import Case
from .checking import check, check_schedule
from .effort import EXAMPLES
from .marking import Marks, marks_of
from .running import Trial

MOST_FLOPS = 1 << 31
"""Up to how much work a tuned schedule also runs at the sizes it was tuned for."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One check: of a kernel, or of the *entry* tuned for it."""

    kernel: Kernel
    options: Marks
    entry: Entry | None = None

    def run(self) -> None:
        """Check; raise where something is wrong."""
        kernel, options = self.kernel, self.options
        seed = options.seed or 0
        if self.entry is None:
            check(kernel, examples=options.examples, seed=seed, prepare=options.prepare)
            return
        schedule = Schedule.from_json(kernel.function, self.entry.schedule)
        check_schedule(
            kernel,
            schedule,
            examples=max(1, (options.examples or EXAMPLES) // 2),
            seed=seed,
            prepare=options.prepare,
        )
        dims = dict(self.entry.situation.dims)
        if cost(kernel.function, dims).flops <= MOST_FLOPS:
            trial = Trial(kernel, schedule, "compiled", options.prepare)
            trial.run(Case(dims, seed))


class KernelFile(pytest.Module):
    """A Python file with marked kernels."""

    options: Marks

    @classmethod
    def from_parent(  # type: ignore[override]
        cls, parent: pytest.Collector, *, path: Path, options: Marks
    ) -> KernelFile:
        """Make the collector of *path*."""
        made: KernelFile = super().from_parent(parent, path=path)
        made.options = options
        return made

    def collect(self) -> Iterator[KernelItem]:
        """Yield the checks of the kernels that the file defines, in its order."""
        for name, kernel in vars(self.obj).items():
            if not isinstance(kernel, Kernel) or not self._defines(kernel):
                continue
            marks = marks_of(kernel)
            if marks is None:
                continue
            options = Marks(
                marks.examples or self.options.examples,
                self.options.seed if marks.seed is None else marks.seed,
                marks.prepare,
            )
            yield self._item(name, Plan(kernel, options))
            for entry in _tuned(kernel):
                sizes = ",".join(f"{dim}={n}" for dim, n in entry.situation.dims)
                yield self._item(f"{name}[{sizes}]", Plan(kernel, options, entry))

    def _item(self, name: str, plan: Plan) -> KernelItem:
        item: KernelItem = KernelItem.from_parent(self, name=f"{name}", plan=plan)
        return item

    def _defines(self, kernel: Kernel) -> bool:
        """Whether the kernel is written in this file, and not imported by it."""
        span = kernel.function.span
        return span is None or os.path.realpath(span.file) == os.path.realpath(
            self.path
        )


def _tuned(kernel: Kernel) -> Iterator[Entry]:
    """Yield the stored entries of *kernel*, each schedule and size once."""
    seen = set()
    for entry in entries(program_hash(kernel.function)):
        key = (entry.situation.dims, entry.schedule)
        if key not in seen and entry.situation.numerics == kernel.numerics:
            seen.add(key)
            yield entry


class KernelItem(pytest.Item):
    """One kernel, or one tuned schedule of it."""

    plan: Plan

    @classmethod
    def from_parent(  # type: ignore[override]
        cls, parent: KernelFile, *, name: str, plan: Plan
    ) -> KernelItem:
        """Make the item that runs *plan*."""
        made: KernelItem = super().from_parent(parent, name=name)
        made.plan = plan
        return made

    def runtest(self) -> None:
        """Check the kernel."""
        self.plan.run()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:  # type: ignore[override]
        """Show the report alone: a traceback would lead into tdsl."""
        if isinstance(excinfo.value, TdslError):
            notes = getattr(excinfo.value, "__notes__", ())
            return "\n".join([str(excinfo.value), *notes])
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the place of the kernel's text."""
        span = self.plan.kernel.function.span
        line = span.line - 1 if span else None
        return self.path, line, f"tdsl: {self.name}"
