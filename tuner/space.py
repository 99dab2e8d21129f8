"""The search space: the parameters of a sketch, and which points are near which.

A sketch (`schedules.sketches`) derives its parameters from the loops of a kernel and
turns a point of the space into a schedule. Here are only the questions a search asks:
what the default is, how many points there are, what lies next to a point.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Literal, Protocol

from .records import Config

Scope = Literal["structure", "size"]
ConfigKey = tuple[tuple[str, int | str | bool], ...]


class Param(Protocol):
    """A choice that a sketch leaves open.

    A `structure` parameter changes the generated program; a `size` parameter only the
    integers it is called with.
    """

    @property
    def name(self) -> str:
        """The parameter's name."""

    @property
    def choices(self) -> tuple[int | str | bool, ...]:
        """What it may be; numbers in order."""

    @property
    def scope(self) -> Scope:
        """Whether a change needs a new compilation."""


class Sketch(Protocol):
    """A family of schedules for one kernel."""

    @property
    def params(self) -> Sequence[Param]:
        """The open choices."""

    def default(self) -> Config:
        """Return the point to measure first."""

    def build(self, config: Config) -> Any:
        """Return the schedule of a point; raise ScheduleError if there is none."""


@dataclass(frozen=True, slots=True)
class Subspace:
    """The points that differ from *base* in *params* only."""

    params: tuple[Param, ...]
    base: Config

    @property
    def count(self) -> int:
        """The number of points."""
        return prod(len(param.choices) for param in self.params)

    @property
    def open_params(self) -> tuple[Param, ...]:
        """The parameters with more than one choice."""
        return tuple(param for param in self.params if len(param.choices) > 1)

    def with_values(self, values: Config) -> Config:
        """Return the point with *values* for the open parameters."""
        only = {p.name: p.choices[0] for p in self.params if len(p.choices) == 1}
        return {**self.base, **only, **values}

    def points(self) -> Iterator[Config]:
        """Yield every point, in the order of the choices."""
        params = self.open_params
        for values in product(*(param.choices for param in params)):
            names = (param.name for param in params)
            yield self.with_values(dict(zip(names, values, strict=True)))

    def draw(self, generator: random.Random) -> Config:
        """Return a point drawn uniformly."""
        values = {p.name: generator.choice(p.choices) for p in self.open_params}
        return self.with_values(values)

    def neighbours(self, config: Config) -> Iterator[Config]:
        """Yield the points that differ from *config* in one parameter, by one step.

        Of a parameter that is not a number every other choice is one step away.
        """
        for param in self.open_params:
            choices = param.choices
            at = choices.index(config[param.name])
            near: Sequence[int] = range(len(choices))
            if is_ordered(param):
                near = (at - 1, at + 1)
            for index in near:
                if index != at and 0 <= index < len(choices):
                    yield {**config, param.name: choices[index]}


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """All points of a sketch.

    *version* changes whenever a point may mean another schedule than before.
    """

    sketch: Sketch
    version: str = ""

    def default(self) -> Config:
        """Return the sketch's own choice, which is measured first."""
        return dict(self.sketch.default())

    def structures(self, base: Config) -> Subspace:
        """Return the points that share the sizes of *base*."""
        return self._vary("structure", base)

    def sizes(self, base: Config) -> Subspace:
        """Return the points that share the structure of *base*."""
        return self._vary("size", base)

    def everything(self, base: Config) -> Subspace:
        """Return all points."""
        return Subspace(tuple(self.sketch.params), dict(base))

    @property
    def count(self) -> int:
        """The number of points, feasible or not."""
        return prod(len(param.choices) for param in self.sketch.params)

    def structure_of(self, config: Config) -> ConfigKey:
        """Return what identifies the structure of *config*."""
        names = {p.name for p in self.sketch.params if p.scope == "structure"}
        return config_key({k: v for k, v in config.items() if k in names})

    def _vary(self, scope: Scope, base: Config) -> Subspace:
        params = tuple(param for param in self.sketch.params if param.scope == scope)
        return Subspace(params, dict(base))


def config_key(config: Config) -> ConfigKey:
    """Return *config* as a hashable value."""
    return tuple(sorted(config.items()))


def is_ordered(param: Param) -> bool:
    """Whether the choices of *param* are numbers in order, so that steps have sense."""
    if any(isinstance(c, bool) or not isinstance(c, int) for c in param.choices):
        return False
    return list(param.choices) == sorted(param.choices, key=int)
