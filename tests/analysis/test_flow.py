"""The last writer of every read, compared with running the loops."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import islpy as isl
import pytest

from tdsl.analysis.building import build_model
from tdsl.analysis.flow import last_writers
from tdsl.analysis.model import Access, Model, all_reads
from tdsl.analysis.sets import range_name
from tdsl.ir.nodes import Block, For, If, Reduce, Stmt

from .kernels import read

SIZE = 5
PROGRAMS = {
    "the statement that comes first in the text writes an element last": """
def chase(X: inout f32[N + 1], Y: output f32[N + 1]) for N:
    for i in range(N):
        X[i] = 1.0
        X[i + 1] = 2.0
    for j in range(N + 1):
        Y[j] = X[j]
""",
    "it does so for some elements only": """
def chase(X: inout f32[N + 1], Y: output f32[N + 1]) for N:
    for i in range(N):
        if i - 2 >= 0:
            X[i] = 1.0
        X[i + 1] = 2.0
        if -i + 3 >= 0:
            X[i] = 3.0
    for j in range(N + 1):
        Y[j] = X[j]
""",
    "three statements take turns across time steps": """
def turns(X: inout f32[N + 2], Y: output f32[N + 2]) for N:
    for t in range(N):
        X[t] = X[t + 1]
        for i in range(t, N):
            X[i + 1] = X[i] + X[i + 2]
        for k in range(t):
            X[k] += X[k + 2]
    for j in range(N + 2):
        Y[j] = X[j]
""",
    "loops of unlike depth inside one loop": """
def depths(X: inout f32[N, N + 1], Y: output f32[N]) for N:
    for t in range(N):
        for i in range(N):
            for k in range(i):
                X[i, k] += X[k, i]
            X[i, i] = X[t, i] + X[i, t]
        for i2 in range(t, N):
            X[i2, t + 1] = X[i2, t]
        Y[t] = X[t, t]
""",
}

Run = tuple[str, tuple[int, ...]]
"""An occurrence or read, and the values of its axes."""


@pytest.mark.parametrize("program", PROGRAMS)
def test_last_writers_are_those_of_a_run(program: str) -> None:
    model = build_model(read(PROGRAMS[program]))
    found: dict[Run, Run | None] = {}
    for label, reader in all_reads(model):
        sources = last_writers(model, reader, model.writers_of(reader))
        pairs: list[tuple[Run | None, tuple[int, ...]]]
        pairs = [(None, at) for at, _ in _pairs(sources.unwritten.identity())]
        for relation in sources.writers:
            name = range_name(relation)
            pairs += [((name, to), at) for at, to in _pairs(relation)]
        for source, at in pairs:
            assert (label, at) not in found, "one read has one source"
            found[label, at] = source
    assert found == _run(model)


def _pairs(relation: isl.Map) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the pairs of *relation* where every dim is SIZE."""
    cut = relation.dim(isl.dim_type.in_)
    flat = relation.wrap().flatten()
    for position in range(flat.dim(isl.dim_type.param)):
        flat = flat.fix_val(isl.dim_type.param, position, isl.Val(SIZE, flat.get_ctx()))
    flat = flat.project_out(isl.dim_type.param, 0, flat.dim(isl.dim_type.param))
    rank = flat.dim(isl.dim_type.set)
    found: list[tuple[tuple[int, ...], tuple[int, ...]]] = []

    def add(point: isl.Point) -> None:
        values = tuple(
            point.get_coordinate_val(isl.dim_type.set, position).to_python()
            for position in range(rank)
        )
        found.append((values[:cut], values[cut:]))

    flat.foreach_point(add)
    return found


def _run(model: Model) -> dict[Run, Run | None]:
    """Run the loops; return what every read sees, None where nothing is written."""
    by_statement = {id(each.statement): each for each in model.occurrences}
    dims = {dim.name: SIZE for dim in model.function.dims}
    written: dict[tuple[str, tuple[int, ...]], Run] = {}
    seen: dict[Run, Run | None] = {}

    def element(access: Access, axes: dict[str, int]) -> tuple[str, tuple[int, ...]]:
        values = {**dims, **axes}
        return access.tensor, tuple(form.evaluate(values) for form in access.index)

    for leaf, axes in _iterations(model.function.body, dims, {}):
        occurrence = by_statement[id(leaf)]
        at = tuple(axes.values())
        reads = {f"r{number}": read for number, read in enumerate(occurrence.reads)}
        if isinstance(leaf, Reduce):
            reads["acc"] = occurrence.write
        for label, access in reads.items():
            seen[f"{occurrence.name} {label}", at] = written.get(element(access, axes))
        written[element(occurrence.write, axes)] = occurrence.name, at
    for reader in model.outputs():
        tensor = model.storage[reader.access.tensor].tensor
        shape = (form.evaluate(dims) for form in tensor.shape)
        for index in product(*map(range, shape)):
            seen[reader.name, index] = written.get((tensor.name, index))
    return seen


def _iterations(
    block: Block, dims: dict[str, int], axes: dict[str, int]
) -> Iterator[tuple[Stmt, dict[str, int]]]:
    """Yield the leaf statements as they run, with the values of their axes."""
    for statement in block.statements:
        values = {**dims, **axes}
        match statement:
            case For():
                start = max(form.evaluate(values) for form in statement.starts)
                stop = min(form.evaluate(values) for form in statement.stops)
                for value in range(start, stop, statement.step):
                    inside = {**axes, statement.axis: value}
                    yield from _iterations(statement.body, dims, inside)
            case If():
                if all(form.evaluate(values) >= 0 for form in statement.conditions):
                    yield from _iterations(statement.body, dims, axes)
            case _:
                yield statement, axes
