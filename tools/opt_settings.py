"""The options of hlo-opt, and the settings parsed from a command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..lowering.device.amd_chips import AMD_CHIPS
from ..lowering.device.chips import CHIPS, DEFAULT_CHIP
from ..passes.manager.pipelines import DEFAULT_OPT_LEVEL, LIBRARIES, MATH_MODES, parse_specs
from ..targets.program.target import Target, TargetOptionError
from ..targets.registry import OWN_TARGETS, UnknownTargetError, get_target
from .command_line import DIAGNOSTICS_OPTIONS, MAX_MEMORY, Arguments, Option, UsageError, limit_memory, opt_level_option
from .completion import COMPLETION
from .debug_settings import DEBUG_OPTIONS, DebugSettings, understand_debugging

STAGES = ("linalg", "loops", "nvvm", "rocdl", "llvm")
EMISSIONS = ("mlir", "bytecode", "hlo-text", "llvm", "asm", "obj", "ptx", "cubin", "hsaco")
FORMATS = ("bytecode", "hlo-text")
"""The emissions that are formats of programs (hlo_dialect/formats.py), written from the level that flags ask for."""
DEFAULT_ELISION = 16
DEFAULT_TUNING_FILE = "xhlo-tuning.json"
"""In the current folder."""

GENERAL, PASSES, PIPELINES, OUTPUT = "General", "Passes", "Pipelines", "Output"

OPT_LEVEL = opt_level_option(PIPELINES)

OPTIONS = (
    Option("help", "Print this, or all about a pass or an option, and stop", GENERAL, "optional", "NAME", short="h"),
    COMPLETION,
    MAX_MEMORY,
    Option("version", "Print the versions of xhlo, xDSL and Python", GENERAL),
    Option("list-passes", "Print every pass with its summary", GENERAL),
    Option("print-rules", "Print every rule of simplify-hlo, and what it assumes of floats", GENERAL),
    Option("show-dialects", "Print the dialects that are read", GENERAL),
    Option("split-input-file", "Treat each part between `// -----` lines as a module of its own", GENERAL),
    Option(
        "verify-diagnostics",
        "Compare the diagnostics with `// expected-error@+1 {{..}}` comments",
        GENERAL,
        "optional",
        "all|only-expected",
        choices=("all", "only-expected"),
    ),
    *DIAGNOSTICS_OPTIONS,
    Option("explain", "Print a constraint of the verifiers, with a wrong and a right program: dot_general_c3", GENERAL,
           "required", "CONSTRAINT"),
    Option("allow-unregistered-dialect", "Accept operations of unknown dialects", GENERAL),
    Option("keep-fusions", "Keep the fusions of HLO text as hlo.fusion, instead of their operations", GENERAL),
    Option("no-fast-reader", "Read everything with the general parser", GENERAL),
    Option("pass-pipeline", "Passes as text: `a,b{option=1}`", PIPELINES, "required", "PIPELINE", short="p"),
    Option("load", "Load the passes that a Python file defines, before the other options are read", PIPELINES,
           "required", "FILE.py"),
    Option("fuse", "Prepare the program and group its operations into hlo.fusion", PIPELINES),
    Option("lower", "Go on to linalg, loops, nvvm or rocdl (of GPUs) or the llvm dialect (default)", PIPELINES,
           "optional", "|".join(STAGES)),
    Option("target", f"Machine to lower for: {', '.join(OWN_TARGETS)} (default cpu)", PIPELINES, "required", "NAME"),
    Option("chip", f"GPU: {next(iter(CHIPS))} to {list(CHIPS)[-1]} (default {DEFAULT_CHIP}), or {', '.join(AMD_CHIPS)}",
           PIPELINES, "required", "sm_NN[a]|gfxNNN"),
    Option("triple", "Machine and system that the target cpu lowers for, as LLVM names them (this one)", PIPELINES,
           "required", "TRIPLE"),
    Option("cpu", "CPU that the target cpu lowers for, as LLVM names it (this one)", PIPELINES, "required", "NAME"),
    Option("math", "Results of floats: rules that may change them, GPU approximations (fast)", PIPELINES, "required",
           "|".join(MATH_MODES), choices=MATH_MODES),
    OPT_LEVEL,
    Option("autotune", "Measure how to tile products on this machine, add that to a file (xhlo-tuning.json), use it",
           PIPELINES, "optional", "FILE"),
    Option("tuning", "Use what a tuning file states, and measure nothing", PIPELINES, "required", "FILE"),
    Option("libraries", "Matrix products as calls of a GPU's library: those worth it (auto), or all", PIPELINES,
           "required", "|".join(LIBRARIES), choices=LIBRARIES),
    Option("fuse-remarks", "Say on standard error what was fused, what not, and why", PIPELINES),
    Option("o", "Write there instead of standard output", OUTPUT, "required", "FILE", short="o"),
    Option(
        "emit", "mlir, MLIR's bytecode, HLO text, LLVM IR, assembly, an object file, PTX, or machine code of a GPU",
        OUTPUT, "required", "|".join(EMISSIONS),
    ),
    Option("emit-bytecode", "Write MLIR's bytecode, as --emit=bytecode does", OUTPUT),
    Option("ptx-version", "Write PTX of this version (default: one that fits the chip)", OUTPUT, "required", "X.Y"),
    Option("ptxas-info", "Print registers, spills and shared memory of GPU kernels to stderr", OUTPUT),
    Option("print-generic", "Print operations in generic form", OUTPUT, aliases=("mlir-print-op-generic",)),
    Option("print-locations", "Print the location of each operation", OUTPUT, aliases=("mlir-print-debuginfo",)),
    Option("stablehlo", "Print hlo operations under their StableHLO names", OUTPUT),
    Option(
        "elide-large-constants",
        f"Leave out constants of more than N ({DEFAULT_ELISION}) elements",
        OUTPUT,
        "optional",
        "N",
        aliases=("mlir-elide-elementsattrs-if-larger",),
    ),
    *DEBUG_OPTIONS,
)  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One pass that a command line requests."""

    spec: str
    automatic: bool = True
    """Whether --fuse or --lower requests it, which do nothing to a module that is past it; -p and --PASS always run."""


