"""Distances between rows, and products of three tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..api import torch
from ..registry import composes


@composes("aten.addbmm")
def addbmm(x: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    total = torch.einsum("bij,bjk->ik", batch1, batch2)
    if not x.is_floating_point() and not x.is_complex():
        alpha, beta = int(alpha), int(beta)
    scaled = total if alpha == 1 else total * alpha
    # A factor of zero leaves out infinities and NaN.
    return scaled.to(x.dtype) if beta == 0 else (x if beta == 1 else x * beta) + scaled


@composes("aten._trilinear")
def trilinear(
    one: Any, two: Any, three: Any, expand1: Sequence[int], expand2: Sequence[int], expand3: Sequence[int],
    sumdim: Sequence[int], unroll_dim: int = 1,
) -> Any:  # fmt: skip
    wide: list[Any] = []
    for tensor, dims in ((one, expand1), (two, expand2), (three, expand3)):
        for dim in sorted(dims):
            tensor = tensor.unsqueeze(dim)
        wide.append(tensor)
    found = wide[0] * wide[1] * wide[2]
    return found.sum(list(sumdim)) if sumdim else found


def _norm(away: Any, p: float) -> Any:
    size = away.abs()
    if p == 0:
        return (size != 0).to(away.dtype).sum(-1)
    if p == 1:
        return size.sum(-1)
    if p == 2:
        return (away * away).sum(-1).sqrt()
    if math.isinf(p):
        return size.amax(-1) if size.shape[-1] else size.sum(-1)
    return size.pow(p).sum(-1).pow(1 / p)


def _slopes(gradient: Any, away: Any, distance: Any, p: float) -> Any:
    """The gradients of distances by the differences; zero where the distance is."""
    scale, gradient = distance.unsqueeze(-1), gradient.unsqueeze(-1)
    if p == 0:
        return torch.zeros_like(away * gradient)
    if p == 1:
        return gradient * away.sign()
    if math.isinf(p):
        return gradient * away.sign() * (away.abs() == scale).to(away.dtype)
    if p == 2:
        # A division for each pair, not for each element.
        return away * torch.where(scale == 0, 0.0, gradient / scale)
    found = away.sign() * away.abs().pow(p - 1) * gradient / scale.pow(p - 1)
    empty = (scale == 0) if p >= 1 else (scale == 0) | (away == 0)
    return torch.where(empty, 0.0, found)


def _differences(x: Any, y: Any) -> Any:
    return x.unsqueeze(-2) - y.unsqueeze(-3)


@composes("aten._cdist_forward")
def cdist(x: Any, y: Any, p: float, compute_mode: int | None) -> Any:
    return _norm(_differences(x, y), p)


@composes("aten._cdist_backward")
def cdist_backward(gradient: Any, x: Any, y: Any, p: float, distance: Any) -> Any:
    slopes = _slopes(gradient, _differences(x, y), distance, p)
    return slopes.sum(-2).sum_to_size(x.shape)


def _pairs(count: int, device: Any) -> tuple[Any, Any]:
    places = torch.triu_indices(count, count, 1, device=device)
    return places[0], places[1]


@composes("aten._pdist_forward")
def pdist(x: Any, p: float = 2.0) -> Any:
    one, other = _pairs(x.shape[0], x.device)
    return _norm(x[one] - x[other], p)


def _of_every_pair(of_pairs: Any, count: int) -> Any:
    """From an element for each pair the symmetric matrix; its diagonal has any of them."""
    numbers = torch.arange(count, device=of_pairs.device)
    low, high = torch.minimum(numbers[:, None], numbers), torch.maximum(numbers[:, None], numbers)
    # The diagonal's numbers would be those of pairs in the row before, below 0 in the first.
    return of_pairs[(low * (2 * count - low - 3) // 2 + high - 1).clamp(min=0)]


@composes("aten._pdist_backward")
def pdist_backward(gradient: Any, x: Any, p: float, distance: Any) -> Any:
    count = x.shape[0]
    if count > 1 and (p in (0, 1, 2) or math.isinf(p)):
        # Sums over the other rows; each difference is computed twice, which costs less than adding at places.
        itself = torch.eye(count, dtype=torch.bool, device=x.device)
        each = torch.where(itself, 0.0, _of_every_pair(gradient, count))
        return _slopes(each, _differences(x, x), _of_every_pair(distance, count), p).sum(-2)
    one, other = _pairs(count, x.device)
    slopes = _slopes(gradient, x[one] - x[other], distance, p)
    return torch.zeros_like(x).index_add(0, one, slopes).index_add(0, other, -slopes)
