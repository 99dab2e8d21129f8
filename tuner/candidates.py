"""A candidate on its way from a point of the space to a measured time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .records import Config, Record, Status, digest

COMPILE_LIMIT = 60.0
"""Seconds of compilation after which a candidate is given up, at most."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A built and proved program: generated text by hash, and its run-time sizes.

    Two points of the space that generate the same program are one candidate. *program*
    is for whoever compiles it.
    """

    config: Config
    structure: str
    sizes: tuple[int, ...]
    schedule: Any = None
    scheduled: str = ""
    proof: str = "proved"
    text: str = field(default="", compare=False, repr=False)
    program: Any = field(default=None, compare=False, repr=False)

    @property
    def identity(self) -> str:
        """What the ledger calls this candidate."""
        return digest([self.structure, list(self.sizes)])


def describe(candidate: Candidate, status: Status) -> Record:
    """Return a record of *candidate* without results."""
    return Record(
        "",
        "trial",
        candidate.identity,
        status,
        candidate.config,
        candidate.structure,
        candidate.sizes,
        candidate.schedule,
        candidate.scheduled,
        candidate.proof,
    )


@dataclass(frozen=True, slots=True)
class Measurement:
    """A checked candidate's time beside its rival's, in interleaved rounds."""

    samples: tuple[float, ...]
    rival_samples: tuple[float, ...]
    max_error_over_bound: float | None = None
    stopped: str = ""


class Refused(Exception):
    """A point of the space has no legal schedule: a constraint, not a failure."""

    def __init__(self, cause: str, detail: str, proof: str = "") -> None:
        super().__init__(f"{cause}: {detail}")
        self.cause = cause
        self.detail = detail
        self.proof = proof


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a candidate has no time: did not compile, crashed, hung, or was wrong."""

    cause: str
    detail: str


class Builder(Protocol):
    """Builds candidates."""

    def build(self, config: Config) -> Candidate:
        """Return the proved program of a point; raise Refused if there is none."""


def rebuild(builder: Builder, record: Record) -> Candidate | None:
    """Return the candidate of *record*, or None where its config means another now."""
    try:
        candidate = builder.build(record.config)
    except Refused:
        return None
    return candidate if candidate.identity == record.candidate else None


class Workshop(Builder, Protocol):
    """Builds, compiles, checks and times candidates."""

    @property
    def parallel(self) -> int:
        """How many programs it compiles at once."""

    def build(self, config: Config) -> Candidate:
        """Return the proved program of a point; raise Refused if there is none.

        The empty config stands for what a kernel runs where no point is feasible.
        """

    def compile(
        self, candidates: Sequence[Candidate], limit: float
    ) -> list[float | Failure]:
        """Compile each candidate; return the seconds it took, or why it did not."""

    def measure(
        self, candidate: Candidate, rival: Candidate, noise: float
    ) -> Measurement | Failure:
        """Check *candidate* and time it against *rival*, which was checked before."""
