"""Integer sets and maps: how affine forms become isl objects.

Everything lives in one isl context. Objects are built from constraint matrices, ten
times faster than parsing text. All sets of one proof share their parameters, the dims.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Final

import islpy as isl

from ..ir.affine import Affine, Atom, FloorDiv

BasicMap = isl.BasicMap
BasicSet = isl.BasicSet
Map = isl.Map
Set = isl.Set
UnionMap = isl.UnionMap
UnionSet = isl.UnionSet
IslError = isl.Error

CONTEXT: Final = isl.Context()
_CST, _PARAM = isl.dim_type.cst, isl.dim_type.param
_IN, _OUT, _DIV = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.div


class UnsupportedError(Exception):
    """Say why a function has no exact integer-set model: the proof is *unknown*."""


@contextmanager
def bounded(operations: int) -> Iterator[None]:
    """Let isl give up with an `IslError` after about *operations* elementary steps."""
    CONTEXT.reset_operations()
    CONTEXT.set_max_operations(operations)
    try:
        yield
    finally:
        CONTEXT.set_max_operations(0)
        CONTEXT.reset_operations()


@lru_cache(maxsize=4096)
def _value(number: int) -> isl.Val:
    if -(2**63) <= number < 2**63:
        return isl.Val.int_from_si(CONTEXT, number)
    return isl.Val.read_from_str(CONTEXT, str(number))


@lru_cache(maxsize=4096)
def space(
    params: tuple[str, ...], name: str, rank: int, range_name: str, range_rank: int
) -> isl.Space:
    """Return the space of maps from *name* tuples to *range_name* tuples."""
    result = isl.Space.alloc(CONTEXT, len(params), rank, range_rank)
    for position, param in enumerate(params):
        result = result.set_dim_name(_PARAM, position, param)
    result = result.set_tuple_name(_IN, name)
    return result.set_tuple_name(_OUT, range_name) if range_name else result


class System:
    """Constraints over named columns, to be made into one basic set or map."""

    def __init__(
        self, params: tuple[str, ...], axes: Sequence[str], images: Sequence[str] = ()
    ) -> None:
        """Start without constraints; *images* are the columns of a map's range."""
        self._params, self._rank, self._range_rank = params, len(axes), len(images)
        names = (*params, *axes, *images)
        self._columns = {name: column for column, name in enumerate(names, 1)}
        self._width = len(names) + 1
        self._floors: dict[FloorDiv, int] = {}
        self._zero: list[dict[int, int]] = []
        self._nonnegative: list[dict[int, int]] = []

    def nonnegative(self, *forms: Affine) -> None:
        """Require every form to be >= 0."""
        self._nonnegative.extend(self._row(form) for form in forms)

    def equal(self, name: str, form: Affine) -> None:
        """Require the column *name* to equal *form*."""
        row = self._row(form)
        column = self._columns[name]
        row[column] = row.get(column, 0) - 1
        self._zero.append(row)

    def zero(self, form: Affine) -> None:
        """Require *form* to be 0."""
        self._zero.append(self._row(form))

    def to_set(self, name: str) -> isl.Set:
        """Return the set of *name* tuples that satisfy the constraints."""
        shape = space(self._params, "", 0, name, self._rank)
        return isl.Set.from_basic_set(
            isl.BasicSet.from_constraint_matrices(
                shape.range(),
                self._matrix(self._zero),
                self._matrix(self._nonnegative),
                _CST,
                _PARAM,
                isl.dim_type.set,
                _DIV,
            )
        )

    def to_map(self, name: str, range_name: str) -> isl.Map:
        """Return the map from *name* tuples to *range_name* tuples."""
        return isl.Map.from_basic_map(
            isl.BasicMap.from_constraint_matrices(
                space(self._params, name, self._rank, range_name, self._range_rank),
                self._matrix(self._zero),
                self._matrix(self._nonnegative),
                _CST,
                _PARAM,
                _IN,
                _OUT,
                _DIV,
            )
        )

    def _row(self, form: Affine) -> dict[int, int]:
        row = {0: form.constant} if form.constant else {}
        for atom, coefficient in form.terms:
            column = self._column(atom)
            row[column] = row.get(column, 0) + coefficient
        return row

    def _column(self, atom: Atom) -> int:
        if isinstance(atom, FloorDiv):
            return self._floor(atom)
        if atom not in self._columns:
            raise UnsupportedError(f"{atom} is used outside its loop")
        return self._columns[atom]

    def _floor(self, floor: FloorDiv) -> int:
        """Return a column `q` with `0 <= numerator - divisor*q < divisor`."""
        column = self._floors.get(floor)
        if column is None:
            row = self._row(floor.numerator)  # may add columns of its own first
            column = self._floors[floor] = self._width + len(self._floors)
            row[column] = -floor.divisor
            rest = {key: -value for key, value in row.items()}
            rest[0] = rest.get(0, 0) + floor.divisor - 1
            self._nonnegative += [row, rest]
        return column

    def _matrix(self, rows: list[dict[int, int]]) -> isl.Mat:
        matrix = isl.Mat.alloc(CONTEXT, 0, self._width + len(self._floors))
        matrix = matrix.add_zero_rows(len(rows))
        for number, row in enumerate(rows):
            for column, coefficient in row.items():
                if coefficient:
                    matrix = matrix.set_element_val(number, column, _value(coefficient))
        return matrix


