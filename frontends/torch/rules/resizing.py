"""Images of bytes, resized with the bits of eager mode."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....hlo_dialect.types import Array
from ...builder.builder import Value
from ..api import torch
from ..dtypes import Unlowered, converted, dtype_of
from ..registry import lowers
from ..step import Step, count
from .contractions import contract
from .indexing import take_along

MOST_WEIGHED = 16
"""Elements of a sum; of more, which compile for seconds, it is a product with a matrix, most of which is zero."""


def _triangle(x: Array) -> Array:
    return np.maximum(1 - abs(x), 0)


def _cubic(a: float) -> Callable[[Array], Array]:
    """Keys' kernel."""

    def kernel(x: Array) -> Array:
        x = abs(x)
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((x - 5) * x + 8) * x * a - 4 * a
        return np.where(x < 1, near, np.where(x < 2, far, 0.0))

    return kernel


@dataclass(frozen=True)
class _Weights:
    """The neighbours that are weighed for each element of a resized dimension."""

    first: Array
    """(outputs,): the first of them, so that all are elements."""
    parts: Array
    """(neighbours, outputs): integers, the weights in units of the last of `bits` bits after the point."""
    bits: int

    @staticmethod
    def of(size: int, places: Array, weights: Array) -> _Weights:
        """
        From places (k, outputs), which may repeat, and their weights.

        Eager mode multiplies bytes by integers of 16 bits, the weights as fractions with as many bits as these have
        room for, and adds up in 32 bits.
        """
        outputs: int = places.shape[1]
        count = int((places.max(0) - places.min(0)).max()) + 1
        first = np.minimum(places.min(0), size - count)
        found = np.zeros((count, outputs))
        for place, weight in zip(places, weights, strict=True):
            np.add.at(found, (place - first, np.arange(outputs)), weight)
        largest = float(found.max())
        bits = next((bits for bits in range(22) if int(0.5 + largest * 2 ** (bits + 1)) >= 1 << 15), 22)
        return _Weights(first, np.trunc(found * 2.0**bits + np.copysign(0.5, found)).astype(np.int64), bits)

    @property
    def reach(self) -> tuple[int, int]:
        """The least and the largest sum of weighed bytes, with a half."""
        half = 1 << (self.bits - 1)
        low = (np.minimum(self.parts, 0).sum(0).min() * 255).item() + half
        return low, (np.maximum(self.parts, 0).sum(0).max() * 255).item() + half


def _scale(size: int, outputs: int, align: bool, given: float | None) -> float:
    """The elements from one output to the next."""
    if align:
        return (size - 1) / (outputs - 1) if outputs > 1 else 0.0
    return 1 / given if given is not None and given > 0 else size / outputs


def neighbours(size: int, outputs: int, align: bool, given: float | None, cubic: bool) -> tuple[Array, Array]:
    """
    The places of the elements around each output's place, and their weights, both (neighbours, outputs).

    Beyond the ends, the elements there. `given`: the factor that the user states, or None.
    """
    reach, kernel = (2, _cubic(-0.75)) if cubic else (1, _triangle)
    scale, numbers = _scale(size, outputs, align, given), np.arange(outputs)
    place = scale * numbers if align else scale * (numbers + 0.5) - 0.5
    place = place if align or cubic else np.maximum(place, 0)
    near = np.minimum(np.floor(place), size - 1)
    part, taken = np.clip(place - near, 0, 1), np.arange(1 - reach, 1 + reach)[:, None]
    places = np.clip(near + taken, 0, size - 1).astype(np.int64)
    return places, kernel(taken - part)


def _interpolated(size: int, outputs: int, align: bool, given: float | None, cubic: bool) -> _Weights:
    return _Weights.of(size, *neighbours(size, outputs, align, given, cubic))


def _antialiased(size: int, outputs: int, align: bool, given: float | None, cubic: bool) -> _Weights:
    """The neighbours within a window, which is as wide as the step to the next output where that is longer."""
    reach, kernel = (2, _cubic(-0.5)) if cubic else (1, _triangle)
    scale = _scale(size, outputs, align, given)
    wide = max(scale, 1.0)
    centre = (np.arange(outputs) + 0.5) * scale
    first = np.maximum(np.trunc(centre - reach * wide + 0.5), 0)
    last = np.minimum(np.trunc(centre + reach * wide + 0.5), size)
    places = first + np.arange(min(size, math.ceil(2 * reach * wide) + 1))[:, None]
    own = places < last
    weights = np.where(own, kernel((places - centre + 0.5) * (1 / wide)), 0.0)
    total = weights.sum(0)
    places = np.where(own, places, np.maximum(last - 1, 0)).astype(np.int64)
    return _Weights.of(size, places, weights / np.where(total == 0, 1.0, total))


