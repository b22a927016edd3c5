"""Tensors made of numbers."""

from __future__ import annotations

from typing import Any

from ...builder.builder import Value
from ..api import torch
from ..dtypes import converted, working_dtype
from ..registry import lowers
from ..step import Step


@lowers("aten.new_full")
def new_full(step: Step, _: Any, __: Any, value: Any, **___: Any) -> Value:
    return step.value(value, step.dtype, step.shape)


@lowers("aten.full aten.full_like prims.full prims.full_like")
def full(step: Step, _: Any, value: Any, *__: Any, **___: Any) -> Value:
    return step.value(value, step.dtype, step.shape)


@lowers("aten.scalar_tensor prims.scalar_tensor")
def scalar(step: Step, value: Any, **_: Any) -> Value:
    return step.value(value, step.dtype)


@lowers("aten.fill.Scalar aten.fill.Tensor prims.fill")
def fill(step: Step, _: Any, value: Any) -> Value:
    return step.value(value, step.dtype, step.shape)


@lowers(
    "aten.zeros aten.zeros_like aten.new_zeros aten.empty.memory_format aten.empty_strided aten.empty_like "
    "aten.new_empty aten.new_empty_strided prims.empty_strided prims.empty_permuted aten.empty_permuted aten.zero "
    "aten._efficientzerotensor"
)
def zeros(step: Step, *_: Any, **__: Any) -> Value:
    """Memory that is not initialized reads as zeros."""
    return step.full(0, step.dtype, step.shape)


@lowers("aten.ones aten.ones_like aten.new_ones")
def ones(step: Step, *_: Any, **__: Any) -> Value:
    return step.full(1, step.dtype, step.shape)


@lowers("prims.iota")
def iota(_step: Step, length: int, *, start: int, step: int, **__: Any) -> Value:
    return _counted(_step, start, step)


def _counted(step: Step, start: Any, stride: Any) -> Value:
    dtype = step.dtype
    work = torch.int64 if not dtype.is_floating_point else working_dtype(dtype)
    places = converted(step.iota(0, step.shape), work)
    return converted(places * step.full(stride, work, step.shape) + step.full(start, work, step.shape), dtype)


@lowers("aten.arange.start_step")
def arange(step: Step, start: Any, end: Any, stride: Any = 1, **_: Any) -> Value:
    if not step.dtype.is_floating_point:
        return _counted(step, int(start), int(stride))
    return _counted(step, start, stride)
