"""Pooling over windows of different sizes, the gradients of maxima, sums of windows, and resizing without aliasing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..api import required, torch
from ..registry import composes

_memory_format: Any = required("torch._prims_common").suggest_memory_format


def _largest(x: Any, places: Sequence[Any], kept: Sequence[Any]) -> tuple[Any, Any]:
    """
    The largest element of each window and its place.

    places, kept: for each dimension that is pooled (windows, most elements), the places along it and which of them are
    part of the window. Those of `x` are the last ones. Results lie in memory as `x` does.
    """
    rank = len(places)
    lead = x.dim() - rank
    shape = x.shape[lead:]
    outputs, sizes = [one.shape[0] for one in places], [one.shape[1] for one in places]
    flat: Any = None
    mask: Any = None
    for dim, (place, own) in enumerate(zip(places, kept, strict=True)):
        view = [1] * (2 * rank)
        view[dim], view[rank + dim] = place.shape
        step = math.prod(shape[dim + 1 :])
        here, inside = (place * step).view(view), own.view(view)
        flat = here if flat is None else flat + here
        mask = inside if mask is None else mask & inside
    flat = flat.expand(*outputs, *sizes).reshape(math.prod(outputs), math.prod(sizes))
    mask = mask.expand(*outputs, *sizes).reshape(math.prod(outputs), math.prod(sizes))
    # Channels that are last in memory stay there: what is taken are whole rows of them.
    inner = 1 if lead == 2 and _memory_format(x) != torch.contiguous_format else 0
    elements = x.movedim(1, -1).flatten(1, rank)[:, flat] if inner else x.flatten(lead)[..., flat]
    dim = elements.dim() - 1 - inner
    low = float("-inf") if x.is_floating_point() else torch.iinfo(x.dtype).min
    elements = torch.where(mask.unsqueeze(-1) if inner else mask, elements, low)
    best = elements.argmax(dim, keepdim=True)
    where = (flat.unsqueeze(-1) if inner else flat).expand(elements.shape).gather(dim, best)
    found = [one.squeeze(dim).unflatten(dim - 1, outputs) for one in (elements.gather(dim, best), where)]
    value, place = (one.movedim(-1, 1) for one in found) if inner else found
    return value, place


def _adaptive(x: Any, output_size: Sequence[int]) -> tuple[Any, Any]:
    places: list[Any] = []
    kept: list[Any] = []
    for size, windows in zip(x.shape[x.dim() - len(output_size) :], output_size, strict=True):
        starts = [one * size // windows for one in range(windows)]
        ends = [-(-(one + 1) * size // windows) for one in range(windows)]
        most = max((end - start for start, end in zip(starts, ends, strict=True)), default=1)
        begin = torch.arange(windows, device=x.device) * size // max(windows, 1)
        end = -(-(torch.arange(windows, device=x.device) + 1) * size // max(windows, 1))
        place = begin.unsqueeze(1) + torch.arange(most, device=x.device)
        kept.append(place < end.unsqueeze(1))
        places.append(place.clamp(max=size - 1))
    return _largest(x, places, kept)


@composes("aten.adaptive_max_pool2d")
def adaptive_max_pool2d(x: Any, output_size: Sequence[int]) -> tuple[Any, Any]:
    return _adaptive(x, output_size)


@composes("aten.adaptive_max_pool3d")
def adaptive_max_pool3d(x: Any, output_size: Sequence[int]) -> tuple[Any, Any]:
    return _adaptive(x, output_size)


def _fractional(
    x: Any, kernel_size: Sequence[int], output_size: Sequence[int], samples: Any, order: Sequence[int]
) -> tuple[Any, Any]:
    """Windows whose beginnings are random; `samples` has a number for each channel and dimension, in that order."""
    rank = len(output_size)
    batched = x if x.dim() == rank + 2 else x.unsqueeze(0)
    number, channels, *shape = batched.shape
    flat: Any = 0
    for dim in range(rank):
        size, window, windows = shape[dim], kernel_size[dim], output_size[dim]
        sample = samples[..., order[dim]].reshape(number, channels, 1)
        steps = torch.arange(windows, device=x.device)
        if windows > 1:
            width = (size - window) / (windows - 1)
            start = ((steps + sample) * width).to(torch.int64) - (sample * width).to(torch.int64)
            start = torch.where(steps == windows - 1, size - window, start)
        else:
            start = torch.full((number, channels, 1), size - window, device=x.device)
        place = start.unsqueeze(-1) + torch.arange(window, device=x.device)
        view = [number, channels, *[1] * (2 * rank)]
        view[2 + dim], view[2 + rank + dim] = windows, window
        flat = flat + place.reshape(view) * math.prod(shape[dim + 1 :])
    flat = flat.flatten(2 + rank)
    elements = batched.flatten(2).gather(2, flat.flatten(2)).reshape(flat.shape)
    best = elements.argmax(-1, keepdim=True)
    found = elements.gather(-1, best).squeeze(-1), flat.gather(-1, best).squeeze(-1)
    return found if batched is x else (found[0].squeeze(0), found[1].squeeze(0))


@composes("aten.fractional_max_pool2d")
def fractional_max_pool2d(x: Any, kernel_size: Any, output_size: Any, samples: Any) -> tuple[Any, Any]:
    return _fractional(x, kernel_size, output_size, samples, (1, 0))


@composes("aten.fractional_max_pool3d")
def fractional_max_pool3d(x: Any, kernel_size: Any, output_size: Any, samples: Any) -> tuple[Any, Any]:
    return _fractional(x, kernel_size, output_size, samples, (0, 1, 2))


def _scattered(gradient: Any, x: Any, indices: Any, rank: int) -> Any:
    """The gradients of the windows, at the places of their maxima."""
    lead = x.dim() - rank
    zeros = torch.zeros_like(x, memory_format=torch.contiguous_format).flatten(lead)
    found = zeros.scatter_add(lead, indices.flatten(lead), gradient.flatten(lead)).reshape(x.shape)
    return found.contiguous(memory_format=_memory_format(x))


@composes("aten.adaptive_max_pool2d_backward")
def adaptive_max_pool2d_backward(gradient: Any, x: Any, indices: Any) -> Any:
    return _scattered(gradient, x, indices, 2)


@composes("aten.adaptive_max_pool3d_backward")
def adaptive_max_pool3d_backward(gradient: Any, x: Any, indices: Any) -> Any:
    return _scattered(gradient, x, indices, 3)


@composes("aten.fractional_max_pool2d_backward")
def fractional_max_pool2d_backward(gradient: Any, x: Any, kernel_size: Any, output_size: Any, indices: Any) -> Any:
    return _scattered(gradient, x, indices, 2)


@composes("aten.fractional_max_pool3d_backward")
def fractional_max_pool3d_backward(gradient: Any, x: Any, kernel_size: Any, output_size: Any, indices: Any) -> Any:
    return _scattered(gradient, x, indices, 3)


_ADDITIONS = 16
"""The most windows over one element that are added up one by one."""


@composes("aten.unfold_backward")
def unfold_backward(gradient: Any, input_size: Sequence[int], dimension: int, size: int, step: int) -> Any:
    """
    The sums of the windows that `unfold` takes, where they overlap (the inverse of a short-time transform adds so).

    Windows are cut in parts as long as a step; the parts of one number do not overlap. Elements are added in the order
    of their windows, as in eager mode.
    """
    if not input_size:
        return torch.squeeze_copy(gradient, 0)
    dim, length = dimension % len(input_size), input_size[dimension]
    windows, parts = gradient.shape[dim], -(-size // step)
    rows = gradient.movedim(-1, dim + 1)
    if not 0 < parts <= _ADDITIONS:
        places = torch.arange(length, device=gradient.device).unfold(0, size, step).flatten()
        return gradient.new_zeros(input_size).index_add(dim, places, rows.flatten(dim, dim + 1))
    blocks = _padded(rows, dim + 1, 0, parts * step - size).unflatten(dim + 1, (parts, step))
    total: Any = None
    for part in reversed(range(parts)):
        own = _padded(blocks.select(dim + 1, part), dim, part, parts - 1 - part)
        total = own if total is None else total + own
    covered = (windows + parts - 1) * step
    return _padded(total.flatten(dim, dim + 1), dim, 0, length - covered)


def _padded(x: Any, dim: int, before: int, after: int) -> Any:
    """With zeros at both ends of a dimension; a negative number takes elements away."""
    if not before and not after:
        return x
    return torch.constant_pad_nd(x, [0, 0] * (x.dim() - 1 - dim) + [before, after])


# Resizing without aliasing: weighed sums of neighbours along each dimension.

_MOST_WEIGHED = 16
"""Elements of a sum; of more, it is a product with a matrix of weights, most of which are zero."""

_ROWS, _COLUMNS = 2, 10
"""How much longer than a sum a dimension is for which sums take less time: of rows, and of single elements."""


def _triangle(x: Any) -> Any:
    return (1 - x).clamp(min=0)


def _cubic(x: Any) -> Any:
    """Keys' kernel with a = -1/2."""
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return torch.where(x < 1, near, torch.where(x < 2, far, 0.0))


