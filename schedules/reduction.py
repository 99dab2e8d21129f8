"""Primitives that change how a reduction associates: rfactor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import ScheduleError
from ..ir.affine import Affine, affine
from ..ir.affine import name as name_of
from ..ir.nodes import (
    Alloc,
    Block,
    Const,
    For,
    Function,
    Load,
    LoopKind,
    Memory,
    Reduce,
    Stmt,
    Store,
    Tensor,
)
from ..ir.walk import loads, rewrite, walk, walk_nest
from .bounds import Loops, extent_over_dims
from .boxes import Index, Place, Side, bounding_side, box_nest
from .checks import (
    Path,
    check_new_name,
    find_loop,
    find_tensor,
    fresh,
    memory_named,
    quoted,
    taken_names,
)
from .reasons import kept_order
from .regions import Access, accesses, check_affine, is_one_to_one, mirror, relevant

_FIXED = (LoopKind.VECTORIZED, LoopKind.UNROLLED)


def rfactor(
    function: Function,
    axis: str,
    *,
    tensor: str | None = None,
    name: str | None = None,
    memory: str | None = None,
) -> Function:
    """Give each iteration of the reduction loop *axis* a partial result of its own.

    Before, and after `rfactor("j_i")`:

        for i in range(M):
            for j_o in range(0, N, 16):
                for j_i in range(j_o, min(j_o + 16, N)):
                    C[i] += A[i, j_i]

        for i in range(M):
            C_part = local f32[16] in registers
            for j_i_init in range(16):  # vectorized
                C_part[j_i_init] = 0.0
            for j_o in range(0, N, 16):
                for j_i in range(j_o, min(j_o + 16, N)):
                    C_part[j_i - j_o] += A[i, j_i]
            for j_i_combine in range(16):  # unrolled
                C[i] += C_part[j_i_combine]

    *tensor* says which sum is meant, where the loop has several. With
    `memory="array"` the partial results of one iteration lie together, so that
    inner loops over them stay contiguous. They live around the outermost loop that
    reduces into the same element: loops over other elements outside of it stay there,
    and those inside give the buffer more dimensions. *axis* may then be vectorized,
    unrolled or parallelized (with `memory="array"`). *memory* is "register" where the
    extents are constant, else "array". The sum is associated differently, which the
    numerics class "bitwise" refuses.
    """
    loop = find_loop(function, axis, "rfactor")
    found = _reduction(function, loop, tensor)
    target = find_tensor(function, found.statement.tensor, "rfactor")
    check_affine(function.body, target.name, "rfactor")
    root = _root(function, found, loop)
    _check_room(found, root)
    plan = _plan(function, found, loop, root, target, apart=memory == "array")
    taken = taken_names(function)
    alloc = _alloc(target, plan, name, memory, taken=taken)
    buffer = alloc.tensor.name
    init = _init(found.statement, plan, alloc, taken)
    combination = _combination(found.statement, plan, alloc, taken)
    lane = (name_of(axis) - loop.starts[0]) // loop.step
    index = plan.placed(plan.rebased(plan.index), lane)
    partial = replace(found.statement, tensor=buffer, index=index)

    def rule(each: Stmt) -> Stmt | Block:
        if each is found.statement:
            return partial
        if isinstance(each, For) and each.axis == root.axis:
            return Block((alloc, init, each, combination))
        return each

    return rewrite(function, rule)


@dataclass(frozen=True, slots=True)
class _Found:
    statement: Reduce
    path: Path

    @property
    def access(self) -> Access:
        return Access("reduce", self.statement.index, self.path)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The dimensions of the buffer: those of the target that move, and the lanes.

    These come last, or first if they lie *apart*. *axis* is the reduction's, whose
    iterations are the lanes.
    """

    axis: str
    index: Index
    inner: Loops
    moving: tuple[int, ...]
    sides: tuple[Side, ...]
    lanes: Affine
    is_mirrored: bool
    apart: bool

    @property
    def shape(self) -> Index:
        return self.placed([side.extent for side in self.sides], self.lanes)

    def placed(self, elements: Sequence[Affine], lane: Affine) -> Index:
        """Return subscripts, or a shape, with that of the lanes in its place."""
        return (lane, *elements) if self.apart else (*elements, lane)

    def rebased(self, index: Sequence[Affine]) -> Index:
        pairs = zip(self.moving, self.sides, strict=True)
        return tuple(index[position] - side.origin for position, side in pairs)


