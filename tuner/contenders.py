"""Where to find the library call that a kernel is compared with."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class ContenderSource:
    """A function by pickled name, or by its place in the table of a user's file."""

    name: str
    kernel: str
    pickled: str = ""
    file: Path | None = None

    def requests(self, inputs: Sequence[Path]) -> list[dict[str, Any]]:
        """Return what to ask a contender's worker before timing it."""
        load = {"do": "load", "name": self.kernel, "pickled": self.pickled}
        return [
            {"do": "prepare", "inputs": [str(path) for path in inputs]},
            {**load, "file": "" if self.file is None else str(self.file)},
            {"do": "check", "name": self.kernel, "sizes": []},
        ]


def contender_function(
    kernel: str, function: Callable[..., object], name: str = "NumPy"
) -> ContenderSource | None:
    """Return the source of an importable *function*, such as `numpy.matmul`.

    A lambda or a function of `__main__` cannot be found by another process: None.
    """
    try:
        data = pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    if getattr(function, "__module__", "") == "__main__":
        return None
    return ContenderSource(name, kernel, base64.b64encode(data).decode())
