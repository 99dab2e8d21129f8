"""Where the two parts of a complex number lie, and the names that they have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..ir.affine import Affine, constant
from ..ir.dtypes import DType, i64
from ..ir.nodes import (
    Alloc,
    Expr,
    Function,
    Gather,
    Index,
    Load,
    Param,
    Role,
    Tensor,
)
from ..ir.walk import allocations, loops

Pair = tuple[Expr, Expr]
Forms = tuple[Affine, ...]
Exprs = tuple[Expr, ...]


class Places:
    """The parts of the complex numbers of one function.

    *scalars* names the two parameters that stand for each complex one of rank 0.
    """

    def __init__(self, function: Function) -> None:
        self._arrays: set[str] = set()
        self.scalars: dict[str, tuple[str, str]] = {}
        self._taken = {param.tensor.name for param in function.params}
        self._taken |= {dim.name for dim in function.dims} | set(loops(function))
        self._taken |= set(allocations(function))
        for param in function.params:
            tensor = param.tensor
            if tensor.dtype.kind != "complex":
                continue
            if tensor.shape:
                self._arrays.add(tensor.name)
            else:
                real, imaginary = (self._fresh(f"{tensor.name}_{p}") for p in "ri")
                self.scalars[tensor.name] = real, imaginary

    def _fresh(self, stem: str) -> str:
        while stem in self._taken:
            stem += "_"
        self._taken.add(stem)
        return stem

    # --- tensors ------------------------------------------------------------------

    def param(self, param: Param) -> Iterator[Param]:
        """Yield the parameters that stand for *param*."""
        tensor = param.tensor
        if tensor.dtype.kind != "complex":
            yield param
        elif tensor.shape:
            shape = (*tensor.shape, constant(2))
            yield replace(param, tensor=Tensor(tensor.name, tensor.dtype.part, shape))
        else:
            for name in self.scalars[tensor.name]:
                yield Param(Tensor(name, tensor.dtype.part, ()), Role.INPUT)

    def alloc(self, alloc: Alloc) -> Alloc:
        """Return the declaration of the parts of a local tensor."""
        tensor = alloc.tensor
        if tensor.dtype.kind != "complex":
            return alloc
        shape = (*tensor.shape[:-1], constant(2), *tensor.shape[-1:])
        return replace(alloc, tensor=Tensor(tensor.name, tensor.dtype.part, shape))

    def variables(self, dtype: DType, count: int) -> Tensor:
        """Return a new local tensor for *count* values."""
        return Tensor(self._fresh("parts"), dtype, (constant(count),))

    # --- elements -----------------------------------------------------------------

    def place(self, tensor: str, index: Forms, part: int) -> Forms:
        """Return the subscripts of one part of an element."""
        if tensor in self._arrays:
            return (*index, constant(part))
        return (*index[:-1], constant(part), *index[-1:])

    def chosen(self, tensor: str, index: Exprs, part: int) -> Exprs:
        """Return the subscripts of one part of an element that data chooses."""
        number = Index(constant(part), i64)
        if tensor in self._arrays:
            return (*index, number)
        return (*index[:-1], number, *index[-1:])

    def load(self, load: Load) -> Pair:
        """Return the two parts of an element."""
        dtype = load.dtype.part
        if load.tensor in self.scalars:
            real, imaginary = self.scalars[load.tensor]
            return Load(real, (), dtype), Load(imaginary, (), dtype)
        first, second = (
            Load(load.tensor, self.place(load.tensor, load.index, p), dtype)
            for p in (0, 1)
        )
        return first, second

    def gather(self, gather: Gather, index: Exprs) -> Pair:
        """Return the two parts of an element that data chooses."""
        first, second = (
            replace(
                gather,
                index=self.chosen(gather.tensor, index, p),
                dtype=gather.dtype.part,
            )
            for p in (0, 1)
        )
        return first, second
