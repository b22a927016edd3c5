"""The arrays that hlo-run runs on, and its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import starmap

from ..hlo_dialect.diagnostics import DiagnosticError
from ..hlo_dialect.types import Array
from .array_files import load_arrays, save_results
from .arrays import MisfitError, pick, random_arrays
from .inline_arrays import input_arrays
from .run_program import Program, text_of
from .run_settings import Settings
from .streams import StreamError


def read_arguments(settings: Settings, program: Program) -> Sequence[Array]:
    """The arrays to run on. Raises StreamError, DiagnosticError."""
    if settings.inputs is None and not settings.given:
        return random_arrays(program.sized_inputs(settings.shapes), settings.seed)
    if settings.inputs is not None:
        return stored_arguments(settings.inputs, program)
    arrays = [array for text in settings.given for array in input_arrays(text)]
    return _picked({f"in_{index}": array for index, array in enumerate(arrays)}, (), "--input", program)


def stored_arguments(path: str, program: Program) -> Sequence[Array]:
    """The program's arguments in a file or directory of arrays. Raises StreamError, DiagnosticError."""
    return _picked(load_arrays(path), program.argument_names(), path, program)


def _picked(stored: Mapping[str, Array], names: Sequence[str | None], where: str, program: Program) -> Sequence[Array]:
    try:
        return pick(stored, program.inputs(), "in_", names, where)
    except MisfitError as error:
        raise DiagnosticError(program.misfit(str(error))) from None


def store_results(paths: Sequence[str], results: Sequence[Array]) -> None:
    """Write the results to one file, or each to its own. Raises StreamError."""
    if len(paths) == 1:
        save_results(paths[0], results, lambda: "".join(starmap(text_of, enumerate(results))))
    elif paths and len(paths) != len(results):
        raise StreamError(f"--output is given {len(paths)} times, and the number of results is {len(results)}")
    elif paths:
        for index, (path, array) in enumerate(zip(paths, results, strict=True)):
            save_results(path, [array], partial(text_of, index, array))
