"""Primitives that move whole stages of a computation: compute_at, inline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import ScheduleError
from ..ir.affine import Affine, name
from ..ir.nodes import (
    Alloc,
    Block,
    Expr,
    For,
    Function,
    If,
    Load,
    Reduce,
    Stmt,
    Store,
    Tensor,
)
from ..ir.walk import (
    allocations,
    loads,
    loops,
    map_forms,
    rewrite,
    rewrite_block,
    rewrite_expr,
    walk,
    walk_nest,
)
from .bounds import Loops, prune_starts, prune_stops
from .boxes import Index, Side, bounding_side, place_in
from .checks import (
    Path,
    find_loop,
    find_tensor,
    fresh,
    path_to,
    quoted,
    replace_body,
    taken_names,
    tensors,
)
from .copies import labels
from .regions import accesses, mirror, redirect, relevant, touches


def compute_at(function: Function, producer: str, axis: str) -> Function:
    """Compute what the body of *axis* needs of *producer* there.

    *producer* is the label of a statement or the name of a local tensor.

    An initialisation moves into the loops of its reduction, over the part that they
    update, in their first iteration. Before, and after `compute_at("S0", "i_t")`:

        for i in range(M):                  for k_o in range(0, K, 256):
            C[i] = 0.0  # S0[i]                 for i_t in range(0, M, 12):
        for k_o in range(0, K, 256):                if -k_o >= 0:
            for i_t in range(0, M, 12):                 for i in range(i_t, ...):
                for k_i in range(k_o, ...):                 C[i] = 0.0  # S0[i]
                    for i_i in range(i_t, ...):     for k_i in range(k_o, ...):
                        C[i_i] += ...                   for i_i in range(i_t, ...):
                                                            C[i_i] += ...

    A local tensor is computed anew in each iteration of *axis*, as much of it as the
    body reads, into a smaller tensor of its own. Before, and after
    `compute_at("T", "i_o")`:

        T = local f32[M]                    for i_o in range(0, M, 32):
        for i in range(M):                      T = local f32[34]
            T[i] = ...  # S0[i]                 for i in range(i_o, min(i_o + 34, M)):
        for i_o in range(0, M - 2, 32):             T[i - i_o] = ...  # S0[i]
            for i_i in range(i_o, ...):         for i_i in range(i_o, ...):
                ... T[i_i + 2] ...                  ... T[i_i + 2 - i_o] ...
    """
    find_loop(function, axis, "compute_at")
    tensor = _produced(function, producer)
    target = loops(function)[axis]
    if producer not in allocations(function) and (
        tensor not in allocations(function) or _writes(target.body, tensor)
    ):
        return _move_store(function, producer, tensor, axis)
    return _recompute(function, tensor, axis)


def inline(function: Function, tensor: str) -> Function:
    """Put the value of a local tensor where it is read, and drop the tensor.

    Before, and after `inline("T")`:

        T = local f32[N]
        for j in range(N):
            T[j] = X[j] * 2.0  # S0[j]
        for j_2 in range(N):                for j_2 in range(N):
            Y[j_2] = T[j_2] + 1.0               Y[j_2] = X[j_2] * 2.0 + 1.0

    The tensor must have one unguarded store whose subscripts are different axes. A
    scalar temporary that is assigned once is the case without subscripts.
    """
    find_tensor(function, tensor, "inline")
    if tensor not in allocations(function):
        raise ScheduleError(
            f'inline: "{tensor}" is a parameter, whose values the caller sees; only '
            f"local tensors go away: {quoted(allocations(function)) or 'there is none'}"
        )
    store = _only_store(function, tensor)
    axes = [_plain_axis(form) for form in store.index]

    def leaf(expr: Expr) -> Expr:
        if not isinstance(expr, Load) or expr.tensor != tensor:
            return expr
        values = {
            axis: form
            for axis, form in zip(axes, expr.index, strict=True)
            if axis is not None
        }
        return _substituted(store.value, values)

    def rule(statement: Stmt) -> Stmt | Block:
        match statement:
            case Store() | Reduce() if statement.tensor == tensor:
                return Block(())
            case Store() | Reduce():
                value = rewrite_expr(statement.value, leaf)
                same = value is statement.value
                return statement if same else replace(statement, value=value)
            case Alloc() if statement.tensor.name == tensor:
                return Block(())
            case For() | If() if not statement.body.statements:
                return Block(())
            case _:
                return statement

    return rewrite(function, rule)


# --- compute_at: one store ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Stage:
    """A store in a perfect nest of loops, below the loops shared with the consumer."""

    store: Store
    path: Path
    own: tuple[For, ...]
    root: Stmt


def _move_store(function: Function, label: str, tensor: str, axis: str) -> Function:
    """Move the store *label* into the first iterations of *axis* that need it."""
    target = loops(function)[axis]
    around = (*path_to(function, target), target)
    stage = _stage(function, label, around)
    uses = list(accesses(target.body, tensor))
    if not uses:
        raise ScheduleError(
            f'compute_at: loop "{axis}" does not use "{tensor}", which {label} writes'
        )
    use = uses[0]
    needed = relevant(use)
    taken = taken_names(function) - {loop.axis for loop in stage.own}
    own = _own_axes(stage)
    names = _mirror_names(use.index, needed, own, label, taken)
    indexing = {axis for axis in own if axis is not None}
    rest = [loop for loop in stage.own if loop.axis not in indexing]

    def leaf(values: Mapping[str, Affine]) -> Stmt:
        index = tuple(form.substitute(values) for form in use.index)
        moved = {
            mine: there - (here - name(mine))
            for mine, here, there in zip(own, stage.store.index, index, strict=True)
            if mine is not None
        }
        inner: Stmt = stage.store
        for loop in reversed(rest):
            inner = replace(loop, body=Block((inner,)))
        return map_forms(inner, lambda form: form.substitute(moved))

    kinds = {axis: loop.kind for axis, loop in needed.items()}
    nest = mirror(needed, names, kinds, leaf)
    shared = len(stage.path) - len(stage.own)
    guards = _first_iteration(around[shared:], use.index, needed, label)
    moved = If(guards, Block((nest,))) if guards else nest
    without = rewrite(function, lambda each: _without(each, stage.root))
    return replace_body(without, axis, lambda body: Block((moved, *body.statements)))


def _stage(function: Function, label: str, around: Path) -> _Stage:
    found = [
        (leaf, path)
        for leaf, path in walk_nest(function.body)
        if isinstance(leaf, Store | Reduce)
        and leaf.instance is not None
        and leaf.instance.label == label
    ]
    if len(found) != 1:
        raise ScheduleError(
            f"compute_at: {label} stands in {len(found)} places; "
            "move it before it is copied"
        )
    leaf, path = found[0]
    if not isinstance(leaf, Store):
        raise ScheduleError(
            f"compute_at: {label} is an update, which cannot move into the loops that "
            "use its result; name the statement that stores, or a local tensor"
        )
    shared = 0
    while shared < min(len(path), len(around)) and path[shared] is around[shared]:
        shared += 1
    if shared == len(around):
        raise ScheduleError(
            f'compute_at: {label} is already inside loop "{_axis_of(around)}"'
        )
    own = tuple(node for node in path[shared:] if isinstance(node, For))
    root: Stmt = path[shared] if len(path) > shared else leaf
    if len(own) != len(path) - shared or not _is_single(root):
        raise ScheduleError(
            f"compute_at: {label} is not alone in its nest, or is guarded; "
            "fission it into a nest of its own first"
        )
    block = around[shared - 1].body if shared else function.body
    _check_before(block, root, around[shared], label)
    return _Stage(leaf, path, own, root)


def _check_before(block: Block, root: Stmt, consumer: Stmt, label: str) -> None:
    order = [id(statement) for statement in block.statements]
    if order.index(id(root)) > order.index(id(consumer)):
        raise ScheduleError(
            f"compute_at: {label} comes after that loop; "
            "it can only move into loops that follow it"
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
            label = stage.store.instance.label if stage.store.instance else ""
            raise ScheduleError(
                f"compute_at: the subscripts ({', '.join(map(str, stage.store.index))})"
                f" of {label} are not different axes; move it before it is split"
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


def _first_iteration(
    between: Path, index: Index, inner: Loops, label: str
) -> tuple[Affine, ...]:
    """Return guards for the first iteration of the loops that *index* ignores.

    *inner* are the loops further inside that it needs.
    """
    needed = {axis for form in index for axis in form.names()}
    outside = [node for node in between if isinstance(node, For)]
    guards: list[Affine] = []
    for loop in (*reversed(inner.values()), *reversed(outside)):
        if loop.axis in needed:
            for form in (*loop.starts, *loop.stops):
                needed |= form.names()
            continue
        if len(loop.starts) != 1:
            raise ScheduleError(
                f'compute_at: loop "{loop.axis}" has several starts, so its first '
                f"iteration, where {label} would run, has no simple guard"
            )
        guards.insert(0, loop.starts[0] - name(loop.axis))
    return tuple(guards)


def _without(statement: Stmt, root: Stmt) -> Stmt | Block:
    return Block(()) if statement is root else statement


def _axis_of(around: Path) -> str:
    return next(node.axis for node in reversed(around) if isinstance(node, For))


# --- compute_at: a local tensor ------------------------------------------------------


def _recompute(function: Function, tensor: str, axis: str) -> Function:
    """Compute the part of a local tensor that the body of *axis* reads, there."""
    alloc = allocations(function)[tensor]
    home = path_to(function, alloc)
    block = home[-1].body if home else function.body
    target = loops(function)[axis]
    around = (*path_to(function, target), target)
    if around[: len(home)] != home or len(around) <= len(home):
        raise ScheduleError(
            f'compute_at: "{tensor}" is declared inside or beside loop "{axis}", '
            "not around it"
        )
    consumer = around[len(home)]
    writers = [each for each in block.statements if _writes(Block((each,)), tensor)]
    _check_writers(block, writers, consumer, tensor, axis)
    reads = list(accesses(target.body, tensor))
    everywhere = list(accesses(Block((consumer,)), tensor))
    if not reads or len(reads) != len(everywhere):
        raise ScheduleError(
            f'compute_at: "{tensor}" is read outside loop "{axis}" too (or not in it '
            "at all); choose a loop around all of its reads"
        )
    place = place_in(function, axis)
    sides: list[Side] = []
    for dimension, size in enumerate(alloc.tensor.shape):
        forms = [(access.index[dimension], access.loops) for access in reads]
        side = bounding_side(forms, size, place)
        if side is None:
            raise ScheduleError(
                f"compute_at: the part of dimension {dimension} of "
                f'"{tensor}" that loop "{axis}" reads has no known extent; '
                "split the loops inside, or choose an outer loop"
            )
        sides.append(side)

    def rebase(index: Index) -> Index:
        pairs = zip(index, sides, strict=True)
        return tuple(form - side.origin for form, side in pairs)

    limits = _limits(writers, tensor, sides)

    def restrict(statement: Stmt) -> Stmt:
        if isinstance(statement, For) and statement.axis in limits:
            starts, stops = limits[statement.axis]
            return replace(
                statement,
                starts=prune_starts(
                    (*statement.starts, *starts), place.around, place.dims
                ),
                stops=prune_stops((*statement.stops, *stops), place.around, place.dims),
            )
        return statement

    shape = tuple(side.extent for side in sides)
    small = replace(alloc, tensor=Tensor(tensor, alloc.tensor.dtype, shape))
    moved = rewrite_block(Block(tuple(writers)), restrict)
    moved = redirect(moved, tensor, tensor, rebase)
    gone = {id(statement) for statement in (*writers, alloc)}
    without = rewrite(function, lambda each: Block(()) if id(each) in gone else each)
    return replace_body(
        without,
        axis,
        lambda body: Block(
            (
                small,
                *moved.statements,
                *redirect(body, tensor, tensor, rebase).statements,
            )
        ),
    )


def _check_writers(
    block: Block, writers: Sequence[Stmt], consumer: Stmt, tensor: str, axis: str
) -> None:
    if any(writer is consumer for writer in writers):
        raise ScheduleError(
            f'compute_at: "{tensor}" is written in the nest of loop "{axis}" itself; '
            "name the label of its initialisation, or fission first"
        )
    for writer in writers:
        _check_before(block, writer, consumer, f'"{tensor}"')
        private = {node.tensor.name for node in walk(writer) if isinstance(node, Alloc)}
        for node in walk(writer):
            if isinstance(node, Store | Reduce):
                if node.tensor != tensor and node.tensor not in private:
                    raise ScheduleError(
                        f'compute_at: the nest that writes "{tensor}" also writes '
                        f'"{node.tensor}"; fission first'
                    )
                if any(load.tensor == tensor for load in loads(node.value)):
                    raise ScheduleError(
                        f'compute_at: "{tensor}" is computed from its own elements, '
                        "so a part of it cannot be computed alone"
                    )
    for statement in block.statements:
        if touches(statement, tensor) and not any(
            statement is each for each in (*writers, consumer)
        ):
            raise ScheduleError(
                f'compute_at: "{tensor}" is read outside loop "{axis}" too (or not in '
                "it at all); choose a loop around all of its reads"
            )


def _limits(
    writers: Sequence[Stmt], tensor: str, sides: Sequence[Side]
) -> dict[str, tuple[Index, Index]]:
    """Return the extra starts and stops of the loops that write *tensor*."""
    limits: dict[str, tuple[Index, Index]] = {}
    for writer in writers:
        steps = {n.axis: n.step for n in walk(writer) if isinstance(n, For)}
        for access in accesses(Block((writer,)), tensor):
            for form, side in zip(access.index, sides, strict=True):
                axis = _plain_axis(form, steps)
                shift = form - name(axis) if axis else None
                if axis is None or shift is None or steps[axis] != 1:
                    raise ScheduleError(
                        f'compute_at: the subscript "{form}" that writes "{tensor}" '
                        "is not one axis of step one; move it before it is split"
                    )
                limits[axis] = (
                    tuple(start - shift for start in side.starts),
                    tuple(stop - shift for stop in side.stops),
                )
    return limits


# --- shared -------------------------------------------------------------------------


def _produced(function: Function, producer: str) -> str:
    """Return the tensor that *producer*, a label or a tensor, stands for."""
    if producer in tensors(function):
        if producer in allocations(function):
            return producer
        raise ScheduleError(
            f'compute_at: "{producer}" is a parameter; name the label of the statement '
            f"that moves: {quoted(_all_labels(function))}"
        )
    for node in walk(function):
        if not isinstance(node, Store | Reduce) or node.instance is None:
            continue
        if node.instance.label == producer:
            return node.tensor
    known = [*_all_labels(function), *allocations(function)]
    raise ScheduleError(
        f'compute_at: no statement or local tensor "{producer}" in {function.name}; '
        f"there are {quoted(known)}"
    )


def _all_labels(function: Function) -> list[str]:
    found = (labels(statement) for statement in function.body.statements)
    return sorted(set().union(*found))


def _writes(block: Block, tensor: str) -> bool:
    return any(access.kind != "load" for access in accesses(block, tensor))


def _plain_axis(form: Affine, loops: Mapping[str, object] | None = None) -> str | None:
    axes = [axis for axis in form.names() if loops is None or axis in loops]
    if len(axes) == 1 and form.coefficient(axes[0]) == 1:
        return axes[0]
    return None


def _only_store(function: Function, tensor: str) -> Store:
    writes = [
        (leaf, path)
        for leaf, path in walk_nest(function.body)
        if isinstance(leaf, Store | Reduce) and leaf.tensor == tensor
    ]
    store, path = writes[0] if len(writes) == 1 else (None, ())
    if not isinstance(store, Store):
        raise ScheduleError(
            f'inline: "{tensor}" is not written by one store alone, so it has no '
            "single value to put in its place; use compute_at"
        )
    home = path_to(function, allocations(function)[tensor])
    if any(isinstance(node, If) for node in path[len(home) :]):
        raise ScheduleError(
            f'inline: "{tensor}" is stored under a guard, so it has a value only in '
            "some iterations; use compute_at"
        )
    own = [node.axis for node in path[len(home) :] if isinstance(node, For)]
    axes = [_plain_axis(form) for form in store.index]
    if None in axes or len(set(axes)) != len(axes) or set(axes) != set(own):
        raise ScheduleError(
            f"inline: the subscripts ({', '.join(map(str, store.index))}) of the store "
            f'to "{tensor}" are not the axes of its nest, each once; '
            "inline before splitting"
        )
    if any(form != name(str(_plain_axis(form))) for form in store.index):
        raise ScheduleError(
            f"inline: the subscripts ({', '.join(map(str, store.index))}) of the store "
            f'to "{tensor}" are shifted axes; use compute_at'
        )
    if any(load.tensor == tensor for load in loads(store.value)):
        raise ScheduleError(
            f'inline: "{tensor}" is computed from its own old value; use compute_at'
        )
    return store


def _substituted(value: Expr, values: Mapping[str, Affine]) -> Expr:
    carrier = Store("", (), value, None)
    moved = map_forms(carrier, lambda form: form.substitute(values))
    assert isinstance(moved, Store)
    return moved.value
