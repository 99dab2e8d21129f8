"""Which expressions are products: what may become one fused multiply-add."""

from __future__ import annotations

from ..ir.nodes import Binary, Const, Expr


def is_product(node: Expr) -> bool:
    """Return whether *node* is a product of two numbers, or a square."""
    if not isinstance(node, Binary):
        return False
    return node.op == "mul" or short_exponent(node, True) == 2


def short_exponent(node: Binary, rounds: bool) -> float | None:
    """Return a constant exponent for which a power is a product, root or quotient.

    Unless *rounds* allows other roundings only those that give the same bits: products
    of integers, and the square of an f32, which is exact in double.
    """
    if node.op != "pow" or not isinstance(node.right, Const):
        return None
    if node.dtype.kind not in ("int", "float"):
        return None
    assert not isinstance(node.right.value, complex), node
    exponent = float(node.right.value)
    if node.dtype.kind == "int":
        return exponent if exponent in (2, 3, 4) else None
    if exponent == 2 and (rounds or node.dtype.bits == 32):
        return exponent
    return exponent if rounds and exponent in (3, 4, 0.5, -1) else None


def product_in(node: Binary) -> tuple[Binary, Expr, str]:
    """Return the product in a sum or difference, the other operand, and the signs."""
    left, right = node.left, node.right
    if isinstance(left, Binary) and is_product(left):
        return left, right, "a + c" if node.op == "add" else "a - c"
    assert isinstance(right, Binary)
    return right, left, "a + c" if node.op == "add" else "c - a"
