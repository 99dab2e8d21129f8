"""Numbers, affine forms and subscripts as the text of `scalar_source.py`."""

from __future__ import annotations

from math import isfinite

from ..ir.affine import Affine
from ..ir.dtypes import DType
from ..ir.nodes import Const


def number_of(expr: Const) -> str:
    """Return a number as text."""
    value = expr.dtype.numpy.type(expr.value).item()
    if isinstance(value, float) and not isfinite(value):
        return f"({value})"  # inf and nan are names there
    return f"({value!r})"


def wrapped(text: str, dtype: DType) -> str:
    """Return *text* as an integer of *dtype*, wrapped as its overflow does."""
    if dtype.kind != "int" or dtype.bits == 64:
        return text
    return f"np.int64(np.int32({text}))"


def extreme_of(function: str, forms: tuple[Affine, ...]) -> str:
    """Return the `min` or `max` of affine forms."""
    texts = [form_of(form) for form in forms]
    return texts[0] if len(texts) == 1 else f"{function}({', '.join(texts)})"


def place_of(form: Affine) -> str:
    """Return a subscript, checked where it may be negative."""
    safe = form.constant >= 0 and all(coefficient > 0 for _, coefficient in form.terms)
    return form_of(form) if safe else f"place({form_of(form)})"


def form_of(form: Affine) -> str:
    """Return the text of an affine form."""
    parts = [str(form.constant)] if form.constant or not form.terms else []
    for atom, coefficient in form.terms:
        if isinstance(atom, str):
            text = f"X_{atom}"
        else:
            text = f"(({form_of(atom.numerator)}) // {atom.divisor})"
        parts.append(text if coefficient == 1 else f"{coefficient}*{text}")
    return f"({' + '.join(parts)})"
