"""
Convolutions of a dilated input whose phases are features of one convolution, as in the gradient of a patch embedding.

With dilation d, result `d * a - r` multiplies element `a + s` of the input by element `r + d * s` of the kernel. The
phases r that read equally many elements are features of one convolution over a; those of a kernel no larger than d read
one, so that the whole is a product of matrices. No zeros are multiplied, between elements of the input or otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...hlo_dialect.expressions.tensor import Tensor, concatenate
from ...hlo_dialect.ops.convolution import ConvolutionOp
from ...hlo_dialect.types import HloTensor, make_tensor, shape_of


@dataclass(frozen=True)
class Along:
    """The phases of one dimension that read equally many elements of the kernel."""

    phases: range
    taps: int
    dilation: int
    """The input's: the kernel's element s of phase r is `r + dilation * s`."""
    stride: int
    spread: int
    """The window's own dilation."""
    low: int
    high: int


@dataclass(frozen=True)
class Dimension:
    """One dimension of the result, in blocks of as many elements as there are phases."""

    parts: tuple[Along, ...]
    blocks: int
    first: int
    """The first result's place in the blocks."""

    @property
    def places(self) -> int:
        """Those of all blocks: more than the results are, where a copy leaves the others out."""
        return self.blocks * sum(len(part.phases) for part in self.parts)


Make = Callable[[Tensor, HloTensor, Sequence[Along]], Tensor]
"""Makes the convolution with other filters, a result of another type, and the windows of some phases."""


