"""Convolutions, transposed ones, and their gradients."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....hlo_dialect.types import make_tensor
from ...builder.builder import Value
from ..dtypes import dtype_of, element_of_dtype, working_dtype
from ..registry import lowers
from ..step import Step, broadcast, count
from .contractions import contract
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
        """From lists; one of length 1 holds for all dimensions."""
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


MOST_TAPS = 25
"""Most elements of a window for which a convolution becomes a product of matrices."""


def _is_small(positions: int, features: int, x: Value, window: Window, sizes: Sequence[int]) -> bool:
    """
    Whether a convolution of few positions is a product of matrices: the kernel, of `features` and windows of `sizes`,
    has more elements than the windows of all positions. It is read or written once, as it lies in memory.
    """
    dtype = dtype_of(x)
    is_plain = dtype.is_floating_point and working_dtype(dtype) == dtype
    return window.groups == 1 and is_plain and count(sizes) <= MOST_TAPS and 0 < positions <= features


def _taps(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    return list(itertools.product(*map(range, sizes)))


def _after(x: Value, window: Window, sizes: Sequence[int], outputs: Sequence[int]) -> list[int]:
    """
    For each dimension, the elements that windows read beyond x (n, c, ..) to compute `outputs` results.

    Negative where they leave out the last of x, as in gradients of transposed convolutions whose results reach further.
    """
    found: list[int] = []
    for dim, (size, results) in enumerate(zip(sizes, outputs, strict=True)):
        reach = (results - 1) * window.stride[dim] + (size - 1) * window.dilation[dim] + 1
        found.append(reach - x.shape[2 + dim] - window.padding[dim])
    return found


def _windows(step: Step, x: Value, window: Window, sizes: Sequence[int], outputs: Sequence[int]) -> Value:
    """The windows of x (n, c, ..), a row for each position: (n * outputs, c * sizes)."""
    rank, (n, channels) = len(sizes), x.shape[:2]
    zero = step.full(0, dtype_of(x))
    high = [0, 0, *_after(x, window, sizes, outputs)]
    padded = x.pad(zero, [0, 0, *window.padding], high, [0] * (rank + 2))
    found: list[Value] = []
    for tap in _taps(sizes):
        start = [place * dilation for place, dilation in zip(tap, window.dilation, strict=True)]
        stop = [start[dim] + (outputs[dim] - 1) * window.stride[dim] + 1 for dim in range(rank)]
        part = padded.slice([0, 0, *start], [n, channels, *stop], [1, 1, *window.stride])
        found.append(part.transpose([0, *range(2, 2 + rank), 1]).reshape((n * count(outputs), channels, 1)))
    whole = found[0] if len(found) == 1 else step.builder.concatenate(found, dimension=2)
    return whole.reshape((n * count(outputs), channels * len(found)))


def _rows(x: Value) -> Value:
    """The channels of each position of x (n, c, ..): (n * .., c)."""
    return x.transpose([0, *range(2, len(x.shape)), 1]).reshape((x.shape[0] * count(x.shape[2:]), x.shape[1]))


def _spread(step: Step, x: Value, kernel: Value, window: Window, shape: Sequence[int]) -> Value:
    """`transposed` as a product: what each position adds to each place of its window, and the sums."""
    n, rank, sizes = x.shape[0], len(x.shape) - 2, kernel.shape[2:]
    inputs, outputs, taps = *kernel.shape[:2], _taps(sizes)
    parts = contract(step, _rows(x), kernel.reshape((inputs, outputs * len(taps))), (), (1, 0))
    wide = parts.reshape((n, *x.shape[2:], outputs, len(taps)))
    zero, total = step.full(0, dtype_of(x)), None
    for number, tap in enumerate(taps):
        part = wide.part(rank + 2, number, number + 1).reshape((n, *x.shape[2:], outputs))
        low = [tap[dim] * window.dilation[dim] - window.padding[dim] for dim in range(rank)]
        spread = [(x.shape[2 + dim] - 1) * window.stride[dim] + 1 for dim in range(rank)]
        high = [shape[2 + dim] - spread[dim] - low[dim] for dim in range(rank)]
        placed = part.transpose([0, rank + 1, *range(1, rank + 1)]).pad(
            zero, [0, 0, *low], [0, 0, *high], [0, 0, *(stride - 1 for stride in window.stride)]
        )
        total = placed if total is None else total + placed
    assert total is not None, "a window has elements"
    return total


def forward(step: Step, x: Value, kernel: Value, window: Window, shape: Sequence[int]) -> Value:
    """x (n, c, ..), kernel (o, c / groups, ..)."""
    rank = len(x.shape) - 2
    positions, features, sizes = shape[0] * count(shape[2:]), kernel.shape[0], kernel.shape[2:]
    if _is_small(positions, features, x, window, sizes):
        windows = _windows(step, x, window, sizes, shape[2:])
        found = contract(step, windows, kernel.reshape((features, count(kernel.shape[1:]))), (), (1, 1))
        return found.reshape((shape[0], *shape[2:], features)).transpose([0, rank + 1, *range(1, rank + 1)])
    return _convolved(
        step, x, kernel, shape, _numbers(rank),
        window_strides=window.stride,
        padding=[[low, high] for low, high in zip(window.padding, _after(x, window, sizes, shape[2:]), strict=True)],
        rhs_dilation=window.dilation,
        feature_group_count=window.groups,
    )  # fmt: skip


def transposed(step: Step, x: Value, kernel: Value, window: Window, shape: Sequence[int]) -> Value:
    """x (n, c, ..), kernel (c, o / groups, ..), to a result of the given shape."""
    rank, groups = len(x.shape) - 2, window.groups
    if _is_small(x.shape[0] * count(x.shape[2:]), x.shape[1], x, window, kernel.shape[2:]):
        return _spread(step, x, kernel, window, shape)
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
    rank, (n, features) = len(x.shape) - 2, gradient.shape[:2]
    if _is_small(n * count(gradient.shape[2:]), features, x, window, shape[2:]):
        windows = _windows(step, x, window, shape[2:], gradient.shape[2:])
        return contract(step, _rows(gradient), windows, (), (0, 0)).reshape(shape)
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
