"""Functions of polynomials by their coefficients, the highest power first; and Bessel's function."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import FUNCTIONS, TracedArray, astype, builder_of, constant_index, implements, lift
from ..factorizations import eigvals, inv, lstsq
from ..joining import concatenate
from ..reductions import reduced
from ..shapes import matrix_transpose, reshape, together, where
from ..signals import convolve, vander
from ..ufuncs import call_ufunc


def _coefficients(*given: Any) -> list[TracedArray]:
    return [reshape(one, -1) for one in together(list(given))]


def _aligned(a1: Any, a2: Any) -> list[TracedArray]:
    """Two polynomials with zeros before the shorter one."""
    found = _coefficients(a1, a2)
    size = max(one.size for one in found)
    return [FUNCTIONS[np.pad](one, (size - one.size, 0)) if one.size < size else one for one in found]


implements(np.polyadd)(lambda a1, a2: call_ufunc(np.add, *_aligned(a1, a2)))
implements(np.polysub)(lambda a1, a2: call_ufunc(np.subtract, *_aligned(a1, a2)))
implements(np.polymul)(lambda a1, a2: convolve(a1, a2))


@implements(np.polydiv, in_clusters=False)
def polydiv(u: Any, v: Any) -> tuple[TracedArray, TracedArray]:
    """The quotient and the remainder, which has one coefficient less than the divisor, zeros among them."""
    top, bottom = _coefficients(u, v)
    top, bottom = (one + 0.0 for one in (top, bottom))
    count = top.size - bottom.size + 1
    if count <= 0:
        return top.like(top.value.like(0))[:1], top
    quotient: list[TracedArray] = []
    for place in range(count):
        quotient.append(top[place] / bottom[0])
        rest = top[place + 1 : place + bottom.size] - quotient[-1] * bottom[1:]
        top = concatenate([top[: place + 1], rest, top[place + bottom.size :]])
    remainder = top[count:] if bottom.size > 1 else top[-1:] * 0
    return FUNCTIONS[np.stack](quotient), remainder


@implements(np.polyder)
def polyder(p: Any, m: Any = 1) -> TracedArray:
    order = constant_index(m, "the order")
    if order < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    for _ in range(order):
        p = p[:-1] * np.arange(p.shape[0] - 1, 0, -1)
    return p if order else p.like(p.value)


@implements(np.polyint)
def polyint(p: Any, m: Any = 1, k: Any = None) -> TracedArray:
    order = constant_index(m, "the order")
    if order < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    builder = builder_of(p, k)
    found = lift(builder, p)
    added = lift(builder, np.zeros(order) if k is None else k)
    added = reshape(added, -1)
    if added.size == 1 and order > 1:
        added = FUNCTIONS[np.broadcast_to](added, (order,))
    if added.size < order:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for number in range(order):
        found = concatenate([found / np.arange(found.shape[0], 0, -1), added[number : number + 1]])
    return found


@implements(np.poly, in_clusters=False)
def poly(seq_of_zeros: Any) -> TracedArray:
    """The coefficients of a polynomial by its zeros, or of a matrix; real ones for a real argument."""
    given = seq_of_zeros
    if given.ndim == 2 and given.shape[0] == given.shape[1]:
        zeros = eigvals(given)
    elif given.ndim == 1:
        zeros = given
    else:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    wide = zeros if zeros.dtype.kind in "fc" else astype(zeros, np.float64)
    found = lift(given.builder, np.ones(1, wide.dtype))
    for number in range(wide.shape[0]):
        found = FUNCTIONS[np.pad](found, (0, 1)) - FUNCTIONS[np.pad](found * wide[number], (1, 0))
    return found if given.dtype.kind == "c" or found.dtype.kind != "c" else FUNCTIONS[np.real](found)


@implements(np.roots, in_clusters=False)
def roots(p: Any) -> TracedArray:
    """Complex numbers, as many as there are coefficients less one: the first must not be zero."""
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    wide = p if p.dtype.kind in "fc" else astype(p, np.float64)
    size = wide.shape[0] - 1
    if size < 1:
        return lift(p.builder, np.zeros(0, np.result_type(wide.dtype, np.complex64)))
    below = lift(p.builder, np.eye(size, k=-1, dtype=wide.dtype))
    first = lift(p.builder, np.arange(size)[:, None] == 0)
    return eigvals(where(first, (-wide[1:] / wide[0])[None, :], below))


@implements(np.polyfit, in_clusters=False)
def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    builder = builder_of(x, y, w)
    order = constant_index(deg, "the degree") + 1
    at, values = (lift(builder, one) + 0.0 for one in (x, y))
    if at.ndim != 1 or at.shape[0] != values.shape[0]:
        raise TypeError("expected x and y to have same length")
    left, right = vander(at, order), values
    if w is not None:
        weights = lift(builder, w) + 0.0
        left = left * weights[:, None]
        right = right * (weights[:, None] if right.ndim == 2 else weights)
    limit = at.shape[0] * float(np.finfo(at.dtype).eps) if rcond is None else rcond
    scale = call_ufunc(np.sqrt, reduced(np.add, left * left, 0))
    solution, residuals, rank, singular = lstsq(left / scale, right, limit)
    found = matrix_transpose(matrix_transpose(solution) / scale) if solution.ndim == 2 else solution / scale
    if full:
        return found, residuals, rank, singular, limit
    if not cov:
        return found
    outer = FUNCTIONS[np.outer](scale, scale)
    base = inv(matrix_transpose(left) @ left / outer) / outer
    if cov == "unscaled":
        return found, base
    if at.shape[0] <= order:
        raise ValueError("the number of data points must exceed order to scale the covariance matrix")
    factor = residuals / (at.shape[0] - order)
    return found, base * factor if values.ndim == 1 else base[:, :, None] * factor


NODES = 120
"""Nodes of a circle whose mean of exp(x cos) is I0(x) to 1e-15 for all x at which that is finite."""


@implements(np.i0)
def i0(x: Any) -> TracedArray:
    """The modified Bessel function of order 0: the trapezoid rule for its integral over the circle."""
    if x.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    size = x if x.dtype.kind == "f" else astype(x, np.float64)
    nodes = np.cos((np.arange(NODES // 2) + 0.5) * math.pi / NODES).astype(size.dtype)
    return FUNCTIONS[np.mean](call_ufunc(np.cosh, size[..., None] * nodes), -1)
