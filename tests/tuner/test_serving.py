"""What a worker answers, with an engine that compiles nothing."""

from __future__ import annotations

import gc
import io
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import pytest

from tdsl.tuner.serving import Reply, Request, Sizes, serve
from tdsl.tuner.timing import Subject, TimingLimits


@dataclass
class WatchingEngine:
    """Notes, whenever a program runs, what the garbage collector would do."""

    collecting: set[bool] = field(default_factory=set)
    frozen: list[int] = field(default_factory=list)

    def prepare(self, request: Request) -> Reply:
        return {}

    def load(self, name: str, request: Request) -> Reply:
        return {}

    def check(self, name: str, sizes: Sizes) -> Reply:
        raise ValueError("as planned")

    def run(self, name: str, sizes: Sizes) -> Subject:
        return Subject(self.note)

    def peak(self, request: Request) -> Reply:
        return {}

    def note(self) -> None:
        self.collecting.add(gc.isenabled())
        self.frozen.append(gc.get_freeze_count())


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def replies(engine: WatchingEngine, *requests: dict[str, Any]) -> list[dict[str, Any]]:
    out = io.StringIO()
    serve(engine, io.StringIO("".join(json.dumps(r) + "\n" for r in requests)), out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


PROGRAM = {"name": "p", "sizes": []}
LIMITS = asdict(TimingLimits(batch_seconds=1e-5, warm_up_seconds=1e-5, max_rounds=3))
PAIR = {"do": "pair", "rival": PROGRAM, "candidate": PROGRAM, "limits": LIMITS}
ROUNDS = {"do": "rounds", "programs": [PROGRAM], "rounds": 2, "limits": LIMITS}


@pytest.mark.parametrize("request_", [PAIR, ROUNDS], ids=lambda r: r["do"])
def test_the_collector_rests_while_programs_are_timed(request_: dict[str, Any]) -> None:
    engine = WatchingEngine()
    *_, reply = replies(engine, request_)
    assert "cause" not in reply
    assert engine.collecting == {False} and gc.isenabled()


def test_what_survived_is_not_walked_again() -> None:
    """Hundreds of thousands of objects of the compiler live as long as a worker."""
    engine = WatchingEngine()
    replies(engine, PAIR)
    assert min(engine.frozen) > 10_000


def test_a_failure_is_an_answer_and_the_next_request_is_served() -> None:
    check = {"do": "check", "name": "p", "sizes": []}
    ready, beat, failed, again, done = replies(
        WatchingEngine(), check, {"do": "prepare"}
    )
    assert "ready" in ready and beat == {"beat": "check"} and again["beat"] == "prepare"
    assert (failed["cause"], failed["detail"].split(" (")[0]) == (
        "ValueError",
        "as planned",
    )
    assert failed["resident"] > 0 and done.keys() == {"resident"}
