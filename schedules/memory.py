"""Primitives that stage tensors in buffers of their own: cache_read, cache_write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
from .boxes import Place, place_in
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
from .reasons import kept_order
from .regions import Access, accesses, check_affine, redirect, touches, writes
from .staging import (
    Copy,
    Plan,
    fits_layout,
    have_one_form,
    plan_box,
    plan_layout,
    plan_mirror,
)


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
    subscripts need, in that order: packing. Blocks of whole tiles may be left out, as
    `j_o` around `j_t` can: tiles are then counted through all blocks. Of several forms,
    `A[i, k] * A[j, k]`, the one that needs these loops is packed. Without, it has the
    tensor's dimensions and holds the box that the body reads. `axis=None` stages for
    the whole function.
    The copy nest has axes named after the mirrored axis and the buffer, to be
    parallelized, vectorized and unrolled like any other.
    """
    site = _site(function, tensor, axis, memory, primitive="cache_read")
    first = _first_read(site)
    _check_declared_outside(Block(site.body.statements[first:]), site)
    found = list(accesses(Block(site.body.statements[first:]), tensor))
    if layout is not None and not have_one_form(found):
        found = _fitting(found, layout)
        first = _first_use(site, found)
    region = Block(site.body.statements[first:])
    _check_only_read(function, region, found, site)
    taken = taken_names(function)
    default = f"{tensor}_tile" if layout is None else f"{tensor}_pack"
    buffer = _buffer_name(name, default, taken, "cache_read")
    in_registers = site.memory is Memory.REGISTER
    plan = _plan(site, found, layout, keep_kinds=in_registers)
    alloc = _alloc(buffer, site, plan, found)
    fill = plan.nest(
        _copy(site.tensor, buffer), lambda base: fresh(f"{base}_{buffer}", taken)
    )
    read = redirect(region, tensor, buffer, plan.subscripts.get)
    before = site.body.statements[:first]
    new = Block((*before, alloc, fill, *read.statements))
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

    The order of the updates stays. Where the body reads other elements of the tensor
    too, `C[i, j] += C[i, k] * C[k, j]`, and no buffer holds them all, those reads stay.
    Nothing is loaded where the body first overwrites all of the part. Statements of the
    body before the first use and after the last stay outside, and so does an
    initialisation that covers only some iterations.
    """
    site = _site(function, tensor, axis, memory, primitive="cache_write")
    first, last = _written_region(site)
    start, found, load = leading_overwrites(
        site.body, tensor, (first, last), site.place
    )
    if axis is None and start == first and _is_undefined_at_entry(function, tensor):
        load = False
    taken = taken_names(function)
    buffer = _buffer_name(name, f"{tensor}_acc", taken, "cache_write")
    plan, alloc = _write_plan(site, buffer, found, layout, load=load)
    parts: list[Stmt] = [alloc]
    if load:
        fill = _copy(site.tensor, buffer)
        parts.append(plan.nest(fill, lambda base: fresh(f"{base}_load", taken)))
    statements = site.body.statements
    region = Block(statements[start : last + 1])
    work = redirect(region, tensor, buffer, plan.subscripts.get)
    parts.extend(work.statements)
    drain = _copy_back(buffer, site.tensor)
    parts.append(plan.nest(drain, lambda base: fresh(f"{base}_store", taken)))
    new = Block((*statements[:start], *parts, *statements[last + 1 :]))
    return replace_body(function, axis, lambda _: new)


def _write_plan(
    site: _Site,
    buffer: str,
    found: Sequence[Access],
    layout: Sequence[str] | None,
    *,
    load: bool,
) -> tuple[Plan, Alloc]:
    """Plan for all of *found*, or else for what has the subscripts of a write."""
    try:
        if layout is None and (not load or have_one_form(found)):
            plan = plan_mirror(found, site.tensor, site.place, "cache_write")
        else:
            plan = _plan(site, found, layout, keep_kinds=True)
        return plan, _alloc(buffer, site, plan, found)
    except ScheduleError:
        written = {each.index for each in found if each.kind != "load"}
        kept = [each for each in found if each.index in written]
        if len(kept) == len(found):
            raise
        return _write_plan(site, buffer, kept, layout, load=load)


@dataclass(frozen=True, slots=True)
class _Site:
    """A tensor and the body in which a primitive stages it, *where* for messages."""

    primitive: str
    tensor: Tensor
    memory: Memory
    body: Block
    where: str
    place: Place


def _site(
    function: Function, tensor: str, axis: str | None, memory: str, *, primitive: str
) -> _Site:
    target = find_tensor(function, tensor, primitive)
    kind = memory_named(memory, primitive)
    body = _body(function, axis, primitive)
    check_affine(body, tensor, primitive)
    where = f'loop "{axis}"' if axis is not None else function.name
    return _Site(primitive, target, kind, body, where, place_in(function, axis))


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


def _first_read(site: _Site) -> int:
    tensor = site.tensor.name
    for position, statement in enumerate(site.body.statements):
        uses = accesses(Block((statement,)), tensor)
        if any(access.kind == "load" for access in uses):
            return position
    if writes(site.body, tensor):
        raise ScheduleError(
            f'cache_read: {site.where} only writes "{tensor}"; use cache_write'
        )
    raise ScheduleError(
        f'cache_read: {site.where} does not read "{tensor}"; '
        "choose a loop around its reads"
    )


def _fitting(found: Sequence[Access], layout: Sequence[str]) -> list[Access]:
    """Return the reads that need the loops of *layout*; all where there are none.

    Whether other accesses to the tensor write what is copied is for the proof to say.
    """
    forms = {each.index for each in found if each.kind != "load"}
    fitting = [
        each for each in found if each.index not in forms and fits_layout(each, layout)
    ]
    return fitting or list(found)


def _first_use(site: _Site, found: Sequence[Access]) -> int:
    """Return the position of the first statement with one of the accesses *found*."""
    forms = {(each.kind, each.index) for each in found}
    for position, statement in enumerate(site.body.statements):
        uses = accesses(Block((statement,)), site.tensor.name)
        if any((each.kind, each.index) in forms for each in uses):
            return position
    raise AssertionError(site.where)


def _check_only_read(
    function: Function, region: Block, found: Sequence[Access], site: _Site
) -> None:
    tensor, used = site.tensor.name, region.statements
    if any(access.kind != "load" for access in found):
        reason = kept_order(function, used, used, tensor, kinds=("flow", "anti"))
        is_stale = reason.found is not None and reason.found.kind == "flow"
        fault = "would be out of date" if is_stale else "is not written back"
        raise ScheduleError(
            f'cache_read: "{tensor}" is written in {site.where} as well as read, and a '
            f"copy {fault}{reason.because}; use cache_write, or a loop further in"
            f"{reason.witness}"
        )


def _written_region(site: _Site) -> tuple[int, int]:
    """Return the positions of the first and the last statement with the tensor."""
    statements, tensor = site.body.statements, site.tensor.name
    used = [i for i, each in enumerate(statements) if touches(each, tensor)]
    region = Block(tuple(statements[i] for i in used))
    if all(access.kind == "load" for access in accesses(region, tensor)):
        raise ScheduleError(
            f'cache_write: {site.where} does not write "{tensor}"; '
            "choose a loop around its writes, or use cache_read"
        )
    _check_declared_outside(site.body, site)
    return used[0], used[-1]


def _check_declared_outside(block: Block, site: _Site) -> None:
    for node in walk(block):
        if isinstance(node, Alloc) and node.tensor.name == site.tensor.name:
            raise ScheduleError(
                f'{site.primitive}: "{site.tensor.name}" is already local to '
                f"{site.where}; stage it at a loop further in"
            )


def _is_undefined_at_entry(function: Function, tensor: str) -> bool:
    outputs = (param for param in function.params if param.role is Role.OUTPUT)
    return any(param.tensor.name == tensor for param in outputs)


def _plan(
    site: _Site,
    found: Sequence[Access],
    layout: Sequence[str] | None,
    *,
    keep_kinds: bool,
) -> Plan:
    primitive = site.primitive
    if layout is None:
        return plan_box(
            found, site.tensor, site.place, primitive=primitive, keep_kinds=keep_kinds
        )
    return plan_layout(
        found,
        site.tensor,
        site.place,
        layout,
        primitive=primitive,
        keep_kinds=keep_kinds,
    )


def _copy(tensor: Tensor, buffer: str) -> Copy:
    return lambda there, here: Store(
        buffer, here, Load(tensor.name, there, tensor.dtype), None
    )


def _copy_back(buffer: str, tensor: Tensor) -> Copy:
    return lambda there, here: Store(
        tensor.name, there, Load(buffer, here, tensor.dtype), None
    )


def _alloc(buffer: str, site: _Site, plan: Plan, found: Sequence[Access]) -> Alloc:
    tensor = Tensor(buffer, site.tensor.dtype, plan.shape)
    is_fixed = all(size.is_constant for size in plan.shape)
    if site.memory is Memory.REGISTER and not is_fixed:
        raise ScheduleError(
            f"{site.primitive}: {buffer} = {print_tensor(tensor)} cannot be in "
            "registers, which need constant extents; split the loops below, or use "
            'memory="array"'
        )
    alloc = Alloc(tensor, site.memory if plan.shape else Memory.REGISTER)
    if alloc.memory is Memory.REGISTER:
        _check_threads(found, site.primitive)
    return alloc


def _check_threads(found: Sequence[Access], primitive: str) -> None:
    """Refuse registers that the threads of a loop inside would share."""
    for access in found:
        for loop in access.loops.values():
            if loop.kind is LoopKind.PARALLEL:
                raise ScheduleError(
                    f'{primitive}: loop "{loop.axis}" inside is parallel, and threads '
                    "share no registers; name a loop inside it, or use "
                    'memory="array"'
                )
