"""Error reports of the tools: user errors with their location, internal errors with a backtrace."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping

from ..hlo_dialect.diagnostics import Diagnostic, DiagnosticError
from ..hlo_dialect.diagnostics.rendering import render
from .colours import coloured, has_colours

EXIT_INPUT, EXIT_USAGE, EXIT_INTERNAL, EXIT_INTERRUPTED = 1, 2, 3, 130


def print_diagnostic(diagnostic: Diagnostic, sources: Mapping[str, str]) -> None:
    """Print a diagnostic on standard error; a remark takes one line, without its source."""
    text = render(diagnostic, {} if diagnostic.severity == "remark" else sources)
    print(coloured(text) if has_colours(sys.stderr) else text, file=sys.stderr)


def report(tool: str, error: BaseException, sources: Mapping[str, str]) -> int:
    """Print an error that ends the tool, and return the exit status for it."""
    from ..targets.nvptx.runtime.driver import CudaError

    match error:
        case DiagnosticError():
            for diagnostic in error.diagnostics:
                print_diagnostic(diagnostic, sources)
            return EXIT_INPUT
        case KeyboardInterrupt():
            print(f"{tool}: interrupted", file=sys.stderr)
            return EXIT_INTERRUPTED
        case CudaError():
            print(f"{tool}: error: {error}", file=sys.stderr)
            return EXIT_INPUT
        case RecursionError():
            print(f"{tool}: error: the program is nested too deeply", file=sys.stderr)
            return EXIT_INPUT
        case MemoryError():
            print(f"{tool}: error: {str(error) or 'out of memory'}", file=sys.stderr)
            return EXIT_INPUT
        case _:
            print_internal_error(tool, error)
            return EXIT_INTERNAL


def print_internal_error(tool: str, error: BaseException) -> None:
    """Print an internal error: the innermost calls, then the message. An invalid module after a pass needs no calls."""
    from ..passes.manager.pass_manager import PassFailure

    cause = error.__cause__ if isinstance(error, PassFailure) else error
    if cause is not None and not isinstance(cause, DiagnosticError):
        traceback.print_exception(cause, limit=-4, chain=False, file=sys.stderr)
    message = str(error) if isinstance(error, PassFailure) else f"{type(error).__name__}: {error}"
    print(f"{tool}: internal error: {message}", file=sys.stderr)
