"""The driver of hlo-opt: parse, run passes, print or emit; report errors at their locations."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..hlo_dialect.diagnostics import Diagnostic, DiagnosticError, HloContext, fail
from ..hlo_dialect.dialect import make_context
from ..hlo_dialect.formats import format_named
from ..hlo_dialect.garbage_collector import paused_gc
from ..hlo_dialect.printing import print_operation
from ..hlo_dialect.reading import parse_module
from ..passes.manager.ir_dumps import PrintIR, Statistics
from ..passes.manager.later_pass import later_pass
from ..passes.manager.nesting import AnyPass
from ..passes.manager.pass_manager import PassFailure, PassManager
from ..passes.manager.pipelines import FUSE_NONE, PipelineError, build_passes, pipeline_text
from ..passes.manager.places import pass_name
from ..passes.manager.reproducer import pipeline_of
from ..passes.manager.timing import Timing
from ..targets.program.pipeline import cached_passes
from ..targets.program.source import Source
from ..targets.program.stated import admit
from .diagnostic_output import OUTPUT
from .expected_diagnostics import check_diagnostics
from .failures import EXIT_INPUT, EXIT_INTERNAL, EXIT_USAGE, print_diagnostic, print_internal_error, report
from .numerics import NumericsError
from .opt_settings import FORMATS, Settings, Step
from .process_time import ProcessTime
from .round_trip import RoundTripError, verify_round_trip
from .streams import StreamError, read_text, write_bytes, write_text

if TYPE_CHECKING:
    from ..targets.program.target import Target
    from .numerics.verifier import NumericsVerifier

SEPARATORS = {
    "mlir": "// -----\n",
    "hlo-text": "// -----\n",
    "llvm": "; -----\n",
    "asm": "# -----\n",
    "ptx": "// -----\n",
}
"""The lines between modules, a comment in each language."""

MAX_VERIFIED_PASSES = 8
"""
The most passes after each of which the module is verified by default. On the conformance programs one verification
takes 1 % of the time of a run of hlo-opt; in --fuse --lower they would be a quarter of it, and what is found at the end
is traced to its pass all the same.
"""

_SPLIT = re.compile(r"^// -----+[ \t]*(?:\n|$)", re.MULTILINE)


@dataclass
class Part:
    """One module's text, padded in front so that its line numbers are those of the file."""

    filename: str
    text: str
    source: str
    """The whole file."""


@dataclass
class Outcome:
    """The result of processing the parts."""

    status: int = 0
    texts: list[str] = field(default_factory=list[str])
    binary: bytes | None = None
    statistics: Statistics | None = None

    def fail(self, status: int) -> None:
        self.status = max(self.status, status)


def run(settings: Settings, process: ProcessTime) -> int:
    """Run the tool and print everything. Returns the exit status."""
    try:
        with paused_gc():
            return _run(settings, process)
    except (StreamError, PipelineError) as error:
        OUTPUT.say("error", str(error))
        return EXIT_INPUT if isinstance(error, StreamError) else EXIT_USAGE
    except (Exception, KeyboardInterrupt) as error:
        return report("hlo-opt", error, {})


def _run(settings: Settings, process: ProcessTime) -> int:
    timing = process.timing()
    with timing.stage("load passes"):
        # An invalid pipeline is reported before anything is read.
        cached_passes(tuple(step.spec for step in settings.pipeline if not step.automatic))
    outcome = Outcome(statistics=Statistics() if settings.debug.statistics else None)
    print_ir = settings.debug.print_ir()
    parts = [part for name in settings.files for part in _parts(settings, *read_text(name))]
    if settings.emit in ("bytecode", *settings.target.binary) and len(parts) != 1:
        raise StreamError(f"--emit={settings.emit} makes one file of one module")
    for part in parts:
        _Session(settings, part, timing, outcome, print_ir).run()
    if not (settings.output and outcome.status):
        with timing.stage("write"):
            if outcome.binary is not None:
                write_bytes(settings.output, outcome.binary)
            else:
                write_text(settings.output, SEPARATORS.get(settings.emit, "").join(outcome.texts))
    if outcome.statistics is not None:
        print(outcome.statistics.table(), file=sys.stderr)
    if settings.debug.timing:
        print(timing.table(process.elapsed()), file=sys.stderr)
    return outcome.status


def _parts(settings: Settings, filename: str, text: str) -> Iterator[Part]:
    if not settings.split:
        yield Part(filename, text, text)
        return
    start = 0
    for end, following in [*((m.start(), m.end()) for m in _SPLIT.finditer(text)), (len(text), len(text))]:
        yield Part(filename, "\n" * text.count("\n", 0, start) + text[start:end], text)
        start = following


