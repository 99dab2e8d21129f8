"""A search space, a workshop and a clock that need neither kernels nor time."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tdsl.errors import ScheduleError
from tdsl.tuner.candidates import Candidate, Failure, Measurement, Refused
from tdsl.tuner.journal import Journal
from tdsl.tuner.ledger import Ledger
from tdsl.tuner.records import Config, Key
from tdsl.tuner.search import Search
from tdsl.tuner.space import Scope, SearchSpace

KEY = Key("p0", "matmul", {"M": 8}, {"A": "f32"}, 1, "reassoc", "t0", {"tdsl": "0"})


@dataclass(frozen=True)
class FakeParam:
    name: str
    choices: tuple[int | str | bool, ...]
    scope: Scope = "structure"


@dataclass(frozen=True)
class FakeSketch:
    params: Sequence[FakeParam]

    def default(self) -> Config:
        return {param.name: param.choices[0] for param in self.params}

    def build(self, config: Config) -> Any:
        raise ScheduleError("fakes are built by their workshop")


class FakeClock:
    """Time passes only when somebody works."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def steady(config: Config) -> float:
    """Seconds of a point: least at rows=4, vectors=2, block=64."""
    rows, vectors, block = (int(config[n]) for n in ("rows", "vectors", "block"))
    return 1e-3 * (
        1.0 + abs(rows - 4) / 4 + abs(vectors - 2) / 2 + abs(block - 64) / 64
    )


ROOMY = FakeSketch(
    (
        FakeParam("rows", (1, 2, 4, 8)),
        FakeParam("vectors", (1, 2, 4)),
        FakeParam("block", (16, 32, 64, 128, 256), "size"),
    )
)


@dataclass
class FakeWorkshop:
    """Times are given by a function of the config; every step costs fake seconds."""

    seconds: Callable[[Config], float] = steady
    clock: FakeClock = field(default_factory=FakeClock)
    refuse: Callable[[Config], bool] = lambda config: False
    fail: Callable[[Config], str] = lambda config: ""
    spread: float = 0.01
    drift: float = 0.0
    compile_seconds: float = 1.0
    measure_seconds: float = 0.2
    sizes: Sequence[str] = ("block",)
    parallel: int = 2
    flavour: str = ""
    built: list[Config] = field(default_factory=list)
    measured: list[str] = field(default_factory=list)
    compiled: set[str] = field(default_factory=set)
    random: random.Random = field(default_factory=lambda: random.Random(0))

    def build(self, config: Config) -> Candidate:
        self.clock.now += 0.01
        self.built.append(config)
        if not config:
            config = {"rows": 8, "vectors": 4, "block": 256, "plain": True}
            return Candidate({}, "plain", (), schedule=[], program=config)
        if self.refuse(config):
            raise Refused("refused", "rows do not fit")
        sizes = tuple(int(config[n]) for n in self.sizes if n in config)
        rest = sorted((k, v) for k, v in config.items() if k not in self.sizes)
        return Candidate(
            config, f"{self.flavour}{rest}", sizes, schedule=[["split", config]]
        )

    def compile(
        self, candidates: Sequence[Candidate], limit: float
    ) -> list[float | Failure]:
        new = [c for c in candidates if c.structure not in self.compiled]
        self.clock.now += min(limit, self.compile_seconds) if new else 0.0
        self.compiled |= {c.structure for c in new}
        return [self.compile_seconds if c in new else 0.0 for c in candidates]

    def measure(
        self, candidate: Candidate, rival: Candidate, noise: float
    ) -> Measurement | Failure:
        self.measured.append(candidate.identity)
        self.clock.now += self.measure_seconds
        if self.fail(candidate.config):
            return Failure(self.fail(candidate.config), "as planned")
        pairs = [self._round(candidate, rival) for _ in range(9)]
        return Measurement(tuple(a for a, _ in pairs), tuple(b for _, b in pairs), 0.25)

    def _round(self, candidate: Candidate, rival: Candidate) -> tuple[float, float]:
        weather = 1.0 + self.drift * self.clock.now
        jitter = [1.0 + self.spread * self.random.random() for _ in range(2)]
        return (
            self.seconds(candidate.program or candidate.config) * weather * jitter[0],
            self.seconds(rival.program or rival.config) * weather * jitter[1],
        )


def search(
    workshop: FakeWorkshop,
    path: Path,
    *,
    sketch: FakeSketch = ROOMY,
    budget: float = 60.0,
    seed: int = 0,
    version: str = "",
) -> Search:
    ledger = Ledger.open(path, KEY)
    journal = Journal(ledger, version, seed)
    return Search(
        SearchSpace(sketch, version), workshop, journal, budget, workshop.clock
    )
