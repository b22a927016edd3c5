"""Random numbers whose parameters are tensors, by draws that depend on shapes only, as in torch's kernels for CPUs."""

from __future__ import annotations

from typing import Any

from ..api import torch
from ..registry import composes


@composes("aten.bernoulli")
def bernoulli(p: Any, *, generator: Any = None) -> Any:
    return (torch.rand_like(p, memory_format=torch.contiguous_format) < p).to(p.dtype)


@composes("aten.normal.Tensor_Tensor aten.normal.Tensor_float")
def normal(mean: Any, std: Any = 1.0, *, generator: Any = None) -> Any:
    shape = torch.broadcast_shapes(mean.shape, std.shape) if isinstance(std, torch.Tensor) else mean.shape
    return torch.randn(shape, dtype=mean.dtype) * std + mean


@composes("aten.normal.float_Tensor")
def normal_around(mean: float, std: Any, *, generator: Any = None) -> Any:
    return torch.randn(std.shape, dtype=std.dtype) * std + mean


@composes("aten.multinomial")
def multinomial(p: Any, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Any:
    """Without replacement the largest quotients of probabilities and exponential draws."""
    if not replacement or num_samples == 1:
        draws = torch.ops.aten.exponential(torch.empty_like(p, memory_format=torch.contiguous_format), 1.0)
        shares = p / draws
        return shares.argmax(-1, keepdim=True) if num_samples == 1 else shares.topk(num_samples)[1]
    total = p.cumsum(-1)
    shares = total / total[..., -1:]
    draws = torch.rand(*p.shape[:-1], num_samples, dtype=torch.float64)
    # The last one catches draws that rounding leaves above.
    return torch.searchsorted(shares.double(), draws).clamp(max=p.shape[-1] - 1)
