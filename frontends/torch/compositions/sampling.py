"""Samples of images and volumes at computed places, `grid_sample`, and their gradients."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

from ..api import torch
from ..registry import composes

_BILINEAR, _NEAREST, _BICUBIC = 0, 1, 2
_ZEROS, _BORDER, _REFLECTION = 0, 1, 2


def _reflected(x: Any, low: float, high: float) -> Any:
    """Places reflected into an interval as often as needed."""
    if high <= low:
        return torch.zeros_like(x)
    span = high - low
    away = (x - low).abs()
    turns, rest = (away / span).floor(), torch.fmod(away, span)
    return torch.where(turns % 2 == 0, rest + low, span - rest + low)


def _scale(size: int, align: bool) -> float:
    """The elements between -1 and 0."""
    return (size - 1) / 2 if align else size / 2


def _plain(x: Any, size: int, align: bool) -> Any:
    """From [-1, 1] to the places of elements, also those outside."""
    return (x + 1) / 2 * (size - 1) if align else ((x + 1) * size - 1) / 2


def _inside(x: Any, size: int, padding: int, align: bool) -> Any:
    """Places moved inside, if the padding says so."""
    if padding == _REFLECTION:
        low, high = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
        x = _reflected(x, low, high)
    return x if padding == _ZEROS else x.clamp(0, size - 1)


def _place(x: Any, size: int, padding: int, align: bool) -> Any:
    return _inside(_plain(x, size, align), size, padding, align)


def _slope(x: Any, size: int, padding: int, align: bool) -> Any:
    """The gradient of `_place`, which is zero where the place is clipped, and turns with each reflection."""
    plain = _plain(x, size, align)
    found = torch.full_like(x, _scale(size, align))
    if padding == _ZEROS:
        return found
    if padding == _REFLECTION:
        low, high = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
        if high <= low:
            return torch.zeros_like(x)
        away = plain - low
        turns = (away.abs() / (high - low)).floor()
        found = torch.where((turns % 2 == 0) == (away >= 0), found, -found)
        plain = _reflected(plain, low, high)
    return torch.where((plain > 0) & (plain < size - 1), found, 0.0)


class _Grid:
    """
    The places of a grid: (N, *outputs, rank), the last dimension of the volume first.

    Those outside are moved inside if the padding says so, and if `moved`.
    """

    def __init__(self, x: Any, grid: Any, padding: int, align: bool, moved: bool = True):
        self.shape = list(x.shape[2:])
        self.rank = len(self.shape)
        self.flat = x.flatten(2)
        self.index_dtype = torch.int32 if self.flat.shape[2] < 1 << 31 else torch.int64
        self.sizes = list(reversed(self.shape))
        place = partial(_place, padding=padding, align=align) if moved else partial(_plain, align=align)
        self.places = [place(grid[..., dim], size) for dim, size in enumerate(self.sizes)]

    def chosen(self, corner: Any) -> tuple[Any, Any]:
        """The flat place of whole coordinates, and whether they are inside."""
        flat: Any = 0
        inside: Any = None
        step = 1
        for place, size in zip(corner, self.sizes, strict=True):
            here = (place >= 0) & (place < size)
            inside = here if inside is None else inside & here
            flat = flat + place.clamp(0, size - 1).to(self.index_dtype) * step
            step *= size
        return flat, inside

    def values(self, flat: Any, inside: Any) -> Any:
        """The elements of each channel at flat places, zero outside."""
        number, channels, _ = self.flat.shape
        places = flat.reshape(number, 1, -1).expand(-1, channels, -1)
        found = self.flat.gather(2, places).reshape(number, channels, *flat.shape[1:])
        return torch.where(inside.unsqueeze(1), found, 0.0)

    def added(self, into: Any, flat: Any, inside: Any, amount: Any) -> Any:
        """The elements of each channel with amounts added at flat places; none outside."""
        number, channels, _ = self.flat.shape
        places = flat.reshape(number, 1, -1).expand(-1, channels, -1)
        return into.scatter_add(2, places, torch.where(inside.unsqueeze(1), amount, 0.0).flatten(2))

    def corners(self) -> Any:
        """For each corner around the places: its coordinates, and for each dimension its share and that one's sign."""
        floors = [place.floor() for place in self.places]
        for ends in itertools.product((0, 1), repeat=self.rank):
            coordinates = [floor + end for floor, end in zip(floors, ends, strict=True)]
            parts = [place - floor for place, floor in zip(self.places, floors, strict=True)]
            shares = [part if end else 1 - part for part, end in zip(parts, ends, strict=True)]
            yield coordinates, shares, [1 if end else -1 for end in ends]


def _product(shares: Any) -> Any:
    found: Any = None
    for one in shares:
        found = one if found is None else found * one
    return found


@composes("aten.grid_sampler_3d")
def grid_sampler_3d(x: Any, grid: Any, mode: int, padding: int, align: bool) -> Any:
    found = _Grid(x, grid, padding, align)
    if mode == _NEAREST:
        return found.values(*found.chosen([place.round() for place in found.places]))
    total: Any = 0
    for corner, shares, _ in found.corners():
        total = total + found.values(*found.chosen(corner)) * _product(shares).unsqueeze(1)
    return total


