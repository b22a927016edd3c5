"""What hlo-run does with a command line."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from ..hlo_dialect.collectives.host_transfers import TokenType
from ..hlo_dialect.diagnostics import Diagnostic, DiagnosticError, fail
from ..hlo_dialect.dialect import make_context
from ..hlo_dialect.reading import parse_module
from ..hlo_dialect.reference import evaluate
from ..hlo_dialect.types import Array, numpy_dtype, tensor_type
from ..passes.manager.pass_manager import PassFailure
from ..passes.manager.timing import Timing
from ..targets.registry import get_target
from .arrays import ArrayType, compare, load_npz, pick, random_arrays, save_npz
from .failures import EXIT_INPUT, report
from .hlo_run import REFERENCE, Settings
from .streams import STDIN, StreamError, read_text, write_text

if TYPE_CHECKING:
    from ..targets.cpu.replicated import ReplicatedExecutable
    from ..targets.executable import Executable, Kernel

Runner = Callable[[Sequence[Array]], tuple[Array, ...]]


class Program:
    """The file that is run; read, compiled when that is needed."""

    def __init__(self, name: str, timing: Timing):
        self.filename, self.text = read_text(name)
        self.timing = timing

    @property
    def sources(self) -> dict[str, str]:
        """The text by each name that diagnostics may call it."""
        return dict.fromkeys((self.filename, str(Path(self.filename)), "<text>"), self.text)

    @cached_property
    def module(self) -> ModuleOp:
        with self.timing.stage("read"):
            return parse_module(self.text, self.filename, make_context())

    @cached_property
    def entry(self) -> FuncOp:
        for op in self.module.ops:
            if isinstance(op, FuncOp) and op.sym_name.data == "main" and not op.is_declaration:
                return op
        raise DiagnosticError(Diagnostic("error", "the module has no function @main to run", self.module.location))

    def inputs(self) -> list[ArrayType]:
        return self._arrays("argument", self.entry.function_type.inputs.data)

    def outputs(self) -> list[ArrayType]:
        return self._arrays("result", self.entry.function_type.outputs.data)

    def argument_names(self) -> list[str | None]:
        return [arg.name_hint for arg in self.entry.body.block.args if not isinstance(arg.type, TokenType)]

    def _arrays(self, what: str, types: Sequence[Attribute]) -> list[ArrayType]:
        """The arrays at the entry; tokens, which hold nothing, are left out."""
        return [self._wanted(t, f"{what} {i}") for i, t in enumerate(types) if not isinstance(t, TokenType)]

    def _wanted(self, type_: Attribute, what: str) -> ArrayType:
        if not isinstance(type_, TensorType):
            fail(self.entry, f"has {what} of type {type_}; hlo-run takes tensors")
        tensor = tensor_type(cast(Attribute, type_))
        dtype, shape = numpy_dtype(tensor.element_type), tensor.get_shape()
        if dtype is None:
            fail(self.entry, f"has {what} of type {type_}, whose elements no array holds")
        if any(size < 0 for size in shape):
            fail(self.entry, f"has {what} of type {type_}; hlo-run needs static shapes")
        return ArrayType(shape, dtype, str(tensor))

    def compile(self, target: str, profile: bool, math: str = "default") -> Executable:
        from ..targets.compile import compile_program

        return compile_program(self._source, target, profile=profile, math=math)

    def compile_replicated(self, replicas: int, partitions: int) -> ReplicatedExecutable:
        """For as many devices of this CPU."""
        from ..targets.cpu.replicated import compile_replicated

        return compile_replicated(self._source, replicas, partitions)

    @property
    def _source(self) -> str | Path:
        return self.text if self.filename == STDIN else Path(self.filename)


def run(settings: Settings) -> int:
    """The exit status; everything is printed."""
    sources: dict[str, str] = {}
    try:
        timing = Timing()
        program = Program(settings.file, timing)
        sources.update(program.sources)
        return _run(settings, program, timing)
    except StreamError as error:
        print(f"hlo-run: error: {error}", file=sys.stderr)
        return EXIT_INPUT
    except (Exception, KeyboardInterrupt) as error:
        status = report("hlo-run", error, sources)
        if isinstance(error, PassFailure) and error.reproducer is None and settings.file != "-":
            print(f"hlo-opt --fuse --lower {settings.file} leaves a reproducer", file=sys.stderr)
        return status


def _require(settings: Settings) -> None:
    """Raises DiagnosticError where what the command line asks for cannot run on this machine."""
    for name in (settings.target, settings.compare):
        require = None if name in (None, REFERENCE) else get_target(name).require
        if require is not None:
            require()


def _run(settings: Settings, program: Program, timing: Timing) -> int:
    _require(settings)
    if settings.processes > 1:
        from .run_replicas import run_replicas

        return run_replicas(settings, program)
    wanted = program.inputs()
    if settings.inputs is None:
        arguments = random_arrays(wanted, settings.seed)
    else:
        arguments = pick(load_npz(settings.inputs), wanted, "in_", program.argument_names(), settings.inputs)
    executable = None
    if settings.target != REFERENCE:
        executable = program.compile(settings.target, settings.profile, settings.math)
    runner = _runner(program, executable)
    with timing.stage("run"):
        results = runner(arguments)
    if settings.outputs is not None:
        save_npz(settings.outputs, results)
    status = _compare(settings, program, arguments, results)
    if settings.outputs is None and settings.compare is None and settings.expect is None and not settings.repeat:
        write_text(None, "".join(shown(i, array) for i, array in enumerate(results)))
    if settings.repeat:
        write_text(None, _repeated(runner, arguments, settings.repeat, executable))
    if executable is not None and settings.profile:
        write_text(None, profile_table(executable) + executable.traffic_table())
    if settings.timing:
        stages = executable.compile_stages if executable is not None else {}
        print(
            Timing({**(stages or {"read": timing.seconds["read"]}), "run": timing.seconds["run"]}).table(),
            file=sys.stderr,
        )
    return status


def _runner(program: Program, executable: Executable | None) -> Runner:
    if executable is None:
        return lambda arguments: evaluate(program.module, arguments)

    def call(arguments: Sequence[Array]) -> tuple[Array, ...]:
        results: Array | tuple[Array, ...] = executable(*arguments)
        return results if isinstance(results, tuple) else (results,)

    return call


def shown(index: int, array: Array) -> str:
    """One result: its number, type, and values as NumPy prints them, long ones abridged."""
    values = np.array2string(array, separator=", ", threshold=64, precision=6)
    return f"result {index}: {array.dtype}{list(array.shape)}\n{values}\n"


def _compare(settings: Settings, program: Program, arguments: Sequence[Array], results: Sequence[Array]) -> int:
    """Compare with what was asked for; print a table; the exit status."""
    references: list[tuple[str, Sequence[Array]]] = []
    if settings.compare is not None:
        other = None if settings.compare == REFERENCE else program.compile(settings.compare, False)
        references.append((settings.compare, _runner(program, other)(arguments)))
    if settings.expect is not None:
        stored = {key: array for key, array in load_npz(settings.expect).items() if not key.startswith("in_")}
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
    return f"{count} {runs}: median {statistics.median(times) * 1e3:.3f} ms, least {min(times) * 1e3:.3f} ms\n"


def _profile_name(kernel: Kernel) -> str:
    """A kernel's name, and behind that of a call what it calls: a library, or a function of the host program."""
    return f"{kernel.name} [{kernel.library or 'callback'}]" if kernel.target else kernel.name


def profile_table(executable: Executable) -> str:
    """One line a kernel, the costliest first."""
    rows = sorted(executable.kernels, key=lambda kernel: -kernel.nanoseconds)
    total = sum(kernel.nanoseconds for kernel in rows)
    names = {kernel.name: _profile_name(kernel) for kernel in rows}
    width = max([len("kernel"), *map(len, names.values())])
    lines = [f"{'kernel':<{width}}{'calls':>8}{'ms':>11}{'%':>7}{'GB/s':>9}{'GFLOP/s':>9}"]
    for kernel in rows:
        ns = max(kernel.nanoseconds, 1)
        share = 100 * kernel.nanoseconds / total if total else 0.0
        rates = f"{kernel.bytes * kernel.calls / ns:>9.2f}{kernel.flops * kernel.calls / ns:>9.2f}"
        name = f"{names[kernel.name]:<{width}}"
        lines.append(f"{name}{kernel.calls:>8}{kernel.nanoseconds / 1e6:>11.3f}{share:>7.1f}{rates}")
    lines.append(f"{'total':<{width}}{sum(kernel.calls for kernel in rows):>8}{total / 1e6:>11.3f}")
    return "\n".join(lines) + "\n"
