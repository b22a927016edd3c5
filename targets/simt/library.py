"""
Calls of libraries on the SIMT interpreter: NumPy, in the types that the library computes in.

Sums of f32 and of 16-bit floats are added in f32 by whatever order NumPy has; the library has another.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...dialects.gpu.library import Matmul, MatmulOp, Matrix
from ...hlo_dialect.types import Array
from .evaluator import Evaluator, Maker, Step
from .lanes import Frame

_TOTALS = {"f32": np.float32, "f64": np.float64, "i32": np.int32}

_TF32_MASK = np.uint32(0xFFFFE000)
"""The bits of an f32 that tf32 keeps: 10 of the mantissa."""


def run_matmul(problem: Matmul, buffers: Sequence[Array]) -> None:
    """Compute a product on flat arrays: the factors, the bias if there is one, the result."""
    total = _TOTALS[problem.total]
    lhs, rhs = (
        seen(matrix, buffer, problem.batch).astype(total)
        for matrix, buffer in zip((problem.lhs, problem.rhs), buffers[:2], strict=True)
    )
    if problem.tf32:
        lhs, rhs = (_cut(factor) for factor in (lhs, rhs))
    sums = np.matmul(lhs, rhs)
    if problem.bias:
        sums = sums + buffers[2].astype(total)
    match problem.activation:
        case "relu":
            sums = np.maximum(sums, total(0))
        case "gelu_tanh":
            inner = total(0.7978845608028654) * (sums + total(0.044715) * sums**3)
            sums = total(0.5) * sums * (1 + np.tanh(inner))
        case _:
            pass
    out = buffers[-1]
    seen(problem.out, out, problem.batch)[...] = sums.astype(out.dtype)


def seen(matrix: Matrix, buffer: Array, batch: int) -> Array:
    """A flat array as (batch, rows, columns)."""
    steps = (matrix.batch_stride, matrix.row_stride, matrix.column_stride)
    strides = tuple(step * buffer.itemsize for step in steps)
    return np.lib.stride_tricks.as_strided(buffer[matrix.offset :], (batch, matrix.rows, matrix.columns), strides)


def _cut(factor: Array) -> Array:
    return (np.ascontiguousarray(factor).view(np.uint32) & _TF32_MASK).view(np.float32)


def _matmul(evaluator: Evaluator, op: MatmulOp) -> Step:
    problem, operands = op.problem, tuple(op.operands)

    def step(frame: Frame) -> None:
        views = [frame.env[value] for value in operands]
        if views[-1].memory.constant:
            frame.fail(op, "writes to memory that is only read: an argument or a constant", frame.active())
        run_matmul(problem, [view.array().reshape(-1) for view in views])

    return step


MAKERS: dict[str, Maker] = {MatmulOp.name: _matmul}
