"""The integer-set model of a function: when each statement runs and what it touches.

Coordinates are loop *counters*: an axis with a step larger than 1 is `start +
step*counter`, a dim with a known multiple is `multiple*counter`. So a tile number such
as `(i - i_o)//12` is a plain counter and needs no integer division. An element of a
local tensor has the enclosing axes of its declaration as leading coordinates, because
each execution of the declaration makes fresh storage. Where data chooses an element,
see `chosen`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from ..ir.affine import Affine, FloorDiv, name
from ..ir.dtypes import DType
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
    Role,
    Scatter,
    Store,
    Tensor,
)
from ..ir.walk import reads
from .chosen import free_index, free_loops, scatter_nest
from .sets import Map, Set, System, UnsupportedError, renamed_range, set_name

AFTER_ALL = 1 << 30


@dataclass(frozen=True, slots=True)
class Storage:
    """A tensor and the axes that choose which of its private copies is meant."""

    tensor: Tensor
    axes: tuple[str, ...]
    role: Role | None


@dataclass(frozen=True, slots=True)
class Access:
    """The elements of *tensor* that an occurrence touches, as a map from its axes.

    *index* holds the subscripts in counters. The axes of the *free* loops, over the
    elements that a gather may read, follow those of the occurrence in *domain*.
    """

    tensor: str
    index: tuple[Affine, ...]
    relation: Map
    domain: Set
    free: tuple[For, ...] = ()


Case = tuple[Affine, ...]
"""Forms that are all >= 0."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Something that reads: where it stands in the program, and which elements."""

    name: str
    loops: tuple[For, ...]
    path: tuple[int, ...]
    sequence: int
    cases: tuple[Case, ...]
    domain: Set
    access: Access


@dataclass(frozen=True)
class Occurrence:
    """One leaf statement: *path* numbers its loops in text order, *sequence* itself.

    It runs where one of *cases* holds, which is its *domain*. It may be what a
    *scatter* stands for.
    """

    name: str
    statement: Store | Reduce
    loops: tuple[For, ...]
    path: tuple[int, ...]
    sequence: int
    cases: tuple[Case, ...]
    domain: Set
    write: Access
    reads: tuple[Access, ...]
    scatter: Scatter | None = None

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The enclosing axes, outermost first."""
        return tuple(loop.axis for loop in self.loops)

    @property
    def leaf(self) -> Store | Reduce | Scatter:
        """The statement as it stands in the program."""
        return self.scatter or self.statement

    @property
    def loads(self) -> tuple[Load | Gather, ...]:
        """The loads and gathers that *reads* describe."""
        return tuple(reads(self.statement.value))

    def reader(self, access: Access) -> Reader:
        """Return the reading of *access* by this occurrence."""
        loops = (*self.loops, *access.free)
        # No loop has the number of a leaf: nothing else is inside the free loops.
        path = (*self.path, *(self.sequence for _ in access.free))
        where = (loops, path, self.sequence, self.cases)
        return Reader(self.name, *where, access.domain, access)


@dataclass(frozen=True)
class Place:
    """A block: the loops around it, and where it runs, which is in one of *cases*."""

    loops: tuple[For, ...] = ()
    path: tuple[int, ...] = ()
    cases: tuple[Case, ...] = ((),)

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The enclosing axes, outermost first."""
        return tuple(loop.axis for loop in self.loops)

    def narrowed(self, *cases: Case) -> tuple[Case, ...]:
        """Return the cases of this place in which one of *cases* holds too."""
        return tuple((*old, *new) for old in self.cases for new in cases)

    def domain(self, function: Function, label: str, *more: Affine) -> Set:
        """Return the *label* tuples of iterations here where *more* are >= 0 too."""
        result: Set | None = None
        for case in self.cases:
            system = System(tuple(dim.name for dim in function.dims), self.axes)
            system.nonnegative(*dim_constraints(function), *case, *more)
            part = system.to_set(label)
            result = part if result is None else result.union(part)
        assert result is not None
        return result


