"""Progress of a search on a terminal, or as sparse lines in a log."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import TextIO

from .report import duration
from .search import View

_BAR = 20
_LOG_SECONDS = 10.0


@dataclass(slots=True)
class Progress:
    """Show views of a search on *stream*; *work* turns seconds into a speed.

    *work* is operations (or bytes) of a call and *unit* what they are per nanosecond.
    """

    stream: TextIO
    work: int
    unit: str
    _shown: float = field(default=-1e9, init=False)
    _speedup: float | None = field(default=None, init=False)
    _width: int = field(default=0, init=False)

    def __call__(self, view: View) -> None:
        """Show *view*: at once on a terminal, now and then elsewhere."""
        if self.stream.isatty():
            columns = shutil.get_terminal_size().columns - 1
            text = self.line(view)[:columns]
            self.stream.write("\r" + text.ljust(self._width))
            self.stream.flush()
            self._width = len(text)
            return
        news = view.speedup is not None and view.speedup != self._speedup
        wait = 1.0 if news else _LOG_SECONDS
        if view.elapsed - self._shown >= wait:
            self._shown, self._speedup = view.elapsed, view.speedup
            self.stream.write(self.line(view) + "\n")
            self.stream.flush()

    def close(self) -> None:
        """Clear the line, so that the report starts at its beginning."""
        if self.stream.isatty() and self._width:
            self.stream.write("\r" + " " * self._width + "\r")
            self.stream.flush()

    def line(self, view: View) -> str:
        """Return *view* as one line."""
        done = min(1.0, view.elapsed / view.budget) if view.budget else 1.0
        bar = "#" * round(done * _BAR)
        parts = [f"[{bar.ljust(_BAR)}] {view.elapsed:.0f}/{view.budget:.0f} s"]
        parts.append(view.phase)
        parts.append(f"{view.tried} measured")
        if view.refused or view.failed:
            parts.append(f"{view.refused} refused, {view.failed} failed")
        if view.best_seconds:
            speed = self.work / view.best_seconds * 1e-9
            parts.append(
                f"best {speed:.4g} {self.unit} ({duration(view.best_seconds)})"
            )
        if view.speedup is not None:
            parts.append(f"{view.speedup:.2f}x default")
        return ", ".join(parts)