def _reduction(function: Function, loop: For, tensor: str | None) -> _Found:
    """Return the one update that every iteration of *loop* makes to one element."""
    candidates = [
        found
        for leaf, path in walk_nest(function.body)
        if isinstance(leaf, Reduce) and loop in path
        for found in (_Found(leaf, path),)
        if not _is_local(leaf.tensor, loop)
        and loop.axis not in relevant(found.access)
        and tensor in (None, leaf.tensor)
    ]
    if not candidates:
        raise ScheduleError(
            f'rfactor: loop "{loop.axis}" does not run over a reduction: each of its '
            "iterations updates elements of its own, or none; choose a loop whose axis "
            "is absent from the updated subscripts"
        )
    if len(candidates) > 1:
        targets = quoted(dict.fromkeys(c.statement.tensor for c in candidates))
        raise ScheduleError(
            f'rfactor: loop "{loop.axis}" reduces into {targets}; '
            "name one with tensor=, or fission the reductions apart first"
        )
    if len(loop.starts) != 1:
        raise ScheduleError(
            f'rfactor: loop "{loop.axis}" has several starts, so its iterations have '
            "no fixed places in a buffer; split it and rfactor the inner loop"
        )
    return candidates[0]


def _is_local(tensor: str, loop: For) -> bool:
    nodes = walk(loop.body)
    return any(isinstance(each, Alloc) and each.tensor.name == tensor for each in nodes)


def _root(function: Function, found: _Found, loop: For) -> For:
    """Return the outermost loop below which only this update touches the target.

    The update may read other elements of it, `x[i] -= L[i, j] * x[j]`: that they are
    finished there is for the proof to say.
    """
    spatial = relevant(found.access)
    tensor, index = found.statement.tensor, found.statement.index
    summands = [load for load in loads(found.statement.value) if load.tensor == tensor]
    own = 1 + sum(load.index != index for load in summands)
    for node in found.path:
        if not isinstance(node, For) or node.axis in spatial:
            continue
        if len(list(accesses(node.body, tensor))) == own:
            return node
        if node is loop:
            break
    reason = kept_order(
        function, [loop], [loop], tensor, kinds=("flow", "anti", "output")
    )
    raise ScheduleError(
        f'rfactor: loop "{loop.axis}" also uses "{tensor}" outside of the update, so '
        f"the partial results cannot be combined after it{reason.because}; fission "
        f"first{reason.witness}"
    )


def _check_room(found: _Found, root: For) -> None:
    if root.kind is LoopKind.FUSED:
        raise ScheduleError(
            f'rfactor: loop "{root.axis}" shares the counter of the loop around it, so '
            "partial results have no place around it; rfactor before fuse"
        )
    for node in found.path:
        if node is root:
            return
        if isinstance(node, For) and node.kind is LoopKind.VECTORIZED:
            raise ScheduleError(
                f'rfactor: loop "{root.axis}" is inside the vectorized loop '
                f'"{node.axis}"; rfactor before vectorize'
            )


def _plan(
    function: Function,
    found: _Found,
    loop: For,
    root: For,
    target: Tensor,
    *,
    apart: bool,
) -> _Plan:
    position = next(i for i, node in enumerate(found.path) if node is root)
    around = {n.axis: n for n in found.path[:position] if isinstance(n, For)}
    below = {n.axis: n for n in found.path[position:] if isinstance(n, For)}
    place = Place(around, {dim.name: dim for dim in function.dims})
    # None of them depends on another loop inside *root*: `relevant` would have it too.
    inner = {a: each for a, each in relevant(found.access).items() if a in below}
    index = found.statement.index
    moving = tuple(
        position
        for position, form in enumerate(index)
        if any(axis in form.names() for axis in inner)
    )
    sides = []
    for dimension in moving:
        side = bounding_side(
            [(index[dimension], below)], target.shape[dimension], place
        )
        if side is None:
            raise ScheduleError(
                f"rfactor: dimension {dimension} of the partial results has no known "
                f'extent inside loop "{root.axis}"; reorder its loops outside first'
            )
        sides.append(side)
    spans = [stop - loop.starts[0] for stop in loop.stops]
    everything = {**around, **below}
    lanes = extent_over_dims(spans, loop.step, everything, place.dims)
    if lanes is None:
        raise ScheduleError(
            f'rfactor: loop "{loop.axis}" has no known extent; split it and rfactor '
            "the inner loop"
        )
    inside = Access("reduce", index, found.path[position:])
    mirrored = is_one_to_one(inside)
    return _Plan(loop.axis, index, inner, moving, tuple(sides), lanes, mirrored, apart)