@dataclass(frozen=True)
class Model:
    """Every occurrence of a function, and the values of axes and dims in counters."""

    function: Function
    params: tuple[str, ...]
    storage: dict[str, Storage]
    counters: dict[str, Affine]
    places: dict[str, Place] = field(default_factory=dict)
    occurrences: list[Occurrence] = field(default_factory=list)

    @cached_property
    def writers(self) -> dict[str, list[Occurrence]]:
        """The occurrences that write each tensor, in text order."""
        found: dict[str, list[Occurrence]] = {}
        for occurrence in self.occurrences:
            found.setdefault(occurrence.write.tensor, []).append(occurrence)
        return found

    @property
    def injective(self) -> frozenset[str]:
        """The inputs that are assumed to have no two equal elements."""
        inputs = {p.tensor.name for p in self.function.params if p.role is Role.INPUT}
        return frozenset(inputs & set(self.function.assumptions.injective))

    def named(self, name: str) -> Occurrence | None:
        """Return the occurrence of that name, if there is one."""
        return next((o for o in self.occurrences if o.name == name), None)

    def writers_of(self, reader: Reader) -> list[Occurrence]:
        """Return the occurrences that write the tensor *reader* reads."""
        return self.writers.get(reader.access.tensor, [])

    def is_copy(self, occurrence: Occurrence) -> bool:
        """Whether *occurrence* moves an element without changing its bits."""
        statement = occurrence.statement
        return (
            isinstance(statement, Store)
            and isinstance(statement.value, Load)
            and self.dtype(statement.value.tensor) == self.dtype(statement.tensor)
        )

    def dtype(self, tensor: str) -> DType:
        """Return the element type of the named tensor."""
        return self.storage[tensor].tensor.dtype

    def in_counters(self, form: Affine) -> Affine:
        """Return *form* with axes and dims given by their counters."""
        return form.substitute(self.counters)

    def outputs(self) -> Iterator[Reader]:
        """Yield one reader for each tensor that the caller sees afterwards."""
        for param in self.function.params:
            if param.role is not Role.INPUT:
                yield _final_reader(self, param.tensor)


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


def all_reads(model: Model) -> Iterator[tuple[str, Reader]]:
    """Yield every read with the name it has in flow maps."""
    for occurrence in model.occurrences:
        for number, access in enumerate(occurrence.reads):
            yield f"{occurrence.name} r{number}", occurrence.reader(access)
        if isinstance(occurrence.statement, Reduce):
            yield f"{occurrence.name} acc", occurrence.reader(occurrence.write)
    for reader in model.outputs():
        yield reader.name, reader


def dim_constraints(function: Function) -> Iterator[Affine]:
    """Yield forms, >= 0, that state what is assumed of the dims (in counters)."""
    for dim in function.dims:
        yield name(dim.name) - -(-dim.min // dim.multiple)
        if dim.max is not None:
            yield -name(dim.name) + dim.max // dim.multiple
    counters = dim_counters(function)
    for form in function.assumptions.conditions:
        yield form.substitute(counters)


def dim_counters(function: Function) -> dict[str, Affine]:
    """Return the dims with a known multiple, by their counters."""
    return {
        dim.name: name(dim.name) * dim.multiple
        for dim in function.dims
        if dim.multiple != 1
    }


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


def entry_values(model: Model, reader: Reader, domain: Set) -> Map | None:
    """Return the map to the values at entry, "in tensor", or None if undefined."""
    tensor = reader.access.tensor
    if model.storage[tensor].role not in (Role.INPUT, Role.INOUT):
        return None
    return renamed_range(
        reader.access.relation.intersect_domain(domain), f"in {tensor}"
    )


def _final_reader(model: Model, tensor: Tensor) -> Reader:
    label = f"out {tensor.name}"
    domain = box(model, tensor, label)
    axes = element_axes(tensor)
    system = System(model.params, axes, [f"%{axis}" for axis in axes])
    for axis in axes:
        system.equal(f"%{axis}", name(axis))
    relation = system.to_map(label, tensor.name).intersect_domain(domain)
    access = Access(tensor.name, tuple(map(name, axes)), relation, domain)
    return Reader(label, (), (), AFTER_ALL, ((),), domain, access)


def element_axes(tensor: Tensor) -> tuple[str, ...]:
    """Return names for the subscripts of *tensor*."""
    return tuple(f"e{position}" for position in range(len(tensor.shape)))


def box(model: Model, tensor: Tensor, label: str, outer: tuple[str, ...] = ()) -> Set:
    """Return the set of *label* tuples that are subscripts inside *tensor*'s shape."""
    axes = element_axes(tensor)
    system = System(model.params, (*outer, *axes))
    system.nonnegative(*dim_constraints(model.function))
    for axis, size in zip(axes, tensor.shape, strict=True):
        system.nonnegative(name(axis), model.in_counters(size) - name(axis) - 1)
    return system.to_set(label)
