"""
hlo-opt: reads a module, runs passes on it in the order of their flags, prints it. `hlo-opt --help` says the rest.

This file reads the command line and imports nothing heavy; `opt_driver.py` does the work.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..hlo_dialect.garbage_collector import stop_gc
from ..lowering.device.chips import CHIPS, DEFAULT_CHIP, PtxVersionError, UnknownChipError
from ..passes.manager.pipelines import FRONT, FUSE, FUSE_NONE, LIBRARIES, MATH_MODES, PipelineError
from ..passes.manager.registry import DuplicatePassError, list_passes
from ..targets.registry import TARGETS, Target, UnknownTargetError, get_target, nvptx
from .command_line import Arguments, CommandLine, Option, UsageError

OVERVIEW = (
    "Reads MLIR text of the hlo or StableHLO dialect from the files (or standard input), runs the passes whose flags "
    "are given, in that order, and prints the module. Exit status: 0, 1 for errors in the input, 2 for a wrong command "
    "line, 3 for a failure of a pass."
)

STAGES = ("linalg", "loops", "nvvm", "llvm")
EMISSIONS = ("mlir", "llvm", "asm", "obj", "ptx", "cubin")
DEFAULT_ELISION = 16

GENERAL, PASSES, PIPELINES, OUTPUT, DEBUGGING = "General", "Passes", "Pipelines", "Output", "Debugging"

OPTIONS = (
    Option("help", "Print this and stop", GENERAL, short="h"),
    Option("version", "Print the versions of xhlo, xDSL and Python", GENERAL),
    Option("list-passes", "Print every pass with its summary", GENERAL),
    Option("split-input-file", "Treat each part between `// -----` lines as a module of its own", GENERAL),
    Option(
        "verify-diagnostics",
        "Compare the diagnostics with `// expected-error@+1 {{..}}` comments",
        GENERAL,
        "optional",
        "all|only-expected",
        choices=("all", "only-expected"),
    ),
    Option("allow-unregistered-dialect", "Accept operations of unknown dialects", GENERAL),
    Option("no-fast-reader", "Read everything with the general parser", GENERAL),
    Option("pass-pipeline", "Passes as text: `a,b{option=1}`", PIPELINES, "required", "PIPELINE", short="p"),
    Option("fuse", "Prepare the program and group its operations into hlo.fusion", PIPELINES),
    Option("lower", "Go on to linalg, loops, nvvm (of GPUs) or the llvm dialect (default)", PIPELINES, "optional",
           "|".join(STAGES)),
    Option("target", f"Machine to lower for: {', '.join(TARGETS)} (default cpu)", PIPELINES, "required", "NAME"),
    Option("chip", f"NVIDIA GPU to lower for, {next(iter(CHIPS))} to {list(CHIPS)[-1]} (default {DEFAULT_CHIP})",
           PIPELINES, "required", "sm_NN[a]"),
    Option("math", "Elementary functions: with a GPU's own approximations (fast) or without", PIPELINES, "required",
           "|".join(MATH_MODES), choices=MATH_MODES),
    Option("libraries", "Matrix products as calls of a GPU's library: those worth it (auto), or all", PIPELINES,
           "required", "|".join(LIBRARIES), choices=LIBRARIES),
    Option("fuse-remarks", "Say on standard error what was fused, what not, and why", PIPELINES),
    Option("o", "Write there instead of standard output", OUTPUT, "required", "FILE", short="o"),
    Option(
        "emit", "mlir, LLVM IR, assembly, an object file, PTX or a GPU's machine code", OUTPUT, "required",
        "|".join(EMISSIONS), choices=EMISSIONS,
    ),
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
    Option("verify-roundtrip", "Print the input in every form, read that, and fail where it differs", DEBUGGING),
    Option("verify-each", "Verify the module after each pass, not only at the end", DEBUGGING),
    Option("print-ir-before", "Print the module before these passes", DEBUGGING, "optional", "PASS,.."),
    Option("print-ir-after", "Print the module after these passes", DEBUGGING, "optional", "PASS,.."),
    Option("print-ir-before-all", "Print before every pass", DEBUGGING, aliases=("mlir-print-ir-before-all",)),
    Option("print-ir-after-all", "Print after every pass", DEBUGGING, aliases=("mlir-print-ir-after-all",)),
    Option("print-ir-after-change", "Print after passes that changed the module", DEBUGGING,
           aliases=("mlir-print-ir-after-change",)),
    Option("timing", "Print the time of each stage on standard error", DEBUGGING, aliases=("mlir-timing",)),
    Option("reproducer", "Write the reproducer of a failing or refusing pass there", DEBUGGING, "required", "FILE"),
    Option("run-reproducer", "Run the passes that the reproducer given as input names", DEBUGGING),
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """A command line, understood."""

    files: tuple[str, ...]
    output: str | None
    pipeline: tuple[str, ...]
    """Pass specs, in order."""
    lowered: bool
    """Whether they reach the target's last stage."""
    stage: str | None
    """The stage that `--lower` reaches."""
    target: Target
    emit: str
    resources: bool
    """Whether to tell what the kernels use of the machine."""
    split: bool
    verify_diagnostics: Literal["all", "only-expected"] | None
    allow_unregistered: bool
    fast: bool
    fuse_remarks: bool
    generic: bool
    locations: bool
    stablehlo: bool
    elide_larger_than: int | None
    verify_roundtrip: bool
    verify_each: bool
    print_before: frozenset[str]
    print_after: frozenset[str]
    print_changes: bool
    timing: bool
    reproducer: str | None
    run_reproducer: bool