def _alloc(
    target: Tensor,
    plan: _Plan,
    name: str | None,
    memory: str | None,
    *,
    taken: set[str],
) -> Alloc:
    buffer = name or fresh(f"{target.name}_part", taken)
    if name is not None:
        check_new_name(name, taken, "rfactor", "pass another name=")
    return Alloc(Tensor(buffer, target.dtype, plan.shape), _memory(memory, plan))


def _memory(memory: str | None, plan: _Plan) -> Memory:
    fixed = all(extent.is_constant for extent in plan.shape)
    if memory is None:
        still = all(loop.kind in _FIXED for loop in plan.inner.values())
        return Memory.REGISTER if fixed and still else Memory.ARRAY
    kind = memory_named(memory, "rfactor")
    if kind is Memory.REGISTER and not fixed:
        raise ScheduleError(
            "rfactor: registers need constant extents, and the partial results have "
            "none; split and rfactor the inner loop, or leave memory out"
        )
    return kind


def _init(statement: Reduce, plan: _Plan, alloc: Alloc, taken: set[str]) -> Stmt:
    """Return the nest that gives every partial result the value of an empty sum."""
    buffer, dtype = alloc.tensor.name, alloc.tensor.dtype
    identity = Const(statement.op.identity(dtype), dtype)
    in_vectors = any(loop.kind is LoopKind.VECTORIZED for loop in plan.inner.values())
    fixed = alloc.memory is Memory.REGISTER
    return _nest(
        plan,
        "init",
        LoopKind.VECTORIZED if fixed and not in_vectors else LoopKind.SERIAL,
        lambda _, here: Store(buffer, here, identity, None),
        taken=taken,
    )


def _combination(statement: Reduce, plan: _Plan, alloc: Alloc, taken: set[str]) -> Stmt:
    """Return the nest that reduces the partial results into the target."""
    buffer, dtype = alloc.tensor.name, alloc.tensor.dtype
    op, target = statement.op, statement.tensor
    return _nest(
        plan,
        "combine",
        LoopKind.UNROLLED if alloc.memory is Memory.REGISTER else LoopKind.SERIAL,
        lambda there, here: Reduce(op, target, there, Load(buffer, here, dtype), None),
        taken=taken,
    )


def _nest(
    plan: _Plan,
    suffix: str,
    kind: LoopKind,
    leaf: Callable[[Index, Index], Stmt],
    *,
    taken: set[str],
) -> Stmt:
    """Return the nest over the partial results, *kind* being that of their lanes.

    *leaf* is given the subscripts of the target and those of the buffer.
    """
    lane = fresh(f"{plan.axis}_{suffix}", taken)

    def over_lanes(index: Sequence[Affine]) -> Stmt:
        made = leaf(tuple(index), plan.placed(plan.rebased(index), name_of(lane)))
        return For(lane, (affine(0),), (plan.lanes,), 1, kind, Block((made,)))

    def mirrored(values: Mapping[str, Affine]) -> Stmt:
        return over_lanes([form.substitute(values) for form in plan.index])

    def boxed(corner: Sequence[Affine]) -> Stmt:
        index = list(plan.index)
        for position, form in zip(plan.moving, corner, strict=True):
            index[position] = form
        return over_lanes(index)

    if plan.is_mirrored:
        names = {each: fresh(f"{each}_{suffix}", taken) for each in plan.inner}
        kinds = {each: loop.kind for each, loop in plan.inner.items()}
        return mirror(plan.inner, names, kinds, mirrored)
    axes = [fresh(f"d{position}_{suffix}", taken) for position in plan.moving]
    return box_nest(plan.sides, axes, [LoopKind.SERIAL] * len(axes), boxed)
