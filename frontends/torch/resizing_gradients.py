"""The gradient of `interpolate` of images of floats, as sums of neighbours rather than additions at places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .api import required, torch
from .rules.resizing import MOST_WEIGHED, neighbours

_suggested: Any = required("torch._prims_common").suggest_memory_format


def _collected(gradient: Any, dim: int, size: int, align: bool, given: float | None, cubic: bool) -> Any:
    """For each of `size` elements along a dimension, the weighed sum of the gradients of what it contributed to."""
    outputs: int = gradient.shape[dim]
    matrix = np.zeros((size, outputs))
    places, weights = neighbours(size, outputs, align, given, cubic)
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
    def forward(
        ctx: Any, x: Any, resize: Callable[[Any], Any], align: bool, scales: Sequence[float | None], cubic: bool
    ) -> Any:
        ctx.size, ctx.dtype, ctx.stated = tuple(x.shape[2:]), x.dtype, (align, scales, cubic)
        return resize(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (gradient,), (align, scales, cubic) = gradients, ctx.stated
        found = gradient.to(torch.float64 if ctx.dtype == torch.float64 else torch.float32)
        # As it lies in memory, so that nothing is transposed.
        layout = _suggested(gradient)
        is_last = layout == torch.channels_last
        found = found.permute(0, 2, 3, 1) if is_last else found
        # Rows first: what is left for single elements is less.
        for dim, (size, scale) in enumerate(zip(ctx.size, scales, strict=True), 1 if is_last else 2):
            found = _collected(found, dim, size, align, scale, cubic)
        found = found.permute(0, 3, 1, 2) if is_last else found
        return found.to(ctx.dtype, memory_format=layout), None, None, None, None
