"""Operations that are single ones for torch: layers of transformers in inference, norms of weights, lists, tangents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..api import required, torch
from ..registry import composes

_functional: Any = required("torch.nn.functional")


def _heads(x: Any, weight: Any, bias: Any, heads: int) -> Any:
    return _functional.linear(x, weight, bias).unflatten(-1, (heads, -1)).transpose(1, 2)


@composes("aten._native_multi_head_attention")
def multi_head_attention(
    query: Any, key: Any, value: Any, embed_dim: int, num_head: int, qkv_weight: Any, qkv_bias: Any, proj_weight: Any,
    proj_bias: Any, mask: Any = None, need_weights: bool = True, average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    parts = zip((query, key, value), qkv_weight.chunk(3), qkv_bias.chunk(3), strict=True)
    q, k, v = (_heads(x, weight, bias, num_head) for x, weight, bias in parts)
    scores = (q / q.shape[-1] ** 0.5) @ k.transpose(-2, -1)
    if mask is not None:
        # Type 1 is a mask of keys for each sequence, 0 one of queries and keys, 2 one of all dimensions.
        hidden = mask.to(torch.bool)
        hidden = hidden[:, None, None] if mask_type == 1 else hidden
        scores = scores.masked_fill(hidden, float("-inf"))
    weights = torch.softmax(scores, -1)
    found = _functional.linear((weights @ v).transpose(1, 2).flatten(2), proj_weight, proj_bias)
    if not need_weights:
        return found, None
    return found, weights.mean(1) if average_attn_weights else weights


@composes("aten._transformer_encoder_layer_fwd")
def encoder_layer(
    src: Any, embed_dim: int, num_heads: int, qkv_weight: Any, qkv_bias: Any, proj_weight: Any, proj_bias: Any,
    use_gelu: bool, norm_first: bool, eps: float, norm_weight_1: Any, norm_bias_1: Any, norm_weight_2: Any,
    norm_bias_2: Any, ffn_weight_1: Any, ffn_bias_1: Any, ffn_weight_2: Any, ffn_bias_2: Any, mask: Any = None,
    mask_type: int | None = None,
) -> Any:  # fmt: skip
    def norm(x: Any, weight: Any, bias: Any) -> Any:
        return _functional.layer_norm(x, (embed_dim,), weight, bias, eps)

    def attention(x: Any) -> Any:
        own = (qkv_weight, qkv_bias, proj_weight, proj_bias)
        return multi_head_attention(x, x, x, embed_dim, num_heads, *own, mask, False, True, mask_type)[0]

    def perceptron(x: Any) -> Any:
        inner = _functional.linear(x, ffn_weight_1, ffn_bias_1)
        inner = _functional.gelu(inner) if use_gelu else torch.relu(inner)
        return _functional.linear(inner, ffn_weight_2, ffn_bias_2)

    if norm_first:
        x = src + attention(norm(src, norm_weight_1, norm_bias_1))
        return x + perceptron(norm(x, norm_weight_2, norm_bias_2))
    x = norm(src + attention(src), norm_weight_1, norm_bias_1)
    return norm(x + perceptron(x), norm_weight_2, norm_bias_2)


@composes("aten._weight_norm_interface_backward")
def weight_norm_backward(grad: Any, v: Any, g: Any, norms: Any, dim: int) -> tuple[Any, Any]:
    sums = (grad * v).sum([one for one in range(v.ndim) if one != dim], keepdim=True)
    return (g / norms) * (grad - v * (sums / (norms * norms))), sums / norms


@composes("aten._foreach_norm.Scalar")
def norms(tensors: Sequence[Any], ord: Any = 2, dtype: Any = None) -> list[Any]:
    return [torch.linalg.vector_norm(one, ord, dtype=dtype) for one in tensors]


@composes("aten._foreach_max")
def maxima(tensors: Sequence[Any]) -> list[Any]:
    return [one.max() for one in tensors]


@composes("aten._foreach_copy")
def copies(tensors: Sequence[Any], sources: Sequence[Any], non_blocking: bool = False) -> list[Any]:
    return [new.to(one.dtype).expand(one.shape).clone() for one, new in zip(tensors, sources, strict=True)]


@composes("aten._new_zeros_with_same_feature_meta")
def zero_tangent(x: Any, other: Any, *, self_num_batch_dims: int = 0) -> Any:
    """Forward derivatives begin as these, of the shape of `other` for each element of the batch of `x`."""
    return x.new_zeros((*x.shape[:self_num_batch_dims], *other.shape))


@composes("aten.rrelu_with_noise_functional")
def rrelu(
    x: Any, noise: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, generator: Any = None
) -> Any:
    """Random slopes are drawn in training alone, by torch; else the slope is the mean of their bounds."""
    if training:
        return NotImplemented
    return _functional.leaky_relu(x, (lower + upper) / 2), noise.clone()
