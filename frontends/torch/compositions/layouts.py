"""Gradients that lie in memory as in eager mode, where torch's own description of them says row-major."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from ..api import required, torch
from ..registry import composes

_memory_format: Any = required("torch._prims_common").suggest_memory_format

_inside: ContextVar[bool] = ContextVar("_inside", default=False)
"""Whether an operation is called by its own composition, which then leaves it as it is."""


def _as_the_input(name: str) -> None:
    @composes(f"aten.{name}")
    def gradient(gradient: Any, x: Any, *stated: Any) -> Any:
        layout = _memory_format(x)
        if layout == torch.contiguous_format or _inside.get():
            return NotImplemented
        token = _inside.set(True)
        try:
            found = getattr(torch.ops.aten, name).default(gradient, x, *stated)
        finally:
            _inside.reset(token)
        return found.contiguous(memory_format=layout)

    del gradient


for _rank in (2, 3):
    _as_the_input(f"reflection_pad{_rank}d_backward")
    _as_the_input(f"replication_pad{_rank}d_backward")
