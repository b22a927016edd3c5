"""The gradient of `interpolate` of images of floats, as sums of neighbours rather than additions at places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...hlo_dialect.types import Array
from .api import required, torch
from .rules.resizing import MOST_WEIGHED, neighbours

_suggested: Any = required("torch._prims_common").suggest_memory_format


Taps = Callable[[int, int, float | None], tuple[Array, Array]]
"""From (size, outputs, the factor that is stated) to the places that outputs are made of and their weights."""


def nearest(exact: bool) -> Taps:
    """The places of `nearest`, or of `nearest-exact`, in the arithmetic of eager mode: f32."""

    def taps(size: int, outputs: int, given: float | None) -> tuple[Array, Array]:
        scale = size / (size * given) if given is not None and given > 0 else size / outputs
        places = ((np.arange(outputs, dtype=np.float32) + np.float32(exact / 2)) * np.float32(scale)).astype(np.int64)
        return np.minimum(places, size - 1)[None], np.ones((1, outputs))

    return taps


def weighed(align: bool, cubic: bool) -> Taps:
    """The neighbours of linear or cubic interpolation."""
    return lambda size, outputs, given: neighbours(size, outputs, align, given, cubic)


def _collected(gradient: Any, dim: int, size: int, places: Array, weights: Array) -> Any:
    """For each of `size` elements along a dimension, the weighed sum of the gradients of what it contributed to."""
    outputs: int = gradient.shape[dim]
    repeated = outputs // max(size, 1)
    if len(places) == 1 and np.array_equal(places[0], np.arange(size).repeat(repeated)) and (weights == 1).all():
        return gradient.unflatten(dim, (size, repeated)).sum(dim + 1) if repeated > 1 else gradient
    matrix = np.zeros((size, outputs))
    for place, weight in zip(places, weights, strict=True):
        np.add.at(matrix, (place, np.arange(outputs)), weight)
    used = matrix != 0
    first = used.argmax(1)
    counts = np.where(used.any(1), outputs - used[:, ::-1].argmax(1) - first, 0)
    most = int(counts.max())
    if most > MOST_WEIGHED:
        by = torch.tensor(matrix.T, dtype=gradient.dtype)
        return (gradient.transpose(dim, -1) @ by).transpose(dim, -1)
    shape = [size if one == dim else 1 for one in range(gradient.dim())]
    total: Any = None
    for number in range(most):
        taken = np.minimum(first + number, outputs - 1)
        part = torch.index_select(gradient, dim, torch.tensor(taken, dtype=torch.int32))
        part = part * torch.tensor(matrix[np.arange(size), taken], dtype=gradient.dtype).reshape(shape)
        if (counts <= number).any():
            # The gradients of others may be infinite.
            part = torch.where(torch.tensor(counts > number).reshape(shape), part, 0.0)
        total = part if total is None else total + part
    return total


class Interpolated(torch.autograd.Function):
    """`resize`, a function of the image, which is `interpolate` without antialiasing to a size that is known."""

    @staticmethod
    def forward(ctx: Any, x: Any, resize: Callable[[Any], Any], taps: Taps, scales: Sequence[float | None]) -> Any:
        ctx.size, ctx.dtype, ctx.taps, ctx.scales = tuple(x.shape[2:]), x.dtype, taps, scales
        return resize(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (gradient,) = gradients
        found = gradient.to(torch.float64 if ctx.dtype == torch.float64 else torch.float32)
        # As it lies in memory, so that nothing is transposed.
        layout = _suggested(gradient)
        is_last = layout != torch.contiguous_format
        found = found.movedim(1, -1) if is_last else found
        # Rows first: what is left for single elements is less.
        for dim, (size, scale) in enumerate(zip(ctx.size, ctx.scales, strict=True), 1 if is_last else 2):
            found = _collected(found, dim, size, *ctx.taps(size, found.shape[dim], scale))
        found = found.movedim(-1, 1) if is_last else found
        return found.to(ctx.dtype, memory_format=layout), None, None, None