def _backward(gradient: Any, x: Any, grid: Any, mode: int, padding: int, align: bool, mask: Any) -> Any:
    found = _Grid(x, grid, padding, align)
    into = torch.zeros_like(found.flat)
    if mode == _NEAREST:
        flat, inside = found.chosen([place.round() for place in found.places])
        return found.added(into, flat, inside, gradient).reshape(x.shape), torch.zeros_like(grid)
    slopes: list[Any] = [0] * found.rank
    for corner, shares, signs in found.corners():
        flat, inside = found.chosen(corner)
        if mask[0]:
            into = found.added(into, flat, inside, gradient * _product(shares).unsqueeze(1))
        if mask[1]:
            pull = (found.values(flat, inside) * gradient).sum(1)
            for dim in range(found.rank):
                others = [share for one, share in enumerate(shares) if one != dim]
                slopes[dim] = slopes[dim] + pull * _product(others) * signs[dim]
    of_grid = None
    if mask[1]:
        steps = [_slope(grid[..., dim], size, padding, align) for dim, size in enumerate(found.sizes)]
        of_grid = torch.stack([one * step for one, step in zip(slopes, steps, strict=True)], -1)
    return (into.reshape(x.shape) if mask[0] else None), of_grid


def _near(x: Any) -> tuple[Any, Any]:
    """Keys' kernel with a = -3/4 up to 1, and its slope."""
    return (1.25 * x - 2.25) * x * x + 1, (3.75 * x - 4.5) * x


def _far(x: Any) -> tuple[Any, Any]:
    """The same from 1 to 2."""
    return ((-0.75 * x + 3.75) * x - 6) * x + 3, (-2.25 * x + 7.5) * x - 6


def _cubic(part: Any) -> tuple[Any, Any]:
    """
    The shares of the four elements around a place that is a part of a step beyond the second, and their slopes, along a
    new dimension after the first.
    """
    shares, slopes = zip(_far(part + 1), _near(part), _near(1 - part), _far(2 - part), strict=True)
    return torch.stack(shares, 1), torch.stack([*slopes[:2], -slopes[2], -slopes[3]], 1)


class _Taps:
    """
    The 16 elements around each place, in dimensions 1 (down) and 2 (across); those outside are moved inside one by one,
    if the padding says so.
    """

    def __init__(self, x: Any, grid: Any, padding: int, align: bool):
        self.grid = found = _Grid(x, grid, padding, align, moved=False)
        floors = [place.floor() for place in found.places]
        taps = torch.arange(-1, 3, dtype=grid.dtype, device=grid.device).view(4, 1, 1)
        corner = [
            _inside(floor.unsqueeze(1) + taps, size, padding, align)
            for floor, size in zip(floors, found.sizes, strict=True)
        ]
        across, down = (_cubic(place - floor) for place, floor in zip(found.places, floors, strict=True))
        self.across, self.slope_across = (one.unsqueeze(1) for one in across)
        self.down, self.slope_down = (one.unsqueeze(2) for one in down)
        self.flat, self.inside = found.chosen([corner[0].unsqueeze(1), corner[1].unsqueeze(2)])

    def values(self) -> Any:
        """The elements of each channel."""
        return self.grid.values(self.flat, self.inside)


def _bicubic(x: Any, grid: Any, padding: int, align: bool) -> Any:
    taps = _Taps(x, grid, padding, align)
    return (taps.values() * (taps.across * taps.down).unsqueeze(1)).sum((2, 3))


def _bicubic_backward(gradient: Any, x: Any, grid: Any, mode: int, padding: int, align: bool, mask: Any) -> Any:
    taps = _Taps(x, grid, padding, align)
    wide = gradient[:, :, None, None]
    into = of_grid = None
    if mask[0]:
        amount = wide * (taps.across * taps.down).unsqueeze(1)
        into = taps.grid.added(torch.zeros_like(taps.grid.flat), taps.flat, taps.inside, amount).reshape(x.shape)
    if mask[1]:
        pull = (taps.values() * wide).sum(1)
        slopes = [pull * taps.slope_across * taps.down, pull * taps.across * taps.slope_down]
        steps = [_scale(size, align) for size in taps.grid.sizes]
        of_grid = torch.stack([one.sum((1, 2)) * step for one, step in zip(slopes, steps, strict=True)], -1)
    return into, of_grid


@composes("aten.grid_sampler_2d")
def grid_sampler_2d(x: Any, grid: Any, mode: int = 0, padding: int = 0, align: bool = False) -> Any:
    return _bicubic(x, grid, padding, align) if mode == _BICUBIC else grid_sampler_3d(x, grid, mode, padding, align)


@composes("aten.grid_sampler_3d_backward")
def grid_sampler_3d_backward(
    gradient: Any, x: Any, grid: Any, mode: int, padding: int, align: bool, output_mask: Any
) -> Any:
    return _backward(gradient, x, grid, mode, padding, align, output_mask)


@composes("aten.grid_sampler_2d_backward")
def grid_sampler_2d_backward(
    gradient: Any, x: Any, grid: Any, mode: int, padding: int, align: bool, output_mask: Any
) -> Any:
    backward = _bicubic_backward if mode == _BICUBIC else _backward
    return backward(gradient, x, grid, mode, padding, align, output_mask)
