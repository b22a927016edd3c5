"""Builds the image of a module for a GPU: the pipeline, PTX, machine code. No GPU is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...hlo_dialect.diagnostics import DiagnosticError
from ...lowering.device.chips import Chip
from ...passes.manager import pipelines
from ...passes.manager.timing import Timing
from ..compile import run_passes
from ..cpu.build import entry_types
from ..cpu.image import arena_bytes, checks_of, host_calls_of, result_count
from ..kernel_info import describe_kernels
from .assembler import assemblers
from .cubin_cache import cached_cubin
from .emission import emit_ptx
from .image import GpuImage
from .runtime.host_program import HostProgram, read_host_program

if TYPE_CHECKING:
    from ..registry import Target

Emission = Callable[[ModuleOp, HostProgram], tuple[str, bytes]]
"""From a module of the stage "loops" and the host's part of it to (PTX, machine code)."""


def build_image(
    ctx: Context,
    module: ModuleOp,
    timing: Timing,
    profile: bool,
    target: Target,
    chip: Chip,
    ptx_version: int,
    *,
    fuse: bool = True,
    emission: Emission | None = None,
) -> GpuImage:
    """
    Run the pipeline on `module`, which is consumed, and compile what it becomes for a chip.

    Without `fuse` each operation is a kernel of its own; `emission` takes the place of the way from the gpu-level IR to
    machine code. Raises DiagnosticError.
    """

    def run(*specs: str) -> None:
        run_passes(ctx, module, specs, timing)

    def to_machine_code(module: ModuleOp, host: HostProgram) -> tuple[str, bytes]:
        run(*target.passes_between("loops", target.last_stage))
        if not host.functions:
            return "", b""
        with timing.stage("emit PTX"):
            ptx = emit_ptx(module, chip, ptx_version)
        with timing.stage("assemble"):
            return ptx, machine_code(ptx, chip)

    run(*map(target.tune, pipelines.FRONT))
    inputs, outputs = entry_types(module)
    checks, count = checks_of(module), result_count(module, len(outputs))
    outline, *linalg = target.passes_between(None, "linalg")
    run(*map(target.tune, pipelines.FUSE if fuse else pipelines.FUSE_NONE), outline)
    kernels = describe_kernels(module)
    run(*linalg, *target.passes_between("linalg", "loops"))
    host_calls, arena = host_calls_of(module), arena_bytes(module)
    host = read_host_program(module)
    ptx, cubin = (emission or to_machine_code)(module, host)
    return GpuImage(
        chip=chip.name,
        cubin=cubin,
        ptx=ptx,
        host=host,
        inputs=inputs,
        outputs=outputs,
        result_count=count,
        arena_bytes=arena,
        kernels=kernels,
        checks=checks,
        host_calls=host_calls,
        profiled=profile,
        stages=timing.seconds,
    )


def machine_code(ptx: str, chip: Chip) -> bytes:
    """
    The cubin; empty where there is no assembler at all: then the driver of the GPU compiles the PTX.

    Raises DiagnosticError where there are assemblers that are too old.
    """
    try:
        return cached_cubin(ptx, chip)
    except DiagnosticError:
        if next(assemblers(), None) is None:
            return b""
        raise
