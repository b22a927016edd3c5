"""The geometry of windows over a tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence

MAX_UNROLLED = 16
"""Most elements of a window that is processed at once for many neighbouring columns."""


def takes_columns(sizes: Sequence[int], strides: Sequence[int], counts: Sequence[int]) -> bool:
    """Whether windows of neighbouring columns, the last dimension, can be processed together."""
    return len(sizes) > 0 and sizes[-1] == strides[-1] == 1 and counts[-1] >= 4 and math.prod(sizes) <= MAX_UNROLLED


def is_tiled(
    shape: Sequence[int], counts: Sequence[int], sizes: Sequence[int], strides: Sequence[int], low: Sequence[int]
) -> bool:
    """Whether each element of a tensor of `shape` is in exactly one of the windows, `counts` of them."""
    return (
        not any(low)
        and tuple(sizes) == tuple(strides)
        and all(n == count * size for n, count, size in zip(shape, counts, sizes, strict=True))
    )


IMAGE_BYTES = 192 * 1024
"""Bytes of one image of what passes between the steps of a kernel that works image by image: they are on the stack."""

MOST_FILTERS = 1 << 14
"""Elements of the filters whose gradient such a kernel adds up, once for each image and task."""
