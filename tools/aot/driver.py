"""The work of hlo-aot."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import cast

from ...hlo_dialect.errors import Diagnostic
from ...hlo_dialect.ops.check_calls import CheckFailure
from ...hlo_dialect.types import Array
from ...passes.manager.timing import Timing
from ...targets.ahead.c_programs import Recorded, benchmark_program, test_program
from ...targets.ahead.files import write_together
from ...targets.ahead.interface import LibraryNameError
from ...targets.ahead.library import Library, compile_ahead
from ...targets.ahead.linking import LinkError
from ...targets.ahead.machine import MachineError
from ...targets.ahead.multiversion import LevelError, levels_of
from ...targets.ahead.pipeline import LoopsForLapack
from ...targets.ahead.weights import NoWeightsError
from ...targets.program.entry_choice import public_functions
from ...targets.program.source import Source
from ..arrays import RTOL, random_arrays
from ..failures import EXIT_INPUT, report
from ..run_arrays import stored_arguments
from ..run_program import Program
from ..streams import StreamError
from .settings import Settings


def run(settings: Settings) -> int:
    """Run the tool. Returns the exit status."""
    sources: dict[str, str] = {}
    try:
        timing = Timing()
        program = Program(settings.file, timing)
        sources.update(program.sources)
        _run(settings, program, timing)
        return 0
    except (StreamError, MachineError, LibraryNameError, LevelError, LinkError, NoWeightsError) as error:
        print(f"hlo-aot: error: {error}", file=sys.stderr)
        return EXIT_INPUT
    except (Exception, KeyboardInterrupt) as error:
        return report("hlo-aot", error, sources)


def _run(settings: Settings, program: Program, timing: Timing) -> None:
    source = Source(program.text, program.filename)
    cpu = settings.cpu if settings.levels is None else levels_of(settings.levels)
    library = compile_ahead(
        source,
        settings.name,
        triple=settings.triple,
        cpu=cpu,
        threads=settings.threads,
        entries=settings.entries,
        weights=settings.weights,
        external=settings.external,
        timing=timing,
    )
    contents = dict(library.files(settings.extras))
    if settings.test:
        contents[f"{library.name}_test.c"] = _test(settings, program, library).encode()
    if settings.benchmark:
        contents[f"{library.name}_bench.c"] = benchmark_program(library.interface).encode()
    try:
        write_together(Path(settings.folder), contents)
    except OSError as error:
        place = error.filename or settings.folder
        raise StreamError(f"cannot write {place}: {error.strerror}") from None
    if settings.print_symbols:
        print("\n".join(library.undefined_symbols) or "no undefined symbols")
    if settings.timing:
        print(timing.table(), file=sys.stderr)


_WHICH_INPUTS = Diagnostic(
    "note", "the test records results: give it inputs for which the checks hold, by --emit-test=PATH or another --seed"
)


def _test(settings: Settings, program: Program, library: Library) -> str:
    """The C program that checks what this machine's CPU computes."""
    entries = settings.entries
    if entries == ("all",):
        entries = tuple(public_functions(program.module))
    programs = [program] if entries is None else [Program(settings.file, Timing(), entry) for entry in entries]
    recorded = [_recorded(settings, each) for each in programs]
    return test_program(library.interface, recorded, RTOL)


def _recorded(settings: Settings, program: Program) -> Recorded:
    """Inputs of an entry, and what this machine's CPU computes from them."""
    if settings.inputs is None:
        inputs = random_arrays(program.inputs(), settings.seed)
    else:
        inputs = stored_arguments(settings.inputs, program)
    executable = program.compile("cpu" if settings.external else LoopsForLapack(), profile=False)
    try:
        results = cast("Array | tuple[Array, ...]", executable(*inputs))
    except CheckFailure as failure:
        raise CheckFailure(replace(failure.diagnostics[0], notes=(_WHICH_INPUTS,))) from None
    return Recorded(inputs, results if isinstance(results, tuple) else (results,))
