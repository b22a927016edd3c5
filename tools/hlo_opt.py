"""
hlo-opt: reads a module, runs passes on it in the order of their flags, prints it. See `hlo-opt --help`.

This file and `opt_settings.py` parse the command line and import nothing heavy; `opt_driver.py` does the work.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence

from ..hlo_dialect.garbage_collector import stop_gc
from ..hlo_dialect.plugins import speak_as
from ..passes.manager.pipelines import PipelineError
from ..passes.manager.registry import DuplicatePassError, PassFileError, list_passes, register_file
from .command_line import Arguments, CommandLine, Option, UsageError
from .completion import completion_script
from .opt_settings import GENERAL, OPTIONS, PASSES, understand
from .process_time import ProcessTime

OVERVIEW = (
    "Reads MLIR text of the hlo or StableHLO dialect from the files (or standard input), runs the passes whose flags "
    "are given, in that order, and prints the module. Exit status: 0, 1 for errors in the input, 2 for a wrong command "
    "line, 3 for a failure of a pass."
)


def command_line() -> CommandLine:
    """The fixed options, and one per pass."""
    taken = {option.name for option in OPTIONS}
    passes = [
        Option(entry.name, entry.summary or f"A pass of {entry.home}", PASSES, "optional", "OPTIONS")
        for entry in list_passes()
        if entry.name not in taken
    ]
    first = [option for option in OPTIONS if option.group == GENERAL]
    return CommandLine([*first, *passes, *OPTIONS[len(first) :]])


def main(argv: Sequence[str] | None = None) -> int:
    """The console command. Returns the exit status."""
    process = ProcessTime(whole=argv is None)
    if argv is None:
        stop_gc()
        speak_as("hlo-opt")
    words = sys.argv[1:] if argv is None else argv
    try:
        load_files(words)
        line = command_line()
        arguments = line.parse(words)
        if arguments.has("help"):
            return _print(_help(arguments, line))
        if (shell := arguments.value("completion")) is not None:
            names = [entry.name for entry in list_passes()]
            return _print(completion_script("hlo-opt", line, names, shell))
        if arguments.has("show-dialects"):
            return _print(dialects_text())
        if arguments.has("print-rules"):
            return _print(rules_text())
        if arguments.has("list-passes"):
            return _print(passes_text())
        if arguments.has("version"):
            return _print(version_text())
        if (name := arguments.value("explain")) is not None:
            return _explain(name)
        from ..targets.program.compiler_start import compiler_start

        with compiler_start():
            settings = understand(arguments)
    except (UsageError, PipelineError, DuplicatePassError, PassFileError) as error:
        print(f"hlo-opt: error: {error}", file=sys.stderr)
        print("hlo-opt --help lists the options", file=sys.stderr)
        return 2
    with compiler_start():
        from .diagnostic_output import begin, finished
        from .opt_driver import run

        begin("hlo-opt", arguments)
        return finished(run(settings, process))


def load_files(words: Sequence[str]) -> None:
    """
    Register the passes of the files that `--load` names, before the command line is parsed, so that they have flags.

    Raises PassFileError, DuplicatePassError.
    """
    waiting = list(words[: words.index("--")] if "--" in words else words)
    while waiting:
        name, equals, path = waiting.pop(0).partition("=")
        if name in ("--load", "-load") and (equals or waiting):
            register_file(path if equals else waiting.pop(0))


def _print(text: str) -> int:
    from .streams import StreamError, write_text

    try:
        write_text(None, text)
    except StreamError as error:
        print(f"hlo-opt: error: {error}", file=sys.stderr)
        return 1
    return 0


def _help(arguments: Arguments, line: CommandLine) -> str:
    """The help text, or with names, as in `--help=cse` or `--help cse`, that of these. Raises UsageError."""
    names = [value for flag, value in arguments.flags if flag == "help" and value] + arguments.words
    if not names:
        return help_text()
    from .pass_help import help_for

    return "\n".join(help_for(name, line) for name in names)


def dialects_text() -> str:
    """The names of all dialects."""
    from ..hlo_dialect.dialect import dialect_names

    return f"Available dialects: {', '.join(dialect_names())}\n"


def rules_text() -> str:
    """The rules of simplify-hlo: name and operation, what each does, where it is, and what it assumes of floats."""
    from ..passes.simplify_hlo.rewrite import rules_of_simplify_hlo

    return "".join(
        f"{rule.name} ({rule.operation})\n  {rule.summary}\n  source: {rule.source}; floats: {rule.floats}\n"
        for rule in rules_of_simplify_hlo()
    )


def _explain(name: str) -> int:
    from ..hlo_dialect.explanations import UnknownConstraintError, explain

    try:
        return _print(explain(name))
    except UnknownConstraintError as error:
        print(f"hlo-opt: error: {error}", file=sys.stderr)
        return 1


def help_text() -> str:
    """The help text by group; our passes one per line, xDSL's by name."""
    fixed = {option.name for option in OPTIONS}
    entries = [entry for entry in list_passes() if entry.name not in fixed]
    ours = [Option(e.name, e.summary, PASSES) for e in entries if e.origin == "xhlo"]
    others = [e.name for e in entries if e.origin != "xhlo"]
    general = [option for option in OPTIONS if option.group == GENERAL]
    line = CommandLine([*general, *ours, *OPTIONS[len(general) :]])
    footer = textwrap.fill(
        "Options of a pass: --fuse-hlo=strategy=none. xDSL's passes, and those of installed packages: "
        + ", ".join(f"--{name}" for name in others),
        106,
        break_on_hyphens=False,
    )
    return line.help("hlo-opt [options] [file ..]", OVERVIEW, {PASSES: footer})


def passes_text() -> str:
    """Every pass: name, origin, summary."""
    rows = [(entry.name, entry.summary or f"({entry.home})") for entry in list_passes()]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {summary}" for name, summary in rows) + "\n"


def version_text() -> str:
    from importlib.metadata import version

    names = ("xhlo", "xdsl", "llvmlite", "numpy")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    return f"{versions}, Python {sys.version.split()[0]}\n"


if __name__ == "__main__":
    sys.exit(main())
