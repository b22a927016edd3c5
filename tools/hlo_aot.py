"""
hlo-aot: compiles a program to an object file, a static library and headers, which need no Python.

This file and `aot/settings.py` parse the command line and import nothing heavy; `aot/driver.py` does the work.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .aot.settings import OPTIONS, understand
from .command_line import CommandLine, UsageError

OVERVIEW = (
    "Compiles the function @main of a file (or of standard input) ahead of time, for this machine or another, to an "
    "object file, a static library and headers for C and C++. The code needs no Python and no runtime library. Exit "
    "status: 0, 1 when the input is wrong, 2 for a wrong command line, 3 for a failure of the compiler."
)


def main(argv: Sequence[str] | None = None) -> int:
    """The console command. Returns the exit status."""
    line = CommandLine(OPTIONS)
    try:
        arguments = line.parse(sys.argv[1:] if argv is None else argv)
        if arguments.has("help"):
            print(line.help("hlo-aot [options] [file]", OVERVIEW), end="")
            return 0
        settings = understand(arguments)
    except UsageError as error:
        print(f"hlo-aot: error: {error}\nhlo-aot --help lists the options", file=sys.stderr)
        return 2
    from ..targets.program.compiler_start import compiler_start

    with compiler_start(kept=True):
        from .aot.driver import run
        from .diagnostic_output import begin, finished

    begin("hlo-aot", arguments)
    return finished(run(settings))


if __name__ == "__main__":
    sys.exit(main())
