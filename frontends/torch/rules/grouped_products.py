"""Products of groups of rows, each with its own matrix, as in mixtures of experts: `chlo.ragged_dot`."""

from __future__ import annotations

from typing import Any

from ...builder.builder import Value
from ..dtypes import Unlowered, converted, dtype_of, element_of_dtype, working_dtype
from ..registry import lowers
from ..step import Step
from .contractions import contract


def _grouped(
    step: Step, x: Value, y: Value, ends: Value, shape: tuple[int, ...], summed: tuple[int, int], ragged: int
) -> Value:
    """
    The product of x and y, summed over a dimension of each. `ends` are those of groups along dimension `ragged` of x:
    y has one matrix for each along its first dimension, or the result if the groups divide the sum.
    """
    sizes = ends - ends.pad(step.full(0, dtype_of(ends)), [1], [-1])
    dtype = working_dtype(dtype_of(x))
    return step.builder.ragged_dot(
        x,
        converted(y, dtype_of(x)),
        sizes,
        lhs_contracting_dimensions=[summed[0]],
        rhs_contracting_dimensions=[summed[1]],
        lhs_ragged_dimensions=[ragged],
        rhs_group_dimensions=[] if ragged == summed[0] else [0],
        result_type=(element_of_dtype(dtype), shape),
    )


@lowers("transformers.grouped_mm_fallback")
def grouped_mm_fallback(step: Step, x: Value, weight: Value, ends: Value) -> Value:
    """The product of each group of rows (s, k) by its matrix (g, k, n). Rows after the last group are zero."""
    return _grouped(step, x, weight, ends, step.shape, (1, 1), 0)


@lowers("transformers.grouped_mm_fallback_backward")
def grouped_mm_fallback_backward(
    step: Step, x: Value, weight: Value, ends: Value, gradient: Value
) -> tuple[Value, Value]:
    """The gradients of rows (s, k) and of matrices (g, k, n) for that of the result (s, n)."""
    of_x = _grouped(step, gradient, weight, ends, step.shape_of(0), (1, 2), 0)
    return of_x, _grouped(step, x, gradient, ends, step.shape_of(1), (0, 0), 0)


@lowers("aten._grouped_mm")
def grouped_mm(
    step: Step, x: Value, y: Value, offs: Value | None = None, bias: Any = None, out_dtype: Any = None
) -> Value:
    """Products of stacks (g, .., ..) and matrices; the groups divide a dimension that only matrices have."""
    if bias is not None:
        raise Unlowered("a grouped product with a bias")
    if offs is None:
        return contract(step, x, y, (0,), (2, 1))
    if len(y.shape) == 3:
        return _grouped(step, x, y, offs, step.shape, (1, 1), 0)
    if len(x.shape) == 2:
        return _grouped(step, x, y, offs, step.shape, (1, 0), 1)
    rows, columns = step.shape
    return _grouped(step, y, x, offs, (columns, rows), (0, 2), 1).transpose([1, 0])