def same_prefix(relation: isl.Map, count: int) -> isl.Map:
    """Keep the pairs whose first *count* coordinates agree."""
    for position in range(count):
        relation = same_axis(relation, position)
    return relation


def same_axis(relation: isl.Map, position: int) -> isl.Map:
    """Keep the pairs that agree in coordinate *position*."""
    return relation.equate(_IN, position, _OUT, position)


def earlier_image(relation: isl.Map, position: int) -> isl.Map:
    """Keep the pairs whose image is smaller in coordinate *position*."""
    return relation.order_gt(_IN, position, _OUT, position)


def later_image(relation: isl.Map, position: int) -> isl.Map:
    """Keep the pairs whose image is larger in coordinate *position*."""
    return relation.order_lt(_IN, position, _OUT, position)


def later_coordinate(relation: isl.Map, one: int, other: int) -> isl.Map:
    """Keep the pairs whose image is smaller in coordinate *one* than in *other*."""
    return relation.order_lt(_OUT, one, _OUT, other)


def same_coordinate(relation: isl.Map, one: int, other: int) -> isl.Map:
    """Keep the pairs whose image agrees in the coordinates *one* and *other*."""
    return relation.equate(_OUT, one, _OUT, other)


def without_images(relation: isl.Map, first: int, count: int, name: str) -> isl.Map:
    """Forget *count* image coordinates from *first* on; the rest are *name* tuples."""
    return relation.project_out(_OUT, first, count).set_tuple_name(_OUT, name)


def renamed(relation: isl.Map, name: str) -> isl.Map:
    """Return *relation* with its domain tuple called *name*."""
    return relation.set_tuple_name(_IN, name)


def renamed_set(points: isl.Set, name: str) -> isl.Set:
    """Return *points* as *name* tuples."""
    return points.set_tuple_name(name)


def with_identity(relation: isl.Map, count: int) -> isl.Map:
    """Return *relation* with *count* more coordinates that stay as they are."""
    plain = relation.get_space().params().set_from_params()
    plain = plain.add_dims(isl.dim_type.set, count)
    identity = isl.Map.identity(plain.map_from_set())
    return relation.flat_product(identity)


def renamed_range(relation: isl.Map, name: str) -> isl.Map:
    """Return *relation* with its range tuple called *name*."""
    return relation.set_tuple_name(_OUT, name)


def union(maps: Iterable[isl.Map], params: tuple[str, ...]) -> isl.UnionMap:
    """Return the union of maps of any spaces."""
    result = isl.UnionMap.empty(space(params, "", 0, "", 0).params())
    for relation in maps:
        result = result.union(isl.UnionMap.from_map(relation))
    return result


def as_union(points: isl.Set) -> isl.UnionSet:
    """Return *points* as a union of one set."""
    return isl.UnionSet.from_set(points)


def single(relation: isl.Map) -> isl.UnionMap:
    """Return *relation* as a union of one map."""
    return isl.UnionMap.from_map(relation)


def pairs_between(first: isl.UnionSet, second: isl.UnionSet) -> isl.UnionMap:
    """Return all pairs of a point of *first* and one of *second*."""
    return isl.UnionMap.from_domain_and_range(first, second)


