"""The worker that times a library (NumPy, say) on a kernel's inputs.

It is a process of its own, because idle threads of one library's pool disturb
another's. Only this child may load the user's file, for the function to call.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .problem import load_input
from .scripts import CONTENDERS, load_script
from .serving import Reply, Request, Sizes, run_worker
from .timing import Subject


@dataclass(slots=True)
class ContenderEngine:
    """Calls one function on the inputs, in the kernel's order."""

    _inputs: list[Any] = field(default_factory=list)
    _function: Callable[..., object] | None = None

    def prepare(self, request: Request) -> Reply:
        """Load the inputs."""
        self._inputs = [load_input(path) for path in request["inputs"]]
        return {}

    def load(self, name: str, request: Request) -> Reply:
        """Find the function: pickled by name, or in the user's file."""
        if request.get("pickled"):
            self._function = pickle.loads(base64.b64decode(request["pickled"]))
        else:
            module = load_script(Path(request["file"]))
            self._function = getattr(module, CONTENDERS)[name]
        return {}

    def check(self, name: str, sizes: Sizes) -> Reply:
        """Call it once, so that a mistake shows before timing."""
        self.run(name, sizes).run()
        return {}

    def run(self, name: str, sizes: Sizes) -> Subject:
        """Return a call of the function."""
        function, inputs = self._function, self._inputs
        assert function is not None
        return Subject(lambda: function(*inputs))

    def peak(self, request: Request) -> Reply:
        """Contenders have no peak of their own."""
        raise AssertionError


if __name__ == "__main__":
    run_worker(ContenderEngine)
