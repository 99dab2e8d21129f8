"""A primitive that puts the statements of a loop body in another order."""

from __future__ import annotations

from ..errors import ScheduleError
from ..ir.nodes import Block, Function
from .checks import find_loop, replace_body


def rearrange(function: Function, axis: str, *order: int) -> Function:
    """Put the statements of the body of *axis* in another order.

    Before, and after `rearrange("i", 1, 0)`:

        for i in range(M):              for i in range(M):
            X[i] = 0.0      # S0[i]         Y[i] = 1.0      # S1[i]
            Y[i] = 1.0      # S1[i]         X[i] = 0.0      # S0[i]

    *order* gives the present positions, counted from 0 with declarations of local
    tensors, in the new order.
    """
    statements = find_loop(function, axis, "rearrange").body.statements
    if sorted(order) != list(range(len(statements))):
        wanted = ", ".join(map(str, range(len(statements))))
        raise ScheduleError(
            f'rearrange: order={order}; loop "{axis}" has the statements {wanted}, '
            "and each of these numbers is given once"
        )
    body = Block(tuple(statements[at] for at in order))
    return replace_body(function, axis, lambda _: body)
