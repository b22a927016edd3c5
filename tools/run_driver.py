"""The driver of hlo-run: run, then print, store, compare, profile or time the results."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..hlo_dialect.types import Array
from ..passes.manager.pass_manager import PassFailure
from ..passes.manager.timing import Timing
from ..targets.cpu.interrupts import run_left_by
from ..targets.program.profile import Profile
from ..targets.registry import get_target
from .array_files import load_arrays
from .arrays import compare, pick
from .diagnostic_output import OUTPUT
from .failures import EXIT_INPUT, EXIT_INTERNAL, report
from .numerics import NumericsError
from .process_time import ProcessTime
from .run_arrays import read_arguments, store_results
from .run_program import Program, shown
from .run_settings import REFERENCE, Settings
from .streams import StreamError, write_text

if TYPE_CHECKING:
    from ..targets.program.executable import Executable

Runner = Callable[[Sequence[Array]], tuple[Array, ...]]


def run(settings: Settings, process: ProcessTime) -> int:
    """Run the tool and print everything. Returns the exit status."""
    sources: dict[str, str] = {}
    try:
        timing = process.timing()
        program = Program(settings.file, timing, settings.entry)
        sources.update(program.sources)
        return _run(settings, program, timing, process)
    except StreamError as error:
        OUTPUT.say("error", str(error))
        return EXIT_INPUT
    except NumericsError as error:
        OUTPUT.say("error", str(error))
        return EXIT_INTERNAL
    except (Exception, KeyboardInterrupt) as error:
        status = report("hlo-run", error, sources)
        if run_left_by(error):
            sys.stderr.flush()
            os._exit(status)  # an orderly exit would wait for the threads of the program
        if isinstance(error, PassFailure) and error.reproducer is None and settings.file != "-":
            print(f"hlo-opt --fuse --lower {settings.file} leaves a reproducer", file=sys.stderr)
        return status


def _require(settings: Settings) -> None:
    """Check that the targets of the command line can run on this machine. Raises DiagnosticError."""
    for name in (settings.target, settings.compare):
        if name is not None and name != REFERENCE:
            get_target(name).require()


def _run(settings: Settings, program: Program, timing: Timing, process: ProcessTime) -> int:
    _require(settings)
    if settings.processes > 1:
        from .run_replicas import run_replicas

        return run_replicas(settings, program)
    arguments = read_arguments(settings, program)
    if settings.verify_numerics:
        from .numerics.verifier import verify_lowering

        with timing.stage("verify numerics"):
            verify_lowering(program.module, arguments, settings.opt_level)
    executable = None
    if settings.target != REFERENCE:
        target = get_target(settings.target)
        if settings.chip is not None:
            target = target.configured({"chip": settings.chip})
        executable = program.compile(target, settings.profile, settings.math, settings.guard, settings.opt_level)
    runner = _runner(program, executable)
    given = arguments
    if executable is not None and executable.facts.donated:
        # The program may overwrite them, and what it is compared with runs on them too.
        given = [array.copy() for array in arguments]
    with timing.stage("run"):
        results = runner(given)
    store_results(settings.outputs, results)
    status = _compare(settings, program, arguments, results)
    if not settings.outputs and settings.compare is None and settings.expect is None and not settings.repeat:
        write_text(None, "".join(shown(i, array) for i, array in enumerate(results)))
    if settings.repeat:
        write_text(None, _repeated(runner, arguments, settings.repeat, executable))
    if executable is not None and settings.profile:
        write_text(None, profile_table(executable) + executable.traffic_table())
    if settings.memory:
        from .memory.report import memory_table

        write_text(None, memory_table(program.module, settings.opt_level))
    if settings.timing:
        stages = executable.compile_stages if executable is not None else {}
        shown_stages = {"import": timing.seconds["import"], **(stages or {"read": timing.seconds["read"]})}
        shown_stages["run"] = timing.seconds["run"]
        print(Timing(shown_stages).table(process.elapsed()), file=sys.stderr)
    return status


def _runner(program: Program, executable: Executable | None) -> Runner:
    if executable is None:
        from ..hlo_dialect.reference import evaluate

        return lambda arguments: evaluate(program.module, arguments)

    def call(arguments: Sequence[Array]) -> tuple[Array, ...]:
        results: Array | tuple[Array, ...] = executable(*arguments)
        return results if isinstance(results, tuple) else (results,)

    return call


def _compare(settings: Settings, program: Program, arguments: Sequence[Array], results: Sequence[Array]) -> int:
    """Compare with the requested results and print a table. Returns the exit status."""
    references: list[tuple[str, Sequence[Array]]] = []
    if settings.compare is not None:
        other = None if settings.compare == REFERENCE else program.compile(settings.compare, False)
        references.append((settings.compare, _runner(program, other)(arguments)))
    if settings.expect is not None:
        stored = {key: array for key, array in load_arrays(settings.expect).items() if not key.startswith("in_")}
        references.append((settings.expect, pick(stored, program.outputs(), "out_", (), settings.expect)))
    status = 0
    for name, expected in references:
        lines = [f"{settings.target} against {name}:", f"  {'output':<8}{'abs':>10}{'rel':>10}{'ulp':>12}"]
        for index, (actual, want) in enumerate(zip(results, expected, strict=True)):
            found = compare(actual, want, settings.rtol, settings.signed_zeros)
            ulp = "-" if found.ulp is None else str(found.ulp)
            verdict = "ok" if found.problem is None else f"WRONG: {found.problem}"
            lines.append(f"  {index:<8}{found.absolute:>10.2e}{found.relative:>10.2e}{ulp:>12}  {verdict}")
            if found.problem is not None:
                status = EXIT_INPUT
        write_text(None, "\n".join(lines) + "\n")
    return status


def _repeated(runner: Runner, arguments: Sequence[Array], count: int, executable: Executable | None) -> str:
    """Times of `count` runs; the profile is of these runs alone."""
    from statistics import median  # which imports fractions and decimals

    if executable is not None:
        executable.reset_profile()
        arguments = executable.place(arguments)
    times: list[float] = []
    for _ in range(count):
        start = time.perf_counter()
        runner(arguments)
        if executable is not None:
            executable.wait()
        times.append(time.perf_counter() - start)
    runs = "run" if count == 1 else "runs"
    return f"{count} {runs}: median {median(times) * 1e3:.3f} ms, least {min(times) * 1e3:.3f} ms\n"


def profile_table(executable: Executable) -> str:
    """A table with one line per kernel, the most expensive first."""
    return str(Profile.of(executable.kernels))
