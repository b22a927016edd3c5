"""Runs launches of a gpu.func: all threads of some blocks at once, then of the next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ...dialects.gpu_ops import GpuFuncOp, GpuShuffleOp
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.types import Array
from .evaluator import Evaluator, Maker, Step
from .lanes import WARP, Dims, Frame, Lanes
from .memory import Memory, View, scalar
from .memref_ops import MAKERS, layout_of
from .races import Shadow
from .scalars import INT64

LANES = 1 << 15
"""Threads that run at once, about: few enough for their values to stay in caches."""

SHARED_BYTES = 1 << 25
"""Memory of blocks that run at once, at most, where there are several."""

DIMENSIONS = {"x": 0, "y": 1, "z": 2}


def _number(op: Any, compute: Any) -> Step:
    dimension = DIMENSIONS[op.dimension.data.value]

    def step(frame: Frame) -> None:
        frame.env[op.result] = np.asarray(compute(frame.lanes, dimension), INT64)

    return step


def _barrier(evaluator: Evaluator, op: Operation) -> Step:
    def step(frame: Frame) -> None:
        lanes = frame.lanes
        if frame.mask is None:
            lanes.epoch += 1
            return
        active = frame.active()
        some, every = active.any(axis=1, keepdims=True), active.all(axis=1, keepdims=True)
        if (some & ~every).any():
            row = int(np.flatnonzero(some & ~every)[0])
            missing = lanes.place(row, int(np.flatnonzero(~active[row])[0]))
            there = lanes.place(row, int(np.flatnonzero(active[row])[0]))
            frame.fail_at(op, f"is a barrier that some threads of the block do not reach: {missing}; but", there)
        lanes.epoch = lanes.epoch + every

    return step


def _shuffle(evaluator: Evaluator, op: GpuShuffleOp) -> Step:
    mode = op.mode.data

    def step(frame: Frame) -> None:
        env, lanes = frame.env, frame.lanes
        _check_warps(frame, op)
        value: Array = np.broadcast_to(env[op.value], (*env[op.value].shape[:-2], *lanes.shape))
        offset, width = env[op.offset].astype(INT64), env[op.width].astype(INT64)
        if ((width <= 0) | (width > WARP) | (width & (width - 1) != 0)).any():
            frame.fail(op, "has a width that is not a power of two up to 32", frame.active())
        own = lanes.columns % WARP
        first = own - own % width
        wanted = {"xor": own ^ offset, "up": own - offset, "down": own + offset, "idx": first + offset % width}[mode]
        valid = np.broadcast_to((wanted >= first) & (wanted < first + width), lanes.shape)
        column = np.where(valid, lanes.columns - own + wanted, lanes.columns)
        index = np.broadcast_to(column, value.shape)
        env[op.result] = np.take_along_axis(value, index, axis=-1)
        env[op.valid] = valid

    return step


def _check_warps(frame: Frame, op: Operation) -> None:
    """A shuffle takes all threads of a warp, or none."""
    lanes = frame.lanes
    if lanes.threads % WARP:
        what = f"is a shuffle in a block of {lanes.threads} threads, whose last warp has fewer than {WARP}"
        frame.fail(op, what, frame.active())
    if frame.mask is None:
        return
    warps = frame.active().reshape(lanes.blocks, -1, WARP)
    partial = warps.any(axis=2, keepdims=True) & ~warps
    bad = np.where(warps.all(axis=2, keepdims=True), False, partial).reshape(lanes.shape)
    if bad.any():
        frame.fail(op, "is a shuffle that some threads of the warp do not reach", bad)


DEVICE: dict[str, Maker] = {
    "gpu.thread_id": lambda _, op: _number(op, lambda lanes, d: lanes.thread_id(d)),
    "gpu.block_id": lambda _, op: _number(op, lambda lanes, d: lanes.block_id(d)),
    "gpu.block_dim": lambda _, op: _number(op, lambda lanes, d: [[lanes.block[d]]]),
    "gpu.grid_dim": lambda _, op: _number(op, lambda lanes, d: [[lanes.grid[d]]]),
    "gpu.barrier": _barrier,
    "gpu.shuffle": _shuffle,
}


@dataclass(frozen=True)
class Accesses:
    """What a function does with a parameter."""

    reads: bool
    writes: bool


VIEWS = (
    "memref.reinterpret_cast",
    "memref.subview",
    "memref.cast",
    "memref.view",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.memory_space_cast",
    "memref.assume_alignment",
)
READS = {"memref.load": 0, "vector.load": 0}
WRITES = {"memref.store": 1, "vector.store": 1}


def _accesses(parameter: SSAValue) -> Accesses:
    """Both, where a use is not known."""
    reads = writes = False
    pending = [parameter]
    while pending:
        for use in pending.pop().uses:
            name = use.operation.name
            if name in VIEWS:
                pending += use.operation.results
            elif READS.get(name) == use.index:
                reads = True
            elif WRITES.get(name) == use.index:
                writes = True
            else:
                reads = writes = True
    return Accesses(reads, writes)


class Kernel:
    """A gpu.func, ready to be launched."""

    def __init__(self, function: GpuFuncOp, functions: dict[str, FuncOp] | None = None):
        self.function = function
        self.name = function.sym_name.data
        self._evaluator = Evaluator({**MAKERS, **DEVICE}, functions)
        self._code = self._evaluator.code(function.body.block)
        self._parameters = function.body.block.args[: len(function.function_type.inputs)]
        self._accesses = [_accesses(parameter) for parameter in self._parameters]

    def launch(self, op: Operation, grid: Dims, block: Dims, arguments: Sequence[Any]) -> None:
        """Run it on views and numbers. Raises SimtError, and DiagnosticError for a launch that does not fit it."""
        self._check(op, grid, block, arguments)
        blocks, threads = math.prod(grid), math.prod(block)
        arguments = self._with_shadows(arguments, single=blocks * threads == 1)
        shared = [layout_of(self.function, buffer.type) for buffer in self.function.workgroup_buffers]
        nbytes = sum(max(1, math.prod(shape)) * dtype.itemsize for shape, _, dtype in shared)
        at_once = max(1, min(LANES // threads, SHARED_BYTES // nbytes if nbytes else blocks))
        with np.errstate(all="ignore"):
            for first in range(0, blocks, at_once):
                lanes = Lanes(self.name, grid, block, first, min(at_once, blocks - first))
                frame = Frame(lanes)
                buffers = [_shared(lanes, *layout) for layout in shared]
                self._code.run(frame, [*arguments, *buffers])

    def _check(self, op: Operation, grid: Dims, block: Dims, arguments: Sequence[Any]) -> None:
        function = self.function
        for what, known, given in (
            ("threads", function.known_block_size, block),
            ("blocks", function.known_grid_size, grid),
        ):
            if known is not None and tuple(known.get_values()) != given:
                fail(op, f"launches @{self.name} with {given} {what}; it is made for {tuple(known.get_values())}")
        if min(*grid, *block) < 1:
            fail(op, f"launches @{self.name} with {block} threads in {grid} blocks")
        if len(arguments) != len(self._parameters):
            fail(op, f"hands @{self.name} {len(arguments)} arguments; it takes {len(self._parameters)}")

    def _with_shadows(self, arguments: Sequence[Any], single: bool) -> list[Any]:
        """The arguments; those in memory that the kernel writes with a shadow, which those share that overlap."""
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
        shadow = Shadow(start, end - start, unit, reads=reads, initialized=True)
        for _, _, _, place in group:
            view: View = arguments[place]
            arguments[place] = View(view.memory, view.dtype, view.offset, view.shape, view.strides, shadow, view.base)


def _span(view: View) -> tuple[int, int]:
    """The first byte of a buffer, and the one after its last."""
    start = scalar(view.offset)
    last = start + sum((size - 1) * stride for size, stride in zip(view.shape, view.strides, strict=True))
    return start * view.dtype.itemsize, (last + 1) * view.dtype.itemsize


def _shared(lanes: Lanes, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]) -> View:
    """A workgroup buffer of each block that runs."""
    count = max(1, math.prod(shape))
    memory = Memory.fresh(lanes.blocks * count * dtype.itemsize)
    shadow = Shadow(0, memory.data.size, dtype.itemsize, reads=True, initialized=False)
    start = lanes.rows * count
    return View(memory, dtype, start, shape, strides, shadow, start)


def run_kernel(
    function: GpuFuncOp, buffers: Sequence[Array], *, grid: Dims | None = None, block: Dims | None = None
) -> None:
    """
    Run a function of the device on contiguous arrays, one for each parameter; it writes to them in place.

    `grid` and `block` default to what the function says that it is launched with. Raises SimtError.
    """
    if grid is None or block is None:
        if function.known_grid_size is None or function.known_block_size is None:
            fail(function, "does not say how it is launched")
        grid = grid or _dims(function.known_grid_size.get_values())
        block = block or _dims(function.known_block_size.get_values())
    arguments: list[Any] = []
    for parameter, array in zip(function.function_type.inputs, buffers, strict=True):
        if not isinstance(parameter, MemRefType):
            arguments.append(np.asarray(array).reshape(1, 1))
            continue
        shape, strides, dtype = layout_of(function, parameter)
        if array.shape != shape or array.dtype != dtype or not array.flags.c_contiguous:
            fail(function, f"takes {parameter}, not {array.dtype}{list(array.shape)}")
        arguments.append(View(Memory.of(array), dtype, 0, shape, strides))
    Kernel(function).launch(function, grid, block, arguments)


def _dims(values: Any) -> Dims:
    x, y, z = (int(value) for value in values)
    return x, y, z
