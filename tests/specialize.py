"""Kernels for known sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tdsl.ir.affine import constant
from tdsl.ir.nodes import Function
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
    )
