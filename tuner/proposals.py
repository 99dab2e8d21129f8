"""Ask Optuna for the next point, and never ask the machine the same thing twice.

Optuna is told every answer, but it draws with repetition. A repeat is answered from
memory; a run of repeats makes us draw an untried point ourselves, near the best one or
anywhere. No untried point left means the space is exhausted, which is a success.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    IntDistribution,
)
from optuna.trial import Trial, TrialState

from .records import Config
from .space import ConfigKey, Param, Subspace, config_key, is_ordered

REPEATS = 6
"""Repeats in a row after which we draw a point ourselves."""
ENUMERABLE = 20_000
"""Points up to which an exhausted space is recognised by enumeration."""
LOCAL_EARLY, LOCAL_EVERY = 2, 3
"""One proposal in so many, early and later, is a neighbour of the best point.

Defaults are good, so that random points rarely beat what lies next to them.
"""
_RANDOM_DRAWS = 400

Answers = Mapping[ConfigKey, float | None]
"""What is known: the ratio to the default, or None for a point without one."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A point to try, and Optuna's handle on it."""

    config: Config
    trial: Trial


@dataclass(slots=True)
class Proposer:
    """Propose points of one subspace."""

    space: Subspace
    seed: int
    startup: int = 10
    _study: optuna.Study = field(init=False)
    _random: random.Random = field(init=False)
    _asked: set[ConfigKey] = field(default_factory=set)
    _best: tuple[float, Config] | None = None

    def __post_init__(self) -> None:
        """Create the study; its one line of log is nobody's interest."""
        sampler = optuna.samplers.TPESampler(
            seed=self.seed, n_startup_trials=self.startup
        )
        verbosity = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            self._study = optuna.create_study(direction="minimize", sampler=sampler)
        finally:
            optuna.logging.set_verbosity(verbosity)
        self._random = random.Random(self.seed)

    def replay(self, config: Config, ratio: float | None) -> None:
        """Teach Optuna the answer for a point that was tried before."""
        self._asked.add(config_key(config))
        self._learn(config, ratio)
        if not self.space.open_params:
            return
        state = TrialState.PRUNED if ratio is None else TrialState.COMPLETE
        self._study.add_trial(
            optuna.trial.create_trial(
                params=_encode(self.space, config),
                distributions=_distributions(self.space),
                value=ratio,
                state=state,
            )
        )

    def propose(self, answers: Answers) -> Proposal | None:
        """Return a point that neither was asked before nor has a known answer.

        Return None when there is none left.
        """
        every = LOCAL_EARLY if len(self._asked) < 2 * self.startup else LOCAL_EVERY
        if self._best is not None and len(self._asked) % every == 0:
            near = self._near(lambda config: self._is_new(config, answers))
            if near is not None:
                return self._insist(near)
        for _ in range(REPEATS):
            proposal = self._ask()
            if self._is_new(proposal.config, answers):
                return self._hand_out(proposal)
            if config_key(proposal.config) in answers:
                self.tell(proposal, answers[config_key(proposal.config)])
            else:
                self._study.tell(proposal.trial, state=TrialState.FAIL)
        untried = self._draw(lambda config: self._is_new(config, answers))
        if untried is None:
            return None
        return self._insist(untried)

    def tell(self, proposal: Proposal, ratio: float | None) -> None:
        """Report the answer to a proposal; None means infeasible or failed."""
        self._learn(proposal.config, ratio)
        if ratio is None:
            self._study.tell(proposal.trial, state=TrialState.PRUNED)
        else:
            self._study.tell(proposal.trial, ratio)

    def _hand_out(self, proposal: Proposal) -> Proposal:
        self._asked.add(config_key(proposal.config))
        return proposal

    def _insist(self, config: Config) -> Proposal:
        """Make Optuna propose *config*, so that it learns from our own draws too."""
        self._study.enqueue_trial(_encode(self.space, config))
        return self._hand_out(self._ask())

    def _is_new(self, config: Config, answers: Answers) -> bool:
        key = config_key(config)
        return key not in self._asked and key not in answers

    def _ask(self) -> Proposal:
        trial = self._study.ask(_distributions(self.space))
        return Proposal(_decode(self.space, trial.params), trial)

    def _learn(self, config: Config, ratio: float | None) -> None:
        if ratio is not None and (self._best is None or ratio < self._best[0]):
            self._best = ratio, config

    def _near(self, is_new: Callable[[Config], bool]) -> Config | None:
        """Return an untried neighbour of the best point, if there is one."""
        if self._best is None:
            return None
        near = [c for c in self.space.neighbours(self._best[1]) if is_new(c)]
        return self._random.choice(near) if near else None

    def _draw(self, is_new: Callable[[Config], bool]) -> Config | None:
        """Return an untried point: near the best, else anywhere, else by counting."""
        near = self._near(is_new)
        if near is not None:
            return near
        for _ in range(_RANDOM_DRAWS):
            config = self.space.draw(self._random)
            if is_new(config):
                return config
        if self.space.count > ENUMERABLE:
            return None
        return next((c for c in self.space.points() if is_new(c)), None)


def _distributions(space: Subspace) -> dict[str, BaseDistribution]:
    """Return one fixed distribution a parameter; numbers are known by their rank.

    Ranks make doubling sizes (8, 16, 32) evenly spaced, and neighbours near.
    """
    return {param.name: _distribution(param) for param in space.open_params}


def _distribution(param: Param) -> BaseDistribution:
    if is_ordered(param):
        return IntDistribution(0, len(param.choices) - 1)
    return CategoricalDistribution(param.choices)


def _decode(space: Subspace, params: Config) -> Config:
    values = {
        p.name: p.choices[int(params[p.name])] if is_ordered(p) else params[p.name]
        for p in space.open_params
    }
    return space.with_values(values)


def _encode(space: Subspace, config: Config) -> Config:
    return {
        p.name: p.choices.index(config[p.name]) if is_ordered(p) else config[p.name]
        for p in space.open_params
    }