@dataclass(frozen=True)
class Settings:
    """The settings of a command line."""

    files: tuple[str, ...]
    output: str | None
    pipeline: tuple[Step, ...]
    stage: str | None
    """The stage that `--lower` reaches."""
    fused: bool
    """Whether a flag asks for fusions before the lowering."""
    target: Target
    emit: str
    resources: bool
    """Whether to print the machine resources that kernels use."""
    split: bool
    verify_diagnostics: Literal["all", "only-expected"] | None
    allow_unregistered: bool
    fast: bool
    keep_fusions: bool
    fuse_remarks: bool
    generic: bool
    locations: bool
    stablehlo: bool
    elide_larger_than: int | None
    debug: DebugSettings
    autotune: Path | None = None
    """The tuning file to add to."""
    tuning: Path | None = None
    """The tuning file to use."""


def understand(arguments: Arguments) -> Settings:
    """Settings from flags. Raises UsageError."""
    limit_memory(arguments)
    target = target_of(arguments)
    emit = "bytecode" if arguments.has("emit-bytecode") else arguments.value("emit") or "mlir"
    if emit not in (*EMISSIONS, *target.emitters):
        raise UsageError(f"--emit is one of {', '.join(EMISSIONS)}, not '{emit}'")
    if emit not in ("mlir", *FORMATS, *target.emitters):
        raise UsageError(
            f"target {target.name} does not emit {emit}; it emits {', '.join(('mlir', *FORMATS, *target.emitters))}"
        )
    if arguments.has("ptxas-info") and not target.reports_resources:
        raise UsageError("--ptxas-info is about GPUs: give --target=nvptx")
    if arguments.has("autotune") or arguments.has("tuning"):
        if target.name != "cpu" or target.machine:
            raise UsageError("--autotune and --tuning are about this machine, and the target cpu")
        if arguments.has("autotune") and arguments.has("tuning"):
            raise UsageError("give --autotune, which measures, or --tuning, which does not: both name a file")
    pipeline, stage, fused = pipeline_of(arguments, target)
    verify = arguments.value("verify-diagnostics", "all") if arguments.has("verify-diagnostics") else None
    if arguments.has("run-reproducer") and pipeline:
        raise UsageError("--run-reproducer takes its passes from the file: give no other passes")
    return Settings(
        files=tuple(arguments.words) or ("-",),
        output=arguments.value("o"),
        pipeline=pipeline,
        stage=stage,
        fused=fused,
        target=target,
        emit=emit,
        resources=arguments.has("ptxas-info"),
        split=arguments.has("split-input-file"),
        verify_diagnostics="only-expected" if verify == "only-expected" else "all" if verify else None,
        allow_unregistered=arguments.has("allow-unregistered-dialect"),
        fast=not arguments.has("no-fast-reader"),
        keep_fusions=arguments.has("keep-fusions"),
        fuse_remarks=arguments.has("fuse-remarks"),
        generic=arguments.has("print-generic"),
        locations=arguments.has("print-locations"),
        stablehlo=arguments.has("stablehlo"),
        elide_larger_than=(
            arguments.number("elide-large-constants", DEFAULT_ELISION)
            if arguments.has("elide-large-constants")
            else None
        ),
        debug=understand_debugging(arguments),
        autotune=Path(arguments.value("autotune") or DEFAULT_TUNING_FILE) if arguments.has("autotune") else None,
        tuning=Path(arguments.value("tuning") or "") if arguments.has("tuning") else None,
    )


