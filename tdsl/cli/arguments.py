"""The grammar of the command line."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NoReturn

from ..ir.given import shown
from ..ir.numerics import NUMERICS
from ..limits import LARGEST_SEED, LONGEST_BUDGET, MOST_THREADS, SHORTEST_BUDGET
from ..target import HOST, PRESETS

_KERNEL = "a file, and a kernel in it"
_SEED = "another number draws other random choices (default: 0)"
STAGES = ("parsed", "scheduled", "lowered", "source", "asm")
_DIM = re.compile(r"[^\W\d]\w*=")
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}

_DESCRIPTION = """\
Tune, show and check kernels written in tdsl.

FILE.py:KERNEL is a Python file and the name of a kernel in it, which may be left out
where the file has one kernel; package.module:KERNEL names a module instead. DIM=VALUE
is the size of a dim, as in M=512."""

_EXAMPLES = """\
examples:
  tdsl tune examples/01_matmul.py:matmul M=512 N=512 K=512 --budget 45s
  tdsl show examples/01_matmul.py:matmul --stage source M=512 N=512 K=512
  tdsl check examples/01_matmul.py:matmul
  tdsl reduce examples/01_matmul.py:matmul schedule.json
  tdsl doctor

exit codes:
  0 finished   1 error, or a failed check   2 wrong usage
  4 nothing could be measured   130 interrupted, with everything kept"""

_TUNE = """\
Search for the fastest schedule of a kernel for given dims, and store it.

Every candidate is proved equal to the kernel, run on poisoned outputs, compared with a
derived error bound, and timed in interleaved rounds against the best so far. Calls of
the kernel with these dims use the stored schedule from then on. What was tried is in
the ledger: a job that is started again continues where the last one ended."""

_TUNE_END = """\
examples:
  tdsl tune matmul.py:matmul M=1024 N=1024 K=1024
  tdsl tune matmul.py:matmul M=512 N=512 K=512 --budget 2m --threads 1
  tdsl tune matmul.py:matmul M=512 N=512 K=512 --json > result.json

To compare with NumPy, put a table into FILE.py: tdsl_numpy = {"matmul": np.matmul}
For inputs other than random ones: tdsl_inputs = {"cholesky": make_inputs}, a function
that takes the dims as a dict and returns the arguments by name."""

_SHOW = """\
Print a kernel at one stage of its way to machine code.

parsed: the loops as written. scheduled: the schedule, as Python, and the loops it
makes, with their proof. lowered: the same with registers and vectors decided. source:
the Python file that Numba compiles. asm: the machine code.

The schedule is the one that a call would run: what with_schedule gave the kernel, else
the schedule tuned for the sizes DIM=VALUE, if there is one, else the default."""

_SHOW_END = """\
examples:
  tdsl show matmul.py:matmul
  tdsl show matmul.py:matmul M=512 N=512 K=512 --stage asm --threads 1"""

_CHECK = """\
Test a kernel against its own meaning.

Random dims, strides, values and proved schedules are run, as machine code and in the
reference interpreter, and compared with an evaluation in higher precision, within the
derived error bound. A failure is made small: few steps, small sizes, and one line of
Python that repeats it. Of a kernel marked with @tdsl.testing.checked the options of the
mark hold. A failed check has exit code 1."""

_CHECK_END = """\
examples:
  tdsl check matmul.py:matmul
  tdsl check matmul.py:matmul --examples 500 --seed 1"""

_REDUCE = """\
Find the shortest part of a schedule that fails as the whole does.

A schedule fails if it is not proved, does not compile, or gives a wrong result for one
of the examples. The result is written as a script that stands alone and shows the
failure. The schedule is JSON, or Python as `tdsl show` prints it. Exit code 1: the
schedule does not fail."""

_REDUCE_END = """\
example:
  tdsl reduce matmul.py:matmul schedule.json M=64 N=64 K=64"""

_DOCTOR = """\
Report whether tdsl can work here, and with what.

