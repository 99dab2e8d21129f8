"""How many statements a program is when its unrolled loops are written out."""

from __future__ import annotations

from .extents import most_iterations
from .nodes import Block, For, If, LoopKind, Reduce, Scatter, Store

_VECTOR_BYTES = 64


def statements(block: Block, lanes: int = 1) -> int:
    """Return the statements of *block*; one on vectors counts for each 64 bytes."""
    total = 0
    for statement in block.statements:
        match statement:
            case For():
                iterations = most_iterations(statement) or 1
                is_vector = statement.kind is LoopKind.VECTORIZED
                inside = statements(statement.body, iterations if is_vector else lanes)
                is_unrolled = statement.kind is LoopKind.UNROLLED
                total += inside * (iterations if is_unrolled else 1)
            case If():
                total += statements(statement.body, lanes)
            case Store() | Reduce() | Scatter():
                total += -(-lanes * statement.value.dtype.bytes // _VECTOR_BYTES)
            case _:
                pass
    return total
