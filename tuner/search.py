"""The search: propose, build, compile, check, time, record, until the time is up.

Structures (which need a compilation) and sizes (which do not) are searched in turns:
structures first, then the sizes of the best few. `contest` says who leads.

Time is wall-clock time. Whatever was tried before, in this job or an earlier one, is
answered from the ledger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..errors import CacheError, TuningError
from .candidates import Candidate, Refused, Workshop
from .contest import Contest
from .deadline import Deadline, OutOfTime
from .journal import Journal
from .process import Interrupted
from .proposals import Proposal, Proposer
from .records import Config, ranked
from .space import ConfigKey, SearchSpace, Subspace, config_key

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
    _deadline: Deadline = field(init=False)
    _contest: Contest = field(init=False)
    _phase: str = field(default="default", init=False)
    _tried: Counter[str] = field(default_factory=Counter, init=False)
    _spent: dict[str, float] = field(default_factory=dict, init=False)
    _charged: float = field(default=0.0, init=False)
    _refusals: int = field(default=0, init=False)

    def run(self) -> Found:
        """Search until the budget is spent, the space exhausted, or told to stop."""
        self._deadline = Deadline(self.budget, self.clock, self.should_stop)
        self._contest = Contest(self.workshop, self.journal, self._deadline)
        resumed = self.journal.replay()
        stop: Stop = "exhausted"
        trouble = ""
        try:
            self._measure_default()
            self._contest.resume()
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
            if isinstance(error, TuningError) and self._contest.best is None:
                raise
            stop, trouble = "trouble", f"the search ended early: {error}"
        return Found(
            stop,
            self._contest.default,
            self._contest.best,
            self._contest.best_ratio,
            self._contest.noise,
            len(self.journal.trials),
            resumed,
            trouble,
            self._rates(),
        )

    def _rates(self) -> dict[str, float]:
        """Return the candidates tried in a second, by what they took."""
        return {p: self._tried[p] / s for p, s in self._spent.items() if s > 0}

    # --- before the search -----------------------------------------------------

    def _measure_default(self) -> None:
        candidate = self._build_default()
        if candidate is not None:
            self._contest.open_with(candidate)
        if self._contest.best is not None:
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

    # --- rounds and phases -----------------------------------------------------

    def _round(self) -> bool:
        """Search structures, then the sizes of the leaders; False when exhausted.

        Once both are known around the best point, try what is left, anywhere.
        """
        before = len(self.journal.answers)
        best = self._contest.best
        base = (best and best.config) or self.space.default()
        share = STRUCTURE_SHARE * self._deadline.remaining()
        self._search(self.space.structures(base), "structure", share)
        leaders = self._leaders()
        for position, config in enumerate(leaders):
            share = self._deadline.remaining() / (len(leaders) - position + 1)
            self._search(self.space.sizes(config), "size", share)
        if len(self.journal.answers) == before:
            share = self._deadline.remaining()
            self._search(self.space.everything(base), "anything", share)
        return len(self.journal.answers) > before

    def _leaders(self) -> list[Config]:
        """Return the best point of each of the best structures."""
        found: dict[ConfigKey, Config] = {}
        best = [self._contest.best.config] if self._contest.best else []
        others = [record.config for record in ranked(self.journal.trials.values())]
        for config in filter(None, [*best, *others]):
            found.setdefault(self.space.structure_of(config), config)
            if len(found) == LEADERS:
                break
        return list(found.values())

    def _search(self, space: Subspace, phase: Phase, seconds: float) -> None:
        """Try points of *space* until it is exhausted, stale, or *seconds* are over."""
        self._phase, self._charged = phase, self._deadline.elapsed()
        try:
            self._search_until(space, phase, self._charged + seconds)
        finally:
            self._charge(phase)

    def _charge(self, phase: Phase, candidates: int = 0) -> None:
        """Count *candidates* and the time since the last charge towards *phase*."""
        now = self._deadline.elapsed()
        self._tried[phase] += candidates
        self._spent[phase] = self._spent.get(phase, 0.0) + now - self._charged
        self._charged = now

    def _search_until(self, space: Subspace, phase: Phase, until: float) -> None:
        proposer = Proposer(space, self.journal.seed + len(self.journal.answers))
        for config in self._known_points(space):
            proposer.replay(config, self.journal.answers[config_key(config)])
        stale = 0
        while self._deadline.elapsed() < until and stale < PATIENCE[phase]:
            incumbent, known = self._contest.best, len(self.journal.answers)
            batch = self._gather(proposer)
            self._measure_batch(proposer, batch, phase)
            if len(self.journal.answers) == known:
                return
            stale = stale + len(batch) if self._contest.best is incumbent else 0

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
            self._deadline.check()
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

    def _measure_batch(self, proposer: Proposer, batch: Batch, phase: Phase) -> None:
        """Compile and measure a batch; tell the proposer the answers.

        A size that changes the program (one that leaves a loop a single iteration may)
        counts as a structure, with the time that it takes: it has to be compiled.
        """
        self._charge(phase)
        candidates = [candidate for candidate, _ in batch.values()]
        compiled = self._contest.compile(candidates) if batch else []
        self._charge("structure" if any(compiled) else phase)
        for (candidate, twins), seconds in zip(batch.values(), compiled, strict=True):
            ratio = self._contest.enter(candidate, seconds)
            self._charge("structure" if seconds else phase, 1)
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
        best = self._contest.best
        if all(best and record.candidate == best.identity for record in measured):
            raise NothingBuilds

    def _show(self) -> None:
        records, contest = self.journal.trials.values(), self._contest
        self.listen(
            View(
                self._deadline.elapsed(),
                self.budget,
                sum(record.status == "measured" for record in records),
                sum(record.status == "refused" for record in records),
                sum(record.status == "failed" for record in records),
                contest.best_seconds,
                None if contest.best is None else 1.0 / contest.best_ratio,
                self._phase,
            )
        )
