"""
The targets: for each its name, its lowering by stages, and what it can emit.

A target is one entry of `TARGETS`; nothing of it is imported before it emits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ..lowering.device.chips import DEFAULT_CHIP, get_chip, ptx_version
from ..passes.manager.pipelines import (
    FUSE,
    LOWER_GPU_LOOPS,
    LOWER_LINALG,
    LOWER_LLVM,
    LOWER_LOOPS,
    LOWER_NVVM,
    LOWER_NVVM_TO_LLVM,
)

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from ..passes.manager.timing import Timing
    from .executable import Executable
    from .serialized import Serialized

Emitter = Callable[["ModuleOp"], "str | bytes"]

Builder = Callable[["Context", "ModuleOp", "Timing", bool, Callable[[str], str]], "Executable"]
"""(context, module, timing, profile, text at a stage) to an executable; the module is consumed."""


BINARY = frozenset({"obj", "cubin"})
"""Of what targets emit: what is no text."""


class UnknownTargetError(LookupError):
    """No target has the name."""


@dataclass(frozen=True)
class Target:
    """A machine to compile for."""

    name: str
    summary: str
    lowering: Mapping[str, tuple[str, ...]]
    """Passes of each stage of `--lower`, in order; they start from hlo with fusions."""
    emitters: Mapping[str, Emitter]
    """What `--emit` can make of a module of the last stage."""
    build: Builder
    """Compiles a module into something that runs."""
    load: Callable[[Serialized], Executable] | None = None
    """Makes an executable of what was serialized; None where executables are not."""
    environment: Callable[[], dict[str, str]] | None = None
    """Of an executable that is serialized: what has to agree between who compiles and who loads."""
    machine: str = ""
    """Which of several machines of this kind: the chip of a GPU. Executables of another one are others."""
    in_mode: Callable[[str], Target] | None = None
    """The same machine with its approximations of elementary functions (fast) or without (default, strict)."""
    present: Callable[[], Target] | None = None
    """The target of the machine at hand, where there are several: programs that are to run are compiled for it."""
    require: Callable[[], object] | None = None
    """Raises DiagnosticError where its programs cannot run here, and says what is missing."""
    tune: Callable[[str], str] = str
    """Adds to a pass spec the options that this machine asks for."""
    resources: Callable[[ModuleOp], str] | None = None
    """A table of what the kernels of a module of the last stage use of the machine."""

    @property
    def last_stage(self) -> str:
        return tuple(self.lowering)[-1]

    def passes_between(self, done: str | None, wanted: str) -> tuple[str, ...]:
        """The passes from the end of stage `done` (None: from fusions) to the end of `wanted`."""
        stages = list(self.lowering)
        first = 0 if done is None else stages.index(done) + 1
        specs: list[str] = []
        for stage in stages[first : stages.index(wanted) + 1]:
            specs += self.lowering[stage]
        return tuple(map(self.tune, specs))


def _llvm_text(module: ModuleOp) -> str:
    from .llvm_text.module import emit_llvm_ir

    return emit_llvm_ir(module)


def _cpu_assembly(module: ModuleOp) -> str:
    from .cpu.jit import compile_to_assembly

    return compile_to_assembly(_llvm_text(module))


def _cpu_object(module: ModuleOp) -> bytes:
    from .cpu.jit import compile_to_object

    return compile_to_object(_llvm_text(module))


def _cpu_tuned(spec: str) -> str:
    """Matrix products are blocked for 512-bit vectors; where the machine's are narrower, for those."""
    if spec != "convert-contractions-to-vector":
        return spec
    from .cpu.jit import host_vector_bits

    bits = host_vector_bits()
    return spec if bits == 512 else f"{spec}{{vector-bits={bits}}}"


def _cpu_executable(
    ctx: Context, module: ModuleOp, timing: Timing, profile: bool, text_at: Callable[[str], str]
) -> Executable:
    from .cpu.build import build

    return build(ctx, module, timing, profile, text_at)


def _load_cpu(serialized: Serialized) -> Executable:
    from .cpu.serialization import load

    return load(serialized)


def _cpu_environment() -> dict[str, str]:
    from .cpu.serialization import environment

    return environment()


CPU = Target(
    name="cpu",
    summary="machine code of this computer through LLVM, on all its cores",
    lowering={"linalg": LOWER_LINALG, "loops": LOWER_LOOPS, "llvm": LOWER_LLVM},
    emitters={"llvm": _llvm_text, "asm": _cpu_assembly, "obj": _cpu_object},
    build=_cpu_executable,
    load=_load_cpu,
    environment=_cpu_environment,
    tune=_cpu_tuned,
)


