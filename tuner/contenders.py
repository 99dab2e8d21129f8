"""Where to find the library call that a kernel is compared with."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

from ..errors import ArgumentError
from ..ir.given import shown


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
) -> ContenderSource:
    """Return the source of an importable *function*, such as `numpy.matmul`.

    Raise ArgumentError for one that another process cannot find: a lambda, or a
    function of `__main__`.
    """
    try:
        data = pickle.dumps(function)
    except Exception as error:  # whatever an object's own methods raise
        raise _not_importable(function) from error
    if b"__main__" in data:
        raise _not_importable(function)
    return ContenderSource(name, kernel, base64.b64encode(data).decode())


def _not_importable(function: Callable[..., object]) -> ArgumentError:
    is_plain = isinstance(function, FunctionType)
    name = function.__qualname__ if is_plain else shown(function)
    return ArgumentError(
        f"tune: contender is {name}, which another process cannot import: pass a "
        "function at the top level of a module other than the script that runs, as "
        "numpy.matmul is"
    )
