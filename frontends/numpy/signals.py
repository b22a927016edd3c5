"""Functions of sampled signals: interpolation, convolution, differences, integrals; and the parts of floats."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..builder.builder import Builder, Value
from .arrays import (
    FUNCTIONS,
    TracedArray,
    astype,
    axes_of,
    axis_of,
    builder_of,
    constant_index,
    element,
    implements,
    lift,
)
from .errors import TraceError
from .indexing import searchsorted
from .joining import concatenate, diff
from .reductions import reduced
from .shapes import moveaxis, reshape, together, where
from .sorting import argsort
from .ufunc_formulas import compiles, dtype_of
from .ufuncs import call_ufunc


@implements(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> TracedArray:
    builder = builder_of(x, xp, fp)
    values = lift(builder, fp)
    kind = np.complex128 if values.dtype.kind == "c" else np.float64
    at, known, values = lift(builder, x, np.float64), lift(builder, xp, np.float64), astype(values, kind)
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        at, known, values = _periodic(at, known, values, abs(period))
        left = right = None
    if known.ndim != 1 or known.shape != values.shape:
        raise ValueError("fp and xp are not of the same length.")
    count = known.shape[0]
    place = call_ufunc(np.minimum, call_ufunc(np.maximum, searchsorted(known, at, "right") - 1, 0), max(count - 2, 0))
    after = call_ufunc(np.minimum, place + 1, count - 1)
    step = known[after] - known[place]
    slope = (values[after] - values[place]) / where(step == 0, 1.0, step)
    result = slope * (at - known[place]) + values[place]
    result = where(at >= known[-1], where(at > known[-1], values[-1] if right is None else right, values[-1]), result)
    result = where(at < known[0], values[0] if left is None else left, result)
    return where(call_ufunc(np.isnan, at), np.asarray(np.nan, kind), result)


def _periodic(x: TracedArray, xp: TracedArray, fp: TracedArray, period: float) -> tuple[TracedArray, ...]:
    x, xp = x % period, xp % period
    order = argsort(xp)
    xp, fp = xp[order], fp[order]
    return x, concatenate([xp[-1:] - period, xp, xp[:1] + period]), concatenate([fp[-1:], fp, fp[:1]])


# Convolution.


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> TracedArray:
    x, y = _vectors(a, v)
    if y.shape[0] > x.shape[0]:
        x, y = y, x
    return _slid(x, FUNCTIONS[np.flip](y), mode)


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> TracedArray:
    x, y = _vectors(a, v)
    y = call_ufunc(np.conjugate, y)
    if y.shape[0] > x.shape[0]:
        return FUNCTIONS[np.flip](_slid(y, x, mode))
    return _slid(x, y, mode)


def _vectors(a: Any, v: Any) -> list[TracedArray]:
    found = [reshape(one, -1) if not one.ndim else one for one in together([a, v])]
    if any(one.ndim != 1 for one in found):
        raise ValueError("object too deep for desired array")
    for one, name in zip(found, "av", strict=True):
        if not one.size:
            raise ValueError(f"{name} cannot be empty")
    return found


def _slid(x: TracedArray, y: TracedArray, mode: str) -> TracedArray:
    """The products of a vector with the windows of a longer one."""
    short = y.shape[0]
    low = {"full": short - 1, "same": short // 2, "valid": 0}.get(mode)
    if low is None:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got '{mode}')")
    high = short - 1 - low if mode == "same" else low
    if x.dtype.kind == "c":
        return _slid_complex(x, y, mode)
    if x.dtype != np.bool_ and short <= FEW:
        return _sum_of_slices(x, y, low, high)
    wide = astype(x, np.int32) if x.dtype == np.bool_ else x
    found = x.builder.convolution(
        wide.value.reshape((1, x.shape[0], 1)),
        astype(y, wide.dtype).value.reshape((short, 1, 1)),
        dimension_numbers="#hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>",
        padding=np.array([[low, high]]),
        feature_group_count=1,
        batch_group_count=1,
    )
    return astype(reshape(x.like(found), -1), x.dtype)


FEW = 32
"""The length of a vector up to which its products with windows are written as a sum, which is fused."""


def _sum_of_slices(x: TracedArray, y: TracedArray, low: int, high: int) -> TracedArray:
    padded = FUNCTIONS[np.pad](x, (low, high)) if low or high else x
    count = padded.shape[0] - y.shape[0] + 1
    total = padded[:count] * y[0]
    for shift in range(1, y.shape[0]):
        total = total + padded[shift : shift + count] * y[shift]
    return total


def _slid_complex(x: TracedArray, y: TracedArray, mode: str) -> TracedArray:
    a, b, c, d = (one.like(one.builder.operation(part, one.value)) for one in (x, y) for part in ("real", "imag"))
    real = _slid(a, c, mode) - _slid(b, d, mode)
    imaginary = _slid(a, d, mode) + _slid(b, c, mode)
    return x.like(x.builder.complex(real.value, imaginary.value))


# Differences and integrals.


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    array = lift(builder_of(f, *varargs), f)
    array = array if array.dtype.kind in "fc" else astype(array, np.float64)
    axes = axes_of(axis, array.ndim)
    spacings = varargs or (1.0,)
    if len(spacings) == 1:
        spacings = spacings * len(axes)
    if len(spacings) != len(axes):
        raise TypeError("invalid number of arguments")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    found = [_gradient(array, dim, spacing, edge_order) for dim, spacing in zip(axes, spacings, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def _gradient(array: TracedArray, axis: int, spacing: Any, edges: int) -> TracedArray:
    f = moveaxis(array, axis, 0)
    count = f.shape[0]
    if count < edges + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements"
        )
    rest = [1] * (f.ndim - 1)
    if np.ndim(spacing):
        steps = reshape(diff(lift(f.builder, spacing)), (-1, *rest))
        if steps.shape[0] != count - 1:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        before, after = steps[:-1], steps[1:]
        inner = (before**2 * f[2:] + (after**2 - before**2) * f[1:-1] - after**2 * f[:-2]) / (
            before * after * (before + after)
        )
        first, last, pairs = steps[:1], steps[-1:], ((steps[:1], steps[1:2]), (steps[-1:], steps[-2:-1]))
    else:
        inner = (f[2:] - f[:-2]) / (2.0 * spacing)
        first = last = spacing
        pairs = ((spacing, spacing), (spacing, spacing))
    if edges == 1:
        ends = (f[1:2] - f[:1]) / first, (f[-1:] - f[-2:-1]) / last
    else:
        ends = _edge(f[:1], f[1:2], f[2:3], *pairs[0]), -_edge(f[-1:], f[-2:-1], f[-3:-2], *pairs[1])
    return moveaxis(concatenate([ends[0], inner, ends[1]]), 0, axis)


def _edge(f0: Any, f1: Any, f2: Any, near: Any, far: Any) -> Any:
    """The slope at the first of three points, of second order."""
    return (
        -(2.0 * near + far) / (near * (near + far)) * f0
        + (near + far) / (near * far) * f1
        - near / (far * (near + far)) * f2
    )


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    builder = builder_of(y, x, dx)
    values = lift(builder, y)
    dim = axis_of(axis, values.ndim)
    steps: Any = dx
    if x is not None:
        steps = diff(lift(builder, x), axis=-1 if np.ndim(x) == 1 else dim)
        if steps.ndim == 1:
            steps = reshape(steps, [-1 if one == dim else 1 for one in range(values.ndim)])
    before = (slice(None),) * dim
    return reduced(np.add, steps * (values[(*before, slice(1, None))] + values[(*before, slice(None, -1))]) / 2.0, dim)


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: Any = -1, *, period: Any = 2 * math.pi) -> TracedArray:
    array = p if p.dtype.kind == "f" or isinstance(period, int) else astype(p, np.float64)
    dim = axis_of(axis, array.ndim)
    steps = diff(array, axis=dim)
    exact = array.dtype.kind in "iu"
    half = period // 2 if exact else period / 2
    wrapped = (steps + half) % period - half
    if not exact or period % 2 == 0:
        wrapped = where((wrapped == -half) & (steps > 0), half, wrapped)
    change = where(call_ufunc(np.absolute, steps) < (half if discont is None else discont), 0, wrapped - steps)
    before = (slice(None),) * dim
    later = array[(*before, slice(1, None))] + FUNCTIONS[np.cumsum](change, dim)
    return concatenate([array[(*before, slice(None, 1))], astype(later, array.dtype)], dim)


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> TracedArray:
    parts = [to_begin, diff(reshape(ary, -1)), to_end]
    return concatenate([reshape(lift(ary.builder, one), -1) for one in parts if one is not None])


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """By Horner's rule."""
    result: Any = 0 * x
    for number in range(len(p)):
        result = result * x + p[number]
    return result


