"""Matrix cores of AMD's GPUs: the operations of amdgpu, whose docstring gives the layouts."""

from __future__ import annotations

import numpy as np

from ...dialects.gpu.amdgpu import SIDE, MfmaOp, WmmaOp
from ...hlo_dialect.numbers.scalar_operations import element_dtype
from ...hlo_dialect.types import Array
from .evaluator import Evaluator, Maker, Step
from .lanes import Frame
from .warps import check_warps


def _product(evaluator: Evaluator, op: MfmaOp | WmmaOp) -> Step:
    lanes = np.arange(op.WAVE)
    line, part = lanes % SIDE, lanes // SIDE
    each, count = op.each, SIDE * SIDE // op.WAVE
    is_mfma = isinstance(op, MfmaOp)
    element, number = np.arange(each)[:, None], np.arange(count)[:, None]
    along = each * part + element if is_mfma else element + 0 * part
    rows = count * part + number if is_mfma else 2 * number + part
    factor, total = (element_dtype(op, value.type) for value in (op.sourceA, op.destC))
    wide = np.int64 if factor.kind == "i" else np.float64

    def by_wave(frame: Frame, value: Array) -> Array:
        """(elements, blocks, threads), or (blocks, threads) for one, to (blocks, waves, elements, lanes)."""
        whole = value if value.ndim == 3 else value[None]
        whole = np.broadcast_to(whole, (whole.shape[0], *frame.lanes.shape))
        return np.moveaxis(whole.reshape(*whole.shape[:2], -1, op.WAVE), 0, 2)

    def step(frame: Frame) -> None:
        check_warps(frame, op, "a product of matrices")
        if frame.lanes.warp != op.WAVE:
            frame.fail(op, f"is for waves of {op.WAVE} threads", frame.active())
        a, b, c = (by_wave(frame, frame.env[value]) for value in op.operands)
        left = np.zeros((*a.shape[:2], SIDE, op.depth), wide)
        left[:, :, line + 0 * element, along] = a
        right = np.zeros((*b.shape[:2], op.depth, SIDE), wide)
        right[:, :, along, line + 0 * element] = b
        product = left @ right
        found = product[:, :, rows, line + 0 * number] + c.astype(wide)
        frame.env[op.destD] = np.moveaxis(found, 2, 0).reshape(count, *frame.lanes.shape).astype(total)

    return step


MAKERS: dict[str, Maker] = {MfmaOp.name: _product, WmmaOp.name: _product}
