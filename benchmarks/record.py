"""Results on disk, a line for each problem, so that an interrupted run goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """A file of JSON lines: under which settings a problem was measured, and its rows.

    Without a *path* nothing is kept.
    """

    path: Path | None

    def find(self, settings: Entry) -> list[dict[str, Any]] | None:
        """Return the rows last measured under *settings*, None if there are none."""
        found = None
        for entry in self._entries():
            if entry["settings"] == settings:
                found = entry["rows"]
        return found

    def append(self, settings: Entry, rows: Sequence[Entry]) -> None:
        """Keep *rows*, at once."""
        if self.path is None:
            return
        line = json.dumps({"settings": dict(settings), "rows": [*map(dict, rows)]})
        # A line that was cut off by a kill must not swallow this one.
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")

    def _entries(self) -> list[dict[str, Any]]:
        if self.path is None or not self.path.exists():
            return []
        entries = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                entries.append(json.loads(line))
            except json.JSONDecodeError:
                continue
        return entries
