"""Primitives that stage tensors in buffers of their own: cache_read, cache_write."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..errors import ScheduleError
from ..ir.nodes import (
    Alloc,
    Block,
    Function,
    Load,
    LoopKind,
    Memory,
    Role,
    Stmt,
    Store,
    Tensor,
)
from ..ir.printer import print_tensor
from ..ir.walk import loops, walk
from .boxes import Index, place_in
from .checks import (
    check_new_name,
    check_open,
    find_loop,
    find_tensor,
    fresh,
    memory_named,
    replace_body,
    taken_names,
)
from .overwrites import leading_overwrites
from .regions import Access, accesses, redirect, touches
from .staging import Plan, have_one_form, plan_box, plan_layout, plan_mirror


def cache_read(
    function: Function,
    tensor: str,
    axis: str | None,
    *,
    layout: Sequence[str] | None = None,
    name: str | None = None,
    memory: str = "array",
) -> Function:
    """Copy what the body of *axis* reads of *tensor* into a buffer, and read that.

    Before, and after `cache_read("B", "k_o", layout=("j_t", "k_i", "j_i"))`:

        for k_o in range(0, K, 256):
            for j_t in range(0, N, 32):
                for k_i in range(k_o, min(k_o + 256, K)):
                    for j_i in range(j_t, min(j_t + 32, N)):
                        ... B[k_i, j_i] ...

        for k_o in range(0, K, 256):
            B_pack = local f32[(N + 31)//32, 256, 32]
            for j_t_B_pack in range(0, N, 32):
                for k_i_B_pack in range(k_o, min(k_o + 256, K)):
                    for j_i_B_pack in range(j_t_B_pack, min(j_t_B_pack + 32, N)):
                        B_pack[...] = B[k_i_B_pack, j_i_B_pack]
            for j_t in range(0, N, 32):
                ...
                        ... B_pack[j_t//32, k_i - k_o, j_i - j_t] ...

    With *layout* the buffer has one dimension for each loop below *axis* that the
    subscripts need, in that order: packing. Without, it has the tensor's dimensions
    and holds the box that the body reads. `axis=None` stages for the whole function.
    The copy nest has axes named after the mirrored axis and the buffer, to be
    parallelized, vectorized and unrolled like any other.
    """
    target = find_tensor(function, tensor, "cache_read")
    kind = memory_named(memory, "cache_read")
    body = _body(function, axis, "cache_read")
    where = f'loop "{axis}"' if axis is not None else f"{function.name}"
    first = _first_read(body, tensor, where)
    region = Block(body.statements[first:])
    found = list(accesses(region, tensor))
    _check_declared_outside(region, tensor, where, "cache_read")
    if any(access.kind != "load" for access in found):
        raise ScheduleError(
            f'cache_read: "{tensor}" is written in {where} after it is read, so a '
            f"copy would be out of date; use cache_write, or a loop further in"
        )
    taken = taken_names(function)
    buffer = _buffer_name(
        name,
        f"{tensor}_tile" if layout is None else f"{tensor}_pack",
        taken,
        "cache_read",
    )
    place = place_in(function, axis)
    if layout is None:
        plan = plan_box(
            found,
            target,
            place,
            primitive="cache_read",
            keep_kinds=kind is Memory.REGISTER,
        )
    else:
        plan = plan_layout(
            found,
            target,
            place,
            layout,
            primitive="cache_read",
            keep_kinds=kind is Memory.REGISTER,
        )
    alloc = _alloc(buffer, target, plan, kind, "cache_read")
    _check_threads(found, alloc, "cache_read")
    dtype = target.dtype
    fill = plan.nest(
        lambda there, here: Store(buffer, here, Load(tensor, there, dtype), None),
        lambda base: fresh(f"{base}_{buffer}", taken),
    )
    read = redirect(region, tensor, buffer, lambda index: plan.subscripts[index])
    new = Block((*body.statements[:first], alloc, fill, *read.statements))
    return replace_body(function, axis, lambda _: new)


def cache_write(
    function: Function,
    tensor: str,
    axis: str | None,
    *,
    memory: str = "register",
    layout: Sequence[str] | None = None,
    name: str | None = None,
) -> Function:
    """Let the body of *axis* work on a buffer in place of *tensor*, and write it back.

    Before, and after `cache_write("C", "i_t")`:

        for i_t in range(i_o, min(i_o + 96, M), 12):
            for k_i in range(k_o, min(k_o + 256, K)):
                for i_i in range(i_t, min(i_t + 12, M)):  # unrolled
                    C[i_i] += ...

        for i_t in range(i_o, min(i_o + 96, M), 12):
            C_acc = local f32[12] in registers
            for i_i_load in range(i_t, min(i_t + 12, M)):  # unrolled
                C_acc[i_i_load - i_t] = C[i_i_load]
            for k_i in range(k_o, min(k_o + 256, K)):
                for i_i in range(i_t, min(i_t + 12, M)):  # unrolled
                    C_acc[i_i - i_t] += ...
            for i_i_store in range(i_t, min(i_t + 12, M)):  # unrolled
                C[i_i_store] = C_acc[i_i_store - i_t]

    The order of the updates stays. Nothing is loaded where the body first overwrites
    all of the part. Statements of the body before the first use and after the last
    stay outside, and so does an initialisation that covers only some iterations.
    """
    target = find_tensor(function, tensor, "cache_write")
    kind = memory_named(memory, "cache_write")
    body = _body(function, axis, "cache_write")
    where = f'loop "{axis}"' if axis is not None else f"{function.name}"
    first, last = _written_region(body, tensor, where)
    place = place_in(function, axis)
    start, found, load = leading_overwrites(body, tensor, (first, last), place)
    if axis is None and start == first and _is_undefined_at_entry(function, tensor):
        load = False
    first = start
    region = Block(body.statements[first : last + 1])
    taken = taken_names(function)
    buffer = _buffer_name(name, f"{tensor}_acc", taken, "cache_write")
    if layout is not None:
        plan = plan_layout(
            found, target, place, layout, primitive="cache_write", keep_kinds=True
        )
    elif not load or have_one_form(found):
        plan = plan_mirror(found, target, place, "cache_write")
    else:
        plan = plan_box(found, target, place, primitive="cache_write", keep_kinds=True)
    alloc = _alloc(buffer, target, plan, kind, "cache_write")
    _check_threads(found, alloc, "cache_write")
    parts: list[Stmt] = [alloc]
    dtype = target.dtype
    if load:
        fill: Callable[[Index, Index], Stmt] = lambda there, here: Store(  # noqa: E731
            buffer, here, Load(tensor, there, dtype), None
        )
        parts.append(plan.nest(fill, lambda base: fresh(f"{base}_load", taken)))
    work = redirect(region, tensor, buffer, lambda index: plan.subscripts[index])
    parts.extend(work.statements)
    drain = plan.nest(
        lambda there, here: Store(tensor, there, Load(buffer, here, dtype), None),
        lambda base: fresh(f"{base}_store", taken),
    )
    parts.append(drain)
    statements = body.statements
    new = Block((*statements[:first], *parts, *statements[last + 1 :]))
    return replace_body(function, axis, lambda _: new)


def _body(function: Function, axis: str | None, primitive: str) -> Block:
    if axis is None:
        return function.body
    find_loop(function, axis, primitive)
    check_open(function, axis, primitive)
    return loops(function)[axis].body


def _buffer_name(
    given: str | None, default: str, taken: set[str], primitive: str
) -> str:
    if given is None:
        return fresh(default, taken)
    check_new_name(given, taken, primitive, "pass another name=")
    return given


def _first_read(body: Block, tensor: str, where: str) -> int:
    for position, statement in enumerate(body.statements):
        uses = accesses(Block((statement,)), tensor)
        if any(access.kind == "load" for access in uses):
            return position
    raise ScheduleError(
        f'cache_read: {where} does not read "{tensor}"; choose a loop around its reads'
    )


def _written_region(body: Block, tensor: str, where: str) -> tuple[int, int]:
    used = [i for i, each in enumerate(body.statements) if touches(each, tensor)]
    region = [body.statements[i] for i in used]
    if all(access.kind == "load" for access in accesses(Block(tuple(region)), tensor)):
        raise ScheduleError(
            f'cache_write: {where} does not write "{tensor}"; '
            "choose a loop around its writes, or use cache_read"
        )
    _check_declared_outside(body, tensor, where, "cache_write")
    return used[0], used[-1]


def _check_declared_outside(
    block: Block, tensor: str, where: str, primitive: str
) -> None:
    for node in walk(block):
        if isinstance(node, Alloc) and node.tensor.name == tensor:
            raise ScheduleError(
                f'{primitive}: "{tensor}" is already local to {where}; '
                "stage it at a loop further in"
            )


def _is_undefined_at_entry(function: Function, tensor: str) -> bool:
    outputs = (param for param in function.params if param.role is Role.OUTPUT)
    return any(param.tensor.name == tensor for param in outputs)


def _alloc(
    buffer: str, target: Tensor, plan: Plan, memory: Memory, primitive: str
) -> Alloc:
    tensor = Tensor(buffer, target.dtype, plan.shape)
    if memory is Memory.REGISTER and not all(size.is_constant for size in plan.shape):
        raise ScheduleError(
            f"{primitive}: {buffer} = {print_tensor(tensor)} cannot be in registers, "
            'which need constant extents; split the loops below, or use memory="array"'
        )
    return Alloc(tensor, memory if plan.shape else Memory.REGISTER)


def _check_threads(found: Sequence[Access], alloc: Alloc, primitive: str) -> None:
    """Refuse registers that the threads of a loop inside would share."""
    if alloc.memory is not Memory.REGISTER:
        return
    for access in found:
        for loop in access.loops.values():
            if loop.kind is LoopKind.PARALLEL:
                raise ScheduleError(
                    f'{primitive}: loop "{loop.axis}" inside is parallel, and threads '
                    "share no registers; name a loop inside it, or use "
                    'memory="array"'
                )
