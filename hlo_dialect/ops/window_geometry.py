"""The geometry of sliding windows: their number, their elements, and recognition of scans."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute

from ..attributes import IntArray, ints
from ..op import reject
from ..shapes import DYNAMIC, shape_text
from ..types import Array, constant_array, shape_of


@dataclass(frozen=True)
class Window:
    """The geometry of a windowed operation: one entry per dimension."""

    dimensions: tuple[int, ...]
    strides: tuple[int, ...]
    base_dilations: tuple[int, ...]
    dilations: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]

    @property
    def is_padded(self) -> bool:
        """Whether padding or base dilation changes the input."""
        return any(self.low) or any(self.high) or any(step != 1 for step in self.base_dilations)

    @property
    def size(self) -> int:
        """The number of elements in one window."""
        return math.prod(self.dimensions)

    @property
    def interior(self) -> tuple[int, ...]:
        """The number of elements that base dilation inserts between neighbours."""
        return tuple(step - 1 for step in self.base_dilations)

    def padded_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """
        The padded shape that the windows slide over, for static dimensions; negative if padding removes more than there
        is.
        """
        return tuple(
            max((size - 1) * step + 1, 0) + low + high
            for size, step, low, high in zip(shape, self.base_dilations, self.low, self.high, strict=True)
        )

    def counts(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The number of windows along each dimension of an input of this shape (num_windows in the spec)."""
        sizes: list[int] = []
        for dim, (size, whole) in enumerate(zip(shape, self.padded_shape(shape), strict=True)):
            extent = (self.dimensions[dim] - 1) * self.dilations[dim] + 1
            count = 0 if extent > whole else (whole - extent) // self.strides[dim] + 1
            sizes.append(DYNAMIC if size == DYNAMIC else count)
        return tuple(sizes)

    def offsets(self) -> Iterator[tuple[int, ...]]:
        """The offsets of a window's elements from its first one, in row-major order."""
        return product(
            *(range(0, size * step, step) for size, step in zip(self.dimensions, self.dilations, strict=True))
        )

    def scan_dimension(self, shape: Sequence[int]) -> tuple[int, bool] | None:
        """
        The (dimension, reverse) of a scan: each window holds all elements up to its own, or with `reverse` from its own
        on.

        Cumulative sums and similar operations have this form: a window as long as the dimension, padded on one side.
        """
        wide = [dim for dim, size in enumerate(self.dimensions) if size != 1]
        plain = all(step == 1 for step in (*self.strides, *self.base_dilations))
        if len(wide) != 1 or not plain:
            return None
        dim = wide[0]
        more = self.dimensions[dim] - 1
        pads = {(index, side): pad for side, pads in enumerate((self.low, self.high)) for index, pad in enumerate(pads)}
        before, after = pads.pop((dim, 0)), pads.pop((dim, 1))
        if any(pads.values()) or shape[dim] != more + 1 or self.dilations[dim] != 1:
            return None
        return (dim, after == more) if (before, after) in ((more, 0), (0, more)) else None


def padding_array(padding: Attribute | None, rank: int) -> Array:
    """The (rank, 2) integers of a `padding` property, zeros without one. Assumes a verified property."""
    if padding is None:
        return np.zeros((rank, 2), np.int64)
    return constant_array(cast("DenseIntOrFPElementsAttr[Any]", padding))


def per_dimension(values: IntArray | None, name: str, rank: int, size: str, least: str) -> tuple[int, ...]:
    """A verified property of one positive integer per dimension; `size` and `least` name the constraints."""
    found = (1,) * rank if values is None else ints(values)
    if len(found) != rank:
        reject(f"{size}: {name} has {len(found)} entries for {rank} dimensions of the input")
    if not all(value > 0 for value in found):
        reject(f"{least}: {name} {found} are not all positive")
    return found


def verified_padding(padding: Attribute | None, rank: int, constraint: str) -> Array:
    """The verified amounts of a `padding` property."""
    if padding is not None:
        shape = shape_of(cast("DenseIntOrFPElementsAttr[Any]", padding).type)
        if shape != (rank, 2):
            reject(f"{constraint}: padding has shape {shape_text(shape)}, expected ({rank}, 2)")
    return padding_array(padding, rank)
