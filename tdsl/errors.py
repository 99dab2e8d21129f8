"""The exceptions of tdsl, one tree.

TdslError                  everything below; catch this to catch all user errors
├── KernelSyntaxError      the kernel's text is outside the language (shown with carets)
│   ├── KernelTypeError    names, ranks or dtypes in a kernel do not fit together
│   └── KernelFaultError   the kernel leaves its tensors or reads what nothing wrote
├── ArgumentError          the arguments of a call contradict the kernel's signature
├── ScheduleError          a primitive refuses, or a schedule cannot be replayed
│   └── ProofError         the scheduled program was refuted, or could not be decided
├── SubscriptError         a subscript that data decides is outside its tensor
├── OutOfMemoryError       there is no memory for a local tensor of a kernel
├── CheckError             a result left its derived error bound, or reads garbage
├── BackendError           code generation or compilation failed
├── CacheError             a cache folder or ledger cannot be used
├── MissingPackageError    a package that only some of tdsl needs is not installed
└── TuningError            a tuning job cannot start or measured nothing

A `TdslError` is the user's to mend and its message says how. Assertions are ours.
"""

from __future__ import annotations


class TdslError(Exception):
    """Report a mistake in the use of tdsl, with what to write instead."""


class KernelSyntaxError(TdslError, SyntaxError):
    """Reject text outside the kernel language; Python prints the line with carets."""


class KernelTypeError(KernelSyntaxError):
    """Reject names, ranks or dtypes that do not fit together inside a kernel."""


class KernelFaultError(KernelSyntaxError):
    """Reject a kernel that leaves its tensors, or reads or returns unwritten ones."""


class ArgumentError(TdslError):
    """Reject arguments that contradict a kernel's signature."""


class SubscriptError(TdslError, IndexError):
    """Report a subscript, known only when a kernel runs, that left its tensor."""


class OutOfMemoryError(TdslError, MemoryError):
    """Report a local tensor for which there is no memory.

    Its arguments are a message and the tensor's bytes, 2**62 at most: compiled code,
    which cannot write numbers, raises it too.
    """

    def __str__(self) -> str:
        message, size = self.args
        least = "at least " if size >= 2**62 else ""
        return f"{message} (it takes {least}{size:,} bytes)"


class ScheduleError(TdslError):
    """Refuse a primitive, naming the loop, the tensor and the reason."""


class ProofError(ScheduleError):
    """Refuse to run a schedule that is refuted or undecided."""


class CheckError(TdslError):
    """Report a result that left its derived error bound."""


class BackendError(TdslError):
    """Report that code generation or compilation failed, with the target and cause."""


class CacheError(TdslError):
    """Report a cache folder or ledger that cannot be read or written."""


class TuningError(TdslError):
    """Report a tuning job that cannot start or that measured nothing."""


class MissingPackageError(TdslError, ImportError):
    """Report a package that is not installed, and that this part of tdsl needs."""