def dimensions_of(op: ConvolutionOp) -> list[Dimension] | None:
    """The result's dimensions; None if none is dilated, or one with strides or a dilated window is."""
    window, numbers = op.window, op.dimension_numbers
    if all(step == 1 for step in window.base_dilations):
        return None
    lhs, out = shape_of(op.lhs), shape_of(op.result)
    found: list[Dimension] = []
    for dim, base in enumerate(window.base_dilations):
        taps, stride, spread = window.dimensions[dim], window.strides[dim], window.dilations[dim]
        size, count = lhs[numbers.lhs.spatial[dim]], out[numbers.output.spatial[dim]]
        low, high = window.low[dim], window.high[dim]
        if base == 1:
            found.append(Dimension((Along(range(1), taps, 1, stride, spread, low, high),), count, 0))
            continue
        if stride != 1 or spread != 1:
            return None
        start, last = -(low // base), -((low + 1 - count) // base)
        parts = [
            Along(phases, each, base, 1, 1, -start, last + max(each, 1) - size)
            for phases, each in ((range(taps % base, base), taps // base), (range(taps % base), taps // base + 1))
            if phases
        ]
        found.append(Dimension(tuple(parts), last - start + 1, base - 1 - low - base * start))
    return found


def by_features(op: ConvolutionOp, rhs: Tensor, dims: Sequence[Dimension], make: Make, zero: Tensor) -> Tensor:
    """
    The convolution, with phases as features.

    Before: `%0 = convolution(%x, %w) .. window = {lhs_dilate = [16]}`, %w of 16 elements
    After:  `%1 = reverse`, `transpose`, `reshape` of %w: one element, 16 times as many features; the convolution with
            it, whose features are reshaped to 16 neighbours each
    """
    numbers, out = op.dimension_numbers, shape_of(op.result)
    outer = numbers.output.feature < min(numbers.output.spatial)
    """Whether a result's places are nearer in memory than its features."""
    groups = op.feature_groups * op.batch_groups
    features = shape_of(op.rhs)[numbers.kernel.feature] // groups

    def part(chosen: tuple[Along, ...]) -> Tensor:
        phases = [len(along.phases) for along in chosen]
        shape, split = list(out), [[size] for size in out]
        for place, dim, count in zip(numbers.output.spatial, dims, phases, strict=True):
            shape[place], split[place] = dim.blocks, [dim.blocks, count]
        if not all(along.taps for along in chosen):
            return zero.broadcast([size for sizes in split for size in sizes], ())
        every = math.prod(phases)
        shape[numbers.output.feature] *= every
        type_ = make_tensor(tuple(shape), zero.element)
        result = make(_filters(rhs, op, chosen, outer, zero), type_, chosen)
        inner = [features, *phases] if outer else [*phases, features]
        result = result.reshape(_split(shape, {numbers.output.feature: [groups, *inner]}))
        # Each phase's dimension comes after that of its blocks, and features stay together.
        at = numbers.output.feature
        moved = {place: at + 1 + outer + index for index, place in enumerate(numbers.output.spatial)}

        def now(place: int) -> int:
            return place + (len(inner) if place > at else 0)

        order: list[int] = []
        for place in range(len(out)):
            if place == at:
                order += [at, at + 1 if outer else at + len(inner)]
            else:
                order += [now(place), *([moved[place]] if place in moved else [])]
        return result.transpose(order).reshape([size for sizes in split for size in sizes])

    def place_of(dim: int) -> int:
        """The phases of a dimension in the shape of a part."""
        place = numbers.output.spatial[dim]
        return place + 1 + sum(other < place for other in numbers.output.spatial)

    def joined(dim: int, chosen: tuple[Along, ...]) -> Tensor:
        if dim == len(dims):
            return part(chosen)
        parts = [joined(dim + 1, (*chosen, along)) for along in dims[dim].parts]
        return parts[0] if len(parts) == 1 else concatenate(parts, place_of(dim))

    shape, start = list(out), [0] * len(out)
    for place, dim in zip(numbers.output.spatial, dims, strict=True):
        shape[place], start[place] = dim.blocks * sum(len(along.phases) for along in dim.parts), dim.first
    whole = joined(0, ()).reshape(shape)
    limits = [first + size for first, size in zip(start, out, strict=True)]
    return whole if tuple(shape) == tuple(out) else whole.slice(start, limits)


def _split(shape: Sequence[int], parts: dict[int, list[int]]) -> list[int]:
    return [size for dim, whole in enumerate(shape) for size in parts.get(dim, [whole])]


def _filters(rhs: Tensor, op: ConvolutionOp, chosen: Sequence[Along], outer: bool, zero: Tensor) -> Tensor:
    """The elements of the kernel that these phases read, with the phases, the last first, as features."""
    kernel, groups = op.dimension_numbers.kernel, op.feature_groups * op.batch_groups
    start, limits, padding = [0] * len(rhs.shape), list(rhs.shape), [0] * len(rhs.shape)
    for place, along in zip(kernel.spatial, chosen, strict=True):
        start[place] = along.phases.start
        missing = along.dilation - len(along.phases)
        limits[place] = start[place] + along.taps * along.dilation - missing
        padding[place] = missing
    x = rhs.slice(start, limits)
    if any(padding):
        x = x.pad(zero.convert(x.element), [0] * len(padding), padding)
    features = rhs.shape[kernel.feature] // groups
    parts = {place: [along.taps, along.dilation] for place, along in zip(kernel.spatial, chosen, strict=True)}
    x = x.reshape(_split(x.shape, {**parts, kernel.feature: [groups, features]}))
    place_of = {
        dim: dim + sum(other < dim for other in (*kernel.spatial, kernel.feature)) for dim in range(len(limits))
    }
    phases = [place_of[place] + 1 for place in kernel.spatial]
    kept = list(x.shape)
    for place, along in zip(phases, chosen, strict=True):
        kept[place] = len(along.phases)
    x = x.slice([0] * len(kept), kept).reverse(phases)
    at = place_of[kernel.feature]
    inner = [at, at + 1, *phases] if outer else [at, *phases, at + 1]
    order = [dim for place in range(len(limits)) for dim in (inner if place == kernel.feature else [place_of[place]])]
    shape = list(limits)
    for place, along in zip(kernel.spatial, chosen, strict=True):
        shape[place] = along.taps
    shape[kernel.feature] *= math.prod(len(along.phases) for along in chosen)
    return x.transpose(order).reshape(shape)
