"""
Convolutions whose windows do not overlap are products of matrices: of patches, as in a vision transformer's first
layer, or, where there is one window, of all its elements, as in the gradient of a strided convolution's 1x1 filters.

The input is copied once, patch by patch. Where its features are contiguous, several windows are read in place instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute

from ...hlo_dialect.attributes import DotDimensionNumbersAttr
from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.ops.convolution import ConvolutionOp
from ...hlo_dialect.types import element_of, shape_of

LEAST_PLACES = 128
"""Places of an image along which a sum is long enough: fewer are copied, so that it goes on along all images."""


@dataclass(frozen=True)
class Digits:
    """
    A dimension of the input, in which window p reads its element t at `p * stride + t * dilation`: windows and elements
    are like the digits of a number.
    """

    places: int
    taps: int
    stride: int
    dilation: int

    @property
    def is_apart(self) -> bool:
        """Whether no two of them are at the same index of the input."""
        windows = self.dilation == 1 and self.stride >= self.taps
        return self.places == 1 or self.taps == 1 or windows or (self.stride == 1 and self.dilation >= self.places)

    @property
    def places_first(self) -> bool:
        """Whether the outer digit is the place."""
        return self.taps == 1 or (self.places > 1 and self.stride >= self.taps and self.dilation == 1)

    @property
    def sizes(self) -> tuple[int, int]:
        """The sizes of the outer digit and of the inner one, with the elements that no window reads."""
        if self.places_first:
            return self.places, max(self.stride, 1) if self.places > 1 else 1
        return self.taps, self.dilation if self.taps > 1 else self.places

    @property
    def kept(self) -> tuple[int, int]:
        """The sizes of both digits."""
        return (self.places, self.taps) if self.places_first else (self.taps, self.places)


def digits_of(op: ConvolutionOp) -> list[Digits] | None:
    """The spatial dimensions; None if windows overlap, or are better read in place, as those of 1x1 filters."""
    window, numbers = op.window, op.dimension_numbers
    if op.feature_groups * op.batch_groups != 1 or any(step != 1 for step in window.base_dilations):
        return None
    out = shape_of(op.result)
    found = [
        Digits(out[place], taps, stride, dilation)
        for place, taps, stride, dilation in zip(
            numbers.output.spatial, window.dimensions, window.strides, window.dilations, strict=True
        )
    ]
    if not found or all(dim.taps == dim.stride == 1 for dim in found) or not all(dim.is_apart for dim in found):
        return None
    if is_product(op):
        return None
    whole = all(dim.places == 1 for dim in found)
    is_inner = len(out) - 1 in numbers.lhs.spatial
    return found if whole or is_inner else None


def is_product(op: ConvolutionOp) -> bool:
    """
    Whether a convolution is a product of matrices along whose rows both factors are summed as they lie in memory: one
    window of all elements, channels first, as in the gradient of 1x1 filters. Packing moves both factors anyway.
    """
    numbers, window = op.dimension_numbers, op.window
    if not numbers.lhs.spatial or op.feature_groups * op.batch_groups != 1 or window.is_padded:
        return False
    whole = list(window.dimensions) == [shape_of(op.lhs)[dim] for dim in numbers.lhs.spatial]
    whole = whole and window.size >= LEAST_PLACES
    last = len(numbers.lhs.all) - 1
    return whole and numbers.lhs.spatial[-1] == numbers.kernel.spatial[-1] == last and set(window.dilations) == {1}


def product_of_patches(op: ConvolutionOp, lhs: Tensor, rhs: Tensor, digits: Sequence[Digits], zero: Tensor) -> Tensor:
    """
    The convolution as a product.

    Before: `convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, 0, f], window = {stride = [4]}`, windows of 4
    After:  `%0 = reshape %x` to [b, f, places, 4], `transpose`, `reshape` to [b * places, f * 4]; `dot_general` with %w
    """
    numbers, window, out = op.dimension_numbers, op.window, shape_of(op.result)
    # One dimension of the input after the other: what it is of, and whether that is summed.
    pieces: list[tuple[int, bool, int]] = []
    low, high, split = [0] * len(out), [0] * len(out), [[size] for size in lhs.shape]
    for place in range(len(out)):
        if place not in numbers.lhs.spatial:
            pieces.append((-1, place == numbers.lhs.feature, lhs.shape[place]))
            continue
        number = numbers.lhs.spatial.index(place)
        dim = digits[number]
        low[place] = window.low[number]
        high[place] = math.prod(dim.sizes) - lhs.shape[place] - low[place]
        split[place] = list(dim.sizes)
        first = (number, not dim.places_first, dim.kept[0])
        pieces += [first, (number, dim.places_first, dim.kept[1])]
    x = lhs.pad(zero, low, high, [0] * len(out)) if any((*low, *high)) else lhs
    x = x.reshape([size for sizes in split for size in sizes])
    if x.shape != (read := tuple(size for _, _, size in pieces)):
        x = x.first(read)

    def piece(of: int, summed: bool) -> int:
        return next(i for i, (number, sums, _) in enumerate(pieces) if (number, sums) == (of, summed))

    kept = [place for place in range(len(out)) if place != numbers.output.feature]
    free = [piece(_spatial(numbers.output.spatial, place), False) for place in kept]
    contracted = [place for place in range(len(out)) if place != numbers.kernel.feature]
    summed = [piece(_spatial(numbers.kernel.spatial, place), True) for place in contracted]
    along_k = len(pieces) - 1 in summed
    rows, depth = (math.prod(pieces[i][2] for i in dims) for dims in (free, summed))
    x = x.transpose([*free, *summed] if along_k else [*summed, *free])
    x = x.reshape((rows, depth) if along_k else (depth, rows))
    features = rhs.shape[numbers.kernel.feature]
    features_first = numbers.kernel.feature == 0
    if not features_first:
        rhs = rhs.transpose([*contracted, numbers.kernel.feature])
    w = rhs.reshape((features, depth) if features_first else (depth, features))
    of_x, of_w = ((1,) if along_k else (0,)), ((1,) if features_first else (0,))
    element, shape = element_of(op.result), [out[place] for place in kept]
    outermost = all(out[place] == 1 for place in kept[: numbers.output.feature])
    first, second, of_first, of_second = (w, x, of_w, of_x) if outermost else (x, w, of_x, of_w)
    stated: dict[str, Attribute] = {}
    levels = op.precision_config
    if levels is not None and levels.data:
        stated["precision_config"] = ArrayAttr(levels.data[::-1]) if outermost else levels
    product = first.dot(second, DotDimensionNumbersAttr.of((), (), of_first, of_second), element, **stated)
    product = product.reshape((features, *shape) if outermost else (*shape, features))
    order = [place + outermost for place in range(len(kept))]
    order.insert(numbers.output.feature, 0 if outermost else len(kept))
    return product.transpose(order)


def _spatial(spatial: Sequence[int], place: int) -> int:
    """The number of a spatial dimension; -1 for the other one."""
    return spatial.index(place) if place in spatial else -1
