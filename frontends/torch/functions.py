"""Functions of torch that Dynamo's graphs call and torch takes apart before operations are looked up, replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from inspect import signature
from typing import Any

from . import recurrent
from .api import required, torch
from .resizing_gradients import Interpolated, nearest, weighed

_functional: Any = required("torch.nn.functional")
_interpolate: Any = _functional.interpolate
_output_size: Any = required("torch._decomp.decompositions").upsample_compute_output_size
MODES = ("bilinear", "bicubic")


_RANKS = {"bilinear": (4,), "bicubic": (4,), "linear": (3,), "trilinear": (5,)}
"""The dimensions of a batch of images by mode; `nearest` takes all."""


def _each(given: float | Sequence[float] | None, count: int) -> tuple[Any, ...]:
    """A number for each dimension; all None if none is given."""
    return tuple(given) if isinstance(given, Sequence) else (given,) * count


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
    these remain one operation. Those of floats get another gradient than torch's, which adds at places that overlap.
    """
    stated = signature(_interpolate).bind(*args, **kwargs)
    stated.apply_defaults()
    given = stated.arguments
    x, mode = given["input"], given["mode"]
    if x.dim() not in _RANKS.get(mode, (3, 4, 5)) or mode == "area" or given["antialias"]:
        return _interpolate(*args, **kwargs)
    # torch says what it refuses, and how large the result is.
    size = _interpolate(**{**given, "input": x.to("meta")}).shape[2:]
    scales = (None,) * len(size) if given["recompute_scale_factor"] else _each(given["scale_factor"], len(size))
    align = bool(given["align_corners"])
    if x.dtype == torch.uint8 and mode in MODES:
        return _resize_bytes()(x, size, mode, align, *scales)
    if not x.requires_grad or not torch.is_grad_enabled() or not all(type(one) is int for one in (*x.shape, *size)):
        return _interpolate(*args, **kwargs)
    taps = nearest(mode == "nearest-exact") if mode.startswith("nearest") else weighed(align, mode == "bicubic")
    return Interpolated.apply(x, lambda one: _interpolate(**{**given, "input": one}), taps, scales)


def resizing(mode: str, otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """The decomposition of `aten.upsample_{mode}2d.vec` in exported programs: that of images of floats is another."""

    def resized(x: Any, output_size: Any, align_corners: bool, scale_factors: Any = None) -> Any:
        if x.dtype != torch.uint8:
            return otherwise(x, output_size, align_corners, scale_factors)
        size = _output_size(x.shape, output_size, scale_factors)
        return _resize_bytes()(x, size, mode, align_corners, *_each(scale_factors, 2))

    return resized


def multilabel_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """
    `torch.nn.functional.multilabel_margin_loss`. torch's decomposition counts the entries after a row's first -1 as
    labels of the first class.
    """
    # torch says what it refuses.
    _functional.multilabel_margin_loss(input.to("meta"), target.to("meta"), size_average, reduce, reduction)
    rows, labels = torch.atleast_2d(input), torch.atleast_2d(target)
    classes = torch.arange(labels.shape[1], device=labels.device)
    stated = classes < torch.where(labels == -1, classes, labels.shape[1]).amin(-1, keepdim=True)
    chosen = torch.where(stated, labels, 0)
    is_target = (stated.unsqueeze(-1) & (chosen.unsqueeze(-1) == classes)).any(1)
    margins = 1 - rows.gather(1, chosen).unsqueeze(-1) + rows.unsqueeze(1)
    counted = stated.unsqueeze(-1) & ~is_target.unsqueeze(1) & (margins > 0)
    found = torch.where(counted, margins, 0.0).sum((1, 2)) / rows.shape[1]
    if size_average is not None or reduce is not None:
        reduction = required("torch.nn._reduction").legacy_get_string(size_average, reduce)
    if reduction == "mean":
        return found.mean()
    return found.sum() if reduction == "sum" or input.dim() < 2 else found


_REPLACED = {
    _interpolate: interpolate,
    _functional.multilabel_margin_loss: multilabel_margin_loss,
    **recurrent.replacements(),
}


def replace_functions(graph_module: Any) -> None:
    """Replace the functions in a graph by those that take their place."""
    nodes = [node for node in graph_module.graph.nodes if node.op == "call_function" and node.target in _REPLACED]
    for node in nodes:
        node.target = _REPLACED[node.target]
    if nodes:
        graph_module.recompile()
