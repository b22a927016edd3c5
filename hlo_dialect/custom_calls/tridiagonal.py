"""JAX's `tridiagonal_solve_perturbed_ffi`: tridiagonal systems whose matrices may be singular."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..types import Array
from .call import CustomCall
from .registry import CustomCallTarget


def solve_perturbed(call: CustomCall, lower: Array, diagonal: Array, upper: Array, b: Array) -> Array:
    """
    The solution of tridiagonal systems; a pivot near 0 is replaced by one of the size of a rounding error.

    All diagonals have n elements: the lower's first and the upper's last are unused. The matrices are factored with
    partial pivoting, all of the batch at once; a pivot is never below eps times the largest element of U.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        pivots, above, second, x = _eliminate(lower, diagonal, upper, b)
        limits: Any = np.finfo(diagonal.dtype)
        largest = np.abs(np.stack([pivots, above, second])).max(axis=(0, -1), initial=0)
        least = np.maximum(limits.eps * largest, limits.tiny)[..., None]
        size = np.abs(pivots)
        phases = np.where(size == 0, 1, pivots / np.where(size == 0, 1, size))
        pivots = np.where(size < least, least * phases, pivots)
        return _substitute(pivots, above, second, x).astype(b.dtype)


def _eliminate(lower: Array, diagonal: Array, upper: Array, b: Array) -> tuple[Array, Array, Array, Array]:
    """U of the LU factorization with exchanged rows, its diagonal and the two above; L's inverse times b."""
    pivots, above, x = (np.array(values) for values in (diagonal, upper, b))
    second = np.zeros_like(above)
    n = pivots.shape[-1]
    if n > 0:
        above[..., -1] = 0
    for row in range(n - 1):
        low = lower[..., row + 1]
        exchanged = np.abs(low) > np.abs(pivots[..., row])
        kept = pivots[..., row], above[..., row], np.zeros_like(low)
        below = low, pivots[..., row + 1], above[..., row + 1]
        first = [np.where(exchanged, other, own) for own, other in zip(kept, below, strict=True)]
        rest = [np.where(exchanged, own, other) for own, other in zip(kept, below, strict=True)]
        factor = np.where(rest[0] == 0, 0, rest[0] / np.where(first[0] == 0, 1, first[0]))
        sides = exchanged[..., None]
        upper_side = np.where(sides, x[..., row + 1, :], x[..., row, :])
        lower_side = np.where(sides, x[..., row, :], x[..., row + 1, :])
        pivots[..., row], above[..., row], second[..., row] = first
        pivots[..., row + 1], above[..., row + 1] = rest[1] - factor * first[1], rest[2] - factor * first[2]
        x[..., row, :], x[..., row + 1, :] = upper_side, lower_side - factor[..., None] * upper_side
    return pivots, above, second, x


def _substitute(pivots: Array, above: Array, second: Array, x: Array) -> Array:
    """U's inverse times x."""
    n = pivots.shape[-1]
    for row in reversed(range(n)):
        known = x[..., row, :]
        if row + 1 < n:
            known = known - above[..., row, None] * x[..., row + 1, :]
        if row + 2 < n:
            known = known - second[..., row, None] * x[..., row + 2, :]
        x[..., row, :] = known / pivots[..., row, None]
    return x


def _check(call: CustomCall) -> str | None:
    if len(call.operands) != 4 or len(call.results) != 1 or len(call.operands[3].shape) < 2:
        return "it takes three diagonals and a batch of matrices, and gives one like it"
    b = call.operands[3]
    if b.dtype.str[1:] not in ("f4", "f8", "c8", "c16"):
        return f"the right sides are {b.text}; their elements have to be f32, f64 or complex numbers of these"
    if call.results[0] != b or any((d.shape, d.dtype) != (b.shape[:-1], b.dtype) for d in call.operands[:3]):
        return f"the diagonals have to be {b.dtype}{list(b.shape[:-1])}, the result {b.text}"
    return None


TARGETS = (CustomCallTarget("tridiagonal_solve_perturbed_ffi", solve_perturbed, _check, library="NumPy", borrows=True),)
