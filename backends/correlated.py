"""Bounds in which errors that share a cause may cancel, for recursions.

Where each step needs the one before, bounds without signs may double with each step,
though the errors themselves do not. Here every number that is written has a sketch of
what it has of each cause of error (`sketches.py`), and each statement is linear in the
errors of what it reads, but for a rest that is bounded beside (`form_rules.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from ..ir.nodes import Function
from ..ir.numerics import Numerics
from .accumulate import Cells
from .form_source import form_source, sketched
from .modules import load_module
from .one_by_one import is_covered
from .scalar_source import reductions
from .sketches import LANES

MEMORY = 1 << 18
"""How many elements may have a sketch, at most."""


def is_in_reach(function: Function, dims: Mapping[str, int]) -> bool:
    """Whether `evaluate_correlated` knows all of *function*, and has the memory."""
    elements = 0
    for tensor in sketched(function).values():
        if all(form.names() <= dims.keys() for form in tensor.shape):
            elements += prod(max(0, form.evaluate(dims)) for form in tensor.shape)
    return is_covered(function) and elements <= MEMORY


def evaluate_correlated(
    function: Function,
    cells: Mapping[str, Cells],
    dims: Mapping[str, int],
    numerics: Numerics,
    iterations: float,
) -> bool:
    """Run *function* on the *cells* of its parameters, which change.

    Return False where about so many *iterations* were not enough.
    """
    text = form_source(function, numerics)
    module: Any = load_module(f"{function.name}_correlated", text)
    updates, written = reductions(function), sketched(function)
    arguments: list[Any] = []
    for param in function.params:
        name = param.tensor.name
        arguments += cells[name].spread(updates.get(name))
        if name in written:
            arguments.append(np.zeros((*cells[name].shape, LANES)))
            arguments += [np.zeros(cells[name].shape)] * (name in updates)
    sizes = [dims[dim.name] for dim in function.dims]
    return bool(module.evaluate(*arguments, *sizes, int(min(iterations, 2.0**62))))
