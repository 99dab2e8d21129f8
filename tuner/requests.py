"""A tuning job with every choice made and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Protocol

from ..analysis.cost import arithmetic
from ..binding import checked_shape, infer_dims
from ..entries import Situation, fingerprint, program_hash, situation
from ..errors import ArgumentError
from ..ir.given import check_option, shown
from ..ir.nodes import Function, Role
from ..ir.numerics import NUMERICS, Numerics
from ..ir.programs import no_program
from ..limits import LARGEST_SEED, LONGEST_BUDGET, MOST_THREADS, SHORTEST_BUDGET
from ..target import Target
from .contenders import ContenderSource
from .fingerprint import code_stamp, tool_versions
from .problem import Inputs
from .records import Key


class Tunable(Protocol):
    """What `tune` needs of a kernel."""

    @property
    def name(self) -> str:
        """The kernel's name."""

    @property
    def function(self) -> Function:
        """The parsed program."""

    @property
    def numerics(self) -> Numerics:
        """The numerics class, unless the job names another."""

    @property
    def explicit_schedule(self) -> object:
        """What every call runs, if it is not None; such a kernel is not tuned."""

    def reload(self) -> None:
        """Look for tuned schedules again at the next call."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to tune, for what, and for how long."""

    name: str
    function: Function
    dims: dict[str, int]
    threads: int
    numerics: Numerics
    target: Target
    budget: float
    seed: int
    ledger: Path
    contender: ContenderSource | None
    inputs: Inputs | None = None

    @property
    def situation(self) -> Situation:
        """What the winner's entry is filed under."""
        return situation(
            program_hash(self.function),
            self.dims,
            self.threads,
            self.numerics,
            fingerprint(self.target),
        )

    @property
    def key(self) -> Key:
        """What the ledger files this job's candidates under."""
        where = self.situation
        return Key(
            where.program,
            self.name,
            self.dims,
            {p.tensor.name: p.tensor.dtype.name for p in self.function.params},
            self.threads,
            self.numerics,
            where.target,
            {**tool_versions(), "sources": code_stamp()},
        )

    @property
    def dtype(self) -> str:
        """The dtype of what the function computes."""
        params = self.function.params
        written = [p.tensor.dtype.name for p in params if p.role is not Role.INPUT]
        return written[0] if written else ""

    @property
    def arithmetic(self) -> str:
        """The dtype of all arithmetic, or "" where there is none or are several."""
        names = [dtype.name for dtype in arithmetic(self.function)]
        return names[0] if len(names) == 1 else ""


def check_tunable(kernel: object) -> None:
    """Raise ArgumentError where *kernel* is something else.

    So it is where calls would never look for what is found: those of a kernel with an
    explicit schedule run that one.
    """
    if isinstance(kernel, Function):
        raise ArgumentError(
            f"tune: {kernel.name} is the function of a kernel: pass the kernel itself"
        )
    function = getattr(kernel, "function", None)
    if not isinstance(function, Function):
        raise ArgumentError(f"tune: {no_program(kernel)}")
    if getattr(kernel, "explicit_schedule", None) is not None:
        raise ArgumentError(
            f"tune: this {function.name} has an explicit schedule, which its calls run "
            "whatever is tuned; tune the kernel that with_schedule was called on"
        )


def check_options(
    budget: object, threads: object, numerics: object, seed: object, ledger: object
) -> None:
    """Raise ArgumentError where an option of `tune` is nothing that it could mean."""
    span = f"a number of seconds from {SHORTEST_BUDGET} to {LONGEST_BUDGET:.0f}"
    check_option(
        *("tune", "budget_s", budget, (int, float), span),
        least=SHORTEST_BUDGET,
        most=LONGEST_BUDGET,
    )
    if threads is not None:
        wanted = f"None or a whole number from 1 to {MOST_THREADS}"
        check_option(
            "tune", "threads", threads, int, wanted, least=1, most=MOST_THREADS
        )
    if not (numerics is None or (isinstance(numerics, str) and numerics in NUMERICS)):
        raise ArgumentError(
            f"tune: numerics is {shown(numerics)}, but it is None or one of "
            f"{', '.join(NUMERICS)}"
        )
    wanted = f"a whole number from 0 to {LARGEST_SEED}"
    check_option("tune", "seed", seed, int, wanted, least=0, most=LARGEST_SEED)
    if ledger is not None:
        check_option("tune", "ledger", ledger, Path, "None or a pathlib.Path")


def check_parts(
    target: object, contender: object, inputs: object, listen: object
) -> None:
    """Raise ArgumentError where `tune` gets what it cannot use or call."""
    if target is not None:
        check_option("tune", "target", target, Target, "None or a Target")
    if not (
        contender is None
        or isinstance(contender, ContenderSource)
        or callable(contender)
    ):
        raise ArgumentError(
            f"tune: contender is {shown(contender)}, but it is None or a function"
        )
    if not (inputs is None or callable(inputs)):
        raise ArgumentError(
            f"tune: inputs is {shown(inputs)}, but it is None or a function of the dims"
        )
    if not callable(listen):
        raise ArgumentError(
            f"tune: listen is {shown(listen)}, but it is a function of what is shown"
        )


def check_dims(
    kernel: str, function: Function, dims: Mapping[str, int]
) -> dict[str, int]:
    """Return *dims* in the function's order; raise ArgumentError where they do not fit.

    Every dim needs a size that keeps its assumptions.
    """
    known = [dim.name for dim in function.dims]
    if not isinstance(dims, Mapping):
        example = ", ".join(f'"{name}": 512' for name in known)
        raise ArgumentError(
            f"{kernel}: dims are {shown(dims)}; name a size for each: {{{example}}}"
        )
    listed = ", ".join(known) or "none"
    for name in dims:
        if name not in known:
            raise ArgumentError(
                f"{kernel} has no dim {shown(name)}; its dims are {listed}"
            )
    missing = [name for name in known if name not in dims]
    if missing:
        example = " ".join(f"{name}=512" for name in missing)
        raise ArgumentError(
            f"{kernel} needs a size for {', '.join(missing)}; add {example}"
        )
    for dim in function.dims:
        size = dims[dim.name]
        if isinstance(size, bool) or not isinstance(size, Integral):
            raise ArgumentError(
                f"{dim.name}={shown(size)}: a size is a whole number, as in "
                f"{dim.name}=512"
            )
        given = f"{dim.name}={shown(int(size))}"
        if size < dim.min:
            raise ArgumentError(f"{given}: {kernel} assumes at least {dim.min}")
        if dim.max is not None and size > dim.max:
            raise ArgumentError(f"{given}: {kernel} assumes at most {dim.max}")
        if size % dim.multiple:
            raise ArgumentError(
                f"{given}: {kernel} assumes a multiple of {dim.multiple}"
            )
    sizes = infer_dims(function, {}, dims)  # what else a call would refuse
    for param in function.params:
        checked_shape(function, param, sizes)
    return sizes
