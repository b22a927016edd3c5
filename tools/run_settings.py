"""The options of hlo-run, and the settings parsed from a command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..dialects.support.guard_zones import END, SIDES
from ..passes.manager.pipelines import DEFAULT_OPT_LEVEL, MATH_MODES
from ..targets.program.target import TargetOptionError
from ..targets.registry import ALIASES, OWN_TARGETS, get_target, target_names
from .array_files import ARRAYS
from .command_line import DIAGNOSTICS_OPTIONS, MAX_MEMORY, Arguments, Option, UsageError, limit_memory, opt_level_option
from .completion import COMPLETION

REFERENCE = "reference"
MACHINES = (*OWN_TARGETS, *ALIASES, REFERENCE)
"""The machines of this package; other packages add their targets."""

MAX_PROCESSES = 1024
"""The maximum number of processes in a grid: each takes a thread."""

GENERAL, DATA, CHECKS, SPEED = "General", "Data", "Checks", "Speed"

OPTIONS = (
    Option("help", "Print this and stop", GENERAL, short="h"),
    COMPLETION,
    MAX_MEMORY,
    *DIAGNOSTICS_OPTIONS,
    Option("target", "Where to run: compiled (cpu, default; gpu), or interpreted", GENERAL, "required",
           "|".join(MACHINES)),
    Option("chip", "The GPU to compile or interpret for, instead of the one at hand: gfx942, sm_90", GENERAL,
           "required", "CHIP"),
    Option("math", "Results of floats: rules that may change them, GPU approximations (fast)", GENERAL, "required",
           "|".join(MATH_MODES), choices=MATH_MODES),
    opt_level_option(GENERAL),
    Option("num-replicas", "Run on so many replicas: threads, or simulated by the reference", GENERAL, "required", "N"),
    Option("num-partitions", ".. of so many partitions each", GENERAL, "required", "N"),
    Option("entry", "Run this function instead of @main", GENERAL, "required", "NAME"),
    Option("inputs", "Arrays in_0, in_1, .., by argument names, or in order; several times: as --input", DATA,
           "required", ARRAYS, short="i"),
    Option("input", "The next argument: 2x2xf32=1,2,3,4, one value for all elements, or a file", DATA, "required",
           "TYPE=VALUES|FILE"),
    Option("shape", "The shape of a random argument of unknown size, by name or in_0, ..", DATA, "required",
           "NAME=4,8"),
    Option("seed", "Without --inputs: random inputs by this seed (0)", DATA, "required", "N"),
    Option("outputs", "Store the results there as out_0, out_1, .., or as text; several times: each one", DATA,
           "required", f"{ARRAYS}|FILE", short="o", aliases=("output",)),
    Option("compare", "Run there (reference) and compare", CHECKS, "optional", "|".join(MACHINES)),
    Option("expect", "Compare with the arrays out_0, out_1, .. of a file", CHECKS, "required", ARRAYS),
    Option("verify-numerics", "Run the program after each pass too, and fail where results change", CHECKS),
    Option("guard", "Find accesses outside of buffers, which end (default) or start where a page does", CHECKS,
           "optional", "|".join(SIDES), choices=SIDES),
    Option("rtol", "Relative tolerance (f64 1e-9, f32 1e-4, f16 4e-3, bf16 3e-2)", CHECKS, "required", "X"),
    Option("signed-zeros", "Compare the signs of zeros too", CHECKS),
    Option("profile", "Print for each kernel: calls, ms, GB/s, GFLOP/s", SPEED),
    Option("memory", "Print the arena of the CPU, and which buffers are alive where it is fullest", SPEED),
    Option("repeat", "Run N times more; print the median and the least time", SPEED, "required", "N"),
    Option("timing", "Print the time of each stage of the compilation", SPEED),
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """The settings of a command line."""

    file: str
    target: str
    math: str
    inputs: str | None
    shapes: Mapping[str, tuple[int, ...]]
    """The shapes of random arguments, by name."""
    seed: int
    given: tuple[str, ...]
    """Arrays on the command line, in the order of the arguments."""
    entry: str | None
    outputs: tuple[str, ...]
    """A file for all results, or one for each."""
    compare: str | None
    expect: str | None
    rtol: float | None
    signed_zeros: bool
    profile: bool
    repeat: int
    timing: bool
    guard: str | None = None
    verify_numerics: bool = False
    memory: bool = False
    opt_level: int = DEFAULT_OPT_LEVEL
    chip: str | None = None
    replicas: int = 1
    partitions: int = 1

    @property
    def processes(self) -> int:
        return self.replicas * self.partitions


def understand(arguments: Arguments) -> Settings:
    """Settings from flags. Raises UsageError."""
    limit_memory(arguments)
    _check_inputs(arguments)
    if len(arguments.words) > 1:
        raise UsageError(f"one file at a time, not {', '.join(arguments.words)}")
    target = _machine("target", arguments.value("target") or "cpu")
    chip = arguments.value("chip")
    if chip is not None:
        _check_chip(target, chip)
    compare = _machine("compare", arguments.value("compare") or REFERENCE) if arguments.has("compare") else None
    if compare == target:
        raise UsageError(f"--compare={compare} compares the target {target} with itself")
    if arguments.has("profile") and target == REFERENCE:
        raise UsageError("--profile needs a target that is compiled: the reference has no kernels")
    if arguments.has("verify-numerics") and target != "cpu":
        raise UsageError("--verify-numerics is for the target cpu: it runs what each pass leaves")
    if arguments.has("memory") and target != "cpu":
        raise UsageError("--memory is about the target cpu")
    if arguments.has("guard") and target == REFERENCE:
        raise UsageError("--guard needs a target that is compiled: the reference has no kernels")
    replicas, partitions = (arguments.number(f"num-{what}", 1) for what in ("replicas", "partitions"))
    if replicas * partitions != 1:
        _check_grid(arguments, replicas, partitions, target)
        if arguments.has("verify-numerics"):
            raise UsageError("--verify-numerics is for programs of one process")
    given = _given(arguments)
    return Settings(
        file=arguments.words[0] if arguments.words else "-",
        target=target,
        chip=chip,
        math=arguments.value("math") or "default",
        inputs=None if given else arguments.value("inputs"),
        shapes=dict(_shape(value) for flag, value in arguments.flags if flag == "shape"),
        seed=arguments.number("seed", 0),
        given=given,
        entry=arguments.value("entry"),
        outputs=tuple(value for flag, value in arguments.flags if flag == "outputs" and value is not None),
        compare=compare,
        expect=arguments.value("expect"),
        rtol=_tolerance(arguments.value("rtol")),
        signed_zeros=arguments.has("signed-zeros"),
        profile=arguments.has("profile"),
        repeat=arguments.number("repeat", 0),
        timing=arguments.has("timing"),
        memory=arguments.has("memory"),
        opt_level=arguments.number("opt-level", DEFAULT_OPT_LEVEL),
        verify_numerics=arguments.has("verify-numerics"),
        guard=(arguments.value("guard") or END) if arguments.has("guard") else None,
        replicas=replicas,
        partitions=partitions,
    )


def _check_inputs(arguments: Arguments) -> None:
    """The sources of arrays. Raises UsageError."""
    given = [value for flag, value in arguments.flags if flag in ("input", "inputs")]
    if arguments.has("input") and arguments.has("inputs"):
        raise UsageError("--input gives arrays one by one, --inputs all: use one of them")
    if given.count("-") + (not arguments.words or arguments.words[0] == "-") > 1:
        raise UsageError("standard input holds the program or arrays, not both: give a file for one of them")


def _given(arguments: Arguments) -> tuple[str, ...]:
    """The sources of single arguments: those of --input, and of --inputs where it names no file of all."""
    several = tuple(value for flag, value in arguments.flags if flag == "inputs" and value is not None)
    if len(several) > 1 or any("=" in value and not Path(value).exists() for value in several):
        return several
    return tuple(value for flag, value in arguments.flags if flag == "input" and value is not None)


def _shape(text: str | None) -> tuple[str, tuple[int, ...]]:
    """The name and the sizes that `x=4,8` states. Raises UsageError."""
    name, equals, sizes = (text or "").partition("=")
    parts = [part.strip() for part in sizes.split(",")] if sizes.strip() else []
    if not name.strip() or not equals or not all(part.isdecimal() and len(part) < 19 for part in parts):
        raise UsageError(f"--shape takes a name and sizes, such as --shape x=4,8, not '{text}'")
    return name.strip().removeprefix("%"), tuple(map(int, parts))


def _machine(flag: str, name: str) -> str:
    """The name of a machine to run on. Raises UsageError for an unknown one."""
    if name not in MACHINES and name not in target_names():
        known = dict.fromkeys((*MACHINES, *target_names()))
        raise UsageError(f"--{flag} is one of {', '.join(known)}, not '{name}'")
    return name


def _check_chip(target: str, chip: str) -> None:
    """Raises UsageError if the target has no such chip."""
    machine = None if target == REFERENCE else get_target(target)
    if machine is None or "chip" not in machine.options:
        raise UsageError("--chip is about GPUs: give --target=simt, nvptx or amdgcn")
    try:
        machine.configured({"chip": chip})
    except TargetOptionError as error:
        raise UsageError(str(error)) from None


def _check_grid(arguments: Arguments, replicas: int, partitions: int, target: str) -> None:
    """The options of a run on several processes. Raises UsageError."""
    if target not in ("cpu", REFERENCE):
        raise UsageError(f"--num-replicas and --num-partitions are for the targets cpu and reference, not {target}")
    if not 0 < replicas * partitions <= MAX_PROCESSES:
        raise UsageError(f"--num-replicas times --num-partitions is from 1 to {MAX_PROCESSES}")
    for flag in ("compare", "expect", "repeat", "timing", "profile", "opt-level"):
        if arguments.has(flag):
            raise UsageError(f"--{flag} is for programs of one process")


def _tolerance(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise UsageError(f"--rtol takes a number that is not negative, not '{text}'")
    return value
