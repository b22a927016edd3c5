"""The phases of a convolution whose input is dilated: results that read the same elements of the kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.ops.convolution import ConvolutionOp
from ...hlo_dialect.types import HloTensor, element_of, make_tensor, shape_of

MOST_PHASES = 16
"""Most convolutions that replace one with a dilated input."""

MOST_TAPS = 9
"""
Most elements of the kernel for each result of a depthwise phase that is a sum of products: of 16, with places along
rows, the blocks of a convolution that stay in registers are faster.
"""


@dataclass(frozen=True)
class Phase:
    """Along one dimension, the results `first + step * j` for all j, which read the same elements of the kernel."""

    taps: range
    """The kernel elements that are multiplied by elements of the dilated input, not by the zeros between them."""
    stride: int
    dilation: int
    low: int
    high: int


def phases_of(op: ConvolutionOp) -> list[list[Phase]] | None:
    """The phases per spatial dimension; None if the input is not dilated or there would be too many."""
    window, numbers = op.window, op.dimension_numbers
    if all(step == 1 for step in window.base_dilations):
        return None
    lhs, out = shape_of(op.lhs), shape_of(op.result)
    found: list[list[Phase]] = []
    for dim, base in enumerate(window.base_dilations):
        size, count = lhs[numbers.lhs.spatial[dim]], out[numbers.output.spatial[dim]]
        period = base // math.gcd(base, window.strides[dim])
        results = -(-count // period)
        phases: list[Phase] = []
        for first in range(min(period, count)):
            start = first * window.strides[dim] - window.low[dim]
            step = base // math.gcd(base, window.dilations[dim])
            taps = [tap for tap in range(step) if (start + tap * window.dilations[dim]) % base == 0]
            if period == 1 and base == 1:
                taps, step = [0], 1
            tap = taps[0] if taps else window.dimensions[dim]
            stride, dilation = period * window.strides[dim] // base, step * window.dilations[dim] // base
            low = -((start + tap * window.dilations[dim]) // base)
            kept = range(tap, window.dimensions[dim], step)
            high = (results - 1) * stride + (max(len(kept), 1) - 1) * dilation + 1 - size - low
            phases.append(Phase(kept, stride, dilation, low, high))
        found.append(phases)
    return found if math.prod(map(len, found)) <= MOST_PHASES else None


SumsOfTaps = Callable[[HloTensor, Sequence[Phase]], Tensor]
"""Computes a phase, of the given type: one of each dimension."""


def is_depthwise(op: ConvolutionOp) -> bool:
    """Whether each group has one feature of the result."""
    return op.feature_groups > 1 and op.feature_groups == shape_of(op.result)[op.dimension_numbers.output.feature]


def sums_of_taps(op: ConvolutionOp, lhs: Tensor, rhs: Tensor, phases: Sequence[Sequence[Phase]]) -> SumsOfTaps | None:
    """
    The phases of a depthwise convolution as sums of shifted inputs by elements of the kernel, in their order; None for
    other convolutions, and where a phase reads too many elements.

    All phases read one padded input, and the operation that interleaves them computes them where it needs them.
    """
    numbers = op.dimension_numbers
    x, w, rank = numbers.lhs, numbers.kernel, len(numbers.lhs.all)
    is_plain = is_depthwise(op) and rhs.shape[w.batch] == 1 and x.all == numbers.output.all
    one_type = lhs.element == rhs.element == element_of(op.result)
    most = math.prod(max(len(phase.taps) for phase in of_dim) for of_dim in phases)
    if not is_plain or not one_type or most > MOST_TAPS:
        return None
    low, high = [0] * rank, [0] * rank
    for dim, of_dim in zip(x.spatial, phases, strict=True):
        low[dim] = max(0, *(phase.low for phase in of_dim))
        high[dim] = max(0, *(phase.high for phase in of_dim))
    padded = lhs.pad(lhs.builder.splat(0, make_tensor((), lhs.element)), low, high)

    def shifted(shape: Sequence[int], chosen: Sequence[Phase], numbers_of_taps: Sequence[int]) -> Tensor:
        starts, limits, strides = [0] * rank, list(shape), [1] * rank
        for dim, phase, number in zip(x.spatial, chosen, numbers_of_taps, strict=True):
            starts[dim] = low[dim] - phase.low + number * phase.dilation
            limits[dim] = starts[dim] + (shape[dim] - 1) * phase.stride + 1
            strides[dim] = phase.stride
        return padded.slice(starts, limits, strides)

    def tap(chosen: Sequence[Phase], numbers_of_taps: Sequence[int]) -> Tensor:
        starts, limits = [0] * rank, list(rhs.shape)
        for dim, phase, number in zip(w.spatial, chosen, numbers_of_taps, strict=True):
            starts[dim], limits[dim] = phase.taps[number], phase.taps[number] + 1
        return rhs.slice(starts, limits).reshape((op.feature_groups,))

    def summed(type_: HloTensor, chosen: Sequence[Phase]) -> Tensor:
        shape = shape_of(type_)
        products = (
            shifted(shape, chosen, at) * tap(chosen, at).broadcast(type_, [x.feature])
            for at in product(*(range(len(phase.taps)) for phase in chosen))
        )
        return reduce(lambda total, each: total + each, products)

    return summed
