"""Collective operations of the threads of a warp or a block: shuffles, barriers."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation

from ...dialects.gpu.threads import GpuShuffleOp
from ...hlo_dialect.numbers.scalar_operations import INT64
from ...hlo_dialect.types import Array
from .evaluator import Evaluator, Maker, Step
from .lanes import Frame


def _barrier(evaluator: Evaluator, op: Operation) -> Step:
    def step(frame: Frame) -> None:
        lanes = frame.lanes
        if frame.mask is None:
            lanes.pass_barrier()
            return
        active = frame.active()
        some = np.asarray(active.any(axis=1, keepdims=True))
        every = np.asarray(active.all(axis=1, keepdims=True))
        if (some & ~every).any():
            row = int(np.flatnonzero(some & ~every)[0])
            missing = lanes.place(row, int(np.flatnonzero(~active[row])[0]))
            there = lanes.place(row, int(np.flatnonzero(active[row])[0]))
            frame.fail_at(op, f"is a barrier that not all threads of the block reach: {missing} does not", there)
        lanes.pass_barrier(every)

    return step


def _shuffle(evaluator: Evaluator, op: GpuShuffleOp) -> Step:
    mode = op.mode.data
    source, by, among, result, is_valid = op.value, op.offset, op.width, op.result, op.valid

    def step(frame: Frame) -> None:
        env, lanes = frame.env, frame.lanes
        check_warps(frame, op, "a shuffle")
        value: Array = np.broadcast_to(env[source], (*env[source].shape[:-2], *lanes.shape))
        offset, width = env[by].astype(INT64), env[among].astype(INT64)
        if ((width <= 0) | (width > lanes.warp) | (width & (width - 1) != 0)).any():
            frame.fail(op, f"has a width that is not a power of two up to {lanes.warp}", frame.active())
        own = lanes.columns % lanes.warp
        first = own - own % width
        wanted = {"xor": own ^ offset, "up": own - offset, "down": own + offset, "idx": first + offset}[mode]
        valid = np.broadcast_to((wanted >= first) & (wanted < first + width), lanes.shape)
        column = np.where(valid, lanes.columns - own + wanted, lanes.columns)
        env[result] = np.take_along_axis(value, np.broadcast_to(column, value.shape), axis=-1)
        env[is_valid] = valid

    return step


def check_warps(frame: Frame, op: Operation, what: str) -> None:
    """Each warp takes part with all its threads, or with none. Raises SimtError."""
    lanes = frame.lanes
    if lanes.threads % lanes.warp:
        size = f"a block of {lanes.threads} threads, whose last warp has fewer than {lanes.warp}"
        frame.fail(op, f"is {what} in {size}", frame.active())
    if frame.mask is None:
        return
    warps = frame.active().reshape(lanes.blocks, -1, lanes.warp)
    missing = (warps.any(axis=2, keepdims=True) & ~warps).reshape(lanes.shape)
    if missing.any():
        frame.fail(op, f"is {what} that not all threads of the warp reach: not that", missing)


MAKERS: dict[str, Maker] = {"gpu.barrier": _barrier, "gpu.shuffle": _shuffle}