def command_line() -> CommandLine:
    """The fixed options, and one for each pass."""
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
    if argv is None:
        stop_gc()
    words = sys.argv[1:] if argv is None else argv
    try:
        line = command_line()
        arguments = line.parse(words)
        if arguments.has("help"):
            return _print(help_text())
        if arguments.has("list-passes"):
            return _print(passes_text())
        if arguments.has("version"):
            return _print(version_text())
        settings = understand(arguments)
    except (UsageError, PipelineError, DuplicatePassError) as error:
        print(f"hlo-opt: error: {error}", file=sys.stderr)
        print("hlo-opt --help lists the options", file=sys.stderr)
        return 2
    from .opt_driver import run

    return run(settings)


def _print(text: str) -> int:
    from .streams import StreamError, write_text

    try:
        write_text(None, text)
    except StreamError as error:
        print(f"hlo-opt: error: {error}", file=sys.stderr)
        return 1
    return 0


def understand(arguments: Arguments) -> Settings:
    """Settings from flags. Raises UsageError."""
    target = target_of(arguments)
    emit = arguments.value("emit") or "mlir"
    if emit != "mlir" and emit not in target.emitters:
        raise UsageError(f"target {target.name} does not emit {emit}; it emits {', '.join(('mlir', *target.emitters))}")
    if arguments.has("ptxas-info") and target.resources is None:
        raise UsageError("--ptxas-info is about GPUs: give --target=nvptx")
    pipeline, stage = pipeline_of(arguments, target)
    verify = arguments.value("verify-diagnostics", "all") if arguments.has("verify-diagnostics") else None
    if arguments.has("run-reproducer") and pipeline:
        raise UsageError("--run-reproducer takes its passes from the file: give no other passes")
    return Settings(
        files=tuple(arguments.words) or ("-",),
        output=arguments.value("o"),
        pipeline=pipeline,
        stage=stage,
        lowered=stage == target.last_stage or any(target.lowering[target.last_stage][-1] in spec for spec in pipeline),
        target=target,
        emit=emit,
        resources=arguments.has("ptxas-info"),
        split=arguments.has("split-input-file"),
        verify_diagnostics="only-expected" if verify == "only-expected" else "all" if verify else None,
        allow_unregistered=arguments.has("allow-unregistered-dialect"),
        fast=not arguments.has("no-fast-reader"),
        fuse_remarks=arguments.has("fuse-remarks"),
        generic=arguments.has("print-generic"),
        locations=arguments.has("print-locations"),
        stablehlo=arguments.has("stablehlo"),
        elide_larger_than=(
            arguments.number("elide-large-constants", DEFAULT_ELISION)
            if arguments.has("elide-large-constants")
            else None
        ),
        verify_roundtrip=arguments.has("verify-roundtrip"),
        verify_each=arguments.has("verify-each"),
        print_before=_pass_names(arguments, "print-ir-before"),
        print_after=_pass_names(arguments, "print-ir-after"),
        print_changes=arguments.has("print-ir-after-change"),
        timing=arguments.has("timing"),
        reproducer=arguments.value("reproducer"),
        run_reproducer=arguments.has("run-reproducer"),
    )


