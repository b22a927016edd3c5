"""Run programs mapped to the GPU on the SIMT interpreter and compare with the reference; run hand-written kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from conformance import difference
from hlo_programs import Program
from xhlo.dialects.gpu.functions import GpuFuncOp
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.lowering.device.amd_chips import AMD_CHIPS
from xhlo.targets.amdgcn.target import AMDGCN
from xhlo.targets.nvptx.target import nvptx
from xhlo.targets.program.entry import entry_types
from xhlo.targets.program.pipeline import run_passes
from xhlo.targets.program.target import Target
from xhlo.targets.simt.host import HostProgram
from xhlo.targets.simt.kernel import run_kernel
from xhlo.targets.simt.memory import undefined


def gpu_target(chip: str, math: str = "default") -> Target:
    """The target of a chip of any vendor."""
    return AMDGCN.configured({"chip": chip}) if chip in AMD_CHIPS else nvptx(chip, mode=math)


def gpu_level(text: str, *, chip: str = "sm_90", fuse: bool = True) -> tuple[Any, Any]:
    """The module of the gpu-level IR, and the arrays for its entry: arguments and results."""
    ctx = make_context()
    module = parse_module(text, "test.mlir", ctx)
    target = gpu_target(chip)
    run_passes(ctx, module, target.front, verify=True)
    types = entry_types(module)
    run_passes(ctx, module, target.fusion(fuse), verify=True)
    run_passes(ctx, module, target.passes_between(None, "loops"), verify=True)
    return module, types


def run_on_simt(text: str, inputs: Sequence[Any], *, chip: str = "sm_90", fuse: bool = True) -> tuple[np.ndarray, ...]:
    """@main's results. Raises SimtError for races, accesses out of bounds and the like."""
    module, (arguments, results) = gpu_level(text, chip=chip, fuse=fuse)
    arrays = [np.ascontiguousarray(array).reshape(t.shape) for array, t in zip(inputs, arguments, strict=True)]
    outputs = [undefined(t.shape, t.dtype) for t in results]
    HostProgram(module).run(arrays, outputs)
    return tuple(outputs)


def check_on_simt(
    text: str, inputs: Sequence[Any], *, chip: str = "sm_90", rtol: float | None = None, fuse: bool = True
) -> None:
    """
    Assert that the SIMT interpreter computes the same results as the reference.

    Floats may differ by `rtol` relative to the array's root mean square (default: f32 1e-4, f64 1e-9, ..).
    """
    arrays = [np.asarray(array) for array in inputs]
    want = Program(text).results(*arrays)
    got = run_on_simt(text, arrays, chip=chip, fuse=fuse)
    pairs = enumerate(zip(got, want, strict=True))
    found = {i: difference(actual, np.asarray(expected), rtol, False) for i, (actual, expected) in pairs}
    wrong = {i: message for i, message in found.items() if message}
    assert not wrong, wrong


def parse_program(text: str) -> ModuleOp:
    """A module of the gpu-level IR, given as text."""
    module = parse_module(text, "kernel.mlir", make_context())
    module.verify()
    return module


def device_function(text: str, name: str | None = None) -> GpuFuncOp:
    """The gpu.func of a module."""
    module = parse_program(text)
    found = [op for op in module.walk() if isinstance(op, GpuFuncOp) and name in (None, op.sym_name.data)]
    return found[0]


def run_device_function(text: str, *buffers: np.ndarray) -> None:
    """Run the only gpu.func of a text on arrays, which it writes to."""
    run_kernel(device_function(text), buffers)


SHARED = "#gpu.address_space<workgroup>"


def kernel_text(body: str, parameters: str, *, threads: int, blocks: int = 1, shared: str = "") -> str:
    """
    A module of one kernel, whose body may use %t and %block, the numbers of thread and block, and %c0, %c1, %c32.

    `shared`: buffers of the block, as `%s: 64xf32`.
    """
    attribution = f"workgroup({shared.replace(': ', ': memref<')}, {SHARED}>)" if shared else ""
    return f"""
gpu.module @kernels {{
  gpu.func @k({parameters}) {attribution} kernel attributes
      {{known_block_size = array<i32: {threads}, 1, 1>, known_grid_size = array<i32: {blocks}, 1, 1>}} {{
    %t = gpu.thread_id x
    %block = gpu.block_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    {body}
    gpu.return
  }}
}}
"""
