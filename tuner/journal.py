"""What a search knows: every candidate's record, and the answer for every point."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from .candidates import Candidate, Failure, Measurement, Refused, describe
from .ledger import Ledger
from .records import Config, Record, digest
from .space import ConfigKey, config_key
from .statistics import median


@dataclass(slots=True)
class Journal:
    """The ledger seen from a search: what was tried before counts as tried.

    *answers* has the ratio of a point to the default, or None for a point without one.
    """

    ledger: Ledger
    space: str
    seed: int
    trials: dict[str, Record] = field(default_factory=dict)
    answers: dict[ConfigKey, float | None] = field(default_factory=dict)

    def replay(self) -> int:
        """Take over what earlier jobs with the same key tried; return how much.

        A failure that a crowded machine may have caused gets one more chance.
        """
        for record in self.ledger.trials().values():
            if not (
                _by_accident(record) and self.ledger.failures(record.candidate) < 2
            ):
                self._remember(record)
        return len(self.trials)

    def answer(self, config: Config, ratio: float | None) -> None:
        """Note that a point generates a program with a known ratio."""
        self.answers[config_key(config)] = ratio

    def refuse(self, config: Config, refused: Refused) -> None:
        """Record a point that has no legal schedule."""
        name = digest([self.space, config])
        if name in self.trials:
            return
        record = Record("", "trial", name, "refused", config)
        self._record(
            replace(
                record,
                proof=refused.proof,
                cause=refused.cause,
                detail=refused.detail,
            )
        )

    def fail(self, candidate: Candidate, failure: Failure, seconds: float) -> None:
        """Record a candidate that has no time, after *seconds* of compilation."""
        if candidate.identity in self.trials:
            return
        record = replace(
            describe(candidate, "failed"),
            cause=failure.cause,
            detail=failure.detail,
            compile_seconds=seconds,
        )
        self._record(record)

    def measure(
        self,
        candidate: Candidate,
        rival: Candidate,
        result: Measurement,
        ratio: float,
        seconds: float,
    ) -> None:
        """Record a measured candidate, after *seconds* of compilation."""
        record = replace(
            describe(candidate, "measured"),
            max_error_over_bound=result.max_error_over_bound,
            ratio=ratio,
            seconds=median(result.samples),
            samples=result.samples,
            rival=rival.identity,
            rival_samples=result.rival_samples,
            compile_seconds=seconds,
            detail=result.stopped,
        )
        self._record(record)

    def _record(self, record: Record) -> None:
        record = replace(
            record,
            key=self.ledger.key.digest(),
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            seed=self.seed,
            space=self.space,
        )
        self.ledger.append(record)
        self._remember(record)

    def _remember(self, record: Record) -> None:
        self.trials[record.candidate] = record
        if record.space == self.space:
            self.answer(record.config, record.ratio)


def _by_accident(record: Record) -> bool:
    """Whether a failure may be due to others: too little time, or memory."""
    cause = record.cause.lower()
    signs = ("time limit", "memory", "crash (sigkill)")
    return record.status == "failed" and any(sign in cause for sign in signs)
