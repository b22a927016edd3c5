"""Error reports of the tools: user errors with their location, internal errors with a backtrace."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping

from ..hlo_dialect.diagnostics import Diagnostic, DiagnosticError
from .diagnostic_output import OUTPUT

EXIT_INPUT, EXIT_USAGE, EXIT_INTERNAL, EXIT_INTERRUPTED = 1, 2, 3, 130


def print_diagnostic(diagnostic: Diagnostic, sources: Mapping[str, str]) -> None:
    """Write a diagnostic in the format of `--diagnostics`."""
    OUTPUT.emit(diagnostic, sources)


def report(tool: str, error: BaseException, sources: Mapping[str, str]) -> int:
    """Print an error that ends the tool, and return the exit status for it."""
    from ..targets.gpu.runtime.driver import GpuError

    match error:
        case DiagnosticError():
            for diagnostic in error.diagnostics:
                print_diagnostic(diagnostic, sources)
            return EXIT_INPUT
        case KeyboardInterrupt():
            print(f"{tool}: interrupted", file=sys.stderr)
            return EXIT_INTERRUPTED
        case GpuError():
            OUTPUT.say("error", str(error))
            return EXIT_INPUT
        case RecursionError():
            OUTPUT.say("error", "the program is nested too deeply")
            return EXIT_INPUT
        case MemoryError():
            OUTPUT.say("error", str(error) or "out of memory")
            return EXIT_INPUT
        case _:
            print_internal_error(error)
            return EXIT_INTERNAL


def print_internal_error(error: BaseException) -> None:
    """Print an internal error: the innermost calls, then the message. An invalid module after a pass needs no calls."""
    from ..passes.manager.pass_manager import PassFailure

    cause = error.__cause__ if isinstance(error, PassFailure) else error
    if cause is not None and not isinstance(cause, DiagnosticError) and OUTPUT.kind == "text":
        traceback.print_exception(cause, limit=-4, chain=False, file=sys.stderr)
    message = str(error) if isinstance(error, PassFailure) else f"{type(error).__name__}: {error}"
    OUTPUT.say("internal error", message)
