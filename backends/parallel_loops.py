"""Parallel loops: one counter, a body that is a function, threads where they pay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..ir.affine import Affine
from ..ir.dtypes import DType
from ..ir.nodes import For
from .expressions import type_token
from .outline import free_names, fused_chain, is_uneven
from .point import Point
from .ranges import Ranges
from .shortage import Shortages
from .storage import Addresses
from .worth import LEAST, Work
from .writer import Region, Writer, block_text


class ParallelLoops:
    """Write parallel loops; *parts* are the functions that their bodies became.

    Each is a name, arguments, and a text. *used* and *types* are the operations and
    types that the module has names for.
    """

    def __init__(
        self,
        writer: Writer,
        addresses: Addresses,
        ranges: Ranges,
        identifiers: Mapping[str, str],
        used: set[str],
        types: set[tuple[DType, int]],
        entry: str,
        shortages: Shortages,
    ) -> None:
        self.parts: list[tuple[str, list[str], str]] = []
        self._writer = writer
        self._addresses = addresses
        self._ranges = ranges
        self._ids = identifiers
        self._used = used
        self._types = types
        self._entry = entry
        self._shortages = shortages

    def write(
        self, loop: For, point: Point, inside: Callable[[list[For], Point], None]
    ) -> None:
        """Write *loop* and the loops fused with it as one `prange` over all of them.

        *inside* writes the body of these loops.
        """
        writer = self._writer
        chain = fused_chain(loop)
        counts = []
        for each in chain:
            start, stop = self._ranges.bounds(each, point)
            counts.append(self._ranges.count(each, start, stop))
        counter = writer.fresh(f"{self._ids[loop.axis]}_n")
        total = " * ".join(counts)
        dealt = self._dealt(total, counter) if is_uneven(chain) else counter
        header = f"for {counter} in prange({total}):"
        outside = writer.floor, writer.barrier
        reported = self._shortages.reported
        number = writer.fresh("number")
        writer.open(header + self._writer.comment(loop))
        writer.floor = writer.barrier = len(writer.stack) - 1
        self._decode_counter(chain, counts, number, point)
        inside(chain, replace(point, parallel=True))
        writer.floor, writer.barrier = outside
        region = writer.take()
        call = self._outline(region, number)
        parallel = Region(region.header, [call(dealt)])
        if len(writer.stack) == 1:
            writer.stack[0].items.append(parallel)
        else:
            self._where_it_pays(chain, total, parallel, call, point)
        writer.stack[-1].items += self._shortages.checks_since(reported)

    def _where_it_pays(
        self,
        chain: list[For],
        total: str,
        parallel: Region,
        call: Callable[[str], str],
        point: Point,
    ) -> None:
        """Write *parallel* for where it does enough, and a plain loop for elsewhere."""
        items = self._writer.stack[-1].items

        def integer(form: Affine) -> str:
            return self._addresses.integer(point.at(form))

        each = Work(integer, self._ranges.step).of_each(chain)
        counter = self._writer.fresh(f"{self._ids[chain[0].axis]}_s")
        serial = Region(f"for {counter} in range({total}):", [call(counter)])
        items.append(Region(f"if {LEAST} <= {total} * ({each}):", [parallel]))
        items.append(Region("else:", [serial]))

    def _dealt(self, total: str, counter: str) -> str:
        """Return the iteration that runs as number *counter*, dealt out like cards.

        Numba gives each thread a stretch of the numbers, but the iterations of a
        triangle grow from one end to the other.
        """
        writer = self._writer
        depth = len(writer.stack) - 1
        self._used.add("dealing_step")
        step = writer.named("deal", f"dealing_step({total})", depth)
        return f"{counter} * {step} % ({total})"

    def _decode_counter(
        self, chain: list[For], counts: list[str], number: str, point: Point
    ) -> None:
        """Compute the axes of the fused loops from their common counter."""
        for position, each in enumerate(chain):
            inner = "*".join(counts[position + 1 :])
            inner = f"({inner})" if "*" in inner else inner
            text = number
            if position:
                text = f"{number} % ({'*'.join(counts[position:])})"
            if inner:
                text = f"{text} // {inner}"
            start, _ = self._ranges.bounds(each, point)
            step = self._ranges.step(each)
            value = text if step == "1" else f"{text} * {step}"
            value = value if start == "0" else f"{start} + {value}"
            self._writer.line(f"{self._ids[each.axis]} = {value}")
            self._writer.define(self._ids[each.axis])

    def _outline(self, region: Region, number: str) -> Callable[[str], str]:
        """Turn the body of a parallel loop into a function of its own.

        Numba's passes for parallel loops then see one call: they take their time from
        the size of the body, and have rewritten variables that they should not. The
        result writes the call of that function for a given iteration.
        """
        part = self._writer.fresh(f"{self._entry}_part")
        body = block_text(region, 1)
        arguments = free_names(body, number, self._globals())
        self.parts.append((part, [number, *arguments], body))
        rest = "".join(f", {each}" for each in arguments)
        return lambda counter: f"{part}(i64({counter}){rest})"

    def _globals(self) -> set[str]:
        tokens = {type_token(dtype, lanes) for dtype, lanes in self._types}
        return (
            self._used | tokens | {"np", "i64", "range", "min", "max", "True", "False"}
        )
