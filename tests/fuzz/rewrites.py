"""Unchecked transformations: what schedules do, without asking whether it is legal."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from tdsl.ir.affine import Affine, affine, constant, name
from tdsl.ir.extents import fixed_extent
from tdsl.ir.nodes import (
    Alloc,
    Block,
    Const,
    Expr,
    For,
    Function,
    Gather,
    If,
    Load,
    LoopKind,
    Memory,
    Reduce,
    Scatter,
    Stmt,
    Store,
    Tensor,
)
from tdsl.ir.walk import (
    allocations,
    loops,
    map_exprs,
    rewrite,
    rewrite_block,
    substitute,
    walk,
)

Rewrite = Callable[[Function, random.Random], Function | None]


def split(function: Function, rng: random.Random) -> Function | None:
    """Tile a loop; the tail is guarded."""
    loop = _pick(function, rng)
    if loop is None or loop.step != 1 or len(loop.starts) > 1:
        return None
    factor = rng.choice([2, 3, 4])
    outer = _fresh(function, f"{loop.axis}o")
    stops = (name(outer) + factor, *loop.stops)
    inner = replace(loop, starts=(name(outer),), stops=stops)
    new = replace(loop, axis=outer, step=factor, body=Block((inner,)))
    return _replace(function, loop, new)


def cut(function: Function, rng: random.Random) -> Function | None:
    """Run the first iterations of a loop in a nest of their own."""
    loop = _pick(function, rng)
    if loop is None or loop.step != 1:
        return None
    point = rng.choice([constant(2), *(stop - 1 for stop in loop.stops)])
    first = replace(loop, stops=(*loop.stops, point))
    rest = replace(loop, starts=(*loop.starts, point))
    return _replace(function, loop, Block((first, *copied(function, rest))))


def interchange(function: Function, rng: random.Random) -> Function | None:
    """Swap a loop with the only loop inside it."""
    loop = _pick(function, rng, lambda f: _only_child(f) is not None)
    if loop is None:
        return None
    inner = _only_child(loop)
    assert inner is not None
    starts = [form for form in inner.starts if loop.axis not in form.names()]
    stops = [form for form in inner.stops if loop.axis not in form.names()]
    guards = [name(inner.axis) - f for f in inner.starts if f not in starts]
    guards += [f - name(inner.axis) - 1 for f in inner.stops if f not in stops]
    if guards and (inner.step != 1 or not stops):
        return None
    body = Block((If(tuple(guards), inner.body),)) if guards else inner.body
    low = tuple(starts) or (constant(0),)
    new = replace(
        inner, starts=low, stops=tuple(stops), body=Block((replace(loop, body=body),))
    )
    return _replace(function, loop, new)


def distribute(function: Function, rng: random.Random) -> Function | None:
    """Give the first statements of a loop body a loop of their own."""
    loop = _pick(function, rng, lambda f: len(f.body.statements) > 1)
    if loop is None or any(isinstance(s, Alloc) for s in loop.body.statements):
        return None
    at = rng.randrange(1, len(loop.body.statements))
    first = replace(loop, body=Block(loop.body.statements[:at]))
    rest = replace(loop, body=Block(loop.body.statements[at:]))
    return _replace(function, loop, Block((first, *copied(function, rest))))


def merge(function: Function, rng: random.Random) -> Function | None:
    """Merge two neighbouring loops with the same bounds."""
    blocks = [node for node in walk(function) if isinstance(node, Block)]
    pairs = [
        (block, number)
        for block in blocks
        for number, (a, b) in enumerate(
            zip(block.statements, block.statements[1:], strict=False)
        )
        if isinstance(a, For)
        and isinstance(b, For)
        and (a.starts, a.stops, a.step) == (b.starts, b.stops, b.step)
    ]
    if not pairs:
        return None
    block, number = rng.choice(pairs)
    a, b = block.statements[number : number + 2]
    assert isinstance(a, For) and isinstance(b, For)
    second = substitute(b.body, {b.axis: name(a.axis)})
    merged = replace(a, body=Block((*a.body.statements, *second.statements)))
    statements = (*block.statements[:number], merged, *block.statements[number + 2 :])
    return _replace_block(function, block, Block(statements))


def swap(function: Function, rng: random.Random) -> Function | None:
    """Swap two neighbouring statements."""
    blocks = [
        node
        for node in walk(function)
        if isinstance(node, Block)
        and len([s for s in node.statements if not isinstance(s, Alloc)]) > 1
    ]
    if not blocks:
        return None
    block = rng.choice(blocks)
    places = [
        k
        for k in range(len(block.statements) - 1)
        if not any(isinstance(s, Alloc) for s in block.statements[k : k + 2])
    ]
    if not places:
        return None
    k = rng.choice(places)
    new = [*block.statements]
    new[k], new[k + 1] = new[k + 1], new[k]
    return _replace_block(function, block, Block(tuple(new)))


def mark(function: Function, rng: random.Random) -> Function | None:
    """Run a loop in parallel, as a vector, or fused with its parent."""
    loop = _pick(function, rng)
    if loop is None:
        return None
    child = _only_child(loop)
    kinds = [LoopKind.PARALLEL, LoopKind.PARALLEL]
    if loop.step == 1 and fixed_extent(loop) is not None:
        kinds.append(LoopKind.VECTORIZED)
    kind = rng.choice(kinds)
    new = replace(loop, kind=kind)
    if child is not None and rng.random() < 0.3:
        fused = replace(child, kind=LoopKind.FUSED)
        new = replace(new, kind=LoopKind.PARALLEL, body=Block((fused,)))
    return _replace(function, loop, new)


def stage_reads(function: Function, rng: random.Random) -> Function | None:
    """Copy a whole tensor before a loop and read the copy inside it."""
    return _stage(function, rng, writes=False)


def stage_writes(function: Function, rng: random.Random) -> Function | None:
    """Work on a copy of a whole tensor inside a loop, and copy it back after."""
    return _stage(function, rng, writes=True)


def _stage(function: Function, rng: random.Random, writes: bool) -> Function | None:
    loop = _pick(function, rng)
    if loop is None:
        return None
    accesses = Load | Gather | Store | Reduce | Scatter
    touched = {n.tensor for n in walk(loop) if isinstance(n, accesses)}
    touched -= {a.tensor.name for a in walk(loop) if isinstance(a, Alloc)}
    if not touched:
        return None
    old = tensors_of(function)[rng.choice(sorted(touched))]
    copy = replace(old, name=_fresh(function, f"{old.name}c"))
    statements: list[Stmt] = [
        Alloc(copy, Memory.ARRAY),
        _whole(function, copy, old, "p"),
    ]
    statements += _redirected(Block((loop,)), old.name, copy.name, writes).statements
    if writes:
        statements.append(_whole(function, old, copy, "q"))
    return _replace(function, loop, Block(tuple(statements)))


def accumulate(function: Function, rng: random.Random) -> Function | None:
    """Keep the element that a loop reduces into in a register."""
    loop = _pick(function, rng, lambda f: isinstance(f.body.statements[0], Reduce))
    if loop is None or len(loop.body.statements) > 1:
        return None
    update = loop.body.statements[0]
    assert isinstance(update, Reduce)
    if any(loop.axis in form.names() for form in update.index):
        return None
    old = tensors_of(function)[update.tensor]
    register = Tensor(_fresh(function, f"{old.name}r"), old.dtype, ())
    inner = replace(update, tensor=register.name, index=())
    return _replace(
        function,
        loop,
        Block(
            (
                Alloc(register, Memory.REGISTER),
                Store(register.name, (), Load(old.name, update.index, old.dtype), None),
                replace(loop, body=Block((inner,))),
                Store(old.name, update.index, Load(register.name, (), old.dtype), None),
            )
        ),
    )


def factor(function: Function, rng: random.Random) -> Function | None:
    """Reduce into a few partial results, and merge them after the loop."""
    loop = _pick(function, rng, lambda f: isinstance(f.body.statements[0], Reduce))
    if loop is None or len(loop.body.statements) > 1 or loop.step != 1:
        return None
    update = loop.body.statements[0]
    assert isinstance(update, Reduce)
    if any(loop.axis in form.names() for form in update.index) or len(loop.starts) > 1:
        return None
    count, old = rng.choice([2, 3]), tensors_of(function)[update.tensor]
    part = Tensor(_fresh(function, f"{old.name}f"), old.dtype, (constant(count),))
    one, two = _fresh(function, "r"), _fresh(function, "s")
    outer = _fresh(function, f"{loop.axis}o")
    zero = Store(
        part.name, (name(one),), Const(update.op.identity(old.dtype), old.dtype), None
    )
    lane = name(loop.axis) - name(outer)
    inner = replace(
        loop,
        starts=(name(outer),),
        stops=(name(outer) + count, *loop.stops),
        body=Block((replace(update, tensor=part.name, index=(lane,)),)),
        kind=rng.choice([LoopKind.SERIAL, LoopKind.VECTORIZED]),
    )
    partial = Load(part.name, (name(two),), old.dtype)
    final = Reduce(update.op, old.name, update.index, partial, None)
    return _replace(
        function,
        loop,
        Block(
            (
                Alloc(part, Memory.ARRAY),
                _range(one, affine(count), zero),
                replace(loop, axis=outer, step=count, body=Block((inner,))),
                _range(two, affine(count), final),
            )
        ),
    )


def hoist(function: Function, rng: random.Random) -> Function | None:
    """Declare a local tensor once, at the top."""
    found = [
        a
        for a in allocations(function).values()
        if not a.tensor.shape
        or all(s.names() <= {d.name for d in function.dims} for s in a.tensor.shape)
    ]
    if not found:
        return None
    alloc = rng.choice(found)
    body = rewrite(function, lambda s: Block(()) if s == alloc else s).body
    return replace(function, body=Block((alloc, *body.statements)))


def skew(function: Function, rng: random.Random) -> Function | None:
    """Run a loop in coordinates that move with a loop around it."""
    loop = _pick(function, rng)
    if loop is None or loop.kind is not LoopKind.SERIAL:
        return None
    outer = axes_around(function, loop.axis)
    if not outer:
        return None
    offset = name(rng.choice(outer)) * rng.choice([-1, 1, 1, 2])
    return _replace(function, loop, moved(loop, offset))


def shift(function: Function, rng: random.Random) -> Function | None:
    """Run a loop in other coordinates."""
    loop = _pick(function, rng)
    if loop is None:
        return None
    dims = [name(dim.name) for dim in function.dims]
    offset = rng.choice([constant(-1), constant(1), constant(2), *dims])
    return _replace(function, loop, moved(loop, offset))


def merge_unlike(function: Function, rng: random.Random) -> Function | None:
    """Run two neighbouring loops in one that covers both, their bodies guarded."""
    pairs = [
        (one, other)
        for one, other in _neighbours(function)
        if one.step == other.step == 1 and len(one.starts) == len(one.stops) == 1
    ]
    if not pairs:
        return None
    one, other = rng.choice(pairs)
    other = moved(other, constant(rng.choice([0, 0, 1, 2])))
    covers = (constant(-2),), tuple(name(dim.name) + 9 for dim in function.dims[:1])
    stop = covers[1][0] + sum((name(d.name) for d in function.dims[1:]), constant(0))
    bodies: list[Stmt] = []
    for loop in (one, other):
        body = substitute(loop.body, {loop.axis: name(one.axis)})
        held = [name(one.axis) - start for start in loop.starts]
        held += [form - name(one.axis) - 1 for form in loop.stops]
        bodies.append(If(tuple(held), body))
    new = replace(one, starts=covers[0], stops=(stop,), body=Block(tuple(bodies)))
    without = rewrite(function, lambda s: Block(()) if _is(s, other) else s)
    return _replace(without, one, new)


def tighten(function: Function, rng: random.Random) -> Function | None:
    """Leave the iterations of a loop that its guard does not run to its bounds."""
    found = [loop for loop in loops(function).values() if _guard(loop) is not None]
    if not found:
        return None
    loop = rng.choice(found)
    guard = _guard(loop)
    assert guard is not None
    starts, stops, rest = [*loop.starts], [*loop.stops], []
    for form in guard.conditions:
        match form.coefficient(loop.axis):
            case 1 if loop.axis not in (form - name(loop.axis)).names():
                starts.append(name(loop.axis) - form)
            case -1 if loop.axis not in (form + name(loop.axis)).names():
                stops.append(form + name(loop.axis) + 1)
            case _:
                rest.append(form)
    if loop.step != 1 or len(rest) == len(guard.conditions):
        return None
    body = Block((If(tuple(rest), guard.body),)) if rest else guard.body
    new = replace(loop, starts=tuple(starts), stops=tuple(stops), body=body)
    return _replace(function, loop, new)


def divide(function: Function, rng: random.Random) -> Function | None:
    """Run the body of a loop under a guard, and a copy of it under the contrary."""
    loop = _pick(function, rng)
    if loop is None:
        return None
    around = [*axes_around(function, loop.axis), loop.axis]
    others = [constant(2), *(name(dim.name) for dim in function.dims)]
    others += [name(axis) for axis in around[:-1]]
    form = name(loop.axis) - rng.choice(others)
    inside = replace(loop, body=Block((If((form,), loop.body),)))
    rest = replace(loop, body=Block((If((-form - 1,), loop.body),)))
    both = Block((inside, *copied(function, rest)))
    if rng.random() < 0.5:  # in one loop
        (twin,) = copied(function, rest)
        assert isinstance(twin, For)
        second = substitute(twin.body, {twin.axis: name(loop.axis)})
        both = Block((*inside.body.statements, *second.statements))
        return _replace(function, loop, replace(loop, body=both))
    return _replace(function, loop, both)


def enclose(function: Function, rng: random.Random) -> Function | None:
    """Put a loop of one iteration around a loop."""
    loop = _pick(function, rng)
    if loop is None or loop.kind is LoopKind.FUSED:
        return None
    axis = _fresh(function, "one")
    start = rng.choice([constant(0), *(name(dim.name) for dim in function.dims)])
    new = For(axis, (start,), (start + 1,), 1, LoopKind.SERIAL, Block((loop,)))
    return _replace(function, loop, new)


LEGAL_SOMETIMES: tuple[Rewrite, ...] = (
    split,
    split,
    cut,
    interchange,
    interchange,
    distribute,
    merge,
    swap,
    mark,
    stage_reads,
    stage_writes,
    accumulate,
    factor,
    factor,
    factor,
    hoist,
    skew,
    shift,
    merge_unlike,
    merge_unlike,
    tighten,
    divide,
    enclose,
)


def random_rewrites(function: Function, rng: random.Random) -> Function:
    """Apply one to four transformations, whether they are legal or not."""
    for _ in range(rng.choice([1, 2, 2, 3, 4])):
        function = rng.choice(LEGAL_SOMETIMES)(function, rng) or function
    return function


# --- tree surgery -----------------------------------------------------------------


def _pick(
    function: Function, rng: random.Random, accept: Callable[[For], bool] = bool
) -> For | None:
    found = [loop for loop in loops(function).values() if accept(loop)]
    return rng.choice(found) if found else None


def _replace(function: Function, loop: For, new: For | Block) -> Function:
    """Put *new* in the place of *loop*."""
    return rewrite(function, lambda s: new if _is(s, loop) else s)


def _is(statement: Stmt, loop: For) -> bool:
    return isinstance(statement, For) and statement.axis == loop.axis


def _replace_block(function: Function, old: Block, new: Block) -> Function:
    def change(block: Block) -> Block:
        if block is old:
            return new
        return Block(tuple(visit(s) for s in block.statements))

    def visit(statement: Stmt) -> Stmt:
        if isinstance(statement, For | If):
            return replace(statement, body=change(statement.body))
        return statement

    return replace(function, body=change(function.body))


def moved(loop: For, offset: Affine) -> For:
    """Return *loop* with *offset* added to its coordinates."""
    return replace(
        loop,
        starts=tuple(start + offset for start in loop.starts),
        stops=tuple(stop + offset for stop in loop.stops),
        body=substitute(loop.body, {loop.axis: name(loop.axis) - offset}),
    )


def axes_around(function: Function, axis: str) -> list[str]:
    """Return the axes of the loops around that of *axis*."""
    return [
        outer
        for outer, loop in loops(function).items()
        if outer != axis
        and any(isinstance(each, For) and each.axis == axis for each in walk(loop))
    ]


def _neighbours(function: Function) -> list[tuple[For, For]]:
    return [
        (one, other)
        for block in walk(function)
        if isinstance(block, Block)
        for one, other in zip(block.statements, block.statements[1:], strict=False)
        if isinstance(one, For) and isinstance(other, For)
    ]


def _guard(loop: For) -> If | None:
    """Return the guard around all of the body of *loop*."""
    match loop.body.statements:
        case (If() as guard,):
            return guard
    return None


def _only_child(loop: For) -> For | None:
    first = loop.body.statements[0] if loop.body.statements else None
    return first if isinstance(first, For) and len(loop.body.statements) == 1 else None


def _names(function: Function) -> set[str]:
    taken = {*loops(function), *tensors_of(function)}
    return taken | {dim.name for dim in function.dims}


def _fresh(function: Function, base: str) -> str:
    taken = _names(function)
    number = 0
    while f"{base}_{number}" in taken:
        number += 1
    return f"{base}_{number}"


def tensors_of(function: Function) -> dict[str, Tensor]:
    """Return every tensor of *function* by name."""
    found = {param.tensor.name: param.tensor for param in function.params}
    return found | {label: a.tensor for label, a in allocations(function).items()}


def copied(function: Function, loop: For) -> tuple[Stmt, ...]:
    """Return *loop* with new names for its axes and local tensors."""
    block = Block((loop,))
    for node in [*walk(block)]:
        if isinstance(node, For):
            new = _fresh(function, f"{node.axis}x")
            block = rename_axis(block, node.axis, new)
        elif isinstance(node, Alloc):
            new = _fresh(function, f"{node.tensor.name}x")
            block = _redirected(block, node.tensor.name, new, True)
    return block.statements


def rename_axis(block: Block, old: str, new: str) -> Block:
    """Return *block* with the loop *old* called *new*."""
    block = substitute(block, {old: name(new)})
    return rewrite_block(
        block,
        lambda s: replace(s, axis=new) if isinstance(s, For) and s.axis == old else s,
    )


def _redirected(block: Block, old: str, new: str, writes: bool) -> Block:
    def load(expr: Expr) -> Expr:
        if isinstance(expr, Load | Gather) and expr.tensor == old:
            return replace(expr, tensor=new)
        return expr

    def rule(statement: Stmt) -> Stmt:
        if isinstance(statement, Store | Reduce | Scatter):
            statement = map_exprs(statement, load)
            if writes and statement.tensor == old:
                statement = replace(statement, tensor=new)
        elif isinstance(statement, Alloc) and statement.tensor.name == old:
            statement = replace(statement, tensor=replace(statement.tensor, name=new))
        return statement

    return rewrite_block(block, rule)


def _whole(function: Function, target: Tensor, source: Tensor, base: str) -> Stmt:
    """Return a nest that copies all of *source*."""
    axes = [_fresh(function, f"{base}{k}") for k in range(len(source.shape))]
    index = tuple(map(name, axes))
    load = Load(source.name, index, source.dtype)
    body: Stmt = Store(target.name, index, load, None)
    for axis, size in reversed(list(zip(axes, source.shape, strict=True))):
        body = _range(axis, size, body)
    return body


def _range(axis: str, stop: Affine, *body: Stmt) -> For:
    return For(axis, (constant(0),), (stop,), 1, LoopKind.SERIAL, Block(tuple(body)))
