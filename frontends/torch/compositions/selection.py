"""Elements by computed places: reductions by index, bags of embeddings, segments."""

from __future__ import annotations

import math
from typing import Any

from ..api import torch
from ..registry import composes


@composes("aten.index_reduce")
def index_reduce(x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    if not x.dim():
        found = index_reduce(x.reshape(1), 0, index.reshape(-1), source.reshape(-1), reduce, include_self=include_self)
        return found.reshape(())
    shape = [1] * x.dim()
    shape[dim] = index.numel()
    places = index.reshape(shape).expand(source.shape)
    return x.scatter_reduce(dim, places, source, reduce, include_self=include_self)


@composes("aten.put")
def put(x: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    flat = x.reshape(-1).index_put((index.reshape(-1),), source.reshape(-1), accumulate)
    return flat.reshape(x.shape)


@composes("aten.take")
def take(x: Any, index: Any) -> Any:
    flat, places = x.reshape(-1), index.reshape(-1)
    places = torch.where(places < 0, places + flat.numel(), places)  # index_select counts none from the end
    return flat.index_select(0, places).reshape(index.shape)


@composes("aten.resize")
def resize(x: Any, size: Any, *, memory_format: Any = None) -> Any:
    """The first elements in another shape, zeros after the last."""
    count = math.prod(size)
    flat = x.reshape(-1)[:count]
    wide = torch.cat([flat, flat.new_zeros(count - flat.numel())]) if flat.numel() < count else flat
    return wide.reshape(size).contiguous(memory_format=memory_format or torch.contiguous_format)


@composes("aten.nonzero_static")
def nonzero_static(x: Any, *, size: int, fill_value: int = -1) -> Any:
    """The first places of elements that are not zero, as many rows as stated."""
    mask = x.reshape(-1) != 0
    found = torch.full((size + 1, x.dim()), fill_value, dtype=torch.int64, device=x.device)
    rows = (mask.cumsum(0) - 1).clamp(max=size)
    # Elements that are zero, and those too many, go to a last row that is left out.
    rows = torch.where(mask, rows, size)
    flat = torch.arange(mask.numel(), device=x.device)
    columns: list[Any] = []
    step = mask.numel()
    for length in x.shape:
        step = step // max(length, 1)
        columns.append(flat // max(step, 1) % max(length, 1))
    if not columns:
        return found[:size]
    return found.index_put((rows,), torch.stack(columns, 1))[:size]


@composes("aten.embedding_renorm")
def embedding_renorm(weight: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    """The rows that are used, made shorter if their norm is larger than stated."""
    norms = torch.linalg.vector_norm(weight, norm_type, 1, keepdim=True)
    used = torch.zeros(weight.shape[0], dtype=torch.bool, device=weight.device)
    used = used.index_put((indices.reshape(-1),), torch.ones((), dtype=torch.bool, device=weight.device))
    shorter = used.unsqueeze(1) & (norms > max_norm)
    return weight * torch.where(shorter, max_norm / (norms + 1e-7), 1.0)


_SUM, _MEAN, _MAX = 0, 1, 2


@composes("aten._embedding_bag aten._embedding_bag_forward_only")
def embedding_bag(
    weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False,
    per_sample_weights: Any = None, include_last_offset: bool = False, padding_idx: int = -1,
) -> tuple[Any, ...]:  # fmt: skip
    """The results, the bag of each index, the size of each bag, and where each maximum is from."""
    begin = offsets[:-1] if include_last_offset else offsets
    bags, size = begin.shape[0], weight.shape[1]
    places = torch.arange(indices.shape[0], dtype=offsets.dtype, device=indices.device)
    # A bag for each beginning up to a place; a search would read the beginnings again and again.
    starts = torch.zeros(indices.shape[0] + 1, dtype=torch.int64, device=indices.device)
    starts = starts.index_add(0, begin, torch.ones_like(begin, dtype=torch.int64))
    bag = starts[:-1].cumsum(0) - 1
    kept = indices != padding_idx
    rows = weight[indices]
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    if padding_idx < 0 and bags:
        end = torch.full((1,), indices.shape[0], dtype=begin.dtype, device=indices.device)
        counts = torch.cat([begin[1:], end]).to(torch.int64) - begin.to(torch.int64)
    else:
        counts = torch.zeros(bags, dtype=torch.int64, device=indices.device).index_add(0, bag, kept.to(torch.int64))
    largest = torch.zeros(bags if mode == _MAX else 0, size, dtype=offsets.dtype, device=indices.device)
    if mode == _MAX:
        lowest = torch.full((bags, size), float("-inf"), dtype=weight.dtype, device=weight.device)
        rows = torch.where(kept.unsqueeze(1), rows, float("-inf"))
        wide = bag.unsqueeze(1).expand(rows.shape)
        best = lowest.scatter_reduce(0, wide, rows, "amax")
        mine = rows == best[bag]
        last = torch.iinfo(torch.int64).max
        first = torch.where(mine, places.to(torch.int64).unsqueeze(1), last)
        place = torch.full((bags, size), last, device=indices.device).scatter_reduce(0, wide, first, "amin")
        some = counts.unsqueeze(1) > 0
        largest = torch.where(some, indices[torch.where(some, place, 0)], 0).to(offsets.dtype)
        found = torch.where(some, best, 0.0)
    else:
        if padding_idx >= 0:
            rows = torch.where(kept.unsqueeze(1), rows, 0.0)
        found = torch.zeros(bags, size, dtype=weight.dtype, device=weight.device).index_add(0, bag, rows)
        if mode == _MEAN:
            found = found / counts.clamp(min=1).unsqueeze(1).to(weight.dtype)
    return found, bag.to(offsets.dtype), counts.to(offsets.dtype), largest


@composes("aten._embedding_bag_dense_backward")
def embedding_bag_backward(
    gradient: Any, indices: Any, offset2bag: Any, bag_size: Any, maximum_indices: Any, num_weights: int,
    scale_grad_by_freq: bool, mode: int, per_sample_weights: Any, padding_idx: int = -1,
) -> Any:  # fmt: skip
    zeros = torch.zeros(num_weights, gradient.shape[1], dtype=gradient.dtype, device=gradient.device)
    if mode == _MAX:
        some = (bag_size > 0).unsqueeze(1)
        return zeros.scatter_add(0, maximum_indices.to(torch.int64), torch.where(some, gradient, 0.0))
    rows = gradient[offset2bag]
    if mode == _MEAN:
        rows = rows / bag_size.clamp(min=1)[offset2bag].unsqueeze(1).to(rows.dtype)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    if scale_grad_by_freq:
        number = torch.zeros(num_weights, dtype=torch.int64, device=indices.device)
        number = number.index_add(0, indices, torch.ones_like(indices, dtype=torch.int64))
        rows = rows / number[indices].unsqueeze(1).to(rows.dtype)
    return zeros.index_add(0, indices, torch.where((indices != padding_idx).unsqueeze(1), rows, 0.0))


@composes("aten._embedding_bag_per_sample_weights_backward")
def embedding_bag_weights_backward(
    gradient: Any, weight: Any, indices: Any, offsets: Any, offset2bag: Any, mode: int, padding_idx: int = -1
) -> Any:
    found = (gradient[offset2bag] * weight[indices]).sum(1)
    return torch.where(indices != padding_idx, found, 0.0)


@composes("aten._embedding_bag_backward")
def embedding_bag_backward_of(
    gradient: Any, indices: Any, offsets: Any, offset2bag: Any, bag_size: Any, maximum_indices: Any, num_weights: int,
    scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Any, padding_idx: int = -1,
) -> Any:  # fmt: skip
    if sparse:
        return NotImplemented
    return embedding_bag_backward(
        gradient, indices, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode,
        per_sample_weights, padding_idx,
    )  # fmt: skip


@composes("aten.masked_scatter_backward")
def masked_scatter_backward(gradient: Any, mask: Any, sizes: Any) -> Any:
    """The gradients of the elements that the mask chose, in order, and zeros."""
    count = math.prod(sizes)
    chosen = mask.expand(gradient.shape).reshape(-1)
    places = torch.where(chosen, chosen.cumsum(0) - 1, count)
    found = torch.zeros(count + 1, dtype=gradient.dtype, device=gradient.device)
    return found.index_put((places,), gradient.reshape(-1))[:count].reshape(sizes)


_IDENTITY = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": float("-inf"), "min": float("inf")}
_SCATTER = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "amax", "min": "amin"}
_FOLDS = {"amax": "max", "amin": "min"}
"""Other names of the same folds."""


def _runs(data: Any, lengths: Any, offsets: Any, axis: int) -> tuple[Any, Any, list[int]]:
    """The length of each run, the run of each element in the data's shape, and dimensions of size 1 for those after."""
    before = None
    if lengths is None:
        lengths, ends, before = offsets.diff(dim=-1), offsets[..., 1:], offsets[..., :1]
    else:
        ends = lengths.cumsum(-1)
    places = torch.arange(data.shape[axis], dtype=ends.dtype, device=data.device)
    places = places.expand(*ends.shape[:-1], data.shape[axis]).contiguous()
    run = torch.searchsorted(ends.contiguous(), places, right=True)
    if before is not None:
        # Elements before the first run belong to none, like those after the last.
        run = torch.where(places < before, lengths.shape[-1], run)
    rest = [1] * (data.dim() - axis - 1)
    return lengths, run.reshape(*run.shape, *rest).expand(data.shape), rest


@composes("aten._segment_reduce_backward")
def segment_reduce_backward(
    gradient: Any, output: Any, data: Any, reduce: str, *, lengths: Any = None, offsets: Any = None, axis: int = 0,
    initial: Any = None,
) -> Any:  # fmt: skip
    if reduce == "prod":
        return NotImplemented
    reduce = _FOLDS.get(reduce, reduce)
    lengths, wide, rest = _runs(data, lengths, offsets, axis)
    runs = lengths.shape[-1]
    inside, place = wide < runs, wide.clamp(max=runs - 1)
    own = gradient.gather(axis, place)
    if reduce == "mean":
        counts = lengths.reshape(*lengths.shape, *rest).expand(gradient.shape).clamp(min=1)
        own = own / counts.gather(axis, place).to(data.dtype)
    if reduce in ("max", "min"):
        best = output.gather(axis, place)
        mine = inside & ((data == best) | (data.isnan() & best.isnan()))
        shared = torch.zeros_like(gradient).scatter_add(axis, place, mine.to(data.dtype))
        own = torch.where(mine, own / shared.gather(axis, place), 0.0)
    return torch.where(inside, own, 0.0)


@composes("aten.segment_reduce")
def segment_reduce(
    data: Any, reduce: str, *, lengths: Any = None, indices: Any = None, offsets: Any = None, axis: int = 0,
    unsafe: bool = False, initial: Any = None,
) -> Any:  # fmt: skip
    """A fold of each run of elements along an axis; the axes before it have their own runs."""
    reduce = _FOLDS.get(reduce, reduce)
    lengths, wide, rest = _runs(data, lengths, offsets, axis)
    runs = lengths.shape[-1]
    shape = [*data.shape[:axis], runs + 1, *data.shape[axis + 1 :]]
    start = _IDENTITY[reduce] if initial is None else initial
    # Elements of no run fall into one that is left out.
    found = torch.full(shape, start, dtype=data.dtype, device=data.device)
    found = found.scatter_reduce(axis, wide, data, _SCATTER[reduce]).narrow(axis, 0, runs)
    if reduce != "mean":
        return found
    counts = lengths.reshape(*lengths.shape, *rest).expand(found.shape)
    whole = found / counts.clamp(min=1).to(data.dtype)
    return torch.where(counts > 0, whole, float("nan") if initial is None else found)