Printed are versions, the CPU that code is made for, how fast it computes and copies
(measured, which takes some seconds), the cache folder (the environment variable
TDSL_CACHE moves it), and what is missing. The exit code is 1 where something that tdsl
needs is missing."""


class WrongArguments(SystemExit):
    """Ends the program as argparse does, and knows why."""

    def __init__(self, reason: str) -> None:
        super().__init__(2)
        self.reason = reason


class Parser(argparse.ArgumentParser):
    """Takes `DIM=VALUE` anywhere, between and behind options too."""

    commands: Mapping[str, Parser] = {}

    def error(self, message: str) -> NoReturn:
        """Print *message* below the usage and end the program with code 2."""
        self.print_usage(sys.stderr)
        if message.endswith("required: COMMAND"):
            message = f"a command is missing: {', '.join(self.commands)}"
        print(f"{self.prog}: error: {message}", file=sys.stderr)
        raise WrongArguments(message)

    def reject(self, words: Sequence[str]) -> NoReturn:
        """End the program because of *words* that this command does not take."""
        message = f"unrecognized arguments: {' '.join(words)}"
        if self.prog.endswith(" check") and _DIM.match(words[0]):
            message += "; check draws the sizes itself, so leave them out"
        known = [option for a in self._actions for option in a.option_strings]
        near = get_close_matches(words[0].partition("=")[0], known, 1)
        self.error(message + (f"; did you mean {near[0]}?" if near else ""))

    def parse(self, arguments: Sequence[str] | None) -> argparse.Namespace:
        """Return the options; the first word that is no dim names the kernel."""
        options, rest = self.parse_known_args(arguments)
        unknown = [word for word in rest if word.startswith("-")]
        if unknown or (rest and not hasattr(options, "dims")):
            self.commands[options.command].reject(unknown or rest)
        if hasattr(options, "dims"):
            words = [options.kernel, *options.dims, *rest]
            kernels = [word for word in words if not _DIM.match(word)]
            if not kernels:
                self.error("the kernel is missing; name it as FILE.py:KERNEL")
            options.kernel = kernels[0]
            words.remove(kernels[0])
            options.dims = words
        return options


def make_parser() -> Parser:
    """Return the parser of the whole command line."""
    parser = Parser(
        "tdsl",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tdsl {_version()}")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", title="commands"
    )
    parser.commands = commands.choices
    _add_tune(_command(commands, "tune", "search for a faster schedule", _TUNE))
    _add_show(_command(commands, "show", "print any stage of a kernel", _SHOW))
    _add_check(_command(commands, "check", "test a kernel on random input", _CHECK))
    _add_reduce(_command(commands, "reduce", "shorten a failing schedule", _REDUCE))
    doctor = _command(commands, "doctor", "report on this installation", _DOCTOR)
    _add_json(doctor)
    return parser


def _command(
    commands: argparse._SubParsersAction[Parser],
    name: str,
    summary: str,
    description: str,
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=summary,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_kernel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="FILE.py:KERNEL", help=_KERNEL)


def _add_dims(parser: argparse.ArgumentParser, use: str) -> None:
    parser.add_argument("dims", nargs="*", default=[], metavar="DIM=VALUE", help=use)


def _add_choices(
    parser: argparse.ArgumentParser, targets: tuple[str, ...] = (HOST,)
) -> None:
    parser.add_argument(
        "--threads",
        type=whole(1, MOST_THREADS),
        metavar="N",
        help="how many threads run the kernel (default: all cores)",
    )
    parser.add_argument(
        "--target",
        choices=targets,
        default=HOST,
        help=f"what to generate code for; {HOST} is this machine (default: {HOST})",
    )
    _add_numerics(parser)


def _add_numerics(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--numerics",
        choices=NUMERICS,
        help="bitwise keeps the order of every operation, reassoc may reorder sums, "
        "fast may also be less exact in / and sqrt (default: the kernel's)",
    )


def _add_seed(parser: argparse.ArgumentParser, default: int | None) -> None:
    parser.add_argument(
        "--seed", type=whole(0, LARGEST_SEED), default=default, help=_SEED
    )


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object on standard output"
    )


def _add_tune(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _TUNE_END
    _add_kernel(parser)
    _add_dims(parser, "the size of a dim; each dim of the kernel needs one")
    parser.add_argument(
        "--budget",
        type=seconds,
        default=60.0,
        metavar="TIME",
        help="how long to search: 45s, 2m (default: 60s); the re-check comes on top",
    )
    _add_choices(parser)
    _add_seed(parser, 0)
    parser.add_argument(
        "--ledger",
        type=Path,
        metavar="PATH",
        help="the file of what was tried (default: the one that `tdsl doctor` names)",
    )
    _add_json(parser)


def _add_show(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _SHOW_END
    _add_kernel(parser)
    _add_dims(parser, "the size of a dim, to see what is tuned for these sizes")
    parser.add_argument(
        "--stage",
        choices=STAGES,
        default="scheduled",
        help="what to print, as above (default: scheduled)",
    )
    _add_choices(parser, (HOST, *PRESETS))


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _CHECK_END
    _add_kernel(parser)
    parser.add_argument(
        "--examples",
        type=whole(1),
        metavar="N",
        help="how many random calls (default: 100, or what the kernel's mark says)",
    )
    _add_seed(parser, None)
    _add_numerics(parser)


def _add_reduce(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _REDUCE_END
    _add_kernel(parser)
    parser.add_argument(
        "schedule", metavar="SCHEDULE", help="a .json or .py file with the schedule"
    )
    _add_dims(parser, "the size of a dim for which it fails")
    parser.add_argument(
        "--output",
        "-o",
        type=Path,
        metavar="PATH",
        help="the script to write (default: KERNEL_failure.py)",
    )
    parser.add_argument(
        "--examples",
        type=whole(1),
        default=20,
        metavar="N",
        help="how many random calls to compare (default: 20)",
    )
    _add_seed(parser, 0)
    _add_numerics(parser)


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return a reader of integers from *least* to *most*."""
    span = f"from {least} up" if most is None else f"from {least} to {most}"

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least or (most is not None and value > most):
            raise argparse.ArgumentTypeError(
                f"{shown(text)} is not a whole number {span}"
            )
        return value

    return read


def duration(text: str) -> float:
    """Read a time such as `45`, `45s`, `1.5m`, `1h` or `0`, in seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([a-z]*)", text.strip())
    if match is None or match[2] not in _SECONDS:
        raise argparse.ArgumentTypeError(
            f"{shown(text)} is not a duration; write seconds or minutes, as in 45s or "
            "2m"
        )
    value = float(match[1]) * _SECONDS[match[2]]
    if value > LONGEST_BUDGET:
        raise argparse.ArgumentTypeError(
            f"{shown(text)} is more than {LONGEST_BUDGET:.0f} seconds"
        )
    return value


def seconds(text: str) -> float:
    """Read a duration that is more than nothing."""
    value = duration(text)
    if value < SHORTEST_BUDGET:
        raise argparse.ArgumentTypeError(
            f"{shown(text)} is less than {SHORTEST_BUDGET} seconds; write a time as in "
            "45s or 2m"
        )
    return value


def _version() -> str:
    try:
        return version("tdsl")
    except PackageNotFoundError:
        return "(not installed)"
