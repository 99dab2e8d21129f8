"""The integer-set model of a function, built statement by statement."""

from __future__ import annotations

from dataclasses import replace

from ..ir.affine import Affine, FloorDiv, name
from ..ir.inequalities import known_residue, unfloored
from ..ir.nodes import (
    Alloc,
    Block,
    For,
    Function,
    Gather,
    If,
    Load,
    Reduce,
    Scatter,
    Store,
)
from ..ir.walk import reads
from .chosen import free_index, free_loops, scatter_nest
from .model import Access, Case, Model, Occurrence, Place, Storage, dim_counters
from .sets import Set, System, UnsupportedError, set_name


def build_model(
    function: Function, *, labelled: bool = False, every_step: bool = False
) -> Model:
    """Return the model of *function*; raise `UnsupportedError` where there is none.

    With *labelled*, occurrences are called after the statements that they stand for.
    With *every_step*, loops that start at the largest of unlike bounds run by steps of
    one, through more values than they do: for what then holds all the more.
    """
    storage = {p.tensor.name: Storage(p.tensor, (), p.role) for p in function.params}
    counters = dim_counters(function)
    params = tuple(dim.name for dim in function.dims)
    model = Model(function, params, storage, counters)
    _Builder(model, labelled, every_step).block(function.body, Place())
    return model


class _Builder:
    def __init__(self, model: Model, labelled: bool, every_step: bool) -> None:
        self.model = model
        self.labelled = labelled
        self.every_step = every_step
        self.sequence = 0
        self.scatter: Scatter | None = None

    def block(self, block: Block, place: Place) -> None:
        for statement in block.statements:
            self.sequence += 1
            match statement:
                case For():
                    inside = self.enter(statement, place)
                    self.model.places[statement.axis] = inside
                    self.block(statement.body, inside)
                case If():
                    forms = tuple(map(self.model.in_counters, statement.conditions))
                    inner = replace(place, cases=place.narrowed(forms))
                    self.block(statement.body, inner)
                case Alloc():
                    storage = Storage(statement.tensor, place.axes, None)
                    self.model.storage[statement.tensor.name] = storage
                case Scatter():
                    self.scatter = statement
                    tensor = self.tensor(statement.tensor, place.axes).tensor
                    stem = f"{statement.tensor}@{self.sequence}_"
                    nest = scatter_nest(statement, tensor, stem)
                    self.block(Block((nest,)), place)
                    self.scatter = None
                case _:
                    self.model.occurrences.append(self.occurrence(statement, place))

    def enter(self, loop: For, place: Place) -> Place:
        convert = self.model.in_counters
        axis = name(loop.axis)
        starts = [convert(form) for form in loop.starts]
        alike = len({known_residue(start, loop.step) for start in starts}) == 1
        if loop.step == 1 or (self.every_step and not alike):
            cases = [tuple(unfloored(axis - start) for start in starts)]
        elif alike:
            values = _counted(starts, loop.step) + axis * loop.step
            self.model.counters[loop.axis] = values
            cases = [tuple(unfloored(values - start) for start in starts)]
        else:  # no counter: the axis steps from whichever start is the largest
            cases = [_from_start(axis, start, starts, loop.step) for start in starts]
        end = convert(axis) + 1
        stops = tuple(unfloored(convert(stop) - end) for stop in loop.stops)
        return Place(
            (*place.loops, loop),
            (*place.path, self.sequence),
            place.narrowed(*((*case, *stops) for case in cases)),
        )

    def occurrence(self, statement: Store | Reduce, place: Place) -> Occurrence:
        label = f"#{self.sequence}"
        if self.labelled and statement.instance:
            label = statement.instance.label
        domain = place.domain(self.model.function, label)
        write = self.access(place, statement.tensor, statement.index, domain)
        found = [
            self.read(read, f"{self.sequence}_{number}_", place, domain)
            for number, read in enumerate(reads(statement.value))
        ]
        where = (place.loops, place.path, self.sequence, place.cases)
        return Occurrence(
            label, statement, *where, domain, write, tuple(found), self.scatter
        )

    def read(
        self, read: Load | Gather, number: str, place: Place, domain: Set
    ) -> Access:
        if isinstance(read, Load):
            return self.access(place, read.tensor, read.index, domain)
        tensor = self.tensor(read.tensor, place.axes).tensor
        free = free_loops(read, tensor, f"{read.tensor}@{number}")
        inside = place
        for loop in free:
            inside = self.enter(loop, inside)
        whole = inside.domain(self.model.function, set_name(domain))
        index = free_index(read, free)
        return replace(self.access(inside, read.tensor, index, whole), free=free)

    def tensor(self, name: str, axes: tuple[str, ...]) -> Storage:
        storage = self.model.storage.get(name)
        if storage is None or not set(storage.axes) <= set(axes):
            raise UnsupportedError(f"{name} is not declared around its uses")
        return storage

    def access(
        self, place: Place, tensor: str, index: tuple[Affine, ...], domain: Set
    ) -> Access:
        index = tuple(map(self.model.in_counters, index))
        storage = self.tensor(tensor, place.axes)
        forms = [*map(name, storage.axes), *index]
        columns = tuple(f"%{position}" for position in range(len(forms)))
        system = System(self.model.params, place.axes, columns)
        for column, form in zip(columns, forms, strict=True):
            system.equal(column, form)
        relation = system.to_map(set_name(domain), tensor).intersect_domain(domain)
        return Access(tensor, index, relation, domain)


def _counted(starts: list[Affine], step: int) -> Affine:
    """Return where to count steps from: a start, or simpler, what they all leave."""
    if len(starts) > 1 or any(isinstance(a, FloorDiv) for a, _ in starts[0].terms):
        return known_residue(starts[0], step)
    return starts[0]


def _from_start(axis: Affine, start: Affine, starts: list[Affine], step: int) -> Case:
    offset = axis - start
    return (*(start - other for other in starts), offset, -(offset % step))