def target_of(arguments: Arguments) -> Target:
    """The machine that the flags describe. Raises UsageError."""
    try:
        target = get_target(arguments.value("target") or "cpu")
        chip, version, mode = (arguments.value(flag) for flag in ("chip", "ptx-version", "math"))
        libraries = arguments.value("libraries")
        if chip is None and version is None and libraries is None:
            return target if target.in_mode is None or mode is None else target.in_mode(mode)
        if target.name != "nvptx":
            flag = next(flag for flag in ("chip", "ptx-version", "libraries") if arguments.has(flag))
            raise UsageError(f"--{flag} is about GPUs: give --target=nvptx")
        return nvptx(chip or DEFAULT_CHIP, version, mode or "default", libraries or "never")
    except (UnknownTargetError, UnknownChipError, PtxVersionError) as error:
        raise UsageError(str(error)) from None


def _pass_names(arguments: Arguments, flag: str) -> frozenset[str]:
    """The passes that `--print-ir-after=a,b` names; `*` for all of them."""
    names: set[str] = {"*"} if arguments.has(f"{flag}-all") else set()
    for name, value in arguments.flags:
        if name == flag:
            names.update({"*"} if value is None else (part.strip() for part in value.split(",")))
    known = {entry.name for entry in list_passes()} | {"*"}
    unknown = sorted(names - known)
    if unknown:
        raise UsageError(f"--{flag}: no pass is named '{unknown[0]}'")
    return frozenset(names)


def pipeline_of(arguments: Arguments, target: Target) -> tuple[tuple[str, ...], str | None]:
    """
    The pass specs that the flags ask for, in their order, and the last lowering stage they reach.

    `--lower` prepares and groups the program first, unless `--fuse` or `--fuse-hlo` stand before it.
    """
    fixed = {option.name for option in OPTIONS}
    specs: list[str] = []
    stage: str | None = None
    for flag, value in arguments.flags:
        if flag == "fuse":
            if stage is not None:
                raise UsageError("--fuse stands before --lower: there is nothing left to fuse after it")
            specs += map(target.tune, (*FRONT, *FUSE))
        elif flag == "lower":
            wanted = value or target.last_stage
            if wanted not in target.lowering:
                raise UsageError(f"--lower is one of {', '.join(target.lowering)}, not '{wanted}'")
            if stage is None and not any(spec.startswith("fuse-hlo") for spec in specs):
                specs += map(target.tune, (*FRONT, *FUSE_NONE))
            specs += target.passes_between(stage, wanted)
            stage = wanted
        elif flag == "pass-pipeline":
            specs.append((value or "").strip())
        elif flag not in fixed:
            specs.append(flag if not value else f"{flag}{{{value.strip().removeprefix('{').removesuffix('}')}}}")
    return tuple(spec for spec in specs if spec), stage


def help_text() -> str:
    """The options by group; our passes one a line, xDSL's by name."""
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
