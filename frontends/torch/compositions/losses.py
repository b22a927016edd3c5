"""Gradients of losses whose mean may be of no elements; torch's decompositions divide by their number in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..api import required, torch
from ..registry import composes

_known: Any = required("torch._decomp.decompositions")


def _of_elements(name: str) -> Callable[..., Any]:
    decomposed = getattr(_known, name)

    def gradient(grad_output: Any, x: Any, target: Any, reduction: int, *stated: float) -> Any:
        shape = torch.broadcast_shapes(x.shape, target.shape)
        if any(size == 0 for size in shape):
            return x.new_zeros(shape)
        return decomposed(grad_output, x, target, reduction, *stated)

    return gradient


for _name in ("mse_loss_backward", "smooth_l1_loss_backward", "huber_loss_backward"):
    composes(f"aten.{_name}")(_of_elements(_name))
