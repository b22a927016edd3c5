"""Factors of small matrices, and solutions, on targets that lower them to loops: `xhlo.potrf`, `getrf`, `trsm`."""

from __future__ import annotations

import numpy as np

from ..types import Array
from .call import CustomCall
from .registry import CustomCallTarget

POTRF = "xhlo.potrf"
GETRF = "xhlo.getrf"
TRSM = "xhlo.trsm"
FLAGS = ("left", "lower", "transpose", "unit")
"""The attributes of a triangular solve."""


def _potrf(call: CustomCall, x: Array) -> tuple[Array, Array]:
    """As `lapack_spotrf_ffi`: the factor in the triangle that `lower` names, and info."""
    factor = np.array(np.swapaxes(x, -1, -2) if not call.attributes["lower"] else x)
    info = np.zeros(x.shape[:-2], np.int32)
    with np.errstate(all="ignore"):
        for j in range(x.shape[-1]):
            row = factor[..., j, :j]
            pivot = np.sqrt(factor[..., j, j] - (row * row).sum(-1))
            factor[..., j, j] = pivot
            info[...] = np.where((info == 0) & ~(pivot > 0), j + 1, info)
            below = factor[..., j + 1 :, j] - (factor[..., j + 1 :, :j] * row[..., None, :]).sum(-1)
            factor[..., j + 1 :, j] = below / pivot[..., None]
    return factor if call.attributes["lower"] else np.ascontiguousarray(np.swapaxes(factor, -1, -2)), info


def _check(call: CustomCall) -> str | None:
    if not isinstance(call.attributes.get("lower"), bool) or len(call.operands) != 1 or len(call.results) != 2:
        return "it takes matrices and the attribute lower, and gives factors and info"
    (x,), (factor, info) = call.operands, call.results
    square = len(x.shape) >= 2 and x.shape[-1] == x.shape[-2] and x.dtype.str[1:] in ("f4", "f8")
    if not square or factor != x or info.shape != x.shape[:-2] or info.dtype != np.int32:
        return f"{factor.text} and {info.text} are no factors of {x.text} and their info"
    return None


def _getrf(call: CustomCall, x: Array) -> tuple[Array, Array, Array]:
    """As `lapack_sgetrf_ffi`."""
    factors = np.array(x)
    pivots, info = np.zeros(call.results[1].shape, np.int32), np.zeros(x.shape[:-2], np.int32)
    for at in np.ndindex(x.shape[:-2]):
        a: Array = factors[at]
        for j in range(min(a.shape)):
            sizes = np.abs(a[j:, j])
            row = j if np.isnan(sizes[0]) else j + int(np.nanargmax(sizes))
            pivots[(*at, j)] = row + 1
            a[[j, row]] = a[[row, j]]
            if a[j, j] == 0:
                info[at] = info[at] or j + 1
                continue
            with np.errstate(all="ignore"):
                a[j + 1 :, j] /= a[j, j]
                a[j + 1 :, j + 1 :] -= a[j + 1 :, j : j + 1] * a[j, j + 1 :]
    return factors, pivots, info


def _check_getrf(call: CustomCall) -> str | None:
    if len(call.operands) != 1 or len(call.results) != 3 or len(call.operands[0].shape) < 2:
        return "it takes matrices, and gives factors, exchanged rows and info"
    (x,), (factors, pivots, info) = call.operands, call.results
    batch = x.shape[:-2]
    fits = factors == x and pivots.shape == (*batch, min(x.shape[-2:])) and info.shape == batch
    if not fits or x.dtype.str[1:] not in ("f4", "f8") or not pivots.dtype == info.dtype == np.int32:
        return f"{factors.text}, {pivots.text} and {info.text} are no factors of {x.text}"
    return None


def _trsm(call: CustomCall, a: Array, b: Array) -> Array:
    """As `lapack_strsm_ffi`."""
    left, lower, transpose, unit = (call.attributes[name] for name in FLAGS)
    if transpose == left:
        a, lower = np.swapaxes(a, -1, -2), not lower
    x = np.array(b if left else np.swapaxes(b, -1, -2))
    order = range(x.shape[-2]) if lower else reversed(range(x.shape[-2]))
    with np.errstate(all="ignore"):
        for i in order:
            known = slice(0, i) if lower else slice(i + 1, None)
            x[..., i, :] -= (a[..., i, known, None] * x[..., known, :]).sum(-2)
            if not unit:
                x[..., i, :] /= a[..., i, i, None]
    return x if left else np.ascontiguousarray(np.swapaxes(x, -1, -2))


def _check_trsm(call: CustomCall) -> str | None:
    if not all(isinstance(call.attributes.get(name), bool) for name in FLAGS):
        return "an attribute is missing"
    if len(call.operands) != 2 or call.results != (call.operands[1],) or len(call.results[0].shape) < 2:
        return "it takes triangular matrices and right sides, and gives solutions like these"
    a, b = call.operands
    side = b.shape[-2] if call.attributes["left"] else b.shape[-1]
    if a.shape != (*b.shape[:-2], side, side) or a.dtype != b.dtype or a.dtype.str[1:] not in ("f4", "f8"):
        return f"{a.text} and {b.text} do not belong together"
    return None


TARGETS = (
    CustomCallTarget(POTRF, _potrf, _check, loops=True),
    CustomCallTarget(GETRF, _getrf, _check_getrf, loops=True),
    CustomCallTarget(TRSM, _trsm, _check_trsm, loops=True),
)
