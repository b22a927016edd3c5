"""Factors of small matrices, on targets that lower them to loops: `xhlo.potrf`."""

from __future__ import annotations

import numpy as np

from ..types import Array
from .call import CustomCall
from .registry import CustomCallTarget

POTRF = "xhlo.potrf"


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


TARGETS = (CustomCallTarget(POTRF, _potrf, _check, loops=True),)
