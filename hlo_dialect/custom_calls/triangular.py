"""cholesky and triangular_solve on the CPU: calls of LAPACK's potrf and of the BLAS's trsm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..types import Array
from .batched_calls import Each
from .call import CustomCall
from .lapack_library import LIBRARY, call_without_info, prefix_of
from .lapack_library import call as lapack
from .registry import CustomCallTarget

CHOLESKY = "xhlo.cholesky"
TRIANGULAR_SOLVE = "xhlo.triangular_solve"
_LETTERS = {"NO_TRANSPOSE": "N", "TRANSPOSE": "T", "ADJOINT": "C"}
"""The BLAS's letters for operations on a matrix."""


def _working(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that LAPACK computes in: f32 for narrow floats."""
    return dtype if dtype.str[1:] in ("f4", "f8", "c8", "c16") else np.dtype(np.float32)


def _cholesky(call: CustomCall, a: Array) -> Array:
    """hlo.cholesky: see `CholeskyOp`. Rows are LAPACK's columns, and so the other triangle its."""
    dtype = _working(a.dtype)
    # The factor of the transposed matrix is the conjugate, in the other triangle, so that no copy is transposed.
    factor = np.array(a, dtype, order="C")
    n, name = a.shape[-1], f"{prefix_of(dtype)}potrf"
    uplo = "U" if call.attributes["lower"] else "L"
    batch = range(math.prod(a.shape[:-2]))
    failed = (lapack(name, batch, uplo, n, Each(factor, 2), max(1, n)) != 0).reshape(a.shape[:-2])
    # OpenBLAS does not report a NaN.
    failed |= np.isnan(np.diagonal(factor, axis1=-2, axis2=-1)).any(axis=-1)
    factor = (np.tril if call.attributes["lower"] else np.triu)(factor)
    factor[failed] = complex(np.nan, np.nan) if dtype.kind == "c" else np.nan
    return factor.astype(a.dtype)


def _solve(call: CustomCall, a: Array, b: Array) -> Array:
    """hlo.triangular_solve: see `TriangularSolveOp`. Rows are the BLAS's columns: the system is transposed."""
    dtype, given = _working(b.dtype), call.attributes
    left, lower, unit, transpose = (given[name] for name in ("left_side", "lower", "unit_diagonal", "transpose_a"))
    matrices, x = np.array(a, dtype, order="C"), np.array(b, dtype, order="C")
    rows, columns = b.shape[-2:]
    name, one = f"{prefix_of(dtype)}trsm", np.ones(1, dtype)
    letters = ("R" if left else "L", "U" if lower else "L", _LETTERS[transpose], "U" if unit else "N")
    sizes = (max(1, a.shape[-1]), max(1, columns))
    arrays = (one, Each(matrices, 2), sizes[0], Each(x, 2), sizes[1])
    call_without_info(name, range(math.prod(b.shape[:-2])), *letters, columns, rows, *arrays)
    return x.astype(b.dtype)


def _check_cholesky(call: CustomCall) -> str | None:
    arrays = (*call.operands, *call.results)
    if (
        len(arrays) != 2
        or arrays[0] != arrays[1]
        or len(arrays[0].shape) < 2
        or arrays[0].shape[-2] != arrays[0].shape[-1]
    ):
        return "it takes square matrices and gives as many"
    return None if isinstance(call.attributes.get("lower"), bool) else "the attribute lower is missing"


def _check_solve(call: CustomCall) -> str | None:
    flags = ("left_side", "lower", "unit_diagonal")
    if not all(isinstance(call.attributes.get(name), bool) for name in flags):
        return "an attribute is missing"
    if call.attributes.get("transpose_a") not in _LETTERS:
        return "transpose_a is not known"
    if len(call.operands) != 2 or call.results != (call.operands[1],) or len(call.results[0].shape) < 2:
        return "it takes two batches of matrices, and gives one like the second"
    a, b = (array.shape for array in call.operands)
    side = b[-2] if call.attributes["left_side"] else b[-1]
    if a != (*b[:-2], side, side) or call.operands[0].dtype != call.operands[1].dtype:
        return "the matrices do not fit each other"
    return None


TARGETS = (
    CustomCallTarget(CHOLESKY, _cholesky, _check_cholesky, library=LIBRARY, borrows=True),
    CustomCallTarget(TRIANGULAR_SOLVE, _solve, _check_solve, library=LIBRARY, borrows=True),
)
