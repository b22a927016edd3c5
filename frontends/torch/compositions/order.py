"""Medians, modes and histograms."""

from __future__ import annotations

from typing import Any

from ..api import torch
from ..registry import composes


def _median(x: Any, dim: int, keepdim: bool, ignore_nan: bool) -> tuple[Any, Any]:
    """The lower median and its place; with NaN among the elements NaN, unless they are ignored."""
    if not x.dim():
        return x.clone(), torch.zeros((), dtype=torch.int64, device=x.device)
    size = x.shape[dim]
    values, places = torch.sort(x, dim=dim, stable=True)
    if not x.is_floating_point():
        middle = torch.full_like(values.narrow(dim, 0, 1), (size - 1) // 2, dtype=torch.int64)
    else:
        # NaN are sorted to the end.
        missing = x.isnan().sum(dim, keepdim=True, dtype=torch.int32).to(torch.int64)
        if ignore_nan:
            middle = ((size - missing - 1) // 2).clamp(min=0)
        else:
            middle = torch.where(missing > 0, size - missing, (size - 1) // 2)
    found = values.gather(dim, middle), places.gather(dim, middle)
    return found if keepdim else (found[0].squeeze(dim), found[1].squeeze(dim))


@composes("aten.median.dim")
def median_along(x: Any, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
    return _median(x, dim, keepdim, False)


@composes("aten.nanmedian.dim")
def nanmedian_along(x: Any, dim: int, keepdim: bool = False) -> tuple[Any, Any]:
    return _median(x, dim, keepdim, True)


def _whole(x: Any, ignore_nan: bool) -> Any:
    if not x.numel():
        return torch.full((), float("nan") if x.is_floating_point() else torch.iinfo(x.dtype).min, dtype=x.dtype)
    return _median(x.reshape(-1), 0, False, ignore_nan)[0]


@composes("aten.median")
def median(x: Any) -> Any:
    return _whole(x, False)


@composes("aten.nanmedian")
def nanmedian(x: Any) -> Any:
    return _whole(x, True)


@composes("aten.mode")
def mode(x: Any, dim: int = -1, keepdim: bool = False) -> tuple[Any, Any]:
    """The smallest of the most frequent elements, and its last place: the end of the first longest run in order."""
    if not x.dim():
        return x.clone(), torch.zeros((), dtype=torch.int64, device=x.device)
    size = x.shape[dim]
    values, places = torch.sort(x, dim=dim, stable=True)
    shape = [1] * x.dim()
    shape[dim] = size
    numbers = torch.arange(size, device=x.device).view(shape).expand(x.shape)
    before = values.roll(1, dim)
    starts = torch.where((values != before) | (numbers == 0), numbers, 0)
    run = numbers - starts.cummax(dim)[0]
    end = run.argmax(dim, keepdim=True)
    found = values.gather(dim, end), places.gather(dim, end)
    return found if keepdim else (found[0].squeeze(dim), found[1].squeeze(dim))


def _ends(x: Any, least: Any, most: Any, margin: float) -> tuple[Any, Any]:
    """The ends of a histogram: those of the elements if none are stated, and apart by twice a margin at least."""
    if least == most and x.numel():
        low, high = x.amin(), x.amax()
    else:
        low, high = (torch.full((), one, dtype=x.dtype, device=x.device) for one in (least, most))
    same = low == high
    return torch.where(same, low - margin, low), torch.where(same, high + margin, high)


def _added(flat: Any, place: Any, inside: Any, bins: int, weight: Any) -> Any:
    """The sum of the weights in each bin."""
    amount = inside.to(flat.dtype) if weight is None else torch.where(inside, weight.reshape(-1), 0)
    return torch.zeros(bins, dtype=flat.dtype, device=flat.device).index_add(0, place.clamp(0, bins - 1), amount)


def _place(flat: Any, low: Any, high: Any, bins: int) -> Any:
    """The bin of each element, of bins of one width; the last one includes its end."""
    return ((flat - low) * bins / (high - low)).to(torch.int64).clamp(0, bins - 1)


@composes("aten.histc")
def histc(x: Any, bins: int = 100, min: Any = 0, max: Any = 0) -> Any:
    if x.dtype in (torch.bfloat16, torch.float16):
        return NotImplemented
    flat = (x if x.is_floating_point() else x.double()).reshape(-1)
    low, high = _ends(flat, min, max, 1)
    return _added(flat, _place(flat, low, high, bins), (flat >= low) & (flat <= high), bins, None).to(x.dtype)


@composes("aten.histogram.bin_ct")
def histogram(
    x: Any, bins: int = 100, *, range: Any = None, weight: Any = None, density: bool = False
) -> tuple[Any, Any]:
    least, most = range or (0, 0)
    low, high = _ends(x, least, most, 0.5)
    # From both ends, as linspace counts.
    number, width = torch.arange(bins + 1, dtype=x.dtype, device=x.device), (high - low) / bins
    edges = torch.where(number < (bins + 1) // 2, low + width * number, high - width * (bins - number))
    flat = x.reshape(-1)
    place = _place(flat, low, high, bins)
    # The edges decide, which are rounded otherwise than places.
    place = place - (flat < edges[place]).to(torch.int64) + (flat >= edges[place + 1]).to(torch.int64)
    found = _added(flat, place, (flat >= low) & (flat <= high), bins, weight)
    return (found / (found.sum() * (high - low) / bins) if density else found), edges


@composes("aten.histogram.bins_tensor")
def histogram_between(x: Any, bins: Any, *, weight: Any = None, density: bool = False) -> tuple[Any, Any]:
    flat, number = x.reshape(-1), bins.shape[0] - 1
    place = torch.searchsorted(bins, flat, right=True) - 1
    found = _added(flat, place, (flat >= bins[0]) & (flat <= bins[-1]), number, weight)
    return (found / (found.sum() * bins.diff()) if density else found), bins.clone()
