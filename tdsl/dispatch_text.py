"""The text of a call: straight-line checks of what is usual, then the compiled entry.

Everything unusual goes to `_slow`, which explains or converts: other array types, wrong
shapes, missing or keyword arguments. So a check here may be stricter than need be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .ir.affine import Affine
from .ir.dtypes import DType
from .ir.nodes import Dim, Function, Param, Role, Tensor
from .ir.ranges import LARGEST_DIM

# Of numpy's array flags: row-major, column-major, own memory, aligned, writable.
C_ORDER, F_ORDER, OWNER, ALIGNED, WRITABLE = 0x1, 0x2, 0x4, 0x100, 0x400
# Stride codes of our own: of one element is the last stride, or (n + 1 times) axis n's,
# which has C_ORDER too if the array is row-major with that axis last.
UNIT_STRIDE, INNER_AXIS = 0x4, 0x8
CODE_BITS = 10  # NumPy has up to 64 axes
USED_NAMES = frozenset(
    {
        *("args", "kwargs", "type", "len", "float", "divmod", "abs", "complex", "int"),
        *("MemoryError", "OverflowError", "ValueError"),
    }
)
"""Names in the text that are none of the kernel's and do not begin with `_`."""

_FRESH = C_ORDER | OWNER | ALIGNED | WRITABLE


@dataclass(frozen=True, slots=True)
class _Solution:
    """`name = (size - rest) / factor`, and *size* is a dimension of a parameter."""

    name: str
    rest: Affine
    factor: int

    @property
    def is_plain(self) -> bool:
        """Whether the dimension is the dim itself."""
        return self.rest == Affine() and self.factor == 1


