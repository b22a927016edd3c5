"""
hlo-fuzz: generates random programs, checks each, and reduces failing ones.

This file and `fuzzing/settings.py` parse the command line and import nothing heavy; `fuzzing/driver.py` does the work.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .command_line import CommandLine, UsageError
from .completion import completion_script
from .fuzzing.settings import OPTIONS, understand

OVERVIEW = (
    "Makes random programs of the hlo dialect, each named by its profile and seed, and checks them; prints those that "
    "fail. With a file it checks that program instead, on the inputs of a .npz file or at random; --shrink then looks "
    "for a small program that fails in the same way. Exit status: 0, 1 when a check fails, 2 for a wrong command line."
)


def main(argv: Sequence[str] | None = None) -> int:
    """The console command. Returns the exit status."""
    line = CommandLine(OPTIONS)
    try:
        arguments = line.parse(sys.argv[1:] if argv is None else argv)
        if arguments.has("help"):
            print(line.help("hlo-fuzz [options] [file]", OVERVIEW), end="")
            return 0
        if (shell := arguments.value("completion")) is not None:
            print(completion_script("hlo-fuzz", line, (), shell), end="")
            return 0
        settings = understand(arguments)
    except UsageError as error:
        print(f"hlo-fuzz: error: {error}\nhlo-fuzz --help lists the options", file=sys.stderr)
        return 2
    from .fuzzing.driver import run

    return run(settings)


if __name__ == "__main__":
    sys.exit(main())
