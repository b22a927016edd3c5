"""
hlo-fuzz: makes random programs, checks what must hold of each, and makes a failing one small.

This file reads the command line and imports nothing heavy; `fuzz_driver.py` does the work.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from .command_line import Arguments, CommandLine, Option, UsageError

OVERVIEW = (
    "Makes random programs of the hlo dialect, each named by its profile and seed, and checks them; prints those that "
    "fail. With a file it checks that program instead, on the inputs of a .npz file or at random; --shrink then looks "
    "for a small program that fails in the same way. Exit status: 0, 1 when a check fails, 2 for a wrong command line."
)

CHECKS = ("fuse", "none", "ptx", "sharded", "simt", "text", "xla")
PROFILES = ("small", "shared", "large", "dots", "reductions", "types", "sharded")

GENERAL, PROGRAMS = "General", "Programs"

OPTIONS = (
    Option("help", "Print this and stop", GENERAL, short="h"),
    Option("check", "fuse (default), none: the CPU agrees with the reference; sharded: so do devices that split "
           "the arrays at random; simt: so do kernels for GPUs, interpreted; ptx: ptxas takes these; text: it reads "
           "back as itself; xla: the reference agrees with XLA:CPU (needs jax)",
           GENERAL, "required", "|".join(CHECKS), choices=CHECKS),
    Option("shrink", "Make failing programs small, and print what is left of them", GENERAL),
    Option("print", "Print the programs, check nothing", GENERAL),
    Option("profile", "The sort of programs (small)", PROGRAMS, "required", "|".join(PROFILES), choices=PROFILES),
    Option("seed", "The first seed (0)", PROGRAMS, "required", "N"),
    Option("count", "How many seeds (100)", PROGRAMS, "required", "N"),
    Option("inputs", "With a file: arrays in_0, in_1, ..", PROGRAMS, "required", "FILE.npz", short="i"),
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """A command line, understood."""

    file: str | None
    check: str
    shrink: bool
    only_print: bool
    profile: str
    seed: int
    count: int
    inputs: str | None


def main(argv: Sequence[str] | None = None) -> int:
    """The console command. Returns the exit status."""
    line = CommandLine(OPTIONS)
    try:
        arguments = line.parse(sys.argv[1:] if argv is None else argv)
        if arguments.has("help"):
            print(line.help("hlo-fuzz [options] [file]", OVERVIEW), end="")
            return 0
        settings = understand(arguments)
    except UsageError as error:
        print(f"hlo-fuzz: error: {error}\nhlo-fuzz --help lists the options", file=sys.stderr)
        return 2
    from .fuzz_driver import run

    return run(settings)


def understand(arguments: Arguments) -> Settings:
    """Settings from flags. Raises UsageError."""
    if len(arguments.words) > 1:
        raise UsageError(f"one file at a time, not {', '.join(arguments.words)}")
    file = arguments.words[0] if arguments.words else None
    if file is None and arguments.has("inputs"):
        raise UsageError("--inputs goes with a file")
    if file is not None and any(arguments.has(flag) for flag in ("profile", "count", "print")):
        raise UsageError("--profile, --count and --print are for random programs, not for a file")
    return Settings(
        file=file,
        check=arguments.value("check") or "fuse",
        shrink=arguments.has("shrink"),
        only_print=arguments.has("print"),
        profile=arguments.value("profile") or "small",
        seed=arguments.number("seed", 0),
        count=arguments.number("count", 100),
        inputs=arguments.value("inputs"),
    )


if __name__ == "__main__":
    sys.exit(main())