def _column(count: int) -> Any:
    return torch.arange(count, dtype=torch.float64).unsqueeze(1)


class _Resized:
    """The elements that are weighed for each output along one dimension, which are neighbours."""

    def __init__(
        self, size: int, outputs: int, align: bool, given: float | None, kernel: Callable[[Any], Any], reach: int
    ):
        if align:
            scale = (size - 1) / (outputs - 1) if outputs > 1 else 0.0
        else:
            scale = 1 / given if given is not None and given > 0 else size / outputs
        self.size, self.outputs, self.scale, self.kernel = size, outputs, scale, kernel
        self.wide = max(scale, 1.0)
        """Elements from one weight to the next: a window is as wide as a step where that is longer."""
        self.support = reach * self.wide
        self.centre = (torch.arange(outputs, dtype=torch.float64) + 0.5) * scale
        self.first = (self.centre - self.support + 0.5).trunc().clamp(min=0)
        self.last = (self.centre + self.support + 0.5).trunc().clamp(max=size)

    @property
    def most(self) -> int:
        """The most elements of an output."""
        return min(self.size, math.ceil(2 * self.support) + 1)

    def weights(self, place: Any, dtype: Any) -> Any:
        """The weights of the elements at places (first index) in each output."""
        found = self.kernel(((place - self.centre + 0.5) * (1 / self.wide)).abs())
        found = torch.where((place >= self.first) & (place < self.last), found, 0.0)
        total = found.sum(0)
        return (found / torch.where(total == 0, 1.0, total)).to(dtype)

    def matrix(self, dtype: Any) -> Any:
        """The weight of each element (first index) in each output."""
        return self.weights(_column(self.size), dtype)

    def of(self, x: Any, dim: int) -> Any:
        """A tensor resized along a dimension. Elements that are not its own count nothing: they may be infinite."""
        least = self.most * (_COLUMNS if dim == x.dim() - 1 else _ROWS)
        if self.most > _MOST_WEIGHED or self.size < least:
            return (x.transpose(dim, -1) @ self.matrix(x.dtype)).transpose(dim, -1)
        taken = _column(self.most)
        weights = self.weights(self.first + taken, x.dtype)
        places = torch.minimum(self.first + taken, self.last - 1).to(torch.int32)
        own = self.first + taken < self.last
        shape = [1] * x.dim()
        shape[dim] = self.outputs
        total: Any = None
        for place, weight, kept in zip(places, weights, own, strict=True):
            part = torch.index_select(x, dim, place) * weight.reshape(shape)
            if total is not None:
                part = torch.where(kept.reshape(shape), part, 0.0)
            total = part if total is None else total + part
        return total