@implements(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> TracedArray:
    count = x.shape[0] if N is None else constant_index(N, "N")
    powers = np.arange(count) if increasing else np.arange(count)[::-1]
    return call_ufunc(np.power, x[:, None], powers)


@implements(np.sinc)
def sinc(x: Any) -> Any:
    y = math.pi * (x if x.dtype.kind in "fc" else astype(x, np.float64))
    safe = where(y == 0, np.asarray(np.finfo(y.dtype).eps, y.dtype), y)
    return call_ufunc(np.sin, safe) / safe


# The parts of floats.


@compiles(np.spacing)
def _spacing(b: Builder, x: Value) -> Value:
    """To the next number away from zero; positive at both zeros."""
    negative = b.bitcast_convert(x, result_type=f"i{8 * dtype_of(x).itemsize}").compare("LT", 0)
    negative = b.and_(negative, x.compare("NE", 0))
    far = negative.select(x.like(-math.inf), x.like(math.inf))
    return x.is_infinite().select(x.like(math.nan), b.operation("chlo.next_after", x, far) - x)


_FORMATS = {8: (52, 11, np.int64), 4: (23, 8, np.int32)}
"""Bits of the fraction and of the exponent by size in bytes."""


@compiles(np.frexp)
def _frexp(b: Builder, x: Value) -> tuple[Value, Value]:
    """The fraction in [1/2, 1) from the bits; numbers below the normal ones are scaled first."""
    dtype = dtype_of(x)
    if dtype.itemsize not in _FORMATS:
        raise TraceError(f"np.frexp of {dtype} is not compiled", "x.astype(np.float32)")
    fraction, width, integer = _FORMATS[dtype.itemsize]
    small = abs(x) < float(np.finfo(dtype).tiny)
    scaled = small.select(x * float(2.0 ** (fraction + 1)), x)
    bits = b.bitcast_convert(scaled, result_type=np.dtype(integer))
    field = ((1 << width) - 1) << fraction
    bias = (1 << (width - 1)) - 2
    raw = b.shift_right_logical(bits & bits.like(field), bits.like(fraction))
    kept = bits & bits.like(-1 - field)
    part = b.bitcast_convert(kept | bits.like(bias << fraction), result_type=dtype)
    exponent = raw - bias - small.select(bits.like(fraction + 1), bits.like(0))
    plain = b.or_(x.compare("EQ", 0.0), b.not_(b.is_finite(x)))
    return plain.select(x, part), plain.select(exponent.like(0), exponent).convert(element(np.int32))
