"""Evaluation in float64 with a bound on every element of the result.

The loops of a function become axes of NumPy arrays where its iterations touch
different elements (`independence.py`), and stay Python loops elsewhere; where those
run long, `one_by_one.py` takes over. Where bounds have grown beyond use in them,
`correlated.py` has a closer look. Each expression gives values with bounds
(`uncertain.py`, and `linear.py` where an element occurs twice); reductions collect
what bounds them in any order (`accumulate.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from math import inf, prod
from time import monotonic
from typing import Any, assert_never

import numpy as np

from ..ir.affine import Affine
from ..ir.nodes import (
    Alloc,
    Block,
    Expr,
    For,
    Function,
    If,
    Reduce,
    ReduceOp,
    Role,
    Scatter,
    Stmt,
    Store,
    Tensor,
)
from ..ir.numerics import Numerics
from ..ir.walk import loops, read_forms, reads
from .accumulate import Cells, lift, reduce_parts
from .chosen import choose
from .contraction import Contraction, factors_of
from .correlated import evaluate_correlated, is_in_reach
from .grid import Array, Elements, Grid, Location, Slices, VectorAxis
from .independence import Question, is_independent, question
from .linear import refined, repeats_a_load
from .one_by_one import evaluate_one_by_one, is_covered
from .uncertain import EXACT, Uncertain
from .uncertain_expr import evaluate, wide

GRID_LIMIT = 1 << 20
"""How many iterations run at once, at most; more are split."""

FACTOR_LIMIT = 1 << 24
"""How many elements a factor of a contraction may have."""

CONTRACTION_FLOOR = 1 << 12
"""From how many terms on a sum of products is a contraction."""

STATEMENT_LIMIT = 4500
"""After how many statements on arrays the evaluation goes on one by one, if it can."""

ITERATIONS_A_SECOND = 2e7
"""About how many iterations run one by one in a second."""

CORRELATED_STATEMENTS = 100
"""From how many statements on arrays on a program counts as a recursion."""

CORRELATED_ITERATIONS = 5e8
"""How many iterations a closer look at a recursion may take, at most."""

_FINAL = 1 + 2.0**-20
"""Covers the roundings of the bounds themselves."""

Result = tuple[Array, Array]


class EvaluationTooSlow(Exception):
    """Report that the time given to `evaluate_with_bound` was over before its work."""


def evaluate_with_bound(
    function: Function,
    arrays: Mapping[str, Any],
    dims: Mapping[str, int],
    numerics: Numerics = "reassoc",
    seconds: float = inf,
) -> dict[str, Result]:
    """Return (value, bound) for each OUTPUT and INOUT of *function* on *arrays*.

    Any execution that *numerics* allows is within the bound of the value. Values are
    float64, int64 or bool; the bound is infinite where nothing can be claimed. The
    arrays are not changed, and outputs need not be given. Raise EvaluationTooSlow
    after about so many *seconds*.
    """
    started = monotonic()
    with np.errstate(all="ignore"):
        evaluation = whole = _Evaluation(function, arrays, dims, numerics)
        whole.deadline = started + seconds
        try:
            whole.block(function.body, Grid((), dict(dims)))
        except _ManyStatements:
            evaluation = _Evaluation(function, arrays, dims, numerics)
            left = (started + seconds - monotonic()) * ITERATIONS_A_SECOND
            cells = evaluation.cells
            if not evaluate_one_by_one(function, cells, dims, numerics, left):
                raise EvaluationTooSlow from None
        found = evaluation.results()
        few = whole.statements < CORRELATED_STATEMENTS
        if few or not _are_useless(found, function):
            return found
        left = (started + seconds - monotonic()) * ITERATIONS_A_SECOND
        evaluation = _Evaluation(function, arrays, dims, numerics)
        closer = evaluation.correlated(min(left, CORRELATED_ITERATIONS))
        return {name: _better(found[name], closer.get(name)) for name in found}


def _are_useless(found: Mapping[str, Result], function: Function) -> bool:
    """Whether all numbers are finite, but half the digits of some are in doubt."""
    types = {param.tensor.name: param.tensor.dtype for param in function.params}
    useless = False
    for name, (value, bound) in found.items():
        if types[name].kind != "float":
            continue
        if not np.isfinite(value).all():
            return False
        share = 2.0 ** ((1 - types[name].precision) / 2)
        useless |= bool((bound > share * np.max(np.abs(value), initial=0.0)).any())
    return useless


def _better(first: Result, second: Result | None) -> Result:
    """Return each element from the result that bounds it more closely."""
    if second is None:
        return first
    closer = second[1] < first[1]
    value, bound = (np.where(closer, b, a) for a, b in zip(first, second, strict=True))
    return value, bound


class _ManyStatements(Exception):
    """Report that arrays do not help enough."""


def _result(cells: Cells) -> Result:
    final = cells.settled()
    error = np.where(np.isnan(final.error), np.inf, final.error * _FINAL)
    return final.value, np.array(np.broadcast_to(error, final.value.shape))


class _Evaluation:
    """The tensors during one evaluation, and how each statement changes them."""

    def __init__(
        self,
        function: Function,
        arrays: Mapping[str, Any],
        dims: Mapping[str, int],
        numerics: Numerics,
    ) -> None:
        self.function, self.dims, self.numerics = function, dims, numerics
        self.deadline = inf
        self.statements = 0
        self.limit = STATEMENT_LIMIT if is_covered(function) else inf
        self.questions = {
            axis: question(loop) for axis, loop in loops(function).items()
        }
        self.cells: dict[str, Cells] = {}
        for param in function.params:
            tensor = param.tensor
            if param.role is Role.OUTPUT:
                shape = tuple(extent.evaluate(dims) for extent in tensor.shape)
                self.cells[tensor.name] = _fresh(tensor, shape, ())
            else:
                given = np.asarray(arrays[tensor.name], tensor.dtype.numpy)
                values = np.array(given, wide(tensor.dtype))
                self.cells[tensor.name] = Cells(tensor.dtype, (values, EXACT))

    def results(self) -> dict[str, Result]:
        """Return (value, bound) for each result."""
        return {
            param.tensor.name: _result(self.cells[param.tensor.name])
            for param in self.function.params
            if param.role is not Role.INPUT
        }

    def correlated(self, iterations: float) -> dict[str, Result]:
        """Evaluate anew, for errors that cancel; return nothing where that is out of
        reach.
        """
        if not is_in_reach(self.function, self.dims):
            return {}
        done = evaluate_correlated(
            self.function, self.cells, self.dims, self.numerics, iterations
        )
        return self.results() if done else {}

    # --- statements ---------------------------------------------------------------

    def block(self, block: Block, grid: Grid) -> None:
        for statement in block.statements:
            self.statement(statement, grid)

    def statement(self, statement: Stmt, grid: Grid) -> None:
        if monotonic() > self.deadline:
            raise EvaluationTooSlow
        self.statements += 1
        if self.statements > self.limit:
            raise _ManyStatements
        match statement:
            case For():
                self.loop(statement, grid)
            case If():
                inside: Grid | None = grid
                for form in statement.conditions:
                    if inside is not None:
                        inside = inside.where(np.asarray(inside.form(form)) >= 0)
                if inside is not None:
                    self.block(statement.body, inside)
            case Store():
                self.store(statement, grid)
            case Reduce():
                self.reduce(statement, grid)
            case Scatter():
                self.scatter(statement, grid)
            case Alloc():
                extents = [np.max(grid.form(form)) for form in statement.tensor.shape]
                shape = grid.shape + tuple(map(int, extents))
                cells = _fresh(statement.tensor, shape, grid.axes)
                self.cells[statement.tensor.name] = cells
            case _:
                assert_never(statement)

    def loop(self, loop: For, grid: Grid) -> None:
        start = _extreme(grid, loop.starts, np.maximum)
        stop = _extreme(grid, loop.stops, np.minimum)
        same = isinstance(start, int) and isinstance(stop, int)
        step = loop.step if isinstance(start, int) else 1
        values = range(int(np.min(start)), int(np.max(stop)), step)
        if not values:
            return
        asked = self.questions[loop.axis]
        span = (values[0], values[-1])
        if len(values) == 1 or not is_independent(asked, loop, grid, span):
            for value in values:
                inside: Grid | None = grid.with_scalar(loop.axis, value)
                if not same:
                    inside = _between(grid, start, value, stop, loop.step)
                if inside is not None:
                    self.block(loop.body, inside.with_scalar(loop.axis, value))
            return
        for part in _parts(values, self._room(asked, grid)):
            axis = VectorAxis(loop.axis, part.start, step, len(part))
            whole = grid.with_axis(axis)
            vector: Grid | None = whole
            if not same:
                along = whole.values(len(grid.axes))
                first, end = _deeper(start), _deeper(stop)
                vector = _between(whole, first, along, end, loop.step)
            if vector is not None:
                self.block(loop.body, vector)

    def _room(self, asked: Question, grid: Grid) -> int:
        """Return how many iterations may run at once, for the sake of memory."""
        sizes = [_size(alloc.tensor, grid) for alloc in asked.private]
        if not sizes:
            return 1 << 62
        return max(1, GRID_LIMIT // max(1, max(sizes) * grid.size))

    def store(self, statement: Store, grid: Grid) -> None:
        if grid.size > GRID_LIMIT:
            for half in _halves(grid):
                self.store(statement, half)
            return
        cells = self.cells[statement.tensor]
        value = self.value(statement.value, grid)
        location = cells.locate(grid, statement.tensor, statement.index)
        cells.store(location, value)

    def reduce(self, statement: Reduce, grid: Grid) -> None:
        cells = self.cells[statement.tensor]
        if self._contract(statement, grid, cells):
            return
        if grid.size > GRID_LIMIT:
            for half in _halves(grid):
                self.reduce(statement, half)
            return
        location = cells.locate(grid, statement.tensor, statement.index)
        value = self.value(statement.value, grid)
        self._accumulate(cells, statement.op, location, value, grid)

    def value(self, expr: Expr, grid: Grid) -> Uncertain:
        """Return *expr* over *grid*, with the better of two ways to bound it."""
        plain = evaluate(expr, grid, self.cells, self.numerics)
        if plain.is_exact or not repeats_a_load(expr):
            return plain

        def part(inner: Expr) -> Uncertain:
            return evaluate(inner, grid, self.cells, self.numerics)

        return refined(expr, plain, part, self.numerics)

    def _accumulate(
        self,
        cells: Cells,
        op: ReduceOp,
        location: Location,
        value: Uncertain,
        grid: Grid,
    ) -> None:
        terms = lift(op, value, cells.dtype, 1)
        axes = tuple(sorted(set(range(len(grid.axes))) - location.axes))
        parts = reduce_parts(op, terms, cells.dtype, grid, axes)
        cells.accumulate(op, location, parts)

    def scatter(self, statement: Scatter, grid: Grid) -> None:
        """Write where data chooses; iterations run at once only for an update."""
        if grid.size > GRID_LIMIT:
            for half in _halves(grid):
                self.scatter(statement, half)
            return

        def value(expr: Expr) -> Uncertain:
            return evaluate(expr, grid, self.cells, self.numerics)

        inside: Grid | None = grid
        if statement.condition is not None:
            condition = value(statement.condition)
            if not condition.is_exact and condition.error.any():
                self.cells[statement.tensor].doubt()
                return
            inside = grid.where(condition.value)
        cells = self.cells[statement.tensor]
        choice = choose(statement, grid, cells, value)
        if inside is None or choice is None:
            return
        if not choice.exact.all():
            cells.doubt()
            return
        inside = inside.where(choice.inside)
        if inside is None:
            return
        location = Elements(choice.subscripts, inside)
        if statement.op is None:
            cells.store(location, value(statement.value))
        else:
            new = value(statement.value)
            self._accumulate(cells, statement.op, location, new, inside)

    def _contract(self, statement: Reduce, grid: Grid, cells: Cells) -> bool:
        """Do a sum of products as a contraction, if it is one and if it pays."""
        if statement.op is not ReduceOp.ADD or grid.size < CONTRACTION_FLOOR:
            return False
        sign, factors = factors_of(statement.value, cells.dtype)
        sizes = [self._factor_size(factor, grid) for factor in factors]
        if len(factors) == 1 or max(sizes) > FACTOR_LIMIT:
            return False
        location = cells.locate(grid, statement.tensor, statement.index)
        if not isinstance(location, Slices):
            return False
        values = [evaluate(f, grid, self.cells, self.numerics) for f in factors]
        late = grid.mask if _varies_only(grid.mask, location.axes) else None
        summed = Grid(grid.axes, grid.scalars) if late is not None else grid
        contraction = Contraction(summed, location.axes, sign, tuple(values))
        parts = contraction.parts(cells.dtype)
        if parts is None:
            return False
        if late is not None:
            parts = tuple(np.where(late, p, np.zeros((), p.dtype)) for p in parts)
        cells.accumulate(statement.op, location, parts)
        return True

    def _factor_size(self, factor: Expr, grid: Grid) -> int:
        used: set[str] = set()
        for load in reads(factor):
            used.update(axis.name for axis in self.cells[load.tensor].private)
        used.update(*(form.names() for form in read_forms(factor)))
        return prod(axis.count for axis in grid.axes if axis.name in used)


def _fresh(
    tensor: Tensor, shape: tuple[int, ...], private: tuple[VectorAxis, ...]
) -> Cells:
    """Return a tensor whose elements are NaN until they are written."""
    kind = wide(tensor.dtype)
    values = np.full(shape, np.nan if kind.kind in "fc" else 0, kind)
    return Cells(tensor.dtype, (values, EXACT), private)


def _extreme(grid: Grid, forms: tuple[Affine, ...], choose: np.ufunc) -> int | Array:
    """Return the largest start or smallest stop: an array if it depends on one."""
    values = [grid.form(form) for form in forms]
    found = reduce(choose, values)
    return found if isinstance(found, np.ndarray) and found.ndim else int(found)


def _between(
    grid: Grid, start: int | Array, value: int | Array, stop: int | Array, step: int
) -> Grid | None:
    inside = np.asarray((value >= start) & (value < stop))
    if step > 1:
        inside = inside & ((value - start) % step == 0)
    return grid.where(inside)


def _deeper(bound: int | Array) -> int | Array:
    """Return *bound* over a grid with one axis more."""
    return bound[..., None] if isinstance(bound, np.ndarray) else bound


def _parts(values: range, count: int) -> Iterator[range]:
    for first in range(0, len(values), count):
        yield values[first : first + count]


def _size(tensor: Tensor, grid: Grid) -> int:
    """Return the number of elements of a local, as far as they are known here."""
    known = [form for form in tensor.shape if form.names() <= grid.scalars.keys()]
    return prod(form.evaluate(grid.scalars) for form in known)


def _halves(grid: Grid) -> Iterator[Grid]:
    for half in grid.halves():
        inside = half if half.mask is None else half.where(True)
        if inside is not None:
            yield inside


def _varies_only(mask: Array | None, axes: frozenset[int]) -> bool:
    if mask is None:
        return False
    return all(n == 1 or axis in axes for axis, n in enumerate(mask.shape))
