"""The options of hlo-aot, and the settings parsed from a command line."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..command_line import MAX_MEMORY, Arguments, Option, UsageError, limit_memory

if TYPE_CHECKING:
    from ...targets.ahead.library import Extra

GENERAL, MACHINE, BINDINGS, PROGRAMS = "General", "Machine", "Other languages and build systems", "C programs"

EXTRAS: dict[Extra, str] = {
    "shared": "Write libPATH.so, or PATH.wasm, by the system's linker",
    "python": "Write PATH.py, which runs libPATH.so on NumPy arrays",
    "javascript": "Write PATH.mjs, which runs PATH.wasm on typed arrays",
    "rust": "Write PATH.rs, a module over libPATH.a",
    "cmake": "Write PATH-config.cmake, for find_package",
    "pkg-config": "Write PATH.pc",
}

OPTIONS = (
    Option("help", "Print this and stop", GENERAL, short="h"),
    MAX_MEMORY,
    Option("output", "Write PATH.o, libPATH.a, PATH.h and PATH.hpp (the input's name)", GENERAL, "required", "PATH",
           short="o"),
    Option("entry", "The functions that C can call (main), as NAME_run or, if several, NAME_FUNCTION_run; all for the "
           "public ones", GENERAL, "required", "FUNCTION,.."),
    Option("weights", "Write large constants to a file (PATH.weights), which the program maps at its start", GENERAL,
           "optional", "FILE"),
    Option("no-external", "Call no LAPACK: factor matrices by loops of the program", GENERAL),
    Option("print-symbols", "Print the functions that the object file needs from libc, libm and LAPACK", GENERAL),
    Option("timing", "Print the time of each stage of the compilation", GENERAL),
    Option("target", "The machine and its system, as LLVM names them (this one)", MACHINE, "required", "TRIPLE",
           aliases=("triple",)),
    Option("cpu", "The CPU as LLVM names it (x86-64-v3, or a generic one), or host", MACHINE, "required", "NAME"),
    Option("multiversion", "Versions for these levels of x86-64 in one library, the best chosen at the first run",
           MACHINE, "required", "x86-64-v2,v3,v4"),
    Option("threads", "Run loops on the caller's thread (none, the default), on OpenMP's, or by the caller's function: "
           "NAME_set_parallel_for", MACHINE, "required", "none|openmp|callback",
           choices=("none", "openmp", "callback")),
    *(Option(name, summary, BINDINGS) for name, summary in EXTRAS.items()),
    Option("emit-test", "Write PATH_test.c, which checks the results for inputs of a file, or random ones", PROGRAMS,
           "optional", "PATH"),
    Option("seed", "Random inputs by this seed (0)", PROGRAMS, "required", "N"),
    Option("benchmark", "Write PATH_bench.c, which measures runs", PROGRAMS),
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """The settings of a command line."""

    file: str
    folder: str
    name: str
    """The prefix of files and symbols."""
    triple: str | None
    cpu: str | None
    levels: str | None
    threads: str
    entries: tuple[str, ...] | None
    """The functions to compile; None for @main."""
    weights: str | None
    """The file of weights, by its path from `folder`."""
    external: bool
    """Whether the code may call LAPACK."""
    extras: tuple[Extra, ...]
    test: bool
    inputs: str | None
    seed: int
    benchmark: bool
    print_symbols: bool
    timing: bool


def understand(arguments: Arguments) -> Settings:
    """Settings from flags. Raises UsageError."""
    limit_memory(arguments)
    if arguments.has("cpu") and arguments.has("multiversion"):
        raise UsageError("--multiversion names the CPUs: it goes without --cpu")
    if len(arguments.words) > 1:
        raise UsageError(f"one file at a time, not {', '.join(arguments.words)}")
    file = arguments.words[0] if arguments.words else "-"
    output = arguments.value("output")
    if output is None and file == "-":
        raise UsageError("a program from standard input needs --output, which names the library")
    path = Path(output) if output is not None else Path(Path(file).stem)
    if not path.name or (output is not None and output.endswith(os.sep)):
        raise UsageError(f"--output takes a path that ends with the library's name, not '{output}'")
    name = path.name if output is not None else re.sub(r"\W", "_", path.name)
    return Settings(
        file=file,
        folder=str(path.parent),
        name=name,
        triple=arguments.value("target"),
        cpu=arguments.value("cpu"),
        levels=arguments.value("multiversion"),
        threads=arguments.value("threads") or "none",
        entries=_entries(arguments),
        weights=_weights(arguments, path),
        external=not arguments.has("no-external"),
        extras=tuple(name for name in EXTRAS if arguments.has(name)),
        test=arguments.has("emit-test"),
        inputs=arguments.value("emit-test"),
        seed=arguments.number("seed", 0),
        benchmark=arguments.has("benchmark"),
        print_symbols=arguments.has("print-symbols"),
        timing=arguments.has("timing"),
    )


def _entries(arguments: Arguments) -> tuple[str, ...] | None:
    text = arguments.value("entry")
    if text is None:
        return None
    names = tuple(name.strip().removeprefix("@") for name in text.split(","))
    if not all(names):
        raise UsageError(f"--entry takes names of functions with commas between them, not '{text}'")
    if arguments.value("emit-test") is not None and names != names[:1]:
        raise UsageError("--emit-test takes inputs of one function: give it no file, for random ones")
    return names


def _weights(arguments: Arguments, path: Path) -> str | None:
    if not arguments.has("weights"):
        return None
    given = arguments.value("weights")
    return f"{path.name}.weights" if not given else os.path.relpath(given, path.parent)
