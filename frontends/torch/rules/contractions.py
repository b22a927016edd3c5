"""Products of matrices, summed in f32 for halves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...builder.builder import Value
from ..api import torch
from ..dtypes import converted, dtype_of, working_dtype
from ..registry import lowers
from ..step import Step, broadcast


def contract(step: Step, x: Value, y: Value, batch: Sequence[int], summed: tuple[int, int]) -> Value:
    """Products summed over a dimension of each, for each index of the shared leading dimensions."""
    dtype = dtype_of(x)
    found = step.builder.dot_general(
        x,
        y,
        lhs_batching_dimensions=list(batch),
        rhs_batching_dimensions=list(batch),
        lhs_contracting_dimensions=[summed[0]],
        rhs_contracting_dimensions=[summed[1]],
        result_type=None if working_dtype(dtype) == dtype else _wide(x, y, batch, summed),
    )
    return found


def _wide(x: Value, y: Value, batch: Sequence[int], summed: tuple[int, int]) -> Any:
    left = [size for dim, size in enumerate(x.shape) if dim not in (*batch, summed[0])]
    right = [size for dim, size in enumerate(y.shape) if dim not in (*batch, summed[1])]
    return "f32", (*[x.shape[dim] for dim in batch], *left, *right)


@lowers("aten.mm aten.mm.dtype")
def mm(step: Step, x: Value, y: Value, *_: Any) -> Value:
    return contract(step, x, y, (), (1, 0))


@lowers("aten.bmm aten.bmm.dtype")
def bmm(step: Step, x: Value, y: Value, *_: Any) -> Value:
    return contract(step, x, y, (0,), (2, 1))


@lowers("aten.mv")
def mv(step: Step, x: Value, y: Value) -> Value:
    return contract(step, x, y, (), (1, 0))


@lowers("aten.dot")
def dot(step: Step, x: Value, y: Value) -> Value:
    return contract(step, x, y, (), (0, 0))


@lowers("aten.vdot")
def vdot(step: Step, x: Value, y: Value) -> Value:
    left = step.builder.conj(x) if dtype_of(x).is_complex else x
    return contract(step, left, y, (), (0, 0))


@lowers("aten._int_mm")
def int_mm(step: Step, x: Value, y: Value) -> Value:
    return contract(step, converted(x, torch.int32), converted(y, torch.int32), (), (1, 0))


def _added(step: Step, bias: Value, product: Value, beta: Any, alpha: Any) -> Value:
    dtype = dtype_of(product)
    total = product if alpha == 1 else product * step.full(alpha, dtype, product.shape)
    if beta == 0:
        return total
    added = broadcast(converted(bias, dtype), product.shape)
    return total + (added if beta == 1 else added * step.full(beta, dtype, product.shape))


@lowers("aten.addmm")
def addmm(step: Step, bias: Value, x: Value, y: Value, *, beta: Any = 1, alpha: Any = 1) -> Value:
    return _added(step, bias, contract(step, x, y, (), (1, 0)), beta, alpha)


@lowers("aten.baddbmm")
def baddbmm(step: Step, bias: Value, x: Value, y: Value, *, beta: Any = 1, alpha: Any = 1) -> Value:
    return _added(step, bias, contract(step, x, y, (0,), (2, 1)), beta, alpha)
