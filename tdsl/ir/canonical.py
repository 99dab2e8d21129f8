"""IR to text that tells any two programs apart: what hashes and keys are made of.

The text that people read (`printer`) leaves out types that the reader knows. This one
leaves out nothing but the places in the source, as equality does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from types import MappingProxyType

from .affine import Affine, FloorDiv
from .dtypes import DType
from .nodes import (
    Alloc,
    Assumptions,
    Binary,
    Block,
    Call,
    Cast,
    Const,
    Dim,
    For,
    Function,
    Gather,
    If,
    Index,
    Instance,
    Load,
    LoopKind,
    Memory,
    Param,
    Reduce,
    ReduceOp,
    Role,
    Scatter,
    Select,
    Store,
    Tensor,
    Unary,
)

_NODES = (
    *(Const, Index, Load, Gather, Unary, Binary, Call, Select, Cast, Instance, Tensor),
    *(Store, Reduce, Scatter, Alloc, If, For, Block, Param, Dim, Assumptions, Function),
)
_FIELDS: Mapping[type, tuple[str, ...]] = MappingProxyType(
    {
        node: tuple(field.name for field in fields(node) if field.compare)
        for node in _NODES
    }
)


def canonical_text(function: Function) -> str:
    """Return *function* as text, the same for equal functions only."""
    parts: list[str] = []
    _write(function, parts)
    return "".join(parts)


def _write(value: object, parts: list[str]) -> None:
    kind = type(value)
    names = _FIELDS.get(kind)
    if names is not None:
        parts.append(f"{kind.__name__}(")
        for name in names:
            _write(getattr(value, name), parts)
        parts.append(")")
    elif isinstance(value, tuple):
        parts.append("[")
        for item in value:
            _write(item, parts)
        parts.append("]")
    elif isinstance(value, Affine):
        parts.append(_form(value))
    elif isinstance(value, DType | LoopKind | ReduceOp | Memory | Role):
        parts.append(f"{value.name},")
    else:  # a name or a number: 0.0, -0.0, 0 and False differ
        assert isinstance(value, str | int | float | complex | None), value
        parts.append(f"{value!r},")


@lru_cache(maxsize=4096)
def _form(form: Affine) -> str:
    terms = "".join(f"{count}*{_atom(atom)}+" for atom, count in form.terms)
    return f"{terms}{form.constant},"


def _atom(atom: str | FloorDiv) -> str:
    if isinstance(atom, str):
        return atom
    return f"({_form(atom.numerator)}//{atom.divisor})"
