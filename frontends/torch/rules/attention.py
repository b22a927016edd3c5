"""Attention: the kernels of torch for the CPU, as products of matrices and a softmax."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...builder.builder import Value
from ..api import torch
from ..dtypes import Unlowered, converted, dtype_of, working_dtype
from ..registry import lowers
from ..step import Step, broadcast
from .contractions import contract
from .reductions import extreme, summed


def _scores(step: Step, query: Value, key: Value, causal: bool, mask: Value | None, scale: float | None) -> Value:
    """The scaled products of queries and keys, in f32 for halves."""
    dtype = working_dtype(dtype_of(query))
    found = converted(contract(step, query, key, (0, 1), (3, 3)), dtype)
    found = found * step.full(1 / math.sqrt(query.shape[-1]) if scale is None else scale, dtype, found.shape)
    if mask is not None:
        if dtype_of(mask) == torch.bool:
            found = broadcast(mask, found.shape).select(found, found.like(float("-inf")))
        else:
            found = found + broadcast(converted(mask, dtype), found.shape)
    if causal:
        below = step.iota(2, found.shape) >= step.iota(3, found.shape)
        found = below.select(found, found.like(float("-inf")))
    return found


def _rows(value: Value, shape: Sequence[int]) -> Value:
    """A number for each row, along the row."""
    return value.broadcast(tuple(shape), [0, 1, 2])


def _repeated(x: Value, heads: int) -> Value:
    """Keys or values of fewer heads than the queries have: each serves several."""
    n, own, length, size = x.shape
    if own == heads:
        return x
    return x.broadcast((n, own, heads // own, length, size), [0, 1, 3, 4]).reshape((n, heads, length, size))


def _added(step: Step, x: Value, own: int) -> Value:
    """The gradient of keys or values that serve several heads each: the sums of those that these give."""
    n, heads, length, size = x.shape
    if own == heads:
        return x
    wide = converted(x, working_dtype(dtype_of(x))).reshape((n, own, heads // own, length, size))
    return summed(step, wide, [2])


def _no_dropout(p: float) -> None:
    if p:
        raise Unlowered("attention with dropout is drawn by torch")


@lowers("aten._scaled_dot_product_flash_attention_for_cpu")
def attention(
    step: Step, query: Value, key: Value, value: Value, dropout_p: float = 0.0, is_causal: bool = False, *,
    attn_mask: Value | None = None, scale: float | None = None,
) -> tuple[Value, Value]:  # fmt: skip
    """The output, and the logarithms of the sums of each row, for the gradients."""
    _no_dropout(dropout_p)
    heads = query.shape[1]
    scores = _scores(step, query, _repeated(key, heads), is_causal, attn_mask, scale)
    most = extreme(step, scores, [3], True)
    # A row that is masked as a whole has no finite score.
    safe = most.equals(float("-inf")).select(0.0, most)
    weights = (scores - _rows(safe, scores.shape)).exponential()
    total = weights.sum([3])
    some = total.equals(0.0).select(1.0, total)
    shares = converted(weights / _rows(some, scores.shape), dtype_of(value))
    output = contract(step, shares, _repeated(value, heads), (0, 1), (3, 2))
    return output, (safe + total.log()).reshape(step.shape_of(1))


@lowers("aten._scaled_dot_product_flash_attention_for_cpu_backward")
def attention_backward(
    step: Step, gradient: Value, query: Value, key: Value, value: Value, out: Value, logsumexp: Value,
    dropout_p: float, is_causal: bool, *, attn_mask: Value | None = None, scale: float | None = None,
) -> tuple[Value, ...]:  # fmt: skip
    _no_dropout(dropout_p)
    heads, own = query.shape[1], key.shape[1]
    key, value = _repeated(key, heads), _repeated(value, heads)
    dtype = working_dtype(dtype_of(query))
    scores = _scores(step, query, key, is_causal, attn_mask, scale)
    normal = logsumexp.reshape(query.shape[:3])
    normal = normal.is_infinite().select(0.0, normal)
    shares = (scores - _rows(converted(normal, dtype), scores.shape)).exponential()
    wide, result = converted(gradient, dtype), converted(out, dtype)
    of_shares = converted(contract(step, gradient, value, (0, 1), (3, 3)), dtype)
    balance = (wide * result).sum([3])
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    of_scores = shares * (of_shares - _rows(balance, shares.shape)) * factor
    narrow = converted(of_scores, dtype_of(query))
    of_query = contract(step, narrow, key, (0, 1), (3, 2))
    of_key = contract(step, narrow, query, (0, 1), (2, 2))
    of_value = contract(step, converted(shares, dtype_of(value)), gradient, (0, 1), (2, 2))
    return of_query, _added(step, of_key, own), _added(step, of_value, own)
