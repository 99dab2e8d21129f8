"""Look-ups in a function that refuse with the names that exist, and name making."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from difflib import get_close_matches

from ..errors import ScheduleError
from ..ir.nodes import Block, For, Function, If, LoopKind, Memory, Stmt, Tensor
from ..ir.printer import print_loop
from ..ir.walk import allocations, loops, rewrite

Path = tuple[For | If, ...]


def quoted(names: Iterable[str]) -> str:
    """Return the names in double quotes, separated by commas."""
    return ", ".join(f'"{each}"' for each in names)


def written(value: object) -> str:
    """Return *value*, of strings, integers and tuples of them, in double quotes."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        inner = ", ".join(map(written, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)


def did_you_mean(given: str, names: Iterable[str]) -> str:
    """Return `; did you mean "x"?`, or nothing where no name is like *given*."""
    known = {each.casefold(): each for each in names}
    close = get_close_matches(given.casefold(), known, n=1)
    return f'; did you mean "{known[close[0]]}"?' if close else ""


def find_loop(function: Function, axis: str, primitive: str) -> For:
    """Return the loop of *axis*, or refuse with the axes that exist."""
    found = loops(function).get(axis)
    if found is None:
        known = quoted(loops(function)) or "none"
        raise ScheduleError(
            f'{primitive}: no axis "{axis}" in {function.name}; the axes are {known}'
            f"{did_you_mean(axis, loops(function))}"
        )
    return found


def path_to(function: Function, target: Stmt) -> Path:
    """Return the loops and guards around the statement *target* itself."""

    def search(block: Block, outer: Path) -> Path | None:
        for statement in block.statements:
            if statement is target:
                return outer
            if isinstance(statement, For | If):
                found = search(statement.body, (*outer, statement))
                if found is not None:
                    return found
        return None

    path = search(function.body, ())
    assert path is not None, "the statement is not part of the function"
    return path


def scope_of(function: Function, axis: str | None) -> dict[str, For]:
    """Return the loops around the body of *axis*, outermost first, itself included."""
    if axis is None:
        return {}
    loop = loops(function)[axis]
    around = (*path_to(function, loop), loop)
    return {node.axis: node for node in around if isinstance(node, For)}


def tensors(function: Function) -> dict[str, Tensor]:
    """Return parameters and locals by name."""
    given = {param.tensor.name: param.tensor for param in function.params}
    return given | {name: a.tensor for name, a in allocations(function).items()}


def find_tensor(function: Function, tensor: str, primitive: str) -> Tensor:
    """Return the tensor of that name, or refuse with the tensors that exist."""
    known = tensors(function)
    if tensor not in known:
        raise ScheduleError(
            f'{primitive}: no tensor "{tensor}" in {function.name}; '
            f"the tensors are {quoted(known)}{did_you_mean(tensor, known)}"
        )
    return known[tensor]


def taken_names(function: Function) -> set[str]:
    """Return every axis, tensor and dim name."""
    taken = {dim.name for dim in function.dims}
    return taken | tensors(function).keys() | loops(function).keys()


def fresh(base: str, taken: set[str]) -> str:
    """Return *base*, numbered where it is taken, and take it."""
    candidate, number = base, 1
    while candidate in taken:
        number += 1
        candidate = f"{base}_{number}"
    taken.add(candidate)
    return candidate


def check_new_name(new: str, taken: set[str], primitive: str, remedy: str) -> None:
    """Refuse a name that is no identifier or that something else has."""
    if not new.isidentifier():
        raise ScheduleError(f'{primitive}: the name "{new}" is no identifier; {remedy}')
    if new in taken:
        raise ScheduleError(f'{primitive}: the name "{new}" is taken; {remedy}')
    taken.add(new)


def check_serial(loop: For, primitive: str) -> None:
    """Refuse a loop that already has a kind of its own."""
    if loop.kind is not LoopKind.SERIAL:
        raise ScheduleError(
            f'{primitive}: loop "{loop.axis}" is already {loop.kind.value}; '
            f"apply {primitive} before that step"
        )


def check_open(function: Function, axis: str | None, primitive: str) -> None:
    """Refuse a loop body that cannot take in further statements."""
    if axis is None:
        return
    child = perfect_child(loops(function)[axis])
    if child is not None and child.kind is LoopKind.FUSED:
        raise ScheduleError(
            f'{primitive}: loop "{axis}" shares its counter with "{child.axis}", so '
            f'nothing can stand between them; name "{child.axis}", or {primitive} '
            "before fuse"
        )
    for around in scope_of(function, axis).values():
        if around.kind is LoopKind.VECTORIZED:
            raise ScheduleError(
                f'{primitive}: loop "{around.axis}" is vectorized, so its body cannot '
                "take in copies or other stages; name a loop around it"
            )


def memory_named(memory: str, primitive: str) -> Memory:
    """Return the memory of that name, or refuse."""
    if memory not in ("array", "register"):
        raise ScheduleError(
            f'{primitive}: memory={memory!r}; allowed are "array" and "register"'
        )
    return Memory(memory)


def is_around(outer: str, inner: For) -> bool:
    """Return whether the bounds of *inner* use the axis *outer*."""
    return any(outer in form.names() for form in (*inner.starts, *inner.stops))


def perfect_child(loop: For) -> For | None:
    """Return the loop that is all of the body of *loop*, if there is one."""
    match loop.body.statements:
        case (For() as child,):
            return child
    return None


def describe(loop: For) -> str:
    """Return the header of *loop* without its colon, for messages."""
    return print_loop(replace(loop, kind=LoopKind.SERIAL)).removesuffix(":")


def replace_loop(
    function: Function, axis: str, change: Callable[[For], Stmt | Block]
) -> Function:
    """Put the result of *change* in place of the loop of *axis*."""

    def rule(statement: Stmt) -> Stmt | Block:
        if isinstance(statement, For) and statement.axis == axis:
            return change(statement)
        return statement

    return rewrite(function, rule)


def replace_body(
    function: Function, axis: str | None, change: Callable[[Block], Block]
) -> Function:
    """Change the body of the loop of *axis*, or of the function for None."""
    if axis is None:
        return replace(function, body=change(function.body))
    return replace_loop(
        function, axis, lambda loop: replace(loop, body=change(loop.body))
    )