def target_of(arguments: Arguments) -> Target:
    """The machine that the flags describe. Raises UsageError."""
    try:
        target = get_target(arguments.value("target") or "cpu")
        flags = ("chip", "ptx-version", "math", "libraries", "triple", "cpu")
        given = {flag: value for flag in flags if (value := arguments.value(flag)) is not None}
        if "math" not in target.options:
            given.pop("math", None)  # It states the minimum accuracy of results.
        for flag in given:
            if flag not in target.options:
                about = (
                    "the target cpu"
                    if flag in ("triple", "cpu")
                    else f"GPUs: give --target={' or '.join(_takers(flag))}"
                )
                raise UsageError(f"--{flag} is about {about}")
        return target.configured(given).at_level(arguments.number(OPT_LEVEL.name, DEFAULT_OPT_LEVEL))
    except (UnknownTargetError, TargetOptionError) as error:
        raise UsageError(str(error)) from None


def _takers(option: str) -> list[str]:
    """Our targets that have an option."""
    return [name for name in OWN_TARGETS if option in get_target(name).options]


def pipeline_of(arguments: Arguments, target: Target) -> tuple[tuple[Step, ...], str | None, bool]:
    """
    The passes that the flags request, in order, the last lowering stage they reach, and whether a flag fuses.

    `--lower` prepares and groups the program first, unless an earlier flag does. Raises UsageError, PipelineError.
    """
    fixed = {option.name for option in OPTIONS}
    steps: list[Step] = []
    stage: str | None = None
    fused = False
    for flag, value in arguments.flags:
        if flag == "fuse":
            if stage is not None:
                raise UsageError("--fuse stands before --lower: there is nothing left to fuse after it")
            steps += map(Step, target.passes_to(None))
            fused = True
        elif flag == "lower":
            wanted = value or target.last_stage
            if wanted not in target.lowering:
                raise UsageError(f"--lower is one of {', '.join(target.lowering)}, not '{wanted}'")
            if stage is None and not fused:
                steps += map(Step, target.passes_to(None, fuse=False))
            steps += map(Step, target.passes_between(stage, wanted))
            stage = wanted
        elif flag == "pass-pipeline" or flag not in fixed:
            text = (value or "").strip()
            if flag != "pass-pipeline":
                text = flag if not value else f"{flag}{{{text.removeprefix('{').removesuffix('}')}}}"
            if text:
                steps.append(Step(text, automatic=False))
                fused |= any(spec.name == "fuse-hlo" for spec in parse_specs(text))
    return tuple(steps), stage, fused
