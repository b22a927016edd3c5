"""Functions of torch that Dynamo's graphs call and torch takes apart before operations are looked up, replaced."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from inspect import signature
from typing import Any

from .api import required, torch

_functional: Any = required("torch.nn.functional")
_interpolate: Any = _functional.interpolate
_MODES = ("bilinear", "bicubic")


def _pair(given: float | Sequence[float] | None) -> tuple[Any, Any]:
    """A number for rows and one for columns; both None if none is given."""
    return (given[0], given[1]) if isinstance(given, Sequence) else (given, given)


@cache
def _resize_bytes() -> Any:
    """`xhlo::resize_bytes`, which is `interpolate` of images of bytes, without antialiasing."""
    library = required("torch.library")

    def run(x: Any, size: Any, mode: str, align: bool, scale_h: Any, scale_w: Any) -> Any:
        align_or_none = align or None
        if scale_h is None:
            return _interpolate(x, list(size), mode=mode, align_corners=align_or_none)
        return _interpolate(x, scale_factor=[scale_h, scale_w], mode=mode, align_corners=align_or_none)

    def shape(x: Any, size: Any, *_: Any) -> Any:
        layout = required("torch._prims_common").suggest_memory_format(x)
        return x.new_empty((*x.shape[:2], *size)).contiguous(memory_format=layout)

    arguments = "Tensor x, SymInt[] size, str mode, bool align, float? scale_h, float? scale_w"
    found = library.custom_op("xhlo::resize_bytes", run, mutates_args=(), schema=f"({arguments}) -> Tensor")
    found.register_fake(shape)
    return found


def interpolate(*args: Any, **kwargs: Any) -> Any:
    """
    `torch.nn.functional.interpolate`. torch takes images of bytes apart with other weights than those of eager mode;
    these remain one operation.
    """
    stated = signature(_interpolate).bind(*args, **kwargs)
    stated.apply_defaults()
    given = stated.arguments
    x, mode = given["input"], given["mode"]
    if x.dtype != torch.uint8 or x.dim() != 4 or mode not in _MODES or given["antialias"]:
        return _interpolate(*args, **kwargs)
    # torch says what it refuses, and how large the result is.
    size = _interpolate(**{**given, "input": x.to("meta")}).shape[2:]
    scales = (None, None) if given["recompute_scale_factor"] else _pair(given["scale_factor"])
    return _resize_bytes()(x, size, mode, bool(given["align_corners"]), *scales)


_REPLACED = {_interpolate: interpolate}


def replace_functions(graph_module: Any) -> None:
    """Replace the functions in a graph by those that take their place."""
    nodes = [node for node in graph_module.graph.nodes if node.op == "call_function" and node.target in _REPLACED]
    for node in nodes:
        node.target = _REPLACED[node.target]
    if nodes:
        graph_module.recompile()
