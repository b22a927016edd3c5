"""
hlo-run: runs `@main` of a file and prints, stores, compares, profiles or times its results.

This file and `run_settings.py` parse the command line and import nothing heavy; `run_driver.py` does the work.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..hlo_dialect.garbage_collector import no_gc_at_exit
from ..hlo_dialect.plugins import speak_as
from .command_line import CommandLine, UsageError
from .completion import completion_script
from .process_time import ProcessTime
from .run_settings import OPTIONS, understand

OVERVIEW = (
    "Runs the function @main of a file (or of standard input) on the arrays given, or on random ones, and prints its "
    "results. Exit status: 0, 1 when the input is wrong, a check of the program fails or a comparison does not hold, 2 "
    "for a wrong command line, 3 for a failure of the compiler."
)


def main(argv: Sequence[str] | None = None) -> int:
    """The console command. Returns the exit status."""
    process = ProcessTime(whole=argv is None)
    line = CommandLine(OPTIONS)
    if argv is None:
        no_gc_at_exit()
        speak_as("hlo-run")
    try:
        arguments = line.parse(sys.argv[1:] if argv is None else argv)
        if arguments.has("help"):
            print(line.help("hlo-run [options] [file]", OVERVIEW), end="")
            return 0
        if (shell := arguments.value("completion")) is not None:
            print(completion_script("hlo-run", line, (), shell), end="")
            return 0
        settings = understand(arguments)
    except UsageError as error:
        print(f"hlo-run: error: {error}\nhlo-run --help lists the options", file=sys.stderr)
        return 2
    from ..targets.program.compiler_start import compiler_start

    with compiler_start(kept=True):
        from .diagnostic_output import begin, finished
        from .run_driver import run

    begin("hlo-run", arguments)
    return finished(run(settings, process))


if __name__ == "__main__":
    sys.exit(main())
