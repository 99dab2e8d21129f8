"""What the loops of a nest mean to the tensors in it: reuse, contiguity, roles."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.dtypes import DType
from ..ir.nodes import Block, Expr, For, Gather, If, Load, Reduce, Store
from ..ir.walk import Node, children, loads, walk_nest


@dataclass(frozen=True, slots=True)
class Nest:
    """Loops around one leaf statement with nothing else in between, outermost first."""

    loops: tuple[For, ...]
    statement: Store | Reduce

    @property
    def axes(self) -> tuple[str, ...]:
        """The axis names, outermost first."""
        return tuple(loop.axis for loop in self.loops)

    @property
    def spatial(self) -> tuple[str, ...]:
        """The axes that the target's subscripts depend on."""
        used = subscript_names(self.statement)
        return tuple(axis for axis in self.axes if axis in used)

    @property
    def reduction(self) -> tuple[str, ...]:
        """The axes that the target's subscripts do not depend on."""
        used = subscript_names(self.statement)
        return tuple(axis for axis in self.axes if axis not in used)

    @property
    def is_rectangular(self) -> bool:
        """Whether no bound depends on another axis of the nest."""
        axes = set(self.axes)
        forms = (f for loop in self.loops for f in (*loop.starts, *loop.stops))
        return all(axes.isdisjoint(form.names()) for form in forms)


def subscript_names(access: Store | Reduce | Load) -> frozenset[str]:
    """Return the axes and dims in the subscripts of *access*."""
    return frozenset(name for form in access.index for name in form.names())


def perfect_nest(loop: For) -> Nest | None:
    """Return the nest under *loop* if each body is one statement, else None."""
    chain = [loop]
    while True:
        body = chain[-1].body.statements
        if len(body) != 1:
            return None
        (inner,) = body
        if isinstance(inner, Store | Reduce):
            return Nest(tuple(chain), inner)
        if not isinstance(inner, For):
            return None
        chain.append(inner)


def is_contiguous(access: Store | Reduce | Load, axis: str) -> bool:
    """Whether a step of *axis* moves *access* to the next element in memory."""
    if not access.index or axis not in subscript_names(access):
        return False
    last = access.index[-1]
    others = (name for form in access.index[:-1] for name in form.names())
    return last.coefficient(axis) == 1 and axis not in others


def is_reversed(load: Load, axis: str) -> bool:
    """Whether a step of *axis* moves *load* to the element right before in memory."""
    if not load.index or axis not in subscript_names(load):
        return False
    last = load.index[-1]
    others = (name for form in load.index[:-1] for name in form.names())
    return last.coefficient(axis) == -1 and axis not in others


def innermost_loops(block: Block, outer: tuple[For, ...] = ()) -> list[tuple[For, ...]]:
    """Return the innermost loops, each after the loops around it."""
    found: list[tuple[For, ...]] = []
    for statement in block.statements:
        if isinstance(statement, If):
            found += innermost_loops(statement.body, outer)
        if isinstance(statement, For):
            inner = innermost_loops(statement.body, (*outer, statement))
            found += inner or [(*outer, statement)]
    return found


def leaves(block: Block) -> list[Store | Reduce]:
    """Return the stores and updates of *block* in program order."""
    found = (leaf for leaf, _ in walk_nest(block))
    return [leaf for leaf in found if isinstance(leaf, Store | Reduce)]


def statement_loads(statement: Store | Reduce) -> tuple[Load, ...]:
    """Return the loads in the value of *statement*, in evaluation order."""
    return tuple(loads(statement.value))


def value_dtypes(statement: Store | Reduce) -> set[DType]:
    """Return the dtypes computed with in *statement*, but for conditions.

    The subscripts that data decides do not count either.
    """
    found: set[DType] = set()
    waiting: list[Node] = [statement.value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Expr):
            found.add(node.dtype)
        if not isinstance(node, Gather):
            waiting += children(node)
    return {dtype for dtype in found if dtype.kind != "bool"} or found