@dataclass(slots=True)
class CallWriter:
    """Write the function `call(args, kwargs)` of one kernel.

    *by_size*: whether the key of an entry ends with the sizes of the dims, if any.
    """

    function: Function
    by_size: bool
    known: set[str] = field(default_factory=set)
    solutions: dict[tuple[str, int], _Solution] = field(default_factory=dict)

    @property
    def given(self) -> list[Param]:
        """The parameters that the caller passes."""
        return [param for param in self.function.params if not param.returned]

    @property
    def returned(self) -> list[Param]:
        """The parameters that the call allocates and returns."""
        return [param for param in self.function.params if param.returned]

    @property
    def tensors(self) -> list[Param]:
        """The parameters that are arrays."""
        return [param for param in self.function.params if param.tensor.shape]

    def solves(self) -> bool:
        """Find how each dim follows from the shapes; say whether all of them do."""
        progress = True
        while progress:
            progress = False
            for param in self.given:
                for axis, form in enumerate(param.tensor.shape):
                    progress |= self._solve(param, axis, form)
        return self.known == {dim.name for dim in self.function.dims}

    def _solve(self, param: Param, axis: int, form: Affine) -> bool:
        unknown = form.names() - self.known
        if len(unknown) != 1:
            return False
        (name,) = unknown
        factor = form.coefficient(name)
        rest = form - Affine(((name, factor),)) if factor else form
        if name in rest.names():
            return False
        self.known.add(name)
        self.solutions[param.tensor.name, axis] = _Solution(name, rest, factor)
        return True

    def lines(self) -> Iterator[str]:
        """Yield the lines of the function."""
        yield "def call(args, kwargs):"
        parts = (
            *(self._arguments(), self._types(), self._sizes(), self._memory()),
            *(self._results(), self._overlaps(), self._entry()),
        )
        for part in parts:
            yield from _indented(part)

    def _arguments(self) -> Iterator[str]:
        count = f"len(args) != {len(self.given)}"
        if len(self.returned) == 1:
            name = self.returned[0].tensor.name
            yield f"{name} = None"
            yield "if kwargs:"
            yield f"    {name} = kwargs.get('out')"
            yield f"    if {name} is None or len(kwargs) != 1:"
            yield "        return _slow(args, kwargs)"
            yield from _refuse(count)
        else:
            yield from _refuse("kwargs", count)
        if self.given:
            yield f"{', '.join(p.tensor.name for p in self.given)}, = args"

    def _types(self) -> Iterator[str]:
        for param in self.given:
            if param.tensor.shape:
                yield from _refuse(*_array_faults(param.tensor))
            else:
                yield from _number_check(param.tensor)

    # --- sizes --------------------------------------------------------------------

    def _sizes(self) -> Iterator[str]:
        arrays = [param for param in self.given if param.tensor.shape]
        if arrays:
            yield "try:"
            yield from _indented(map(self._unpacking, arrays))
            yield "except ValueError:  # another rank"
            yield "    return _slow(args, kwargs)"
        for (name, axis), solution in self.solutions.items():
            if not solution.is_plain:
                size = f"{_size(name, axis)} - ({python_form(solution.rest)})"
                yield f"{solution.name}, _rest = divmod({size}, {solution.factor})"
                yield from _refuse("_rest")
        yield from _refuse(*self._size_faults(arrays))

    def _unpacking(self, param: Param) -> str:
        name = param.tensor.name
        axes = range(len(param.tensor.shape))
        targets = ", ".join(self._target(name, axis) for axis in axes)
        return f"{targets}, = {name}.shape"

    def _target(self, tensor: str, axis: int) -> str:
        solution = self.solutions.get((tensor, axis))
        plain = solution is not None and solution.is_plain
        return solution.name if solution and plain else _size(tensor, axis)

    def _size_faults(self, arrays: Iterable[Param]) -> Iterator[str]:
        for param in arrays:
            name = param.tensor.name
            for axis, form in enumerate(param.tensor.shape):
                if (name, axis) not in self.solutions:
                    yield f"{_size(name, axis)} != {python_form(form)}"
        for dim in self.function.dims:
            yield from self._dim_faults(dim)
        for form in self.function.assumptions.conditions:
            yield f"{python_form(form)} < 0"
        every = [dim.name for dim in self.function.dims]
        every += [
            _size(param.tensor.name, axis)
            for param in arrays
            for axis, form in enumerate(param.tensor.shape)
            if _may_exceed(form)
        ]
        if every:
            yield f"({' | '.join(every)}) > {LARGEST_DIM}"

    def _dim_faults(self, dim: Dim) -> Iterator[str]:
        solutions = self.solutions.values()
        plain = any(s.name == dim.name and s.is_plain for s in solutions)
        if dim.min > 0 or not plain:
            yield f"{dim.name} < {dim.min}"
        if dim.max is not None:
            yield f"{dim.name} > {dim.max}"
        if dim.multiple != 1:
            yield f"{dim.name} % {dim.multiple}"

    # --- memory -------------------------------------------------------------------

    def _memory(self) -> Iterator[str]:
        arrays = [param for param in self.given if param.tensor.shape]
        for param in arrays:
            yield f"{_flags(param)} = {param.tensor.name}.flags.num"
        written = [param for param in arrays if param.role is not Role.INPUT]
        yield from _refuse(*_missing(arrays, ALIGNED), *_missing(written, WRITABLE))

    def _results(self) -> Iterator[str]:
        returned = self.returned
        if not returned:
            return
        forms = {form for param in returned for form in param.tensor.shape}
        odd = [python_form(form) for form in forms if _may_exceed(form)]
        yield from _refuse(
            *(f"not 0 <= {size} <= {LARGEST_DIM}" for size in sorted(odd))
        )
        if len(returned) > 1:
            yield from _allocations(returned)
            return
        (param,) = returned
        yield f"if {param.tensor.name} is None:"
        yield from _indented(_allocations(returned))
        yield f"    {_flags(param)} = {_FRESH}"
        yield "else:"
        yield from _indented(self._given_result(param))

    def _given_result(self, param: Param) -> Iterator[str]:
        name, shape = param.tensor.name, _shape(param.tensor)
        yield from _refuse(*_array_faults(param.tensor), f"{name}.shape != {shape}")
        yield f"{_flags(param)} = {name}.flags.num"
        usable = ALIGNED | WRITABLE
        yield from _refuse(
            f"{_flags(param)} & {usable} != {usable}", *self._overlap_faults([param])
        )

    def _overlaps(self) -> Iterator[str]:
        written = [p for p in self.tensors if p.role is not Role.INPUT]
        yield from _refuse(
            *self._overlap_faults([p for p in written if not p.returned])
        )

    def _overlap_faults(self, written: list[Param]) -> Iterator[str]:
        """Yield faults where a written array may share memory with another.

        Two arrays that own their memory do not, unless they are the same one.
        """
        arrays = [param for param in self.tensors if not param.returned]
        for position, param in enumerate(written):
            name = param.tensor.name
            order = C_ORDER | F_ORDER
            yield f"not {_flags(param)} & {order} and _shares_elements({name})"
            for other in arrays:
                if other is param or other in written[:position]:
                    continue
                theirs = other.tensor.name
                owners = f"{_flags(param)} & {_flags(other)} & {OWNER}"
                yield f"{name} is {theirs}"
                yield f"not {owners} and _may_share({name}, {theirs})"

    # --- the entry ----------------------------------------------------------------

    def _entry(self) -> Iterator[str]:
        sizes = [dim.name for dim in self.function.dims]
        keys = self.tensors if len(self.returned) == 1 else self._given_tensors()
        key = self._key(keys)
        if self.by_size and sizes:
            key = f"({', '.join([key, *sizes])},)"
        yield f"_entry = _get({key})"
        yield from _refuse("_entry is None")
        names = [param.tensor.name for param in self.function.params]
        yield f"_entry({', '.join([*names, *sizes])})"
        results = [param.tensor.name for param in self.returned]
        if results:
            yield f"return {', '.join(results)}"

    def _given_tensors(self) -> list[Param]:
        return [param for param in self.tensors if not param.returned]

    def _key(self, looked_at: list[Param]) -> str:
        """Return the stride codes; those of fresh arrays are known."""
        row_major = sum(C_ORDER << CODE_BITS * n for n in range(len(self.tensors)))
        if not looked_at:
            return str(row_major)
        parts = [
            f"{_stride_code(param) if param in looked_at else C_ORDER} "
            f"<< {CODE_BITS * position}"
            for position, param in enumerate(self.tensors)
        ]
        every = " & ".join([*map(_flags, looked_at), str(C_ORDER)])
        return f"{row_major} if {every} else {' | '.join(parts)}"


