"""Discrete Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...builder.builder import Value
from ..api import torch
from ..dtypes import converted, dtype_of
from ..registry import lowers
from ..step import Step, count, dim_of


def _scale(step: Step, x: Value, number: int, normalization: int, divided: bool = False) -> Value:
    """Normalization 0 is none, 1 by the square root of the length, 2 by the length; `divided` by the transform."""
    factor = (1.0, 1 / math.sqrt(number), 1 / number)[normalization] * (number if divided else 1.0)
    return x if factor == 1 else x * step.full(factor, dtype_of(x), x.shape)


def _one(step: Step, x: Value, dim: int, kind: str, length: int) -> Value:
    """The transform of one dimension; hlo's is of the last."""
    last = len(x.shape) - 1
    order = list(range(last + 1))
    order[dim], order[last] = last, dim
    found = step.builder.fft(x.transpose(order), fft_type=kind, fft_length=[length])
    return found.transpose(order)


def _along(step: Step, x: Value, dims: Sequence[int], forward: bool) -> Value:
    for dim in dims:
        x = _one(step, x, dim, "FFT" if forward else "IFFT", x.shape[dim])
    return x


def _dims(x: Value, dims: Any) -> list[int]:
    return [dim_of(one, len(x.shape)) for one in dims]


@lowers("aten._fft_c2c")
def c2c(step: Step, x: Value, dims: Any, normalization: int, forward: bool) -> Value:
    axes = _dims(x, dims)
    number = count([x.shape[dim] for dim in axes])
    return _scale(step, _along(step, x, axes, forward), number, normalization, divided=not forward)


@lowers("aten._fft_r2c")
def r2c(step: Step, x: Value, dims: Any, normalization: int, onesided: bool) -> Value:
    axes = _dims(x, dims)
    number = count([x.shape[dim] for dim in axes])
    if onesided:
        found = _one(step, x, axes[-1], "RFFT", x.shape[axes[-1]])
        return _scale(step, _along(step, found, axes[:-1], True), number, normalization)
    plain = converted(x, torch.complex64 if dtype_of(x) == torch.float32 else torch.complex128)
    return _scale(step, _along(step, plain, axes, True), number, normalization)


@lowers("aten._fft_c2r")
def c2r(step: Step, x: Value, dims: Any, normalization: int, length: int) -> Value:
    axes = _dims(x, dims)
    number = count([length if dim == axes[-1] else x.shape[dim] for dim in axes])
    found = _along(step, x, axes[:-1], False)
    used = found.part(axes[-1], 0, length // 2 + 1)
    return _scale(step, _one(step, used, axes[-1], "IRFFT", length), number, normalization, divided=True)


# Exported programs have transforms that are not normalized, with products by the factors beside them.


@lowers("prims.fft_c2c")
def plain_c2c(step: Step, x: Value, *, dim: Any, forward: bool) -> Value:
    return c2c(step, x, dim, 0, forward)


@lowers("prims.fft_r2c")
def plain_r2c(step: Step, x: Value, *, dim: Any, onesided: bool) -> Value:
    return r2c(step, x, dim, 0, onesided)


@lowers("prims.fft_c2r")
def plain_c2r(step: Step, x: Value, *, dim: Any, last_dim_size: int) -> Value:
    return c2r(step, x, dim, 0, last_dim_size)
