"""JAX's `cpu_csr_sparse_dense_ffi`: a sparse matrix in compressed rows times a dense vector or matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from ..expressions.tensor import Builder
from ..types import Array
from .call import CustomCall
from .registry import CustomCallTarget

_DTYPES = ("i4", "i8", "f4", "f8", "c8", "c16")


def csr_times_dense(call: CustomCall, data: Array, starts: Array, columns: Array, dense: Array) -> Array:
    """
    `result[i] = sum of data[k] * dense[columns[k]]` over the k from starts[i] up to, not including, starts[i + 1].

    Elements outside the arrays count as zero: positions past the data, columns that `dense` has no row for. Starts that
    do not ascend are sorted.
    """
    count = data.shape[0]
    bounds = np.clip(starts.astype(np.int64), 0, count)
    rows: Array = np.cumsum(np.bincount(bounds, minlength=count + 1))[:count] - 1
    used: Array = (rows >= 0) & (rows < len(bounds) - 1) & (columns >= 0) & (columns < dense.shape[0])
    result: Any = np.zeros(call.results[0].shape, call.results[0].dtype)
    factors = data[used] if dense.ndim == 1 else data[used][:, None]
    np.add.at(result, rows[used], factors * dense[columns[used]])
    return result


def _check(call: CustomCall) -> str | None:
    if len(call.operands) != 4 or len(call.results) != 1:
        return "it takes data, the starts of rows, columns and a dense array, and gives one array"
    data, starts, columns, dense = call.operands
    ranks = tuple(len(array.shape) for array in call.operands)
    if ranks[:3] != (1, 1, 1) or ranks[3] not in (1, 2) or not starts.shape[0] or data.shape != columns.shape:
        return "it takes three vectors, data and columns of one length, and a dense vector or matrix"
    if data.dtype.str[1:] not in _DTYPES or dense.dtype != data.dtype:
        return f"the elements are {data.dtype} and {dense.dtype}, expected one type of 32 or 64 bits or complex numbers"
    if starts.dtype.str[1:] not in ("i4", "i8") or columns.dtype != starts.dtype:
        return f"the indices are {starts.dtype} and {columns.dtype}, expected int32 or int64"
    wanted = ((starts.shape[0] - 1, *dense.shape[1:]), data.dtype)
    if (call.results[0].shape, call.results[0].dtype) != wanted:
        return f"the result is {call.results[0].text}, expected {wanted[1]}{list(wanted[0])}"
    return None


def _decompose(op: Operation) -> Sequence[Operation]:
    from ..expressions.compressed_rows import times_dense  # few programs need gathers and scatters

    builder = Builder(location=op.location)
    return builder.replace(op, times_dense(*builder.tensors(op.operands)))


TARGETS = (CustomCallTarget("cpu_csr_sparse_dense_ffi", csr_times_dense, _check, _decompose),)
