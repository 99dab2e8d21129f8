"""Primitives that move whole stages of a computation: compute_at, inline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..errors import ScheduleError
from ..ir.affine import Affine, name
from ..ir.nodes import (
    Alloc,
    Block,
    Expr,
    For,
    Function,
    Gather,
    If,
    Load,
    Reduce,
    Scatter,
    Stmt,
    Store,
)
from ..ir.walk import (
    allocations,
    chosen_by_data,
    loads,
    loops,
    map_exprs,
    map_forms,
    rewrite,
    walk,
    walk_nest,
)
from .boxes import Index
from .checks import (
    Path,
    check_open,
    find_loop,
    find_tensor,
    path_to,
    quoted,
    tensors,
)
from .copies import labels
from .reasons import kept_order
from .recomputation import recompute
from .regions import check_affine, plain_axis, writes
from .store_moves import move_store


def compute_at(function: Function, producer: str, axis: str) -> Function:
    """Compute what the body of *axis* needs of *producer* there.

    *producer* is the label of a statement or the name of a local tensor.

    An initialisation moves into the loops of its reduction, over the part that they
    update, in their first iteration.

    Before, and after `compute_at("S0", "i_t")`:

        for i in range(M):                  for k_o in range(0, K, 256):
            C[i] = 0.0  # S0[i]                 for i_t in range(0, M, 12):
        for k_o in range(0, K, 256):                if -k_o >= 0:
            for i_t in range(0, M, 12):                 for i in range(i_t, ...):
                for k_i in range(k_o, ...):                 C[i] = 0.0  # S0[i]
                    for i_i in range(i_t, ...):     for k_i in range(k_o, ...):
                        C[i_i] += ...                   for i_i in range(i_t, ...):
                                                            C[i_i] += ...

    Where a loop that it ignores may be empty, it also stays in its old place, guarded
    for that case.

    A local tensor is computed anew in each iteration of *axis*, as much of it as the
    body reads, into a smaller tensor of its own.

    Before, and after `compute_at("T", "i_o")`:

        T = local f32[M]                    for i_o in range(0, M, 32):
        for i in range(M):                      T = local f32[34]
            T[i] = ...  # S0[i]                 for i in range(i_o, min(i_o + 34, M)):
        for i_o in range(0, M - 2, 32):             T[i - i_o] = ...  # S0[i]
            for i_i in range(i_o, ...):         for i_i in range(i_o, ...):
                ... T[i_i + 2] ...                  ... T[i_i + 2 - i_o] ...
    """
    find_loop(function, axis, "compute_at")
    check_open(function, axis, "compute_at")
    tensor = _produced(function, producer)
    check_affine(function.body, tensor, "compute_at")
    target = loops(function)[axis]
    if producer not in allocations(function) and (
        tensor not in allocations(function) or writes(target.body, tensor)
    ):
        return move_store(function, producer, tensor, axis)
    return recompute(function, tensor, axis)


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
    check_affine(function.body, tensor, "inline")
    store = _only_store(function, tensor)
    axes = [plain_axis(form) for form in store.index]

    def at(index: Index) -> Store:
        pairs = zip(axes, index, strict=True)
        return _substituted(
            store, {axis: form for axis, form in pairs if axis is not None}
        )

    def leaf(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.tensor == tensor:
            return at(expr.index).value
        if isinstance(expr, Gather):
            _check_chosen(expr.index, tensor)
        return expr

    def rule(statement: Stmt) -> Stmt | Block:
        match statement:
            case Store() | Reduce() if statement.tensor == tensor:
                return Block(())
            case Store(instance=None, value=Load(tensor=source, index=index)) if (
                source == tensor
            ):
                # A copy of the tensor now computes what the removed store did.
                origin = at(index)
                return replace(statement, value=origin.value, instance=origin.instance)
            case Store() | Reduce() | Scatter():
                changed = map_exprs(statement, leaf)
                if isinstance(changed, Scatter):
                    _check_chosen(changed.index, tensor)
                return changed
            case Alloc() if statement.tensor.name == tensor:
                return Block(())
            case For() | If() if not statement.body.statements:
                return Block(())
            case _:
                return statement

    return rewrite(function, rule)


def _check_chosen(index: tuple[Expr, ...], tensor: str) -> None:
    if not chosen_by_data(index):
        raise ScheduleError(
            f'inline: "{tensor}" is used as a subscript, and its value is affine; '
            "write that value in the subscript of the kernel"
        )


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
        if not isinstance(node, Store | Reduce | Scatter) or node.instance is None:
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


def _only_store(function: Function, tensor: str) -> Store:
    """Return the one store to *tensor*, which runs once for each element."""
    writes = [
        (leaf, path)
        for leaf, path in walk_nest(function.body)
        if isinstance(leaf, Store | Reduce) and leaf.tensor == tensor
    ]
    home = path_to(function, allocations(function)[tensor])
    block = home[-1].body if home else function.body
    store, path = writes[0] if len(writes) == 1 else (None, ())
    if not isinstance(store, Store):
        uses = block.statements
        reason = kept_order(function, uses, uses, tensor, kinds=("reduction", "output"))
        raise ScheduleError(
            f'inline: "{tensor}" is not written by one store alone, so it has no '
            f"single value to put in its place{reason.because}; use compute_at"
            f"{reason.witness}"
        )
    if any(isinstance(node, If) for node in path[len(home) :]):
        raise ScheduleError(
            f'inline: "{tensor}" is stored under a guard, so it has a value only in '
            "some iterations; use compute_at"
        )
    _check_own_axes(function, store, path[len(home) :])
    _check_readable(function, store, home)
    return store


def _check_own_axes(function: Function, store: Store, nest: Path) -> None:
    own = [node.axis for node in nest if isinstance(node, For)]
    axes = [plain_axis(form) for form in store.index]
    shown = f"the subscripts ({', '.join(map(str, store.index))}) of the store"
    if None in axes or len(set(axes)) != len(axes) or set(axes) != set(own):
        root = nest[:1]
        reason = kept_order(function, root, root, store.tensor, kinds=("output",))
        if reason.found:
            raise ScheduleError(
                f'inline: "{store.tensor}" has no single value to put in its '
                f"place{reason.because}; use compute_at{reason.witness}"
            )
        raise ScheduleError(
            f'inline: {shown} to "{store.tensor}" are not the axes of its nest, each '
            "once; inline before splitting"
        )
    if any(form != name(str(plain_axis(form))) for form in store.index):
        raise ScheduleError(
            f'inline: {shown} to "{store.tensor}" are shifted axes; use compute_at'
        )


def _check_readable(function: Function, store: Store, home: Path) -> None:
    """Refuse a value that reads what is out of reach where the tensor is read."""
    tensor = store.tensor
    if any(load.tensor == tensor for load in loads(store.value)):
        block = home[-1].body if home else function.body
        uses = [each for each in block.statements if writes(Block((each,)), tensor)]
        reason = kept_order(function, uses, uses, tensor, kinds=("flow", "anti"))
        raise ScheduleError(
            f'inline: "{tensor}" is computed from its own old value{reason.because}; '
            f"use compute_at{reason.witness}"
        )
    for load in loads(store.value):
        alloc = allocations(function).get(load.tensor)
        if alloc is None:
            continue
        outside = path_to(function, alloc)
        if home[: len(outside)] != outside:
            raise ScheduleError(
                f'inline: the value of "{tensor}" reads "{load.tensor}", which is '
                "declared further in; inline that first"
            )


def _substituted(store: Store, values: Mapping[str, Affine]) -> Store:
    moved = map_forms(store, lambda form: form.substitute(values))
    assert isinstance(moved, Store)
    return moved
