"""The search: propose, build, compile, check, time, record, until the time is up.

The default schedule is measured first and is the first incumbent. From then on every
candidate runs in interleaved rounds against the incumbent. It replaces it only if it is
faster beyond the noise, and still is in a second look against the default. Structures
(which need a compilation) and sizes (which do not) are searched in turns: structures
first, then the sizes of the best few.

Time is wall-clock time. Whatever was tried before, in this job or an earlier one, is
answered from the ledger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..errors import CacheError, TuningError
from .candidates import (
    Candidate,
    Failure,
    Measurement,
    Refused,
    Workshop,
    rebuild,
)
from .journal import Journal
from .process import Interrupted
from .proposals import Proposal, Proposer
from .records import Config, ranked
from .space import ConfigKey, SearchSpace, Subspace, config_key
from .statistics import FLOOR, judge, median, median_interval, noise_floor, ratios

Stop = Literal[
    "budget", "exhausted", "nothing else builds", "interrupted", "unproved", "trouble"
]
Phase = Literal["structure", "size", "anything"]

STRUCTURE_SHARE = 0.5
"""The part of the remaining time that a round of structure search may use."""
LEADERS = 3
"""How many structures have their sizes searched in a round."""
PROPOSALS = 16
"""Proposals for a batch: refused ones make room for others, but not for ever."""
PATIENCE: dict[Phase, int] = {"structure": 24, "size": 24, "anything": 24}
"""Candidates without a new incumbent after which a phase ends."""
HOPELESS = 40
"""Refusals in a row after which a search that measured only the default ends."""
NOISE_CAP = 0.03
"""The largest noise assumed: beyond it the interval of each comparison decides."""
GRACE = 0.05
"""The part of the budget by which the candidate in flight may overrun it."""
COMPILE_LIMIT = 60.0
"""Seconds of compilation after which a candidate is given up, at most."""


@dataclass(frozen=True, slots=True)
class View:
    """What a progress display shows."""

    elapsed: float
    budget: float
    tried: int
    refused: int
    failed: int
    best_seconds: float | None
    speedup: float | None
    phase: str


@dataclass(frozen=True, slots=True)
class Found:
    """How a search ended; ranked candidates are in the records of its ledger.

    *default* is None where it has no time; ratios then refer to another candidate.
    *rates* has the candidates tried in a second by phase.
    """

    stop: Stop
    default: Candidate | None
    best: Candidate | None
    best_ratio: float
    noise: float
    tried: int
    resumed: int
    trouble: str = ""
    rates: Mapping[str, float] = field(default_factory=dict)


Batch = dict[str, tuple[Candidate, list[Proposal]]]
"""Candidates by identity, each with the proposals that led to it."""


class OutOfTime(Exception):
    """The budget is spent."""


class NothingBuilds(Exception):
    """Point after point is refused."""


class Unproved(Exception):
    """Not even the default schedule is proved."""


@dataclass(slots=True)
class Search:
    """One search; create it and call `run` once."""

    space: SearchSpace
    workshop: Workshop
    journal: Journal
    budget: float
    clock: Callable[[], float]
    should_stop: Callable[[], bool] = lambda: False
    listen: Callable[[View], None] = lambda view: None
    reference: Candidate | None = field(default=None, init=False)
    default: Candidate | None = field(default=None, init=False)
    best: Candidate | None = field(default=None, init=False)
    best_ratio: float = field(default=1.0, init=False)
    noise: float = field(default=FLOOR, init=False)
    _start: float = field(default=0.0, init=False)
    _best_seconds: float | None = field(default=None, init=False)
    _compile_times: list[float] = field(default_factory=list, init=False)
    _phase: str = field(default="default", init=False)
    _tried: Counter[str] = field(default_factory=Counter, init=False)
    _spent: dict[str, float] = field(default_factory=dict, init=False)
    _refusals: int = field(default=0, init=False)

    def run(self) -> Found:
        """Search until the budget is spent, the space exhausted, or told to stop."""
        self._start = self.clock()
        resumed = self.journal.replay()
        stop: Stop = "exhausted"
        trouble = ""
        try:
            self._measure_default()
            self._resume_best()
            while self._round():
                pass
        except OutOfTime:
            stop = "budget"
        except NothingBuilds:
            stop = "nothing else builds"
        except Interrupted:
            stop = "interrupted"
        except Unproved as error:
            stop, trouble = "unproved", str(error)
        except (OSError, CacheError, TuningError) as error:
            if isinstance(error, TuningError) and self.best is None:
                raise
            stop, trouble = "trouble", f"the search ended early: {error}"
        return Found(
            stop,
            self.default,
            self.best,
            self.best_ratio,
            self.noise,
            len(self.journal.trials),
            resumed,
            trouble,
            self._rates(),
        )

    def _rates(self) -> dict[str, float]:
        """Return the candidates tried in a second, by phase."""
        return {p: self._tried[p] / s for p, s in self._spent.items() if s > 0}

    # --- before the search -----------------------------------------------------

    def _measure_default(self) -> None:
        """Measure the default against itself: its time, and the noise of equals."""
        candidate = self._build_default()
        if candidate is None:
            return
        known = self.journal.trials.get(candidate.identity)
        if known is not None and known.status == "failed":
            known = None  # everything refers to it: worth another try each time
        seconds = self._compile([candidate])[0]
        result: Measurement | Failure
        if isinstance(seconds, Failure):
            result, seconds = seconds, 0.0
        else:
            result = self.workshop.measure(candidate, candidate, FLOOR)
        if isinstance(result, Failure):
            self.journal.fail(candidate, result, seconds)
            return
        self.default = candidate
        self._become_reference(candidate, result)
        if known is None:
            self.journal.measure(candidate, candidate, result, 1.0, seconds)
        self._show()

    def _build_default(self) -> Candidate | None:
        """Build what a kernel runs untuned; raise Unproved where that has no proof.

        Nothing runs without a proof, and where the default has none the sketch's other
        points, which are built from the same primitives, have none either.
        """
        undecided = ""
        for config in (self.space.default(), {}):
            try:
                return self.workshop.build(config)
            except Refused as refused:
                self.journal.refuse(config, refused)
                if refused.proof in ("unknown", "refuted"):
                    undecided = refused.detail
        if undecided:
            raise Unproved(f"the default schedule has no proof: {undecided}")
        return None

    def _become_reference(self, candidate: Candidate, result: Measurement) -> None:
        """Make *candidate* what ratios refer to, and the incumbent."""
        noise = noise_floor(ratios(result.rival_samples, result.samples))
        self.noise = min(noise, NOISE_CAP)
        self.reference = self.best = candidate
        self.best_ratio = 1.0
        self._best_seconds = median(result.samples)

    def _resume_best(self) -> None:
        """Bring the best candidate of earlier jobs back as the incumbent."""
        if self.reference is None:
            return
        for record in ranked(self.journal.trials.values()):
            assert record.ratio is not None
            if record.ratio >= 1.0 - self.noise:
                return
            candidate = rebuild(self.workshop, record)
            if candidate is None:
                continue
            (seconds,) = self._compile([candidate])
            if isinstance(seconds, Failure):
                continue
            result = self.workshop.measure(candidate, self.reference, self.noise)
            if isinstance(result, Measurement):
                found = median(ratios(result.rival_samples, result.samples))
                if found < 1.0:
                    self._take(candidate, found, median(result.samples))
                return

    # --- rounds and phases -----------------------------------------------------

    def _round(self) -> bool:
        """Search structures, then the sizes of the leaders; False when exhausted.

        Once both are known around the best point, try what is left, anywhere.
        """
        before = len(self.journal.answers)
        base = (self.best and self.best.config) or self.space.default()
        until = self._elapsed() + STRUCTURE_SHARE * self._remaining()
        self._search(self.space.structures(base), "structure", until)
        leaders = self._leaders()
        for position, config in enumerate(leaders):
            share = self._remaining() / (len(leaders) - position + 1)
            self._search(self.space.sizes(config), "size", self._elapsed() + share)
        if len(self.journal.answers) == before:
            everything = self.space.everything(base)
            self._search(everything, "anything", self._elapsed() + self._remaining())
        return len(self.journal.answers) > before

    def _leaders(self) -> list[Config]:
        """Return the best point of each of the best structures."""
        found: dict[ConfigKey, Config] = {}
        best = [self.best.config] if self.best else []
        others = [record.config for record in ranked(self.journal.trials.values())]
        for config in filter(None, [*best, *others]):
            found.setdefault(self.space.structure_of(config), config)
            if len(found) == LEADERS:
                break
        return list(found.values())

    def _search(self, space: Subspace, phase: Phase, until: float) -> None:
        """Try points of *space* until it is exhausted, stale, or *until* has come."""
        self._phase, start = phase, self._elapsed()
        try:
            self._search_until(space, phase, until)
        finally:
            spent = self._elapsed() - start
            self._spent[phase] = self._spent.get(phase, 0.0) + spent

    def _search_until(self, space: Subspace, phase: Phase, until: float) -> None:
        proposer = Proposer(space, self.journal.seed + len(self.journal.answers))
        for config in self._known_points(space):
            proposer.replay(config, self.journal.answers[config_key(config)])
        stale = 0
        while self._elapsed() < until and stale < PATIENCE[phase]:
            incumbent, known = self.best, len(self.journal.answers)
            batch = self._gather(proposer)
            self._measure_batch(proposer, batch)
            if len(self.journal.answers) == known:
                return
            stale = stale + len(batch) if self.best is incumbent else 0

    def _known_points(self, space: Subspace) -> Iterator[Config]:
        """Yield the points of *space* with an answer, oldest first."""
        names = {param.name for param in space.params}
        fixed = {k: v for k, v in space.base.items() if k not in names}
        for key in self.journal.answers:
            config = dict(key)
            same = all(config.get(name) == value for name, value in fixed.items())
            if config and same:
                yield config

    # --- one batch of candidates -----------------------------------------------

    def _gather(self, proposer: Proposer) -> Batch:
        """Return new candidates, as many as are compiled at once.

        Refusals and programs already known are answered on the way.
        """
        batch: Batch = {}
        for _ in range(PROPOSALS):
            self._check_time()
            proposal = proposer.propose(self.journal.answers)
            if proposal is None:
                break
            candidate = self._build(proposal.config)
            if candidate is None:
                proposer.tell(proposal, None)
            elif candidate.identity in self.journal.trials:
                known = self.journal.trials[candidate.identity]
                self.journal.answer(proposal.config, known.ratio)
                proposer.tell(proposal, known.ratio)
            else:
                self._refusals = 0
                _, twins = batch.setdefault(candidate.identity, (candidate, []))
                twins.append(proposal)
            if len(batch) == self.workshop.parallel:
                break
        return batch

    def _measure_batch(self, proposer: Proposer, batch: Batch) -> None:
        """Compile and measure a batch; tell the proposer the answers."""
        compiled = self._compile([c for c, _ in batch.values()]) if batch else []
        for (candidate, twins), seconds in zip(batch.values(), compiled, strict=True):
            ratio = self._measure(candidate, seconds)
            self._tried[self._phase] += 1
            for proposal in twins:
                self.journal.answer(proposal.config, ratio)
                proposer.tell(proposal, ratio)
            self._show()

    def _build(self, config: Config) -> Candidate | None:
        try:
            return self.workshop.build(config)
        except Refused as refused:
            self.journal.refuse(config, refused)
            self._note_refusal()
            return None

    def _note_refusal(self) -> None:
        self._refusals += 1
        if self._refusals < HOPELESS:
            return
        measured = ranked(self.journal.trials.values())
        if all(self.best and r.candidate == self.best.identity for r in measured):
            raise NothingBuilds

    def _compile(self, candidates: list[Candidate]) -> list[float | Failure]:
        limit = min(self._compile_limit(), self._time_left())
        results = self.workshop.compile(candidates, limit)
        self._compile_times += [s for s in results if not isinstance(s, Failure) and s]
        return results

    def _measure(self, candidate: Candidate, seconds: float | Failure) -> float | None:
        """Measure one compiled candidate, record it, return its ratio."""
        if isinstance(seconds, Failure):
            self._check_time()  # a limit cut short by the budget is nobody's failure
            self.journal.fail(candidate, seconds, 0.0)
            return None
        self._check_time()
        rival = self.best or candidate
        result = self.workshop.measure(candidate, rival, self.noise)
        if isinstance(result, Failure):
            self.journal.fail(candidate, result, seconds)
            return None
        if self.best is None:
            self._become_reference(candidate, result)
        found = median_interval(ratios(result.rival_samples, result.samples))
        ratio = found.median * self.best_ratio
        wins = judge(found, self.noise) == "faster"
        if wins:
            ratio = self._against_reference(candidate, ratio)
        self.journal.measure(candidate, rival, result, ratio, seconds)
        if wins and ratio < self.best_ratio * (1.0 - self.noise / 2):
            self._take(candidate, ratio, median(result.samples))
        return ratio

    def _against_reference(self, candidate: Candidate, ratio: float) -> float:
        """Return the ratio of a winner to the default, measured and not multiplied.

        A second look keeps lucky candidates from the throne, and errors of ratios from
        adding up over a chain of incumbents. Where it fails the first look stands, but
        does not win.
        """
        assert self.reference is not None
        result = self.workshop.measure(candidate, self.reference, self.noise)
        if isinstance(result, Failure):
            return max(ratio, self.best_ratio)
        return median(ratios(result.rival_samples, result.samples))

    def _take(self, candidate: Candidate, ratio: float, seconds: float) -> None:
        self.best = candidate
        self.best_ratio = ratio
        self._best_seconds = seconds

    # --- time ------------------------------------------------------------------

    def _elapsed(self) -> float:
        return self.clock() - self._start

    def _remaining(self) -> float:
        self._check_time()
        return self.budget - self._elapsed()

    def _time_left(self) -> float:
        """Return the seconds that the candidate in flight may still take."""
        return max(1.0, (1.0 + GRACE) * self.budget - self._elapsed())

    def _compile_limit(self) -> float:
        """Return the patience with a compilation, from those seen so far."""
        if len(self._compile_times) < 3:
            return COMPILE_LIMIT
        return min(COMPILE_LIMIT, 5.0 + 8.0 * median(self._compile_times))

    def _check_time(self) -> None:
        if self.should_stop():
            raise Interrupted
        if self._elapsed() >= self.budget:
            raise OutOfTime

    def _show(self) -> None:
        records = self.journal.trials.values()
        self.listen(
            View(
                self._elapsed(),
                self.budget,
                sum(record.status == "measured" for record in records),
                sum(record.status == "refused" for record in records),
                sum(record.status == "failed" for record in records),
                self._best_seconds,
                None if self.best is None else 1.0 / self.best_ratio,
                self._phase,
            )
        )
