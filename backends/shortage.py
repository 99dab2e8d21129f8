"""Local tensors for which there is no memory, and the error of the call.

An error cannot leave a parallel loop: Numba loses it, or ends with another one. There a
shortage goes into a word of three integers, as a subscript out of range does, and the
error is raised behind the loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ir.nodes import Tensor
from ..ir.printer import print_tensor
from .writer import Region, Writer


def no_memory(kernel: str, tensor: Tensor, whose: str = "the") -> str:
    """Return the message of an `OutOfMemoryError` for the local *tensor*."""
    return (
        f"{kernel}: there is no memory for {whose} local tensor {tensor.name}, "
        f"{print_tensor(tensor)}: use smaller sizes, or a schedule that keeps less of "
        "it at a time"
    )


@dataclass(slots=True)
class Shortages:
    """What happens where memory is short: lines for one function.

    *used* are the operations that the module has names for; *word* is the variable of
    the word's address.
    """

    kernel: str
    writer: Writer
    used: set[str]
    word: str = field(default="", init=False)
    _array: str = field(default="", init=False)
    _messages: list[str] = field(default_factory=list, init=False)
    _start: Region = field(default_factory=lambda: Region(""), init=False)

    def open(self) -> None:
        """Reserve the place of the word, which parallel loops may need later on."""
        self.writer.stack[0].items.append(self._start)

    def reserve(
        self, memory: str, size: str, tensor: Tensor, parallel: bool
    ) -> list[str | Region]:
        """Return lines that make *memory* for *tensor*, inside parallel loops or not.

        *size* is the text of its bytes.
        """
        self.used.update(("bytes_of", "reserve"))
        line = f"{memory} = reserve({size})"
        if not parallel:
            self.used.add("require")
            message = no_memory(self.kernel, tensor)
            return [line, f"require({memory}, {message!r}, {size})"]
        self._messages.append(no_memory(self.kernel, tensor, "each thread's"))
        self._declare()
        report = f"report_fault({self.word}, {self.reported}, {size}, 0, True)"
        return [line, Region(f"if is_missing({memory}):", [report, "return"])]

    @property
    def reported(self) -> int:
        """How many tensors may be reported from inside parallel loops so far."""
        return len(self._messages)

    def checks_since(self, reported: int) -> list[str]:
        """Return the lines behind a loop for what has been added since *reported*."""
        return [
            f"raise_reported({self._array}, {number}, {self._messages[number - 1]!r})"
            for number in range(reported + 1, self.reported + 1)
        ]

    def _declare(self) -> None:
        """Write the word at the start of the function, once."""
        if self.word:
            return
        self._array = self.writer.fresh("shortages")
        self.word = self.writer.fresh("shortage")
        self.used.update(("address", "is_missing", "new_word", "report_fault"))
        self.used.add("raise_reported")
        self._start.items += [
            f"{self._array} = new_word()",
            f"{self.word} = address({self._array})",
        ]
