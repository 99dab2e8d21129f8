"""Kernels for known sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tdsl.ir.affine import Affine, constant
from tdsl.ir.nodes import Assumptions, Function
from tdsl.ir.walk import substitute


def specialize(function: Function, sizes: Mapping[str, int]) -> Function:
    """Return *function* for the given *sizes*; dims without one stay symbolic."""
    values = {name: constant(size) for name, size in sizes.items()}
    params = tuple(
        replace(
            param,
            tensor=replace(
                param.tensor,
                shape=tuple(size.substitute(values) for size in param.tensor.shape),
            ),
        )
        for param in function.params
    )
    return replace(
        function,
        params=params,
        dims=tuple(dim for dim in function.dims if dim.name not in sizes),
        body=substitute(function.body, values),
        assumptions=_assumptions(function.assumptions, values),
    )


def _assumptions(known: Assumptions, values: Mapping[str, Affine]) -> Assumptions:
    forms = (form.substitute(values) for form in known.conditions)
    return Assumptions(
        tuple(form for form in forms if not form.is_constant or form.constant < 0),
        tuple(
            (tensor, lower.substitute(values), upper.substitute(values))
            for tensor, lower, upper in known.in_range
        ),
        known.injective,
    )
