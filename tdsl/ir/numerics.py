"""How freely a schedule and a backend may treat floating-point arithmetic."""

from __future__ import annotations

from typing import Literal, get_args

Numerics = Literal["bitwise", "reassoc", "fast"]
"""`bitwise`: the operations of the source in the source's order, so every schedule
gives the same bits. `reassoc`: reductions may be reordered and contracted to fused
multiply-adds. `fast`: division and square root may also be off by up to 4 units in
the last place; a result is checked against that bound, but the CPU backend emits the
same code for `fast` as for `reassoc`."""

NUMERICS: tuple[str, ...] = get_args(Numerics)
