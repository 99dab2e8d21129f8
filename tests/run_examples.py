"""Run the examples of one page: `python run_examples.py NAME...`, in their folder.

They share one namespace, like the cells of a notebook. Standard output is a JSON object
of what each one printed. An error of tdsl is printed as Python would, without the
traceback; any other error ends the run.
"""

from __future__ import annotations

import io
import json
import sys
import traceback
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import tdsl


def run(name: str, namespace: dict[str, Any]) -> str:
    file = Path(f"{name}.py")
    code = compile(file.read_text(encoding="utf-8"), str(file), "exec")
    with redirect_stdout(io.StringIO()) as output:
        try:
            exec(code, namespace)
        except tdsl.TdslError as error:
            print("".join(traceback.format_exception_only(error)), end="")
    return output.getvalue()


def main() -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    json.dump({name: run(name, namespace) for name in sys.argv[1:]}, sys.stdout)


if __name__ == "__main__":
    main()
