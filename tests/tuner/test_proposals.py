"""Points are proposed once each, near the best one every few times."""

from __future__ import annotations

from collections.abc import Callable

import optuna
import pytest
from optuna.trial import TrialState

from tdsl.tuner.proposals import LOCAL_EARLY, LOCAL_EVERY, Proposer
from tdsl.tuner.records import Config
from tdsl.tuner.space import Subspace, config_key

from .fakes import FakeParam

SPACE = Subspace(
    (
        FakeParam("rows", (1, 2, 4, 8, 16)),
        FakeParam("order", ("ijk", "jik", "kij")),
        FakeParam("pack", (False, True)),
        FakeParam("only", (7,)),
    ),
    {"base": 1},
)
WIDE = Subspace(tuple(FakeParam(f"p{i}", tuple(range(20))) for i in range(6)), {})


def drawn(
    proposer: Proposer, ratio: Callable[[Config], float | None], most: int = 1000
) -> list[Config]:
    """Return what is proposed where each answer is told at once."""
    found: list[Config] = []
    while len(found) < most:
        proposal = proposer.propose({})
        if proposal is None:
            break
        found.append(dict(proposal.config))
        proposer.tell(proposal, ratio(proposal.config))
    return found


def test_every_point_is_proposed_once() -> None:
    found = drawn(Proposer(SPACE, 0), lambda config: float(config["rows"]))
    assert len(found) == SPACE.count == 30
    assert {config_key(config) for config in found} == {
        config_key(config) for config in SPACE.points()
    }
    assert all(config["base"] == 1 and config["only"] == 7 for config in found)


def test_every_point_is_proposed_where_nothing_is_feasible() -> None:
    assert len(drawn(Proposer(SPACE, 0), lambda config: None)) == 30


def test_a_space_without_choices_is_one_point() -> None:
    alone = Subspace((FakeParam("only", (7,)),), {"base": 1})
    assert drawn(Proposer(alone, 0), lambda config: 1.0) == [{"base": 1, "only": 7}]
    replayed = Proposer(alone, 0)
    replayed.replay({"base": 1, "only": 7}, 1.0)
    assert replayed.propose({}) is None


def test_known_answers_are_not_asked_for_but_taught() -> None:
    best = {"base": 1, "rows": 4, "order": "jik", "pack": True, "only": 7}
    answers = {config_key(c): 1.0 for c in SPACE.points() if c["rows"] != 2}
    proposer = Proposer(SPACE, 3)
    proposer.replay(best, 0.5)
    asked = []
    while (proposal := proposer.propose(answers)) is not None:
        asked.append(proposal.config)
        proposer.tell(proposal, 1.0)
    assert len(asked) == 6 and {config["rows"] for config in asked} == {2}


def test_what_was_replayed_is_not_proposed_again() -> None:
    proposer = Proposer(SPACE, 0)
    points = list(SPACE.points())
    for config in points[:20]:
        proposer.replay(config, None if config["pack"] else 1.0)
    found = drawn(proposer, lambda config: 1.0)
    keys = {config_key(c) for c in found}
    assert keys == {config_key(c) for c in points[20:]}


def is_near(config: Config, best: Config) -> bool:
    moved = [name for name in config if config[name] != best[name]]
    return len(moved) == 1 and abs(int(config[moved[0]]) - int(best[moved[0]])) == 1


@pytest.mark.parametrize("seed", range(3))
def test_one_proposal_in_a_few_lies_beside_the_best_point(seed: int) -> None:
    """Among twenty values of six parameters, chance hardly ever hits a neighbour."""
    best = {f"p{i}": 10 for i in range(6)}
    proposer = Proposer(WIDE, seed)
    proposer.replay(best, 0.5)
    found = drawn(proposer, lambda config: 1.0, most=40)
    near = [is_near(config, best) for config in found]
    asked = range(1, 41)  # the best point was asked for before
    early = [n for n in asked if n < 2 * proposer.startup]
    every = {n for n in early if n % LOCAL_EARLY == 0}
    every |= {n for n in asked if n not in early and n % LOCAL_EVERY == 0}
    local = 0
    for number, beside in zip(asked, near, strict=True):
        if number in every and local < 12:  # there are twelve neighbours
            assert beside, number
        local += beside
    assert not any(near[: LOCAL_EARLY - 1])


def test_the_neighbours_are_those_of_the_best_answer() -> None:
    proposer = Proposer(WIDE, 1)
    worse, best = {f"p{i}": 3 for i in range(6)}, {f"p{i}": 15 for i in range(6)}
    proposer.replay(best, 0.5)
    proposer.replay(worse, 0.9)
    proposer.replay({**worse, "p0": 9}, None)
    proposer.replay({**best, "p0": 2}, 0.5)  # as good, but later
    proposal = proposer.propose({})
    assert proposal is not None and is_near(proposal.config, best)


def test_the_sampler_learns_where_the_good_points_are() -> None:
    """After a hundred answers most of its own points lie in the good half."""
    space = Subspace((FakeParam("x", tuple(range(4000))),), {})
    proposer = Proposer(space, 0)
    for value in range(0, 4000, 40):
        proposer.replay({"x": value}, 1.0 + abs(value - 1000) / 1000)
    found = drawn(
        proposer, lambda config: 1.0 + abs(int(config["x"]) - 1000) / 1000, 30
    )
    assert sum(int(config["x"]) < 2000 for config in found) >= 24


def test_the_seed_decides() -> None:
    def order(seed: int) -> list[Config]:
        return drawn(Proposer(SPACE, seed), lambda config: 1.0)

    assert order(1) == order(1) != order(2)


def test_the_users_verbosity_of_optuna_is_left_alone() -> None:
    before = optuna.logging.get_verbosity()
    try:
        optuna.logging.set_verbosity(optuna.logging.DEBUG)
        Proposer(SPACE, 0)
        assert optuna.logging.get_verbosity() == optuna.logging.DEBUG
    finally:
        optuna.logging.set_verbosity(before)


def test_the_sampler_is_told_the_answer_to_a_repeat() -> None:
    """Or it would wait for it, and draw the same point again and again."""
    proposer = Proposer(SPACE, 0)
    answers = {config_key(c): float(c["rows"]) for c in SPACE.points() if c["pack"]}
    while (proposal := proposer.propose(answers)) is not None:
        proposer.tell(proposal, 1.0)
    trials = proposer._study.trials
    assert {trial.state for trial in trials} <= {TrialState.COMPLETE, TrialState.FAIL}
    known = [t for t in trials if t.params["pack"] and t.state == TrialState.COMPLETE]
    assert {t.value for t in known} == {1.0, 2.0, 4.0, 8.0, 16.0}
