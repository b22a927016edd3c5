"""
Convolutions of bf16 whose elements the machine multiplies in pairs, two neighbours of a sum at once.

In a convolution the pairs are features of the input, or of neighbouring places; in a gradient of filters neighbours
along an image or a batch. convert-contractions-to-vector reads them in place (direct.py there).
"""

from __future__ import annotations

import math

from ...hlo_dialect.ops.convolution import ConvolutionOp
from ...hlo_dialect.types import bf16, element_of, shape_of

LEAST_PAIRED = 16
"""Fewest neighbouring elements that are summed, and fewest features, of a convolution multiplied in pairs of bf16."""

LONG = 24
"""A dimension of images that is long enough to be multiplied along it."""

LARGE_GRADIENT = 1 << 15
"""Elements of a gradient of filters from which its sums are not cut."""

LEAST_FILTERS = 4096
"""Elements of the filters from which they are copied if their order in memory is not the input's."""


def has_pairs(op: ConvolutionOp, summed: int) -> bool:
    """Whether a convolution of bf16 is multiplied in pairs, if it has `summed` features in its input."""
    numbers, taps, window = op.dimension_numbers, shape_of(op.rhs), op.window
    if {element_of(op.lhs), element_of(op.rhs)} != {bf16} or op.feature_groups * op.batch_groups != 1:
        return False
    # The dimension that `_with_neighbouring_features` makes innermost.
    inner = len(numbers.lhs.all) - 1
    if inner in numbers.lhs.spatial:
        inner = max(numbers.lhs.batch, numbers.lhs.feature)
    if not numbers.lhs.spatial:
        return False
    last = max(range(len(numbers.lhs.spatial)), key=lambda dim: numbers.lhs.spatial[dim])
    if inner == numbers.lhs.batch:
        # A gradient of filters: pairs are along the innermost dimension that is long; a small one's is cut.
        sizes = [size for size in (summed, *window.dimensions) if size > 1]
        long = [size for size in sizes if size >= min(LONG, max(sizes))][-1:]
        even = all(size % 2 == 0 for size in (long if math.prod(shape_of(op.result)) >= LARGE_GRADIENT else sizes))
        beside = shape_of(op.result)[numbers.output.spatial[last]] if window.strides[last] == 1 else 1
        rows = shape_of(op.lhs)[numbers.lhs.batch] * beside
        return even and min(rows, taps[numbers.kernel.feature]) >= LEAST_PAIRED
    # Neighbours in memory: the features of neighbouring places, too, unless the window has holes.
    run = summed * (window.dimensions[last] if window.dilations[last] == 1 else 1)
    alike = numbers.kernel.batch == numbers.kernel.spatial[last] + 1 or math.prod(taps) >= LEAST_FILTERS
    return summed % 2 == 0 and min(run if alike else summed, taps[numbers.kernel.feature]) >= LEAST_PAIRED
