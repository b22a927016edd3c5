"""The options of hlo-fuzz, and the settings parsed from a command line."""

from __future__ import annotations

from dataclasses import dataclass

from ..command_line import Arguments, Option, UsageError
from ..completion import COMPLETION

CHECKS = ("fuse", "guard", "levels", "none", "ptx", "sharded", "simt", "sizes", "text", "threads", "xla")
MODES = ("programs", "grammar", "mutate", "pipelines")
PROFILES = ("small", "shared", "large", "dots", "moves", "reductions", "loops", "types", "sharded")

GENERAL, PROGRAMS = "General", "Programs"

OPTIONS = (
    Option("help", "Print this and stop", GENERAL, short="h"),
    COMPLETION,
    Option("mode", "programs (default) that are valid, compared as --check says; or hostile input, which must end with "
           "a result or an error at its place: grammar: any operations; mutate: damaged text, of the files and folders "
           "given or of random programs; pipelines: any passes after any part of the lowering",
           GENERAL, "required", "|".join(MODES), choices=MODES),
    Option("check", "fuse (default), none: the CPU agrees with the reference; guard: and accesses no memory outside of "
           "buffers; levels: so it does at every --opt-level; sharded: so do devices that split the arrays at random; "
           "simt: so do kernels for GPUs, interpreted; sizes: with sizes unknown or contradictory, each is refused or "
           "right; ptx: ptxas takes these; text: it reads back as itself; threads: any number of them computes the "
           "same bits, and iterations of parallel loops write to places of their own; xla: the reference agrees with "
           "XLA:CPU (needs jax)",
           GENERAL, "required", "|".join(CHECKS), choices=CHECKS),
    Option("shrink", "Make failing programs small, and print what is left of them", GENERAL),
    Option("print", "Print the programs, check nothing", GENERAL),
    Option("time-limit", "Seconds of processor time that a hostile case may take (10)", PROGRAMS, "required", "N"),
    Option("profile", "The sort of programs (small)", PROGRAMS, "required", "|".join(PROFILES), choices=PROFILES),
    Option("seed", "The first seed (0)", PROGRAMS, "required", "N"),
    Option("count", "How many seeds (100)", PROGRAMS, "required", "N"),
    Option("inputs", "With a file: arrays in_0, in_1, ..", PROGRAMS, "required", "FILE.npz", short="i"),
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """The settings of a command line."""

    mode: str
    files: tuple[str, ...]
    """The file to check; for hostile modes, files and folders of programs."""
    check: str
    shrink: bool
    only_print: bool
    profile: str
    seed: int
    count: int
    inputs: str | None
    seconds: int

    @property
    def file(self) -> str | None:
        """The one program to check."""
        return self.files[0] if self.files and self.mode == "programs" else None


def understand(arguments: Arguments) -> Settings:
    """Settings from flags. Raises UsageError."""
    mode = arguments.value("mode") or "programs"
    if mode != "programs":
        unfit = [flag for flag in ("check", "shrink", "profile", "inputs") if arguments.has(flag)]
        if unfit:
            raise UsageError(f"--{unfit[0]} is for valid programs, not for --mode={mode}")
    elif len(arguments.words) > 1:
        raise UsageError(f"one file at a time, not {', '.join(arguments.words)}")
    file = arguments.words[0] if arguments.words and mode == "programs" else None
    if file is None and arguments.has("inputs"):
        raise UsageError("--inputs goes with a file")
    if file is not None and any(arguments.has(flag) for flag in ("profile", "count", "print")):
        raise UsageError("--profile, --count and --print are for random programs, not for a file")
    return Settings(
        mode=mode,
        files=tuple(arguments.words),
        check=arguments.value("check") or "fuse",
        shrink=arguments.has("shrink"),
        only_print=arguments.has("print"),
        profile=arguments.value("profile") or "small",
        seed=arguments.number("seed", 0),
        count=arguments.number("count", 100),
        inputs=arguments.value("inputs"),
        seconds=arguments.number("time-limit", 10),
    )
