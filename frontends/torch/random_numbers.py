"""
Random numbers: torch's own generator draws them before the program runs, in the order of the graph.

A draw depends on shapes only, so the program takes its numbers as an argument; they are those of eager mode for the
same `torch.manual_seed`. Operations whose draws depend on elements are not lowered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .api import torch

_DRAWS = frozenset(
    """
    rand.default rand_like.default randn.default randn_like.default randint.default randint.low randint_like.default
    randint_like.low_dtype randperm.default bernoulli.p uniform.default normal_functional.default exponential.default
    cauchy.default log_normal.default geometric.default random.default random.from random.to normal.float_float
    """.split()
)
"""Operations whose results depend on the shapes and the numbers among their arguments, never on elements."""


def draws(node: Any) -> bool:
    """Whether a node is a draw of random numbers that the program is given."""
    return str(node.target).removeprefix("aten.") in _DRAWS


def drawing(node: Any) -> Callable[[], Any]:
    """The draw of a node. Tensors among its arguments only lend their shape."""

    def template(one: Any) -> Any:
        fake = one.meta["val"]
        return _Template(tuple(map(int, fake.shape)), tuple(map(int, fake.stride())), fake.dtype)

    target = node.target
    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), template)

    def draw() -> Any:
        return target(*[_made(one) for one in args], **kwargs)

    return draw


class _Template:
    def __init__(self, shape: Sequence[int], strides: Sequence[int], dtype: Any):
        self.shape, self.strides, self.dtype = shape, strides, dtype


def _made(one: Any) -> Any:
    return torch.empty_strided(one.shape, one.strides, dtype=one.dtype) if isinstance(one, _Template) else one


def _native_dropout(x: Any, p: float, train: bool | None) -> tuple[Any, Any]:
    """As torch's kernel for the CPU: a mask of booleans, and a product with it."""
    if train is False or p == 0:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    mask = torch.bernoulli(torch.empty(x.shape, dtype=torch.bool, device=x.device), 1 - p)
    return x * mask * (0.0 if p == 1 else 1 / (1 - p)), mask


def decompositions() -> Mapping[Any, Callable[..., Any]]:
    """Decompositions that keep torch's draws."""
    return {torch.ops.aten.native_dropout.default: _native_dropout}


KEPT = frozenset(
    """
    bernoulli.p bernoulli.Tensor
    normal.float_float normal_functional.default uniform.default exponential.default randn.default rand.default
    geometric.default cauchy.default log_normal.default native_dropout.default _fused_dropout.default randn_like.default
    dropout.default rrelu_with_noise.default rrelu_with_noise_functional.default alpha_dropout.default
    rand_like.default randint_like.default randint.default
    """.split()
)
"""Operations that torch's own decompositions would replace by other draws."""
