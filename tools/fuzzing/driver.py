"""The driver of hlo-fuzz: generate or read programs, check them, reduce those that fail."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from ...passes.manager.timing import Timing
from ..array_files import load_arrays
from ..arrays import RTOL, pick, random_arrays
from ..failures import EXIT_INPUT, EXIT_INTERRUPTED, report
from ..run_program import Program as File
from ..streams import StreamError, write_text
from .arrays import DTYPES, Claim
from .operations import random_program
from .programs import PROFILES, Program, Value
from .settings import Settings
from .shrinking import failure, shrunk


def run(settings: Settings) -> int:
    """Run the tool and print everything. Returns the exit status."""
    sources: dict[str, str] = {}
    try:
        if settings.mode != "programs":
            return _check_hostile(settings)
        if settings.file is not None:
            return _check(settings, [(settings.file, _program_of_file(settings, settings.file, sources))])
        if settings.only_print:
            write_text(None, "".join(f"// {name}\n{program.text}\n" for name, program in _programs(settings)))
            return 0
        return _check(settings, _programs(settings))
    except StreamError as error:
        print(f"hlo-fuzz: error: {error}", file=sys.stderr)
        return EXIT_INPUT
    except KeyboardInterrupt:
        print("hlo-fuzz: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except Exception as error:
        return report("hlo-fuzz", error, sources)


def _programs(settings: Settings) -> Iterator[tuple[str, Program]]:
    for seed in range(settings.seed, settings.seed + settings.count):
        profile = replace(PROFILES[settings.profile], portable=settings.check == "xla")
        yield f"{settings.profile} {seed}", random_program(random.Random(seed), profile)


def _program_of_file(settings: Settings, name: str, sources: dict[str, str]) -> Program:
    """The file's program, with the tolerances of hlo-run for its results."""
    file = File(name, Timing())
    sources.update(file.sources)
    wanted = file.inputs()
    if settings.inputs is None:
        inputs = random_arrays(wanted, settings.seed)
    else:
        inputs = pick(load_arrays(settings.inputs), wanted, "in_", file.argument_names(), settings.inputs)
    names = {dtype: name for name, dtype in DTYPES.items()}
    results: list[Value] = []
    for index, type_ in enumerate(file.outputs()):
        rtol = RTOL.get(type_.dtype.name, 0.0)
        claim = Claim(error=rtol, relative=rtol, nan=True)
        results.append(Value(f"result {index}", names[type_.dtype], type_.shape, claim))
    return Program(file.text, list(inputs), results)


def _check_hostile(settings: Settings) -> int:
    """Make the cases of a hostile mode one after the other, and print those that end wrongly."""
    from .hostile import MODES, problem, sources_of
    from .isolation import Limits

    try:
        sources = sources_of(settings.files)
    except OSError as error:
        raise StreamError(f"cannot read {error.filename}: {error.strerror}") from None
    failed = total = 0
    for seed in range(settings.seed, settings.seed + settings.count):
        case = MODES[settings.mode](random.Random(seed), sources)
        if settings.only_print:
            write_text(None, f"// {' '.join(case.command)}\n{case.text.decode(errors='replace')}\n")
            continue
        try:
            message = problem(case, Limits(settings.seconds))
        except KeyboardInterrupt:
            print(f"{total} cases, {failed} failed", file=sys.stderr)
            raise
        total += 1
        if message is not None:
            failed += 1
            print(f"{settings.mode} {seed}: {' '.join(case.command)}: {message}", flush=True)
    if not settings.only_print:
        print(f"{total} cases, {failed} failed", file=sys.stderr)
    return EXIT_INPUT if failed else 0


def _check(settings: Settings, programs: Iterator[tuple[str, Program]] | list[tuple[str, Program]]) -> int:
    failed = total = 0
    for name, program in programs:
        total += 1
        message = failure(program, settings.check)
        if message is None:
            continue
        failed += 1
        print(f"{name}: {settings.check}: {message}")
        if settings.shrink:
            small = shrunk(program, settings.check)
            print(small.text)
            for index, array in enumerate(small.inputs):
                text = repr(array).replace("\n", "\n// ")
                print(f"// in_{index} = {text[:2000]}")
        sys.stdout.flush()
    with suppress(BrokenPipeError):
        print(f"{total} programs, {failed} failed", file=sys.stderr)
    return EXIT_INPUT if failed else 0