def pairs_apart(relation: isl.UnionMap, params: tuple[str, ...]) -> isl.UnionMap:
    """Return the pairs of *relation* that are not twice the same point."""
    found: list[isl.Map] = []
    for piece in pieces(relation):
        same = domain_name(piece) == range_name(piece)
        found.append(not_identity(piece) if same else piece)
    return union((piece for piece in found if not piece.is_empty()), params)


def nothing_of(points: isl.Set) -> isl.Set:
    """Return no point of the space of *points*."""
    return isl.Set.empty(points.get_space())


def identity_map(points: isl.Set) -> isl.Map:
    """Return the map from each of *points* to itself."""
    return points.identity()


def union_set(sets: Iterable[isl.Set], params: tuple[str, ...]) -> isl.UnionSet:
    """Return the union of sets of any spaces."""
    result = isl.UnionSet.empty(space(params, "", 0, "", 0).params())
    for points in sets:
        result = result.union(isl.UnionSet.from_set(points))
    return result


def pieces(relation: isl.UnionMap) -> list[isl.Map]:
    """Return the maps that a union consists of."""
    found: list[isl.Map] = []
    relation.foreach_map(found.append)
    return found


def parted(
    relation: isl.UnionMap, names: Collection[str]
) -> tuple[isl.UnionMap, isl.UnionMap]:
    """Return what leads to tuples called one of *names*, and what does not."""
    inside = outside = isl.UnionMap.empty(relation.get_space())
    for piece in pieces(relation):
        if range_name(piece) in names:
            inside = inside.union(single(piece))
        else:
            outside = outside.union(single(piece))
    return inside, outside


def basic_pieces(relation: isl.UnionMap) -> list[isl.Map]:
    """Return the maps of one conjunction each that a union consists of."""
    return [
        isl.Map.from_basic_map(part)
        for piece in pieces(relation)
        for part in piece.get_basic_maps()
    ]


def domain_name(relation: isl.Map) -> str:
    """Return the name of the tuples a map starts from."""
    return str(relation.get_tuple_name(_IN))


def range_name(relation: isl.Map) -> str:
    """Return the name of the tuples a map leads to."""
    return str(relation.get_tuple_name(_OUT))


def sample(points: isl.Set) -> tuple[dict[str, int], list[int]]:
    """Return one point with small parameters: their values and the coordinates."""
    count = points.dim(_PARAM)
    names = [_param_name(points, position) for position in range(count)]
    flat = points.flatten().move_dims(isl.dim_type.set, 0, _PARAM, 0, count)
    point = flat.lexmin().sample_point()
    if point.is_void():
        point = flat.sample_point()
    values = [
        point.get_coordinate_val(isl.dim_type.set, position).to_python()
        for position in range(flat.dim(isl.dim_type.set))
    ]
    return dict(zip(names, values, strict=False)), values[count:]


def _param_name(points: isl.Set, position: int) -> str:
    return str(points.get_dim_name(_PARAM, position))


def sample_pair(relation: isl.Map) -> tuple[dict[str, int], list[int], list[int]]:
    """Return the parameters, the argument and the image of one pair of *relation*."""
    params, values = sample(relation.wrap())
    rank = relation.dim(_IN)
    return params, values[:rank], values[rank:]


def set_pieces(points: isl.UnionSet) -> list[isl.Set]:
    """Return the sets that a union consists of."""
    found: list[isl.Set] = []
    points.foreach_set(found.append)
    return found


def set_name(points: isl.Set) -> str:
    """Return the name of the tuples in *points*."""
    return str(points.get_tuple_name())


def not_identity(relation: isl.Map) -> isl.Map:
    """Return the pairs of *relation* that differ."""
    return relation.subtract(isl.Map.identity(relation.get_space()))


def fixed(
    points: isl.Set, params: dict[str, int], coordinates: list[int]
) -> isl.UnionSet:
    """Keep one point of *points* at one choice of the parameters."""
    for position in range(points.dim(_PARAM)):
        value = params[_param_name(points, position)]
        points = points.fix_val(_PARAM, position, _value(value))
    for position, coordinate in enumerate(coordinates):
        points = points.fix_val(isl.dim_type.set, position, _value(coordinate))
    return isl.UnionSet.from_set(points)
