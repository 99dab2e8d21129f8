"""Moving one store into the first iterations of the loops that use its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import ScheduleError
from ..ir.affine import Affine, name
from ..ir.nodes import (
    Block,
    For,
    Function,
    If,
    LoopKind,
    Reduce,
    Scatter,
    Stmt,
    Store,
)
from ..ir.walk import (
    loops,
    map_forms,
    rewrite,
    walk,
    walk_nest,
)
from .bounds import Loops
from .boxes import Index, box_nest, place_in
from .checks import (
    Path,
    fresh,
    path_to,
    replace_body,
    taken_names,
    tensors,
)
from .leftovers import leftover
from .reasons import check_before, either_order, kept_order
from .regions import Access, accesses, is_one_to_one, mirror, relevant
from .staging import guarded, have_one_form, plan_sides, shared_guards


@dataclass(frozen=True, slots=True)
class _Stage:
    """A store in a perfect nest of loops, below the loops shared with the consumer."""

    store: Store
    path: Path
    own: tuple[For, ...]
    root: Stmt

    @property
    def label(self) -> str:
        assert self.store.instance is not None
        return self.store.instance.label


def move_store(function: Function, label: str, tensor: str, axis: str) -> Function:
    """Move the store *label* into the first iterations of *axis* that need it."""
    target = loops(function)[axis]
    around = (*path_to(function, target), target)
    stage = _stage(function, label, target)
    uses = list(accesses(target.body, tensor))
    if not uses:
        raise ScheduleError(
            f'compute_at: loop "{axis}" does not use "{tensor}", which {label} writes; '
            "name a loop around its uses"
        )
    _check_other_writes(function, target, stage)
    taken = taken_names(function) - {loop.axis for loop in stage.own}
    nest = _nest(function, stage, uses, axis, taken=taken)
    shared = len(stage.path) - len(stage.own)
    ignored = _ignored(around[shared:], uses, label)
    guards = tuple(loop.starts[0] - name(loop.axis) for loop in ignored)
    moved = If(guards, Block((nest,))) if guards else nest
    scope = {loop.axis: loop for loop in around[:shared] if isinstance(loop, For)}
    dims = {dim.name: dim for dim in function.dims}
    taken |= {node.axis for node in walk(nest) if isinstance(node, For)}
    rest = leftover(stage.root, ignored, scope, dims, taken)
    without = rewrite(function, lambda each: rest if each is stage.root else each)
    return replace_body(without, axis, lambda body: Block((moved, *body.statements)))


def _nest(
    function: Function,
    stage: _Stage,
    uses: Sequence[Access],
    axis: str,
    *,
    taken: set[str],
) -> Stmt:
    """Return the store in a nest over the elements that *uses* touch, or their box."""
    own = _own_axes(stage)
    at = _store_at(stage, own)
    use, tensor = uses[0], stage.store.tensor
    if have_one_form(uses) and is_one_to_one(use):
        needed = relevant(use)
        names = _mirror_names(use.index, needed, own, stage.label, taken)
        kinds = {axis: loop.kind for axis, loop in needed.items()}
        guards = shared_guards(uses)

        def leaf(values: Mapping[str, Affine]) -> Stmt:
            made = at(tuple(form.substitute(values) for form in use.index))
            return guarded(guards, values, made)

        return mirror(needed, names, kinds, leaf)
    place = place_in(function, axis)
    sides = plan_sides(uses, tensors(function)[tensor], place, "compute_at")
    axes = [
        fresh(mine or f"d{dimension}_{tensor}", taken)
        for dimension, mine in enumerate(own)
    ]
    return box_nest(sides, axes, [LoopKind.SERIAL] * len(axes), at)


def _store_at(stage: _Stage, own: Sequence[str | None]) -> Callable[[Index], Stmt]:
    """Return what makes the store of one element.

    Loops that the producer's subscripts need are replaced by those around the element;
    the rest stays around the store.
    """
    store = stage.store
    replaced = relevant(Access("store", store.index, stage.own))
    rest = [loop for loop in stage.own if loop.axis not in replaced]

    def at(index: Index) -> Stmt:
        moved = {
            mine: there - (here - name(mine))
            for mine, here, there in zip(own, store.index, index, strict=True)
            if mine is not None
        }
        inner: Stmt = store
        for loop in reversed(rest):
            inner = replace(loop, body=Block((inner,)))
        return map_forms(inner, lambda form: form.substitute(moved))

    return at


def _check_other_writes(function: Function, target: For, stage: _Stage) -> None:
    """Refuse where updates outside of *target* would lose their initialisation.

    A store after *target* has its own value for what it writes.
    """
    label, tensor = stage.label, stage.store.tensor
    inside = {id(node) for node in walk(target.body)}
    before = True
    for node in walk(function.body):
        before = before and node is not target
        if isinstance(node, Store) and not before:
            continue
        if not isinstance(node, Store | Reduce) or node.tensor != tensor:
            continue
        if id(node) in inside or (node.instance and node.instance.label == label):
            continue
        other = node.instance.label if node.instance else "a copy"
        reason = either_order(function, [stage.root], [node], tensor)
        raise ScheduleError(
            f'compute_at: "{tensor}" is also written outside loop "{target.axis}" (by '
            f"{other}), where {label} must come first{reason.because}; choose a loop "
            f'around both, or use tail="guard"{reason.witness}'
        )


def _stage(function: Function, label: str, target: For) -> _Stage:
    around = (*path_to(function, target), target)
    leaf, path = _only_store(function, label)
    shared = 0
    while shared < min(len(path), len(around)) and path[shared] is around[shared]:
        shared += 1
    if shared == len(around):
        raise ScheduleError(
            f'compute_at: {label} is already inside loop "{target.axis}"; name a loop '
            "that follows it"
        )
    own = tuple(node for node in path[shared:] if isinstance(node, For))
    root: Stmt = path[shared] if len(path) > shared else leaf
    if len(own) != len(path) - shared or not _is_single(root):
        raise ScheduleError(
            f"compute_at: {label} is not alone in its nest, or is guarded; "
            "fission it into a nest of its own first"
        )
    check_before(function, root, around[shared], target, moving=label)
    return _Stage(leaf, path, own, root)


def _only_store(function: Function, label: str) -> tuple[Store, Path]:
    """Return the only statement of that *label*, a store, and what is around it."""
    found = [
        (leaf, path)
        for leaf, path in walk_nest(function.body)
        if isinstance(leaf, Store | Reduce | Scatter)
        and leaf.instance is not None
        and leaf.instance.label == label
    ]
    if len(found) != 1:
        raise ScheduleError(
            f"compute_at: {label} stands in {len(found)} places; "
            "move it before it is copied"
        )
    ((leaf, path),) = found
    if isinstance(leaf, Store):
        return leaf, path
    reason = kept_order(
        function,
        function.body.statements,
        [leaf],
        leaf.tensor,
        kinds=("flow", "reduction"),
    )
    raise ScheduleError(
        f"compute_at: {label} is an update, which goes on from what is there before"
        f"{reason.because}; name the statement that stores, or a local tensor"
        f"{reason.witness}"
    )


def _is_single(statement: Stmt) -> bool:
    while isinstance(statement, For):
        if len(statement.body.statements) != 1:
            return False
        statement = statement.body.statements[0]
    return isinstance(statement, Store)


def _own_axes(stage: _Stage) -> list[str | None]:
    """Return the axis of the producer for each subscript (None for a constant)."""
    mine = {loop.axis for loop in stage.own}
    result: list[str | None] = []
    for form in stage.store.index:
        axes = [axis for axis in form.names() if axis in mine]
        if not axes:
            result.append(None)
        elif len(axes) > 1 or form.coefficient(axes[0]) != 1 or axes[0] in result:
            raise ScheduleError(
                f"compute_at: the subscripts ({', '.join(map(str, stage.store.index))})"
                f" of {stage.label} are not different axes; move it before it is split"
            )
        else:
            result.append(axes[0])
    return result


def _mirror_names(
    index: Index,
    needed: Loops,
    own: Sequence[str | None],
    label: str,
    taken: set[str],
) -> dict[str, str]:
    """Name mirrored loops: the producer's own axes where a subscript is one axis."""
    names: dict[str, str] = {}
    for form, mine in zip(index, own, strict=True):
        axes = [axis for axis in needed if axis in form.names()]
        if mine is not None and len(axes) == 1 and axes[0] not in names:
            names[axes[0]] = mine
            taken.add(mine)
    for axis in needed:
        if axis not in names:
            names[axis] = fresh(f"{axis}_{label}", taken)
    return names


def _ignored(between: Path, uses: Sequence[Access], label: str) -> list[For]:
    """Return the loops that no use needs: the store runs in their first iteration."""
    needed = {name for use in uses for form in use.index for name in form.names()}
    for use in uses:
        for loop in relevant(use).values():
            for form in (*loop.starts, *loop.stops):
                needed |= form.names()
    outside = [node for node in between if isinstance(node, For)]
    ignored: list[For] = []
    for loop in reversed(outside):
        if loop.axis in needed:
            for form in (*loop.starts, *loop.stops):
                needed |= form.names()
            continue
        if len(loop.starts) != 1:
            raise ScheduleError(
                f'compute_at: loop "{loop.axis}" has several starts, so its first '
                f"iteration, where {label} would run, has no simple guard; choose a "
                "loop further out"
            )
        ignored.insert(0, loop)
    return ignored
