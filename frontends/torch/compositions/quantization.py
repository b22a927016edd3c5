"""Numbers rounded as if they were stored as integers of few values."""

from __future__ import annotations

import math
from typing import Any

from ..api import torch
from ..registry import composes

_NONE = float("inf")
_INTEGERS = math.nextafter(2.0**63, 0)
"""Eager mode has the integers of channels in 64 bits."""


def _rounded(x: Any, scale: Any, zero_point: Any, least: int, most: int, limit: float) -> tuple[Any, Any]:
    """
    The numbers that integers from `least` to `most` stand for, and where `x` is not clipped to them.

    NaN, and what is beyond the limit, count as less than any integer.
    """
    wide = x.float() if x.dtype.itemsize < 4 else x
    whole = (wide * (1 / scale)).round() + zero_point
    whole = torch.where(whole.abs() <= limit, whole, least - 1)
    found = (whole.clamp(least, most) - zero_point) * scale
    return found.to(x.dtype), (whole >= least) & (whole <= most)


@composes("aten.fake_quantize_per_tensor_affine_cachemask")
def per_tensor(x: Any, scale: float, zero_point: int, quant_min: int, quant_max: int) -> tuple[Any, Any]:
    single = torch.full((), scale, dtype=torch.float32)
    return _rounded(x, single, zero_point, quant_min, quant_max, _NONE)


@composes("aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams")
def per_tensor_of_tensors(
    x: Any, scale: Any, zero_point: Any, fake_quant_enabled: Any, quant_min: int, quant_max: int
) -> tuple[Any, Any]:
    found, inside = _rounded(x, scale, zero_point, quant_min, quant_max, _NONE)
    on = fake_quant_enabled != 0
    return torch.where(on, found, x), inside | ~on


@composes("aten.fake_quantize_per_channel_affine_cachemask")
def per_channel(x: Any, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int) -> tuple[Any, Any]:
    shape = [-1 if dim == axis % x.dim() else 1 for dim in range(x.dim())]
    return _rounded(x, scale.view(shape), zero_point.view(shape), quant_min, quant_max, _INTEGERS)