def nvptx(chip: str = DEFAULT_CHIP, ptx: str | None = None, mode: str = "default", libraries: str = "never") -> Target:
    """
    NVIDIA GPUs: a chip of `lowering/device/chips.py`, and the version of PTX to write, "8.0" (by default the chip's).

    `mode`: strict, default or fast, which takes the chip's approximations of elementary functions. `libraries`: which
    contractions are calls of cuBLASLt: never, auto (large ones) or always (all that it can express).

    Raises UnknownChipError, and PtxVersionError for a version that does not know the chip.
    """
    machine = get_chip(chip)
    version = ptx_version(machine, ptx)

    def as_ptx(module: ModuleOp) -> str:
        from .nvptx.emission import emit_ptx

        return emit_ptx(module, machine, version)

    def as_cubin(module: ModuleOp) -> bytes:
        from .nvptx.emission import emit_cubin

        return emit_cubin(module, machine, version).code

    def build(
        ctx: Context, module: ModuleOp, timing: Timing, profile: bool, text_at: Callable[[str], str]
    ) -> Executable:
        from .nvptx.build import build_image
        from .nvptx.executable import GpuExecutable

        target = nvptx(chip, ptx, mode, libraries)
        return GpuExecutable(build_image(ctx, module, timing, profile, target, machine, version), text_at)

    def environment() -> dict[str, str]:
        from .nvptx.serialization import environment

        return {**environment(), "chip": chip, "PTX": str(version), "math": mode, "libraries": libraries}

    def resources(module: ModuleOp) -> str:
        from .nvptx.emission import emit_cubin
        from .nvptx.resources import resources_table

        return resources_table(emit_cubin(module, machine, version).kernels)

    return Target(
        name="nvptx",
        summary="NVIDIA GPUs: PTX through LLVM, machine code through ptxas",
        lowering={"linalg": LOWER_LINALG, "loops": LOWER_GPU_LOOPS, "nvvm": LOWER_NVVM, "llvm": LOWER_NVVM_TO_LLVM},
        emitters={"llvm": _device_llvm_text, "ptx": as_ptx, "cubin": as_cubin},
        build=build,
        load=_load_gpu,
        environment=environment,
        machine=" ".join([chip, *[mode] * (mode != "default"), *[f"libraries={libraries}"] * (libraries != "never")]),
        in_mode=partial(nvptx, chip, ptx, libraries=libraries),
        present=_present_gpu,
        require=_require_gpu,
        tune=partial(_gpu_tuned, chip, mode, libraries=libraries),
        resources=resources,
    )


def _device_llvm_text(module: ModuleOp) -> str:
    from .nvptx.emission import emit_llvm

    return emit_llvm(module)


def _gpu_tuned(chip: str, mode: str, spec: str, libraries: str = "never") -> str:
    """Kernels are mapped to the chip's blocks and threads, matrix products with what follows them elementwise."""
    if spec == "expand-math" and mode != "default":
        return f"{spec}{{mode={mode}}}"
    if spec in FUSE:
        return f"{spec}{{epilogues=true}}"
    if spec == "decompose-hlo":
        return f"{spec}{{short-floats=true}}"
    if spec not in ("plan-gpu-kernels", "map-kernels-to-gpu"):
        return spec
    options = [f"chip={chip}"] * (chip != DEFAULT_CHIP)
    if spec == "plan-gpu-kernels":
        options += [f"libraries={libraries}"] * (libraries != "never")
    return f"{spec}{{{' '.join(options)}}}" if options else spec


def _load_gpu(serialized: Serialized) -> Executable:
    from .nvptx.serialization import load

    return load(serialized)


def _present_gpu() -> Target:
    from .nvptx.runtime.cublaslt import present_libraries
    from .nvptx.runtime.device import present_chip

    return nvptx(present_chip(), libraries=present_libraries())


def _require_gpu() -> object:
    from .nvptx.runtime.device import open_device

    return open_device()


def _simt_executable(
    ctx: Context, module: ModuleOp, timing: Timing, profile: bool, text_at: Callable[[str], str]
) -> Executable:
    from .simt.executable import build

    return build(ctx, module, timing, text_at, profile=profile)


SIMT = Target(
    name="simt",
    summary="the kernels of nvptx, interpreted with NumPy: finds data races, needs no GPU",
    lowering={"linalg": LOWER_LINALG, "loops": LOWER_GPU_LOOPS},
    emitters={},
    build=_simt_executable,
    tune=partial(_gpu_tuned, DEFAULT_CHIP, "default"),
)

TARGETS = {target.name: target for target in (CPU, nvptx(), SIMT)}

ALIASES = {"gpu": "nvptx"}


def get_target(name: str) -> Target:
    """The target of that name. Raises UnknownTargetError."""
    try:
        return TARGETS[ALIASES.get(name, name)]
    except KeyError:
        raise UnknownTargetError(f"no target is named '{name}'; there are: {', '.join(TARGETS)}") from None
