"""A primitive that gives each iteration of a loop its own copy of a local tensor."""

from __future__ import annotations

from dataclasses import replace

from ..errors import ScheduleError
from ..ir.affine import Affine, name
from ..ir.nodes import Alloc, Block, For, Function, LoopKind, Memory, Stmt, Tensor
from ..ir.walk import allocations, rewrite
from .bounds import extent_over_dims
from .boxes import Index
from .checks import (
    check_serial,
    describe,
    find_loop,
    memory_named,
    path_to,
    quoted,
    scope_of,
)
from .reasons import either_order
from .regions import redirect, touches


def expand(
    function: Function,
    tensor: str,
    axis: str,
    *,
    at: int = 0,
    memory: str | None = None,
) -> Function:
    """Give each iteration of *axis* an element, or a row, of its own of a local tensor.

    Before, and after `expand("s", "j")`:

        for i in range(M):                      for i in range(M):
            for j in range(N):                      s = local f32[N]
                s = local f32 in registers          for j in range(N):
                s = 0.0                                 s[j] = 0.0
                for k in range(K):                      for k in range(K):
                    s += A[i, k] * B[k, j]                  s[j] += ...
                C[i, j] = s                             C[i, j] = s[j]

    Then the loop can be distributed (`fission`) between the statements that share the
    tensor. The new dimension comes first, or after *at* others: copies of an array lie
    side by side where it is the last one, as lanes along *axis* need (`vectorize`).

    The tensor may also be declared further out, if only *axis* uses it and
    every iteration writes before it reads. *memory* is "register" where the tensor
    was in registers and the extent is a constant, else "array".
    """
    loop = find_loop(function, axis, "expand")
    check_serial(loop, "expand")
    alloc = allocations(function).get(tensor)
    if alloc is None:
        known = quoted(allocations(function)) or "none"
        raise ScheduleError(
            f'expand: "{tensor}" is no local tensor; the local tensors are {known}'
        )
    _check_uses(function, alloc, loop)
    extent = _extent(function, loop)
    _check_place(alloc, at)
    shape = _with(extent, alloc.tensor.shape, at)
    kind = _memory(memory, alloc, shape)
    place = (name(axis) - loop.starts[0]) // loop.step
    larger = Alloc(Tensor(tensor, alloc.tensor.dtype, shape), kind)

    def rule(statement: Stmt) -> Stmt | Block:
        if isinstance(statement, Alloc) and statement.tensor.name == tensor:
            return Block(())
        if isinstance(statement, For) and statement.axis == axis:
            body = redirect(
                statement.body, tensor, tensor, lambda index: _with(place, index, at)
            )
            return Block((larger, replace(statement, body=body)))
        return statement

    return rewrite(function, rule)


def _with(form: Affine, forms: Index, at: int) -> Index:
    return (*forms[:at], form, *forms[at:])


def _check_place(alloc: Alloc, at: int) -> None:
    rank = len(alloc.tensor.shape)
    if not 0 <= at <= rank:
        raise ScheduleError(
            f'expand: at={at}; the new dimension of "{alloc.tensor.name}" can be at 0 '
            f"to {rank}"
        )


def _check_uses(function: Function, alloc: Alloc, loop: For) -> None:
    tensor, axis = alloc.tensor.name, loop.axis
    home = path_to(function, alloc)
    around = (*path_to(function, loop), loop)
    if home != around[: len(home)]:
        raise ScheduleError(
            f'expand: "{tensor}" is declared further in than the body of loop '
            f'"{axis}"; expand it over the loops further in first'
        )
    block = home[-1].body if home else function.body
    for depth in range(len(home), len(around)):
        for statement in block.statements:
            if statement is not around[depth] and touches(statement, tensor):
                reason = either_order(function, [loop], [statement], tensor)
                raise ScheduleError(
                    f'expand: "{tensor}" is used outside of loop "{axis}" too, so its '
                    f"iterations cannot have copies of their own{reason.because}; "
                    f"choose a loop around all uses{reason.witness}"
                )
        block = around[depth].body
    vector = [n for n in around if isinstance(n, For)]
    if any(each.kind is LoopKind.VECTORIZED for each in vector):
        raise ScheduleError(
            f'expand: loop "{axis}" is inside a vectorized loop; expand before '
            "vectorize"
        )


def _extent(function: Function, loop: For) -> Affine:
    scope = scope_of(function, loop.axis)
    del scope[loop.axis]
    dims = {dim.name: dim for dim in function.dims}
    extent = None
    if len(loop.starts) == 1:
        spans = [stop - loop.starts[0] for stop in loop.stops]
        extent = extent_over_dims(spans, loop.step, scope, dims)
    if extent is None:
        raise ScheduleError(
            f"expand: {describe(loop)} has no start and extent of its own for a "
            f'dimension of the buffer; split "{loop.axis}" first'
        )
    return extent


def _memory(memory: str | None, alloc: Alloc, shape: Index) -> Memory:
    fixed = all(size.is_constant for size in shape)
    if memory is None:
        return alloc.memory if fixed else Memory.ARRAY
    kind = memory_named(memory, "expand")
    if kind is Memory.REGISTER and not fixed:
        raise ScheduleError(
            "expand: registers need constant extents, and the copies have none; split "
            'the loop, or use memory="array"'
        )
    return kind
