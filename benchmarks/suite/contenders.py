"""Who can run a case: tdsl, and the libraries that state it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tdsl.paths import cache_folder

from ..harness import Contender
from .case import Case

OURS = ("tdsl", "tdsl-default")
ROOF = "roof"
_HEAP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
"""For libraries that allocate each result: freed memory stays with the process.

Otherwise the system clears the pages of every large result anew, and that is timed.
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """A library: the workload that runs it, and the prefix of statements for it.

    If *shared*, the statement without a prefix serves too.
    """

    workload: str
    way: str
    package: str
    shared: bool = False

    def runs(self, case: Case) -> bool:
        """Whether *case* is stated for this library."""
        module, kernel = case.peers(), case.kernel
        own = hasattr(module, f"{self.way}_{kernel}")
        return own or (self.shared and hasattr(module, kernel))


PEERS = {
    "numpy": Peer("numpy", "numpy", "numpy", shared=True),
    "torch": Peer("torch", "torch", "torch"),
    "torch-nchw": Peer("torch", "torch_nchw", "torch"),
    "torch-compile": Peer("torch_compile", "torch", "torch"),
    "jax": Peer("jax", "jax", "jax", shared=True),
    "numexpr": Peer("numexpr", "numexpr", "numexpr"),
    "numba": Peer("numba", "numba", "numba"),
    "onnxruntime": Peer("onnxruntime", "torch", "onnxruntime"),
}


def contenders(case: Case, threads: int) -> list[Contender]:
    """Return everyone who can run *case*, tdsl first, and the machine's limits."""
    arguments = case_arguments(case, threads)
    untuned = {"TDSL_CACHE": str(cache_folder() / "benchmarks-default")}
    ours = "benchmarks.suite.ours:tdsl_workload"
    return [
        Contender(ROOF, "benchmarks.suite.ours:roof_workload", arguments),
        Contender("tdsl", ours, arguments),
        Contender("tdsl-default", ours, arguments, environment=untuned),
        *(
            Contender(
                name,
                f"benchmarks.suite.workloads:{peer.workload}_workload",
                arguments | {"way": peer.way},
                peer.package,
                _HEAP,
            )
            for name, peer in PEERS.items()
            if peer.runs(case)
        ),
    ]


def case_arguments(case: Case, threads: int) -> dict[str, Any]:
    """Return what a contender's process needs to know, as JSON has it."""
    return {
        "family": case.family,
        "kernel": case.kernel,
        "dims": dict(case.dims),
        "specs": case.specs(),
        "names": case.names(),
        "free": case.free_dims(),
        "threads": threads,
    }