def _names(step: Step) -> list[str]:
    """The names of a step's passes. Raises PipelineError."""
    return [pass_name(step.spec)] if step.automatic else [one.name for one in cached_passes((step.spec,))]


def _passes_of(step: Step, target: Target) -> Iterator[AnyPass]:
    """The passes of a step, with those that the user placed beside it. Raises PipelineError."""
    for spec in target.placed((step.spec,)) if step.automatic else (step.spec,):
        later = later_pass(step.spec) if step.automatic and spec == step.spec else None
        yield from cached_passes((spec,)) if later is None else (later,)


@dataclass
class _Session:
    """One module on its way through hlo-opt."""

    settings: Settings
    part: Part
    timing: Timing
    outcome: Outcome
    print_ir: PrintIR
    emitted: list[Diagnostic] = field(default_factory=list[Diagnostic])
    manager: PassManager | None = None

    def run(self) -> None:
        try:
            self._transform()
        except DiagnosticError as error:
            for diagnostic in error.diagnostics:
                self._report(diagnostic)
            if self.settings.verify_diagnostics is None:
                self.outcome.fail(EXIT_INPUT)
        except PassFailure as failure:
            print_internal_error(failure)
            self.outcome.fail(EXIT_INTERNAL)
        except (RoundTripError, NumericsError) as failure:
            OUTPUT.say("error", str(failure))
            self.outcome.fail(EXIT_INTERNAL)
        if self.settings.verify_diagnostics is not None:
            self._check_diagnostics()

    def _transform(self) -> None:
        self._tune()
        debug = self.settings.debug
        ctx = self._context()
        ctx.diagnostics.handler = self._report
        with self.timing.stage("read"):
            module = self._read(ctx, verify=False)
        with self.timing.stage("verify"):
            _verify(module)
        if self.settings.debug.verify_roundtrip:
            with self.timing.stage("verify round trip"):
                self._verify_round_trip(module)
        passes = self._passes(ctx, module)
        if debug.dump_pipeline:
            print(f"builtin.module({pipeline_text(passes)})", file=sys.stderr)
        self.manager = PassManager(
            ctx,
            passes,
            verify_each=self._verifies_each(passes) if debug.verify_each is None else debug.verify_each,
            print_ir=self.print_ir,
            to_text=self._text,
            timing=self.timing,
            statistics=self.outcome.statistics,
            debugged=debug.debugged,
            restore=partial(self._read, self._context(), True),
            reproducer=debug.reproducer,
        )
        if debug.verify_numerics:
            self.manager.watch = self._numerics(module).after
        self.manager.run(module)
        self._emit(module)

    def _tune(self) -> None:
        """State the choices of a tuning file in the pipeline, measured first if asked."""
        settings = self.settings
        path = settings.autotune or settings.tuning
        if path is None:
            return
        from ..lowering.device.tuning_file import TuningFileError
        from ..targets.compile import compile_source
        from ..targets.cpu.tuning import TuningError, autotune, placement

        try:
            if settings.autotune is not None:
                with self.timing.stage("autotune"):
                    autotune(Source(self.part.text, self.part.filename), settings.target, path, compile_source)
            self.settings = replace(settings, target=settings.target.with_passes(placement(path)))
        except (TuningError, TuningFileError) as error:
            raise DiagnosticError(Diagnostic("error", str(error))) from None

    def _verifies_each(self, passes: Sequence[AnyPass]) -> bool:
        """Whether to verify after each pass by default: where that is a small part of the time of the whole run."""
        automatic = any(step.automatic for step in self.settings.pipeline)
        return len(passes) <= MAX_VERIFIED_PASSES and not automatic and self.settings.emit == "mlir"

    def _context(self) -> HloContext:
        ctx = make_context(self.settings.allow_unregistered)
        ctx.keep_fusions = self.settings.keep_fusions
        return ctx

    def _read(self, ctx: HloContext, verify: bool) -> ModuleOp:
        return parse_module(self.part.text, self.part.filename, ctx, fast=self.settings.fast, verify=verify)

    def _verify_round_trip(self, module: ModuleOp) -> None:
        def read(text: str, name: str) -> ModuleOp:
            return parse_module(text, name, self._context(), fast=self.settings.fast)

        verify_round_trip(module, self.part.filename, read)

    def _numerics(self, module: ModuleOp) -> NumericsVerifier:
        from .numerics.verifier import NumericsVerifier

        if self.settings.target.name != "cpu":
            fail(module, "--verify-numerics runs programs on this machine: it is for the target cpu")
        with self.timing.stage("verify numerics"):
            return NumericsVerifier(module)

    def _passes(self, ctx: HloContext, module: ModuleOp) -> Sequence[AnyPass]:
        """
        The requested passes, then, for an emission, those that lower the module to the last stage; without those of
        `--fuse` and `--lower` that the module is past.
        """
        settings, target = self.settings, self.settings.target
        if settings.debug.run_reproducer:
            pipeline = pipeline_of(self.part.text)
            if pipeline is None:
                raise StreamError(f"{self.part.filename} is no reproducer: it has no line `// xhlo-pipeline: ..`")
            return build_passes(pipeline)
        steps = list(settings.pipeline)
        names = [name for step in steps for name in _names(step)]
        lowered = target.lowering[target.last_stage][-1] in names or _is_llvm(module)
        if (settings.emit not in ("mlir", *FORMATS) or settings.resources) and not lowered:
            specs = target.passes_between(settings.stage, target.last_stage)
            if settings.stage is None and not settings.fused:
                specs = (*target.passes_to(None, fuse=False), *specs)
            steps += map(Step, specs)
        if not any(step.automatic for step in steps):
            return cached_passes(tuple(step.spec for step in steps))
        admit(ctx, module)
        level = target.level_of(module)
        left = target.passes_after(level, target.last_stage)
        kept = set(map(pass_name, left))
        steps = [step for step in steps if not step.automatic or pass_name(step.spec) in kept]
        if not (settings.fused or level) and any(step.spec in FUSE_NONE for step in steps):
            OUTPUT.say("note", "without --fuse each operation becomes a kernel of its own")
        return [one for step in steps for one in _passes_of(step, target)]

    # Output ----------------------------------------------------------------------------------------------------

    def _text(self, op: Operation) -> str:
        settings = self.settings
        return print_operation(
            op,
            generic=settings.generic,
            locations=settings.locations,
            elide_larger_than=settings.elide_larger_than,
            spelling="stablehlo" if settings.stablehlo else "hlo",
        )

    def _emit(self, module: ModuleOp) -> None:
        if self.settings.resources:
            with self.timing.stage("assemble"):
                print(self.settings.target.resources(module), end="", file=sys.stderr)
        if self.settings.emit == "mlir":
            with self.timing.stage("print"):
                self.outcome.texts.append(self._text(module))
            return
        with self.timing.stage(f"emit {self.settings.emit}"):
            emitted = self._emitted(module)
        if isinstance(emitted, bytes):
            self.outcome.binary = emitted
        else:
            self.outcome.texts.append(emitted)

    def _emitted(self, module: ModuleOp) -> str | bytes:
        settings = self.settings
        if settings.emit == "bytecode":
            from ..frontends.bytecode.writing import write_bytecode

            return write_bytecode(module, "stablehlo" if settings.stablehlo else "hlo")
        written = format_named(settings.emit)
        emit = settings.target.emitters[settings.emit] if written is None else written.write
        assert emit is not None
        return emit(module)

    # Diagnostics -----------------------------------------------------------------------------------------------

    def _report(self, diagnostic: Diagnostic) -> None:
        """Print a diagnostic, or store it for the comparison with the expected ones."""
        if diagnostic.severity == "remark" and not self.settings.fuse_remarks and not self._debugged():
            return
        if self.settings.verify_diagnostics is not None:
            self.emitted.append(diagnostic)
        else:
            print_diagnostic(diagnostic, {self.part.filename: self.part.source})

    def _debugged(self) -> bool:
        """Whether the pass that runs is one of `--debug-only`."""
        return self.manager is not None and self.manager.current in self.settings.debug.debugged

    def _check_diagnostics(self) -> None:
        strict = self.settings.verify_diagnostics == "all"
        wrong = check_diagnostics(self.part.text, self.part.filename, self.emitted, strict)
        for diagnostic in wrong:
            print_diagnostic(diagnostic, {self.part.filename: self.part.source})
        if wrong:
            self.outcome.fail(EXIT_INPUT)


def _verify(module: ModuleOp) -> None:
    from ..hlo_dialect.verification import verify_module

    verify_module(module)


def _is_llvm(module: ModuleOp) -> bool:
    """Whether a module is already lowered: it, or its device functions, consist of llvm operations."""
    from ..lowering.device.parts import device_modules

    ops = [op for part in device_modules(module) or (module,) for op in part.body.block.ops]
    return bool(ops) and all(op.name.startswith("llvm.") for op in ops)
