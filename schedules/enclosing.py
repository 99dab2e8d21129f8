"""The primitive that puts a loop of one iteration around a statement: enclose."""

from __future__ import annotations

from dataclasses import replace

from ..errors import ScheduleError
from ..ir.nodes import Block, For, Function, If, LoopKind, Reduce, Scatter, Stmt, Store
from ..ir.walk import loops, walk
from .checks import Path, check_new_name, did_you_mean, path_to, quoted, taken_names
from .forms import read_form


def enclose(
    function: Function, inside: str, axis: str, *, at: int | str = 0
) -> Function:
    """Put a loop of one iteration around *inside*, an axis or the label of a statement.

    Before, and after `enclose("j", "i")`:

        for j in range(N):          for i in range(1):
            X[0, j] = 0.0               for j in range(N):
                                            X[0, j] = 0.0

    What has such a loop can take part in the loops of others: see `merge`. The one
    iteration has the coordinate *at*, an integer or the text of an affine form over
    dims and the axes around.
    """
    check_new_name(axis, taken_names(function), "enclose", "choose another")
    target = _target(function, inside)
    path = path_to(function, target)
    _check_place(inside, target, path)
    around = [node.axis for node in path if isinstance(node, For)]
    dims = [dim.name for dim in function.dims]
    form = read_form(at, [*around, *dims], "enclose: at")
    loop = For(axis, (form,), (form + 1,), 1, LoopKind.SERIAL, Block((target,)))
    return replace(function, body=_put(function.body, target, loop))


def _target(function: Function, inside: str) -> Stmt:
    found = loops(function)
    if inside in found:
        return found[inside]
    labelled = {
        node.instance.label: node
        for node in walk(function)
        if isinstance(node, Store | Reduce | Scatter) and node.instance
    }
    if inside not in labelled:
        known = [*found, *sorted(labelled)]
        raise ScheduleError(
            f'enclose: no axis or statement "{inside}" in {function.name}; there are '
            f"{quoted(known)}{did_you_mean(inside, known)}"
        )
    return labelled[inside]


def _check_place(inside: str, target: Stmt, path: Path) -> None:
    if isinstance(target, For) and target.kind is LoopKind.FUSED:
        raise ScheduleError(
            f'enclose: loop "{inside}" is fused with the loop around it; '
            "enclose before fuse"
        )
    for node in path:
        if isinstance(node, For) and node.kind is LoopKind.VECTORIZED:
            raise ScheduleError(
                f'enclose: {inside} is inside the vectorized loop "{node.axis}"; '
                "enclose before vectorize"
            )


def _put(block: Block, target: Stmt, loop: For) -> Block:
    return Block(
        tuple(
            loop
            if each is target
            else replace(each, body=_put(each.body, target, loop))
            if isinstance(each, For | If)
            else each
            for each in block.statements
        )
    )
