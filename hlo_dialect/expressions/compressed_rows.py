"""A sparse matrix in compressed rows, as arrays of hlo."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i64

from ..attributes import int_array
from ..ops.elementwise_binary import AddOp
from ..ops.gather import GatherOp
from ..ops.index_dimensions import GatherDimensionNumbersAttr, IndexDimensions, ScatterDimensionNumbersAttr
from ..ops.reduction import combiner_region
from ..ops.scatter import ScatterOp
from ..ops.window import ReduceWindowOp
from ..types import dense_constant, make_tensor, numpy_dtype
from .tensor import Tensor


def times_dense(data: Tensor, starts: Tensor, columns: Tensor, dense: Tensor) -> Tensor:
    """
    `result[i] = sum of data[k] * dense[columns[k]]` over the k from starts[i] up to, not including, starts[i + 1].

    The row of each place is the number of starts up to it, less one; products are added to the rows of their places.
    Those of rows that there are not are dropped: before the first start, after the last one, and of wrong columns.
    Shapes: data and columns (n,), starts (rows + 1,), dense (m,) or (m, k); the result is (rows,) or (rows, k).
    """
    (count,) = data.shape
    result = _zeros(data, starts.shape[0] - 1, *dense.shape[1:])
    if not count or not all(dense.shape):
        return result
    first = starts.maximum(0)
    rows = _running_sum(_added(_zeros(starts, count), first, starts.like(1))) - 1
    rows = (columns.compare("GE", 0) & columns.compare("LT", dense.shape[0])).select(rows, -1)
    products = _rows_at(dense, columns) * data.broadcast((count, *dense.shape[1:]), [0])
    return _added(result, rows, products)


def _zeros(like: Tensor, *shape: int) -> Tensor:
    type_ = make_tensor(shape, like.element)
    return like.builder.constant(np.zeros(1, numpy_dtype(like.element)), type_)


def _indices(rows: Tensor) -> Tensor:
    return rows.reshape((*rows.shape, 1))


def _rows_at(x: Tensor, rows: Tensor) -> Tensor:
    """The rows of `x` at indices (n,), which are clamped."""
    dims = IndexDimensions(tuple(range(1, len(x.shape))), (0,), (), (), (0,), 1)
    sizes = int_array((1, *x.shape[1:]))
    numbers = GatherDimensionNumbersAttr.of(dims)
    return x.builder.op(GatherOp, [x, _indices(rows)], dimension_numbers=numbers, slice_sizes=sizes)


def _added(x: Tensor, rows: Tensor, updates: Tensor) -> Tensor:
    """`x` with updates added to its rows at indices (n,)."""
    dims = IndexDimensions(tuple(range(1, len(x.shape))), (0,), (), (), (0,), 1)
    numbers = ScatterDimensionNumbersAttr.of(dims)
    region = combiner_region(AddOp, x.element, x.builder.place())
    return x.builder.op(ScatterOp, [x, _indices(rows), updates], x.type, [region], scatter_dimension_numbers=numbers)


def _running_sum(x: Tensor) -> Tensor:
    """The sum of the elements up to each one, of a vector."""
    (count,) = x.shape
    zero = x.builder.splat(0, make_tensor((), x.element))
    region = combiner_region(AddOp, x.element, x.builder.place())
    padding = dense_constant(np.array([[count - 1, 0]]), make_tensor((1, 2), i64))
    return x.builder.op(
        ReduceWindowOp, [x, zero], x.type, [region], window_dimensions=int_array((count,)), padding=padding
    )