def _refuse(*faults: str) -> Iterator[str]:
    if faults:
        yield f"if {' or '.join(faults)}:"
        yield "    return _slow(args, kwargs)"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"    {line}" for line in lines)


def _array_faults(tensor: Tensor) -> tuple[str, ...]:
    return (
        f"type({tensor.name}) is not _ndarray",
        f"{tensor.name}.dtype is not {dtype_name(tensor.dtype)}",
    )


def _number_check(tensor: Tensor) -> Iterator[str]:
    name, dtype = tensor.name, tensor.dtype
    if dtype.kind == "float":
        yield f"if type({name}) is not float:"
        yield f"    if type({name}) not in _floats:"
        yield "        return _slow(args, kwargs)"
        yield "    try:"
        yield f"        {name} = float({name})"
        yield "    except OverflowError:"
        yield "        return _slow(args, kwargs)"
        if dtype.bits < 64:
            largest = dtype.largest
            yield from _refuse(f"not {-largest!r} <= {name} <= {largest!r}")
    elif dtype.kind == "complex":
        yield from _refuse(f"type({name}) is not complex")
        if dtype.bits == 64:  # the other one of NaN and infinity is the slow path's
            yield from _refuse(
                f"not abs({name}.real) + abs({name}.imag) <= {dtype.largest!r}"
            )
    elif dtype.kind == "int":
        yield from _refuse(
            f"type({name}) is not int",
            f"not {dtype.lowest} <= {name} <= {dtype.highest}",
        )
    else:
        yield from _refuse(f"type({name}) is not bool")


def _missing(params: list[Param], flag: int) -> Iterator[str]:
    if params:
        yield f"not {' & '.join([*map(_flags, params), str(flag)])}"


def _allocations(params: list[Param]) -> Iterator[str]:
    yield "try:"
    for param in params:
        tensor = param.tensor
        dtype = dtype_name(tensor.dtype)
        yield f"    {tensor.name} = _empty({_shape(tensor)}, {dtype})"
    yield "except (MemoryError, ValueError):"
    yield "    return _slow(args, kwargs)"


def _shape(tensor: Tensor) -> str:
    return f"({', '.join(map(python_form, tensor.shape))},)"


def dtype_name(dtype: DType) -> str:
    """Return the name that a NumPy dtype has in the text."""
    return f"_{dtype.numpy.name}"


def _flags(param: Param) -> str:
    return f"_{param.tensor.name}_flags"


def _stride_code(param: Param) -> str:
    tensor, flags = param.tensor, _flags(param)
    unit = f"{UNIT_STRIDE} * ({tensor.name}.strides[-1] == {tensor.dtype.bytes})"
    if len(tensor.shape) < 2:
        return f"({flags} & {C_ORDER} or {unit})"
    inner = f"_inner_code({tensor.name})"
    return f"({flags} & {C_ORDER} or {flags} & {F_ORDER} or {unit} or {inner})"


def _size(tensor: str, axis: int) -> str:
    return f"_{tensor}_{axis}"


def _may_exceed(form: Affine) -> bool:
    """Whether a size may leave the range of a dim: it is no dim nor a usual number."""
    if form.is_constant:
        return not 0 <= form.constant <= LARGEST_DIM
    return not str(form).isidentifier()


def python_form(form: Affine) -> str:
    """Return *form* as a Python expression over its names."""
    parts = [str(form.constant)] if form.constant or not form.terms else []
    for atom, coefficient in form.terms:
        if isinstance(atom, str):
            text = atom
        else:
            text = f"(({python_form(atom.numerator)}) // {atom.divisor})"
        parts.append(text if coefficient == 1 else f"{coefficient} * {text}")
    return " + ".join(parts)