def _resized(x: Any, shape: Any, outputs: Any, align: bool, scales: Any, kernel: Any, reach: int, back: bool) -> Any:
    given = [
        (size, number, align, scale, kernel, reach)
        for size, number, scale in zip(shape[2:], outputs, scales, strict=True)
    ]
    dtype = torch.float64 if x.dtype == torch.float64 else torch.float32
    height, width = (_Resized(*one) for one in given)
    if back:
        return (height.matrix(dtype) @ x.to(dtype) @ width.matrix(dtype).t()).to(x.dtype)
    return width.of(height.of(x.to(dtype), 2), 3).to(x.dtype)


def _antialiased(name: str, kernel: Callable[[Any], Any], reach: int) -> None:
    @composes(f"aten._upsample_{name}2d_aa")
    def forward(x: Any, output_size: Any, align_corners: bool, scales_h: Any = None, scales_w: Any = None) -> Any:
        if x.dtype == torch.uint8:
            return NotImplemented
        found = _resized(x, x.shape, output_size, align_corners, (scales_h, scales_w), kernel, reach, False)
        return found.contiguous(memory_format=_memory_format(x))

    @composes(f"aten._upsample_{name}2d_aa_backward")
    def backward(
        gradient: Any,
        output_size: Any,
        input_size: Any,
        align: bool,
        scales_h: Any = None,
        scales_w: Any = None,
    ) -> Any:
        return _resized(gradient, input_size, output_size, align, (scales_h, scales_w), kernel, reach, True)

    del forward, backward


_antialiased("bilinear", _triangle, 1)
_antialiased("bicubic", _cubic, 2)
