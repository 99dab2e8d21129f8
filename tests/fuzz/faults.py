"""Planted faults: one small mistake in a scheduled function."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from tdsl.ir.affine import Affine, constant, name
from tdsl.ir.dtypes import i64
from tdsl.ir.extents import fixed_extent
from tdsl.ir.nodes import (
    Binary,
    Block,
    Const,
    Expr,
    For,
    Function,
    Gather,
    If,
    Load,
    LoopKind,
    Reduce,
    ReduceOp,
    Scatter,
    Stmt,
    Store,
)
from tdsl.ir.walk import (
    allocations,
    chosen_accesses,
    chosen_by_data,
    loops,
    map_exprs,
    rewrite,
    rewrite_expr,
    scatters,
    walk,
)

from .rewrites import (
    Rewrite,
    axes_around,
    copied,
    hoist,
    interchange,
    moved,
    swap,
    tensors_of,
)

Change = Callable[[tuple[Affine, ...], random.Random], tuple[Affine, ...]]


def shift_bound(function: Function, rng: random.Random) -> Function | None:
    """Start or stop a loop one too early or late."""
    loop = _some_loop(function, rng)
    if loop is None:
        return None
    shift = rng.choice([-1, 1])
    if rng.random() < 0.5:
        return _put(
            function, loop, replace(loop, starts=_shift(loop.starts, shift, rng))
        )
    return _put(function, loop, replace(loop, stops=_shift(loop.stops, shift, rng)))


def drop_bound(function: Function, rng: random.Random) -> Function | None:
    """Forget the tail of a tile, or another of several stops."""
    found = [loop for loop in loops(function).values() if len(loop.stops) > 1]
    if not found:
        return None
    loop = rng.choice(found)
    kept = rng.sample(loop.stops, len(loop.stops) - 1)
    return _put(function, loop, replace(loop, stops=tuple(kept)))


def change_step(function: Function, rng: random.Random) -> Function | None:
    """Make tiles overlap or leave gaps."""
    loop = _some_loop(function, rng)
    if loop is None:
        return None
    step = max(1, loop.step + rng.choice([-1, 1]))
    return _put(function, loop, replace(loop, step=step)) if step != loop.step else None


def drop_guard(function: Function, rng: random.Random) -> Function | None:
    """Run the body of an `If` always."""
    found = [node for node in walk(function) if isinstance(node, If)]
    if not found:
        return None
    guard = rng.choice(found)
    return rewrite(function, lambda s: guard.body if s is guard else s)


def shift_subscript(function: Function, rng: random.Random) -> Function | None:
    """Touch a neighbouring element."""
    return _change_access(function, rng, _shifted)


def swap_subscripts(function: Function, rng: random.Random) -> Function | None:
    """Exchange two subscripts, or use another axis."""
    return _change_access(function, rng, _swapped)


def drop_statement(function: Function, rng: random.Random) -> Function | None:
    """Leave a statement out: an initialisation, a copy, an update."""
    leaf = _some_leaf(function, rng)
    if leaf is None:
        return None
    return rewrite(function, lambda s: Block(()) if s is leaf else s)


def repeat_statement(function: Function, rng: random.Random) -> Function | None:
    """Run a statement or a loop twice."""
    if rng.random() < 0.5:
        leaf = _some_leaf(function, rng)
        if leaf is None:
            return None
        return rewrite(function, lambda s: Block((s, s)) if s is leaf else s)
    loop = _some_loop(function, rng)
    if loop is None:
        return None
    twice = Block((loop, *copied(function, loop)))
    return rewrite(
        function, lambda s: twice if isinstance(s, For) and s.axis == loop.axis else s
    )


def change_value(function: Function, rng: random.Random) -> Function | None:
    """Compute something else: another constant, operation or tensor."""
    leaf = _some_leaf(function, rng)
    if leaf is None:
        return None
    ranks = {label: len(t.shape) for label, t in tensors_of(function).items()}
    params = {param.tensor.name for param in function.params}
    hit = rng.random() < 0.5

    def change(expr: Expr) -> Expr:
        if isinstance(expr, Const):
            return replace(expr, value=expr.value + 1)
        if isinstance(expr, Load) and hit:
            others = [o for o in sorted(params) if ranks[o] == ranks[expr.tensor]]
            return replace(expr, tensor=rng.choice([*others, expr.tensor]))
        return expr

    new = replace(leaf, value=rewrite_expr(leaf.value, change))
    if isinstance(new, Reduce) and rng.random() < 0.3:
        new = replace(new, op=rng.choice([ReduceOp.ADD, ReduceOp.MUL, ReduceOp.MAX]))
    return rewrite(function, lambda s: new if s is leaf else s)


def choose_another(function: Function, rng: random.Random) -> Function | None:
    """Let data choose the next element."""
    found = [*chosen_accesses(function)]
    if not found:
        return None
    access = rng.choice(found)
    place = rng.choice(chosen_by_data(access.index))
    part = access.index[place]
    if isinstance(part, Binary):
        old: Expr = Binary("add", part.left, Const(1, i64), i64)
        further: Expr = replace(part, left=old)
    else:
        assert isinstance(part, Load)
        further = replace(part, index=(part.index[0] + 1,))
    index = (*access.index[:place], further, *access.index[place + 1 :])
    new = replace(access, index=index)

    def expr_rule(expr: Expr) -> Expr:
        return new if expr is access and isinstance(new, Gather) else expr

    def rule(statement: Stmt) -> Stmt:
        if statement is access and isinstance(new, Scatter):
            return new
        if not isinstance(statement, Store | Reduce | Scatter):
            return statement
        return map_exprs(statement, expr_rule)

    return rewrite(function, rule)


def drop_condition(function: Function, rng: random.Random) -> Function | None:
    """Write an element that data chooses whether it is meant or not."""
    found = [s for s in scatters(function) if s.condition is not None]
    if not found:
        return None
    scatter = rng.choice(found)
    new = replace(scatter, condition=None)
    return rewrite(function, lambda s: new if s is scatter else s)


def overwrite(function: Function, rng: random.Random) -> Function | None:
    """Store where an update was meant."""
    found = [node for node in walk(function) if isinstance(node, Reduce)]
    if not found:
        return None
    leaf = rng.choice(found)
    new = Store(leaf.tensor, leaf.index, leaf.value, leaf.instance)
    return rewrite(function, lambda s: new if s is leaf else s)


def shrink_local(function: Function, rng: random.Random) -> Function | None:
    """Make a local tensor one element too small."""
    found = [a for a in allocations(function).values() if a.tensor.shape]
    if not found:
        return None
    alloc = rng.choice(found)
    shape = [*alloc.tensor.shape]
    side = rng.randrange(len(shape))
    shape[side] = shape[side] - 1
    tensor = replace(alloc.tensor, shape=tuple(shape))
    return rewrite(
        function, lambda s: replace(alloc, tensor=tensor) if s is alloc else s
    )


def parallelize_blindly(function: Function, rng: random.Random) -> Function | None:
    """Run a loop in parallel or as a vector, whatever it carries."""
    loop = _some_loop(function, rng)
    if loop is None:
        return None
    kind = rng.choice([LoopKind.PARALLEL, LoopKind.VECTORIZED])
    return _put(function, loop, replace(loop, kind=kind))


def reuse_axis(function: Function, rng: random.Random) -> Function | None:
    """Give a loop the axis name of another one, which is empty."""
    loop = _some_loop(function, rng)
    if loop is None:
        return None
    empty = replace(loop, stops=loop.starts, step=1, body=Block(()))
    empty = replace(empty, kind=LoopKind.SERIAL)
    return _put(function, loop, Block((empty, _shortened(loop, rng))))


def _shortened(loop: For, rng: random.Random) -> For:
    return replace(loop, stops=_shift(loop.stops, -1, rng))


def reuse_tensor(function: Function, rng: random.Random) -> Function | None:
    """Declare a local tensor again, larger, after a use of the first."""
    found = [a for a in allocations(function).values() if a.tensor.shape]
    if not found:
        return None
    alloc = rng.choice(found)
    shape = tuple(size - 1 for size in alloc.tensor.shape)
    small = replace(alloc, tensor=replace(alloc.tensor, shape=shape))

    def change(block: Block) -> Block:
        if alloc not in block.statements:
            return block
        at = block.statements.index(alloc)
        rest = block.statements[at + 1 :]
        return Block((*block.statements[:at], small, *rest, alloc))

    return _in_blocks(function, change)


def hide_tensor(function: Function, rng: random.Random) -> Function | None:
    """Declare a local tensor inside a guard that never holds."""
    found = [*allocations(function).values()]
    if not found:
        return None
    alloc = rng.choice(found)
    guard = If((constant(-1),), Block((alloc,)))
    return rewrite(function, lambda s: guard if s is alloc else s)


def misuse_kind(function: Function, rng: random.Random) -> Function | None:
    """Fuse a loop with none around it, or make a vector of loops of any length."""
    if rng.random() < 0.5:
        tops = [s for s in function.body.statements if isinstance(s, For)]
        if not tops:
            return None
        top = rng.choice(tops)
        return _put(function, top, replace(top, kind=LoopKind.FUSED))
    found = [f for f in loops(function).values() if fixed_extent(f) is None]
    if not found:
        return None
    loop = rng.choice(found)
    return _put(function, loop, replace(loop, kind=LoopKind.VECTORIZED))


def wrong_skew(function: Function, rng: random.Random) -> Function | None:
    """Skew the bounds of a loop by another factor than its body, or the reverse."""
    found = [(loop, axes_around(function, a)) for a, loop in loops(function).items()]
    found = [(loop, outer) for loop, outer in found if outer]
    if not found:
        return None
    loop, outer = rng.choice(found)
    new = moved(loop, name(rng.choice(outer)) * rng.choice([-1, 1, 2]))
    if rng.random() < 0.5:
        return _put(function, loop, replace(new, body=loop.body))
    return _put(function, loop, replace(loop, body=new.body))


def half_shift(function: Function, rng: random.Random) -> Function | None:
    """Shift the bounds of a loop by one, and not its body."""
    loop = _some_loop(function, rng)
    if loop is None:
        return None
    new = moved(loop, constant(rng.choice([-1, 1])))
    return _put(function, loop, replace(new, body=loop.body))


def wrong_origin(function: Function, rng: random.Random) -> Function | None:
    """Start tiles elsewhere, so that they do not cover the loop."""
    found = [loop for loop in loops(function).values() if loop.step > 1]
    if not found:
        return None
    loop = rng.choice(found)
    shift = rng.choice([1, -1, loop.step, -loop.step])
    starts = tuple(start + shift for start in loop.starts)
    return _put(function, loop, replace(loop, starts=starts))


def swap_bounds(function: Function, rng: random.Random) -> Function | None:
    """Exchange the bounds of two loops, one inside the other."""
    found = [(loop, axes_around(function, a)) for a, loop in loops(function).items()]
    found = [(loop, outer) for loop, outer in found if outer]
    if not found:
        return None
    inner, around = rng.choice(found)
    outer = loops(function)[rng.choice(around)]
    if any(outer.axis in form.names() for form in (*inner.starts, *inner.stops)):
        return None

    def rule(statement: Stmt) -> Stmt:
        if not isinstance(statement, For):
            return statement
        if statement.axis == outer.axis:
            return replace(statement, starts=inner.starts, stops=inner.stops)
        if statement.axis == inner.axis:
            return replace(statement, starts=outer.starts, stops=outer.stops)
        return statement

    return rewrite(function, rule)


def change_guard(function: Function, rng: random.Random) -> Function | None:
    """Let a guard hold once more or less, or forget one of its conditions."""
    found = [node for node in walk(function) if isinstance(node, If)]
    if not found:
        return None
    guard = rng.choice(found)
    forms = [*guard.conditions]
    place = rng.randrange(len(forms))
    if len(forms) > 1 and rng.random() < 0.4:
        del forms[place]
    else:
        forms[place] = rng.choice([forms[place] - 1, forms[place] + 1, -forms[place]])
    new = replace(guard, conditions=tuple(forms))
    return rewrite(function, lambda s: new if s is guard else s)


def exchange_statements(function: Function, rng: random.Random) -> Function | None:
    """Run two neighbouring statements in the other order."""
    return swap(function, rng)


def share_local(function: Function, rng: random.Random) -> Function | None:
    """Let iterations share what each had for itself."""
    found = [*allocations(function).values()]
    inside = [a for a in found if a not in function.body.statements]
    return hoist(function, rng) if inside else None


def mix_iterations(function: Function, rng: random.Random) -> Function | None:
    """Interchange two loops whatever their dependences are."""
    return interchange(function, rng)


def uncheck(function: Function, rng: random.Random) -> Function | None:
    """Trust a subscript that the kernel does not vouch for."""
    found = [access for access in chosen_accesses(function) if access.checked]
    if not found:
        return None
    access = rng.choice(found)

    def expr_rule(expr: Expr) -> Expr:
        return replace(access, checked=False) if expr is access else expr  # type: ignore[return-value]

    def rule(statement: Stmt) -> Stmt:
        if isinstance(access, Scatter):
            same = statement is access
            return replace(access, checked=False) if same else statement
        if not isinstance(statement, Store | Reduce | Scatter):
            return statement
        return map_exprs(statement, expr_rule)

    return rewrite(function, rule)


MALFORMATIONS: tuple[Rewrite, ...] = (
    reuse_axis,
    reuse_tensor,
    hide_tensor,
    misuse_kind,
)
"""Mistakes after which a function is no program."""

UNSEEN: tuple[Rewrite, ...] = (*MALFORMATIONS, uncheck)
"""Mistakes that no execution needs to show."""

FAULTS: tuple[Rewrite, ...] = (
    shift_bound,
    drop_bound,
    change_step,
    drop_guard,
    shift_subscript,
    swap_subscripts,
    drop_statement,
    repeat_statement,
    change_value,
    overwrite,
    choose_another,
    drop_condition,
    shrink_local,
    parallelize_blindly,
    wrong_skew,
    half_shift,
    wrong_origin,
    swap_bounds,
    change_guard,
    exchange_statements,
    mix_iterations,
    share_local,
    *UNSEEN,
)


def _some_loop(function: Function, rng: random.Random) -> For | None:
    found = [*loops(function).values()]
    return rng.choice(found) if found else None


def _some_leaf(function: Function, rng: random.Random) -> Store | Reduce | None:
    found = [node for node in walk(function) if isinstance(node, Store | Reduce)]
    return rng.choice(found) if found else None


def _put(function: Function, loop: For, new: Stmt) -> Function:
    return rewrite(
        function,
        lambda s: new if isinstance(s, For) and s.axis == loop.axis else s,
    )


def _shift(
    forms: tuple[Affine, ...], shift: int, rng: random.Random
) -> tuple[Affine, ...]:
    changed = [*forms]
    place = rng.randrange(len(changed))
    changed[place] = changed[place] + shift
    return tuple(changed)


def _in_blocks(function: Function, change: Callable[[Block], Block]) -> Function:
    """Apply *change* to every block of *function*."""

    def rule(statement: Stmt) -> Stmt:
        if isinstance(statement, For | If):
            return replace(statement, body=change(statement.body))
        return statement

    changed = rewrite(function, rule)
    return replace(changed, body=change(changed.body))


def _change_access(
    function: Function, rng: random.Random, change: Change
) -> Function | None:
    leaf = _some_leaf(function, rng)
    if leaf is None:
        return None
    loads = [node for node in walk(leaf) if isinstance(node, Load) and node.index]
    if loads and rng.random() < 0.6:
        load = rng.choice(loads)
        new = replace(load, index=change(load.index, rng))
        value = rewrite_expr(leaf.value, lambda e: new if e is load else e)
        changed: Stmt = replace(leaf, value=value)
    elif leaf.index:
        changed = replace(leaf, index=change(leaf.index, rng))
    else:
        return None
    return rewrite(function, lambda s: changed if s is leaf else s)


def _shifted(index: tuple[Affine, ...], rng: random.Random) -> tuple[Affine, ...]:
    return _shift(index, rng.choice([-1, 1]), rng)


def _swapped(index: tuple[Affine, ...], rng: random.Random) -> tuple[Affine, ...]:
    if len(index) > 1 and rng.random() < 0.5:
        return (index[1], index[0], *index[2:])
    place = rng.randrange(len(index))
    names = sorted(set().union(*(form.names() for form in index)))
    if not names:
        return _shift(index, 1, rng)
    new = name(rng.choice(names))
    return (*index[:place], new, *index[place + 1 :])
