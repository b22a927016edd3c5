"""Convolutions, transposed ones, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....hlo_dialect.types import make_tensor
from ...builder.builder import Value
from ..dtypes import dtype_of, element_of_dtype, working_dtype
from ..registry import lowers
from ..step import Step, broadcast
from .reductions import summed


@dataclass(frozen=True)
class Window:
    """The geometry of a convolution, a number for each spatial dimension."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int

    @staticmethod
    def of(rank: int, stride: Any, padding: Any, dilation: Any, groups: int) -> Window:
        """From lists, of which one of length 1 stands for all dimensions."""
        return Window(_all(rank, stride), _all(rank, padding), _all(rank, dilation), groups)


def _all(rank: int, numbers: Sequence[int]) -> tuple[int, ...]:
    found = tuple(map(int, numbers))
    return found * rank if len(found) == 1 and rank > 1 else found


def _convolved(step: Step, x: Value, kernel: Value, shape: Sequence[int], dims: dict[str, Any], **stated: Any) -> Value:
    element = element_of_dtype(working_dtype(dtype_of(x)))
    counts = {"batch_group_count": 1, "feature_group_count": 1}
    return step.builder.convolution(
        x, kernel, result_type=make_tensor(tuple(shape), element), dimension_numbers=dims, **(counts | stated)
    )


def _numbers(rank: int) -> dict[str, Any]:
    spatial = list(range(2, 2 + rank))
    return {
        "input_batch_dimension": 0, "input_feature_dimension": 1, "input_spatial_dimensions": spatial,
        "kernel_output_feature_dimension": 0, "kernel_input_feature_dimension": 1, "kernel_spatial_dimensions": spatial,
        "output_batch_dimension": 0, "output_feature_dimension": 1, "output_spatial_dimensions": spatial,
    }  # fmt: skip


def forward(step: Step, x: Value, kernel: Value, window: Window, shape: Sequence[int]) -> Value:
    """x (n, c, ..), kernel (o, c / groups, ..)."""
    rank = len(x.shape) - 2
    return _convolved(
        step, x, kernel, shape, _numbers(rank),
        window_strides=window.stride,
        padding=[[one, one] for one in window.padding],
        rhs_dilation=window.dilation,
        feature_group_count=window.groups,
    )  # fmt: skip


def transposed(step: Step, x: Value, kernel: Value, window: Window, shape: Sequence[int]) -> Value:
    """x (n, c, ..), kernel (c, o / groups, ..), to a result of the given shape."""
    rank, groups = len(x.shape) - 2, window.groups
    inputs, outputs, *sizes = kernel.shape
    split = kernel.reshape((groups, inputs // groups, outputs, *sizes))
    swapped = split.transpose([0, 2, 1, *range(3, 3 + rank)]).reshape((groups * outputs, inputs // groups, *sizes))
    flipped = swapped.reverse([dim for dim in range(2, 2 + rank) if swapped.shape[dim] > 1]) if rank else swapped
    padding: list[list[int]] = []
    for dim in range(rank):
        reach = window.dilation[dim] * (sizes[dim] - 1)
        low = reach - window.padding[dim]
        spread = (x.shape[2 + dim] - 1) * window.stride[dim] + 1
        padding.append([low, shape[2 + dim] + reach - spread - low])
    return _convolved(
        step, x, flipped, shape, _numbers(rank),
        window_strides=[1] * rank,
        padding=padding,
        lhs_dilation=window.stride,
        rhs_dilation=window.dilation,
        feature_group_count=groups,
    )  # fmt: skip


def of_kernel(step: Step, x: Value, gradient: Value, window: Window, shape: Sequence[int]) -> Value:
    """The gradient of a kernel (o, c / groups, ..), from x (n, c, ..) and the result's gradient (n, o, ..)."""
    rank = len(x.shape) - 2
    padding: list[list[int]] = []
    for dim in range(rank):
        low = window.padding[dim]
        reach = (shape[2 + dim] - 1) * window.dilation[dim]
        spread = (gradient.shape[2 + dim] - 1) * window.stride[dim] + 1
        padding.append([low, reach + spread - x.shape[2 + dim] - low])
    numbers = _numbers(rank)
    numbers |= {"input_batch_dimension": 1, "input_feature_dimension": 0}
    numbers |= {"kernel_output_feature_dimension": 1, "kernel_input_feature_dimension": 0}
    numbers |= {"output_batch_dimension": 1, "output_feature_dimension": 0}
    return _convolved(
        step, x, gradient, shape, numbers,
        window_strides=window.dilation,
        padding=padding,
        rhs_dilation=window.stride,
        batch_group_count=window.groups,
    )  # fmt: skip


@lowers("aten.convolution aten._convolution")
def convolution(
    step: Step, x: Value, kernel: Value, bias: Value | None, stride: Any, padding: Any, dilation: Any,
    is_transposed: bool, output_padding: Any, groups: int, *_: Any,
) -> Value:  # fmt: skip
    rank = len(kernel.shape) - 2
    window = Window.of(rank, stride, padding, dilation, groups)
    single = len(x.shape) == rank + 1
    batch = x.reshape((1, *x.shape)) if single else x
    shape = (1, *step.shape) if single else step.shape
    if 0 in (*shape, *batch.shape):
        found = step.full(0, dtype_of(x), shape)
    else:
        found = (transposed if is_transposed else forward)(step, batch, kernel, window, shape)
    if bias is not None:
        column = bias.convert(found.element).reshape((bias.shape[0], *[1] * rank))
        found = found + broadcast(column, shape)
    return found.reshape(step.shape)


@lowers("aten.convolution_backward")
def convolution_backward(
    step: Step, gradient: Value, x: Value, kernel: Value, bias_sizes: Any, stride: Any, padding: Any, dilation: Any,
    is_transposed: bool, output_padding: Any, groups: int, wanted: Sequence[bool],
) -> tuple[Value | None, ...]:  # fmt: skip
    rank = len(kernel.shape) - 2
    window = Window.of(rank, stride, padding, dilation, groups)
    single = len(x.shape) == rank + 1
    if single:
        gradient, x = (one.reshape((1, *one.shape)) for one in (gradient, x))
    of_x = of_w = of_b = None
    if wanted[0]:
        back = (forward if is_transposed else transposed)(step, gradient, kernel, window, x.shape)
        of_x = back.reshape(step.shape_of(0))
    if wanted[1]:
        large, small = (gradient, x) if is_transposed else (x, gradient)
        of_w = of_kernel(step, large, small, window, kernel.shape)
    if wanted[2]:
        wide = gradient.convert(element_of_dtype(working_dtype(dtype_of(gradient))))
        of_b = summed(step, wide, [0, *range(2, 2 + rank)])
    return of_x, of_w, of_b
