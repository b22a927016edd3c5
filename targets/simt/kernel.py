"""Runs launches of a gpu.func: all threads of some blocks at once, then of the next."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Operation, SSAValue

from ...dialects.gpu.functions import GpuFuncOp, GpuModuleOp
from ...dialects.support.views import uses_through_views
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.numbers.scalar_operations import INT64, element_dtype
from ...hlo_dialect.types import Array
from ...lowering.device.chips import DEFAULT_CHIP, MAX_BLOCK_THREADS, MAX_GRID
from ...lowering.device.parts import chip_of
from ...lowering.device.vendors import find_chip
from . import amdgpu_ops, nvgpu_ops, warps
from .evaluator import Evaluator, Maker, Step, Symbols
from .lanes import Dims, Frame, Lanes
from .memory import WORKGROUP, Memory, View, scalar
from .memref_ops import MAKERS, layout_of, symbols_of
from .races import Shadow
from .traffic import KernelTraffic

LANES = 1 << 14
"""The approximate number of threads that run at once: few enough for their values to stay in caches."""

SHARED_BYTES = 1 << 25
"""The most shared memory of blocks that run at once, if there are several."""

DIMENSIONS = {"x": 0, "y": 1, "z": 2}


def _number(op: Any, compute: Callable[[Lanes, int], Any]) -> Step:
    dimension = DIMENSIONS[op.dimension.data.value]
    result: SSAValue = op.result

    def step(frame: Frame) -> None:
        frame.env[result] = np.asarray(compute(frame.lanes, dimension), INT64)

    return step


DEVICE: dict[str, Maker] = {
    "gpu.thread_id": lambda _, op: _number(op, lambda lanes, d: lanes.thread_id(d)),
    "gpu.block_id": lambda _, op: _number(op, lambda lanes, d: lanes.block_id(d)),
    "gpu.block_dim": lambda _, op: _number(op, lambda lanes, d: [[lanes.block[d]]]),
    "gpu.grid_dim": lambda _, op: _number(op, lambda lanes, d: [[lanes.grid[d]]]),
    **MAKERS,
    **nvgpu_ops.MAKERS,
    **amdgpu_ops.MAKERS,
    **warps.MAKERS,
}
"""The operations of device functions beyond arithmetic and control flow."""


@dataclass(frozen=True)
class Accesses:
    """How a function accesses a parameter."""

    reads: bool
    writes: bool


READS = {"memref.load": 0, "vector.load": 0}
WRITES = {"memref.store": 1, "vector.store": 1}


def _accesses(parameter: SSAValue) -> Accesses:
    """How a parameter is accessed: both ways if a use is unknown."""
    reads = writes = False
    for use in uses_through_views(parameter):
        name = use.operation.name
        reads = reads or WRITES.get(name) != use.index
        writes = writes or READS.get(name) != use.index
    return Accesses(reads, writes)


def _unit(buffer: SSAValue) -> int:
    """The bytes of the smallest elements that a buffer is accessed in."""
    uses = uses_through_views(buffer)
    sizes = (element_dtype(use.operation, use.operation.operands[use.index].type).itemsize for use in uses)
    return min(sizes, default=1)


class Kernel:
    """A gpu.func, ready to be launched."""

    def __init__(self, function: GpuFuncOp, symbols: Symbols):
        self.function = function
        self.name = function.sym_name.data
        device = function.parent_op()
        chip = chip_of(device) if isinstance(device, GpuModuleOp) else None
        self.warp = find_chip(chip or DEFAULT_CHIP).warp
        self.traffic: KernelTraffic | None = None
        """If set, the memory traffic of launches is counted there."""
        self._evaluator = Evaluator(DEVICE, symbols)
        self._code = self._evaluator.code(function.body.block)
        self._parameters = function.body.block.args[: len(function.function_type.inputs)]
        self._accesses = [_accesses(parameter) for parameter in self._parameters]
        self._shared = [(_unit(buffer), *layout_of(function, buffer.type)) for buffer in function.workgroup_buffers]

    def launch(self, op: Operation, grid: Dims, block: Dims, arguments: Sequence[Any]) -> None:
        """Run it on views and numbers. Raises SimtError, and DiagnosticError for a launch that does not fit it."""
        self._check(op, grid, block, arguments)
        blocks, threads = math.prod(grid), math.prod(block)
        arguments = self._with_shadows(arguments, single=blocks * threads == 1)
        nbytes = sum(max(1, math.prod(shape)) * dtype.itemsize for _, shape, _, dtype in self._shared)
        at_once = max(1, min(LANES // threads, SHARED_BYTES // nbytes if nbytes else blocks))
        if self.traffic is not None:
            self.traffic.begin()
        with np.errstate(all="ignore"):
            for first in range(0, blocks, at_once):
                lanes = Lanes(self.name, grid, block, first, min(at_once, blocks - first), self.traffic, self.warp)
                frame = Frame(lanes)
                buffers = [_shared(lanes, *layout) for layout in self._shared]
                self._code.run(frame, [*arguments, *buffers])
        if self.traffic is not None:
            self.traffic.end()

    def _check(self, op: Operation, grid: Dims, block: Dims, arguments: Sequence[Any]) -> None:
        function = self.function
        for what, known, given in (
            ("threads", function.known_block_size, block),
            ("blocks", function.known_grid_size, grid),
        ):
            if known is not None and _dims(known) != given:
                fail(op, f"launches @{self.name} with {given} {what}; it is made for {_dims(known)}")
        too_many = math.prod(block) > MAX_BLOCK_THREADS or any(n > most for n, most in zip(grid, MAX_GRID, strict=True))
        if min(*grid, *block) < 1 or too_many:
            fail(op, f"launches @{self.name} with {block} threads in {grid} blocks, which no GPU does")
        if len(arguments) != len(self._parameters):
            fail(op, f"hands @{self.name} {len(arguments)} arguments; it takes {len(self._parameters)}")

    def _with_shadows(self, arguments: Sequence[Any], single: bool) -> list[Any]:
        """The arguments; memory that the kernel writes gets a shadow, which overlapping arguments share."""
        result = list(arguments)
        if single:
            return result
        spans: list[tuple[int, int, int, int]] = []
        for place, argument in enumerate(arguments):
            if isinstance(argument, View) and math.prod(argument.shape):
                start, end = _span(argument)
                spans.append((id(argument.memory), start, end, place))
        spans.sort()
        group: list[tuple[int, int, int, int]] = []
        for span in [*spans, (0, 0, 0, -1)]:
            if group and (span[0] != group[0][0] or span[1] >= max(one[2] for one in group) or span[3] < 0):
                self._share_shadow(result, group)
                group = []
            group.append(span)
        return result

    def _share_shadow(self, arguments: list[Any], group: list[tuple[int, int, int, int]]) -> None:
        accesses = [self._accesses[place] for _, _, _, place in group]
        if not any(access.writes for access in accesses):
            return
        start, end = group[0][1], max(one[2] for one in group)
        unit = math.gcd(start, *(arguments[place].dtype.itemsize for _, _, _, place in group))
        reads = any(access.reads for access in accesses)
        shadow = Shadow(start, end - start, unit, reads=reads)
        for _, _, _, place in group:
            view: View = arguments[place]
            arguments[place] = replace(view, shadow=shadow)


def _span(view: View) -> tuple[int, int]:
    """The first byte of a buffer, and the one after its last."""
    start = scalar(view.offset)
    last = start + sum((size - 1) * stride for size, stride in zip(view.shape, view.strides, strict=True))
    return start * view.dtype.itemsize, (last + 1) * view.dtype.itemsize


def _shared(lanes: Lanes, unit: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]) -> View:
    """A workgroup buffer of each block that runs; `unit`: bytes of the smallest elements that it is accessed in."""
    count = max(1, math.prod(shape))
    memory = Memory.fresh(count * dtype.itemsize, lanes.blocks, WORKGROUP)
    shadow = Shadow(0, memory.data.size, unit, shared=True)
    start = lanes.rows * count
    return View(memory, dtype, start, shape, strides, shadow, start)


def run_kernel(
    function: GpuFuncOp, buffers: Sequence[Array], *, grid: Dims | None = None, block: Dims | None = None
) -> None:
    """
    Run a function of the device on contiguous arrays, one for each parameter; it writes to them in place.

    `grid` and `block` default to the sizes that the function declares. Raises SimtError.
    """
    if grid is None or block is None:
        if function.known_grid_size is None or function.known_block_size is None:
            fail(function, "does not say how it is launched")
        grid = grid or _dims(function.known_grid_size)
        block = block or _dims(function.known_block_size)
    arguments: list[Any] = []
    for parameter, array in zip(function.function_type.inputs, buffers, strict=True):
        shape, strides, dtype = layout_of(function, parameter)
        if array.shape != shape or array.dtype != dtype or not array.flags.c_contiguous:
            fail(function, f"takes {parameter}, not {array.dtype}{list(array.shape)}")
        arguments.append(View(Memory.of(array), dtype, 0, shape, strides))
    module = function.parent
    Kernel(function, Symbols() if module is None else symbols_of(module.ops)).launch(function, grid, block, arguments)


def _dims(stated: DenseArrayBase[Any]) -> Dims:
    x, y, z = (int(value) for value in stated.get_values())
    return x, y, z