def _added(step: Step, x: Value, weights: _Weights) -> Value:
    """The sums in integers, neighbour by neighbour."""
    total: Value | None = None
    for number, part in enumerate(weights.parts):
        if not part.any():
            continue
        rows = take_along(step, x, step.constant(weights.first + number, torch.int64), 1)
        weight = step.constant(part, torch.int32).broadcast(rows.shape, [1])
        term = converted(rows, torch.int32) * weight
        total = term if total is None else total + term
    assert total is not None
    return total


def _multiplied(step: Step, x: Value, weights: _Weights) -> Value:
    """The sums as a product, in floats that hold them."""
    dtype = torch.float32 if max(map(abs, weights.reach)) < 1 << 24 else torch.float64
    matrix = np.zeros((x.shape[1], weights.parts.shape[1]))
    numbers = np.arange(matrix.shape[1])
    for number, part in enumerate(weights.parts):
        matrix[weights.first + number, numbers] = part
    total = contract(step, step.constant(matrix.T, dtype), converted(x, dtype), (), (1, 1))
    return converted(total, torch.int32).transpose([1, 0, 2])


def _weighed(step: Step, x: Value, weights: _Weights) -> Value:
    """Bytes (batch, rows, n) with the rows resized, rounded to the nearest, halves up."""
    few = len(weights.parts) <= MOST_WEIGHED
    total = _added(step, x, weights) if few else _multiplied(step, x, weights)
    least, most = weights.reach
    found = (total + (1 << (weights.bits - 1))).shift_right_arithmetic(weights.bits)
    if least < 0 or most >> weights.bits > 255:
        # Cubic weights reach beyond black and white.
        found = found.maximum(0).minimum(255)
    return converted(found, torch.uint8)


def _resized(
    step: Step, x: Value, align: bool, scales: Sequence[float | None], cubic: bool, weights_of: Callable[..., _Weights]
) -> Value:
    """
    Images (N, C, H, W): the columns first, in bytes again before the rows, as in eager mode.

    Both are sums of rows, which are vectors: the columns are made rows, and rows again.
    """
    if dtype_of(x) != torch.uint8:
        raise Unlowered(f"images of dtype {dtype_of(x)}")
    if not count(step.shape):
        return step.full(0, torch.uint8, step.shape)
    number, channels, height, width = x.shape
    last = step.operands[0].is_contiguous(memory_format=torch.channels_last)
    batch, inner = (number, channels) if last else (number * channels, 1)
    found = x.transpose([0, 2, 3, 1]) if last else x
    rows, columns = step.shape[2:]
    across, down = (
        None if before == after and not (given and given != 1) else weights_of(before, after, align, given, cubic)
        for before, after, given in zip((width, height), (columns, rows), reversed(scales), strict=True)
    )
    if across is not None:
        turned = found.reshape((batch, height, width * inner)).transpose([0, 2, 1])
        turned = _weighed(step, turned.reshape((batch, width, inner * height)), across)
        found = turned.reshape((batch, columns * inner, height)).transpose([0, 2, 1])
    if down is not None:
        found = _weighed(step, found.reshape((batch, height, columns * inner)), down)
    if last:
        return found.reshape((number, rows, columns, channels)).transpose([0, 3, 1, 2])
    return found.reshape(step.shape)


def _antialiased_by(cubic: bool) -> Callable[..., Value]:
    def rule(step: Step, x: Value, size: Any, align: bool, scale_h: Any = None, scale_w: Any = None) -> Value:
        return _resized(step, x, align, (scale_h, scale_w), cubic, _antialiased)

    return rule


lowers("aten._upsample_bilinear2d_aa")(_antialiased_by(False))
lowers("aten._upsample_bicubic2d_aa")(_antialiased_by(True))


@lowers("xhlo.resize_bytes")
def resize_bytes(step: Step, x: Value, size: Any, mode: str, align: bool, scale_h: Any, scale_w: Any) -> Value:
    return _resized(step, x, align, (scale_h, scale_w), mode == "bicubic", _interpolated)
