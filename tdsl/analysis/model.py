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
from dataclasses import dataclass, field
from functools import cached_property

from ..ir.affine import Affine, name
from ..ir.dtypes import DType
from ..ir.nodes import (
    For,
    Function,
    Gather,
    Load,
    Reduce,
    Role,
    Scatter,
    Store,
    Tensor,
)
from ..ir.walk import reads
from .sets import Map, Set, System, renamed_range

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
            # Tiles have many bounds that say nothing new: each costs later on.
            part = system.to_set(label).remove_redundancies()
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
