"""Tensor cores and asynchronous copies: the operations of nvgpu, whose docstrings give the layouts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation

from ...dialects.gpu.nvgpu import DeviceAsyncCopyOp, DeviceAsyncCreateGroupOp, DeviceAsyncWaitOp, LdMatrixOp, MmaSyncOp
from ...hlo_dialect.numbers.scalar_operations import element_dtype
from ...hlo_dialect.types import Array
from ...lowering.device.chips import WARP
from .evaluator import Evaluator, Maker, Step
from .lanes import Frame
from .memory import View, access_of, check_aligned, locate, note_read, note_traffic, settle
from .warps import check_warps

LANE = np.arange(WARP)
GROUP, MEMBER = LANE // 4, LANE % 4
"""g and t of the layouts."""

TF32_MASK = np.int32(~0x1FFF)
"""The bits of an f32 that the hardware uses when it multiplies as tf32."""


def _by_warp(frame: Frame, fragment: Array) -> Array:
    """(rows, elements, blocks, threads) to (blocks, warps, rows, elements, lanes)."""
    whole = np.broadcast_to(fragment, (*fragment.shape[:-2], *frame.lanes.shape))
    split = whole.reshape(*whole.shape[:-1], -1, WARP)
    return np.moveaxis(split, (0, 1), (2, 3))


def _places(shape: tuple[int, int], matrix: str) -> tuple[Array, Array]:
    """For each element of the fragments of a warp, (rows, elements, lanes): its row and column in A, B or C."""
    i, j = np.arange(shape[0])[:, None, None], np.arange(shape[1])[None, :, None]
    width = shape[1]
    if matrix == "A":
        return GROUP + 8 * (i % 2) + 0 * j, width * MEMBER + j + 4 * width * (i // 2)
    if matrix == "B":
        return width * MEMBER + j + 4 * width * i, GROUP + 0 * i + 0 * j
    return GROUP + 8 * i + 0 * j, 2 * MEMBER + j + 0 * i


def _gathered(frame: Frame, fragment: Array, matrix: str, shape: tuple[int, int]) -> Array:
    """The matrices that the fragments form: (blocks, warps, rows, columns)."""
    by_warp = _by_warp(frame, fragment)
    result = np.zeros((*by_warp.shape[:2], *shape), fragment.dtype)
    rows, columns = _places((by_warp.shape[2], by_warp.shape[3]), matrix)
    result[:, :, rows, columns] = by_warp
    return result


def _mma(evaluator: Evaluator, op: MmaSyncOp) -> Step:
    rows, columns, depth = op.shape
    operands, sums = tuple(op.operands), op.res
    factor, total = (element_dtype(op, value.type) for value in (op.matrixA, sums))
    integers, tf32 = factor.kind == "i", factor == np.float32
    wide = np.int64 if integers else np.float64

    def step(frame: Frame) -> None:
        check_warps(frame, op, "a product of matrices")
        a, b, c = (frame.env[value] for value in operands)
        if tf32:
            a, b = ((np.ascontiguousarray(x).view(np.int32) & TF32_MASK).view(np.float32) for x in (a, b))
        left = _gathered(frame, a, "A", (rows, depth)).astype(wide)
        right = _gathered(frame, b, "B", (depth, columns)).astype(wide)
        product = left @ right + _gathered(frame, c, "C", (rows, columns)).astype(wide)
        at = _places((2, 2), "C")
        result = np.moveaxis(product[:, :, at[0], at[1]], (2, 3), (0, 1))
        frame.env[sums] = result.reshape(2, 2, *frame.lanes.shape).astype(total)

    return step


def _ldmatrix(evaluator: Evaluator, op: LdMatrixOp) -> Step:
    memory, indices, loaded = op.srcMemref, tuple(op.indices), op.res
    itemsize = element_dtype(op, memory.type).itemsize
    count = 16 // itemsize
    width = 4 // itemsize
    tiles, transposed = op.tiles, op.is_transposed
    i, j = np.arange(tiles)[:, None, None], np.arange(width)[None, :, None]
    if transposed:
        element, source = GROUP + 0 * i + 0 * j, 8 * i + 2 * MEMBER + j
    else:
        element, source = width * MEMBER + j + 0 * i, 8 * i + GROUP + 0 * j

    def step(frame: Frame) -> None:
        lanes = frame.lanes
        check_warps(frame, op, "a load of matrices")
        view: View = frame.env[memory]
        outer = frame.mask
        frame.mask = frame.only_active(lanes.columns % WARP < 8 * tiles)
        place, mask = locate(frame, op, view, [frame.env[index] for index in indices], "reads", count)
        check_aligned(frame, op, view, place, 16)
        note_traffic(frame, op, view, place, mask, count)
        places = place + np.arange(count)[:, None, None]
        note_read(frame, op, view, places, mask)
        frame.mask = outer
        found = np.broadcast_to(view.flat[places], (count, *lanes.shape)).reshape(count, lanes.blocks, -1, WARP)
        result = np.moveaxis(found, 0, 2)[:, :, element, source]
        frame.env[loaded] = np.moveaxis(result, (2, 3), (0, 1)).reshape(tiles, width, *lanes.shape)

    return step


@dataclass
class Copy:
    """An asynchronous copy that threads began."""

    op: Operation
    view: View
    places: Array
    """(elements, blocks, threads)"""
    values: Array
    group: Array
    """Per thread, the number of the group that contains the copy."""
    running: Array
    """The threads whose copy is not known to be done."""


def _copy(evaluator: Evaluator, op: DeviceAsyncCopyOp) -> Step:
    count = op.dstElements.value.data

    def step(frame: Frame) -> None:
        env, lanes = frame.env, frame.lanes
        values = _source(frame, op, count)
        target: View = env[op.dst]
        place, mask = locate(frame, op, target, [env[index] for index in op.dstIndices], "writes", count)
        check_aligned(frame, op, target, place, op.bytes)
        note_traffic(frame, op, target, place, mask, count)
        shape = (count, *lanes.shape)
        places = np.broadcast_to(place + np.arange(count)[:, None, None], shape)
        running = frame.active().copy()
        shadow = target.shadow
        assert shadow is not None, "memory of the workgroup has a shadow"
        access = access_of(frame, op, shadow, target.dtype.itemsize, places, mask)
        shadow.write(access, np.zeros(access.cells.shape, np.bool_))
        shadow.start_copy(access)
        copy = Copy(op, target, places, np.broadcast_to(values, shape), lanes.copy_groups.copy(), running)
        lanes.copies.append(copy)
        env[op.asyncToken] = None

    return step


def _source(frame: Frame, op: DeviceAsyncCopyOp, count: int) -> Array:
    """The copied elements, (elements, blocks, threads)."""
    env = frame.env
    view: View = env[op.src]
    indices = [env[index] for index in op.srcIndices]
    each = np.arange(count)[:, None, None]
    if op.srcElements is None:
        place, mask = locate(frame, op, view, indices, "reads", count)
        check_aligned(frame, op, view, place, op.bytes)
        note_traffic(frame, op, view, place, mask, count)
        note_read(frame, op, view, place + each, mask)
        return view.flat[place + each]
    number: Array = env[op.srcElements]
    bad = frame.only_active((number < 0) | (number > count))
    if bad.any():
        frame.fail(op, f"reads a number of elements that is not from 0 to {count}", bad)
    place, _ = locate(frame, op, view, indices, "reads")
    check_aligned(frame, op, view, place, op.bytes)
    bad = frame.only_active(indices[-1] + number > view.shape[-1])
    if bad.any():
        frame.fail(op, f"reads out of bounds of the last dimension, which has {view.shape[-1]}", bad)
    read = each < number
    mask = read if frame.mask is None else read & frame.mask
    note_traffic(frame, op, view, place, frame.only_active(number > 0), count)
    places = np.where(mask, place + each, 0)
    note_read(frame, op, view, places, mask)
    return np.where(read, view.flat[places], np.zeros((), view.dtype))


def _create_group(evaluator: Evaluator, op: DeviceAsyncCreateGroupOp) -> Step:
    def step(frame: Frame) -> None:
        frame.lanes.copy_groups = frame.lanes.copy_groups + frame.active()
        frame.env[op.asyncToken] = None

    return step


def _wait(evaluator: Evaluator, op: DeviceAsyncWaitOp) -> Step:
    def step(frame: Frame) -> None:
        lanes = frame.lanes
        finished = lanes.copy_groups - op.pending
        left: list[Copy] = []
        for copy in lanes.copies:
            done = copy.running & frame.active() & (copy.group < finished)
            if done.any():
                settle(frame, copy.op, copy.view, copy.places, done, copy.values)
                copy.running = copy.running & ~done
            if copy.running.any():
                left.append(copy)
        lanes.copies[:] = left

    return step


MAKERS: dict[str, Maker] = {
    "nvgpu.mma.sync": _mma,
    "nvgpu.ldmatrix": _ldmatrix,
    "nvgpu.device_async_copy": _copy,
    "nvgpu.device_async_create_group": _create_group,
    "nvgpu.device_async_wait": _wait,
}
