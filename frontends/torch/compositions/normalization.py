"""The gradient of normalizations of groups of channels, as images with the channels last lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..api import required, torch
from ..registry import composes

_known: Any = required("torch._decomp.decompositions")
_common: Any = required("torch._prims_common")


@composes("aten.native_group_norm_backward")
def group_norm_backward(
    grad_output: Any, x: Any, mean: Any, rstd: Any, gamma: Any, batch: int, channels: int, pixels: int, groups: int,
    output_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:  # fmt: skip
    """
    The gradients of the input, the factors and the offsets, None for those that are not wanted.

    With the channels elsewhere, torch's decomposition, whose views of images with the channels last are transposes.
    """
    layout = _common.suggest_memory_format(x)
    if layout == torch.contiguous_format:
        return _known.native_group_norm_backward(
            grad_output, x, mean, rstd, gamma, batch, channels, pixels, groups, output_mask
        )
    each = (batch, pixels, groups, channels // groups)
    wide: Any = torch.promote_types(mean.dtype, torch.float32)
    order = [0, *range(2, x.dim()), 1]
    slope, value = (one.permute(order).reshape(each).to(wide) for one in (grad_output, x))
    mean, rstd = (one.reshape(batch, groups, 1).to(wide) for one in (mean, rstd))
    products, slopes = (slope * value).sum(1), slope.sum(1)
    found = factors = None
    if output_mask[0]:
        weight = torch.ones_like(slopes[:1]) if gamma is None else gamma.reshape(1, *each[2:]).to(wide)
        share = 1.0 / max(1, pixels * each[3])
        product, total = ((one * weight).sum(-1, keepdim=True) for one in (products, slopes))
        by_value = (total * mean - product) * rstd * rstd * rstd * share
        offset = -by_value * mean - total * rstd * share
        by_slope = rstd * weight
        found = slope * by_slope.unsqueeze(1) + value * by_value.unsqueeze(1) + offset.unsqueeze(1)
        found = found.to(x.dtype).reshape(batch, *x.shape[2:], channels)
        found = found.permute(0, x.dim() - 1, *range(1, x.dim() - 1)).contiguous(memory_format=layout)
    if output_mask[1]:
        factors = ((products - slopes * mean) * rstd).sum(0).reshape(channels).to(_dtype(gamma, x))
    offsets = slopes.sum(0).reshape(channels).to(_dtype(gamma, x)) if output_mask[2] else None
    return found, factors, offsets


def _dtype(gamma: Any, x: Any) -> Any:
    return x.dtype if gamma is None else gamma.dtype
