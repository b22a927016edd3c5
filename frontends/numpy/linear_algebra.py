"""Products of matrices, contractions and norms."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import math
import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...hlo_dialect.attributes import DotDimensionNumbersAttr, ints
from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.movement import TransposeOp
from .arrays import (
    FUNCTIONS,
    TracedArray,
    astype,
    axes_of,
    axis_of,
    broadcast_to,
    builder_of,
    common_shape,
    implements,
    lift,
)
from .errors import TraceError
from .reductions import keep, reduced
from .shapes import matrix_transpose, reshape, together, transpose, where
from .ufuncs import call_ufunc


def contract(x: TracedArray, y: TracedArray, batch: Any, summed: Any) -> TracedArray:
    """dot_general of arrays of one dtype: batching and contracted dimensions as pairs of lists."""
    if x.dtype == np.bool_:
        return astype(contract(astype(x, np.int32), astype(y, np.int32), batch, summed), np.bool_)
    first, lhs_batch, lhs_summed = _untransposed(x, batch[0], summed[0])
    second, rhs_batch, rhs_summed = _untransposed(y, batch[1], summed[1])
    numbers = DotDimensionNumbersAttr.of(lhs_batch, rhs_batch, lhs_summed, rhs_summed)
    operands = first.value, second.value
    return x.like(x.builder.inserter.op(DotGeneralOp, operands, dot_dimension_numbers=numbers))


def _untransposed(x: TracedArray, batch: list[int], summed: list[int]) -> tuple[TracedArray, list[int], list[int]]:
    """The operand of a transpose in its place, so that no array is copied, if the free dimensions keep their order."""
    op = x.value.value.owner
    if type(op) is not TransposeOp:
        return x, batch, summed
    order = list(ints(op.permutation))
    free = [order[dim] for dim in range(x.ndim) if dim not in (*batch, *summed)]
    if free != sorted(free):
        return x, batch, summed
    inner = x.like(Tensor(x.value.builder, op.operands[0]))
    return inner, [order[dim] for dim in batch], [order[dim] for dim in summed]


@implements(np.matmul, np.linalg.matmul)
def matmul(x1: Any, x2: Any, /, out: Any = None, *, dtype: Any = None, casting: Any = None) -> TracedArray:
    x, y = together([x1, x2], dtype)
    if not x.ndim or not y.ndim:
        raise ValueError("matmul: Input operand does not have enough dimensions")
    if x.ndim == y.ndim == 1 and x.shape == y.shape and x.dtype.kind == "f":
        result = _scalar_product(x, y)
    elif x.ndim == 1:
        result = matmul(reshape(x, (1, -1)), y)
        result = (
            reshape(result, (*result.shape[:-2], *result.shape[-1:]))
            if y.ndim > 1
            else reshape(result, result.shape[1:])
        )
    elif y.ndim == 1:
        result = matmul(x, reshape(y, (-1, 1)))
        result = reshape(result, result.shape[:-1])
    else:
        if x.shape[-1] != y.shape[-2]:
            raise ValueError(f"matmul: Input operand 1 has a mismatch in its core dimension 0: {x.shape} @ {y.shape}")
        outer = common_shape(x.shape[:-2], y.shape[:-2])
        x, y = broadcast_to(x, (*outer, *x.shape[-2:])), broadcast_to(y, (*outer, *y.shape[-2:]))
        dims = list(range(len(outer)))
        result = contract(x, y, (dims, dims), ([len(outer) + 1], [len(outer)]))
    return result if out is None else (out[0] if isinstance(out, tuple) else out).write(result)


@implements(np.dot, method="dot")
def dot(a: Any, b: Any, out: Any = None) -> TracedArray:
    x, y = together([a, b])
    if not x.ndim or not y.ndim:
        return call_ufunc(np.multiply, x, y)
    if x.ndim == y.ndim == 1 and x.shape == y.shape and x.dtype.kind == "f":
        return _scalar_product(x, y)
    return contract(x, y, ([], []), ([x.ndim - 1], [max(y.ndim - 2, 0)]))


def _scalar_product(x: TracedArray, y: TracedArray) -> TracedArray:
    """As a sum, into which slices and what else makes the vectors are fused; a product would have them in memory."""
    return reduced(np.add, call_ufunc(np.multiply, x, y), None, x.dtype)


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> TracedArray:
    x, y = together([a, b])
    return dot(reshape(call_ufunc(np.conjugate, x), -1), reshape(y, -1))


@implements(np.vecdot, np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: Any = -1) -> TracedArray:
    x, y = together([x1, x2])
    if x.shape[axis_of(axis, x.ndim)] != y.shape[axis_of(axis, y.ndim)]:
        raise ValueError(f"vecdot: arrays of shapes {x.shape} and {y.shape} differ in size along the axis {axis}")
    return reduced(np.add, call_ufunc(np.conjugate, x) * y, axis, x.dtype)


@implements(np.inner)
def inner(a: Any, b: Any, /) -> TracedArray:
    x, y = together([a, b])
    if not x.ndim or not y.ndim:
        return call_ufunc(np.multiply, x, y)
    return contract(x, y, ([], []), ([x.ndim - 1], [y.ndim - 1]))


@implements(np.outer, np.linalg.outer)
def outer(a: Any, b: Any, out: Any = None) -> TracedArray:
    x, y = together([a, b])
    return call_ufunc(np.multiply, reshape(x, (-1, 1)), reshape(y, (1, -1)))


@implements(np.kron)
def kron(a: Any, b: Any) -> TracedArray:
    x, y = together([a, b])
    rank = max(x.ndim, y.ndim)
    x, y = (reshape(one, (*[1] * (rank - one.ndim), *one.shape)) for one in (x, y))
    product = reshape(x, [n for size in x.shape for n in (size, 1)]) * reshape(
        y, [n for size in y.shape for n in (1, size)]
    )
    return reshape(product, [p * q for p, q in zip(x.shape, y.shape, strict=True)])


@implements(np.tensordot, np.linalg.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> TracedArray:
    x, y = together([a, b])
    if isinstance(axes, (int, np.integer)):
        first, second = tuple(range(x.ndim - int(axes), x.ndim)), tuple(range(int(axes)))
    else:
        first, second = axes_of(axes[0], x.ndim), axes_of(axes[1], y.ndim)
    if [x.shape[one] for one in first] != [y.shape[one] for one in second]:
        raise ValueError("shape-mismatch for sum")
    return contract(x, y, ([], []), (list(first), list(second)))


@implements(np.cross, np.linalg.cross)
def cross(a: Any, b: Any, axis: Any = -1) -> TracedArray:
    x, y = together([a, b])
    if x.shape[axis_of(axis, x.ndim)] != 3 or y.shape[axis_of(axis, y.ndim)] != 3:
        raise TraceError("np.cross is compiled for vectors of three elements")
    first, second = ([one[..., i] for i in range(3)] for one in (FUNCTIONS[np.moveaxis](z, axis, -1) for z in (x, y)))
    parts = [first[(i + 1) % 3] * second[(i + 2) % 3] - first[(i + 2) % 3] * second[(i + 1) % 3] for i in range(3)]
    return FUNCTIONS[np.stack](parts, axis)


# Sums of products by subscripts.


@implements(np.einsum)
def einsum(*operands: Any, out: Any = None, optimize: Any = True, dtype: Any = None, **stated: Any) -> TracedArray:
    """Pairs of operands are contracted in the order that NumPy's own planner chooses."""
    if not isinstance(operands[0], str):
        operands = tuple(_named_axes(operands))
    arrays = together(list(operands[1:]), dtype)
    stands = [np.broadcast_to(np.empty((), np.bool_), one.shape) for one in arrays]
    _, contractions = np.einsum_path(operands[0], *stands, optimize=_planner(optimize), einsum_call=True)  # pyright: ignore
    steps: Any = contractions
    for step in steps:
        taken, equation = step[0], next(part for part in step if isinstance(part, str) and "->" in part)
        chosen = [arrays.pop(place) for place in taken]
        inputs, output = equation.split("->")
        arrays.append(_summed(inputs.split(","), output, chosen))
    return arrays[0]


def _named_axes(given: Sequence[Any]) -> list[Any]:
    """Operands with lists of axes as a formula with letters, which are in the order of the axes' numbers."""
    arrays, lists = given[: len(given) // 2 * 2 : 2], [list(one) for one in given[1::2]]
    output = list(given[-1]) if len(given) % 2 else None
    numbers = sorted({axis for one in [*lists, output or []] for axis in one if axis is not Ellipsis})
    letters = dict(zip(numbers, string.ascii_letters, strict=False))
    texts = ["".join("..." if axis is Ellipsis else letters[axis] for axis in one) for one in lists]
    formula = ",".join(texts)
    if output is not None:
        formula += "->" + "".join("..." if axis is Ellipsis else letters[axis] for axis in output)
    return [formula, *arrays]


@implements(np.einsum_path, in_clusters=False)
def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """The plan depends on the shapes alone."""
    if not isinstance(operands[0], str):
        operands = tuple(_named_axes(operands))
    stands = [np.broadcast_to(np.empty((), np.bool_), np.shape(one)) for one in operands[1:]]
    return np.einsum_path(operands[0], *stands, optimize=optimize)


def _planner(optimize: Any) -> Any:
    """NumPy's planner by name; "greedy" for True and for False, whose single step is not better here."""
    return optimize if isinstance(optimize, (str, list, tuple)) else "greedy"


def _summed(names: list[str], output: str, arrays: list[TracedArray]) -> TracedArray:
    """One step of an einsum: any number of operands."""
    found = [_single(name, array, output, names) for name, array in zip(names, arrays, strict=True)]
    name, array = found[0]
    for other_name, other in found[1:]:
        rest = "".join(n for n, _ in found[2:])
        name, array = _pair(name, array, other_name, other, output + rest)
    missing = [axis for axis, letter in enumerate(name) if letter not in output]
    if missing:
        array, name = reduced(np.add, array, tuple(missing), array.dtype), "".join(c for c in name if c in output)
    return transpose(array, [name.index(letter) for letter in output])


def _single(name: str, array: TracedArray, output: str, names: list[str]) -> tuple[str, TracedArray]:
    """An operand with each letter once: repeated ones are its diagonal, those that only it has are summed."""
    while len(set(name)) != len(name):
        letter = next(c for c in name if name.count(c) > 1)
        first = name.index(letter)
        second = name.index(letter, first + 1)
        array = FUNCTIONS[np.diagonal](array, 0, first, second)
        name = "".join(c for at, c in enumerate(name) if at not in (first, second)) + letter
    others = "".join(names).replace(name, "", 1) + output
    alone = tuple(axis for axis, letter in enumerate(name) if letter not in others)
    if alone:
        array = reduced(np.add, array, alone, array.dtype)
        name = "".join(letter for axis, letter in enumerate(name) if axis not in alone)
    return name, array


def _pair(first: str, x: TracedArray, second: str, y: TracedArray, needed: str) -> tuple[str, TracedArray]:
    shared = [letter for letter in first if letter in second]
    # A dimension of size 1 is broadcast.
    unequal = [c for c in shared if x.shape[first.index(c)] != y.shape[second.index(c)]]
    if unequal:
        sizes = {c: max(x.shape[first.index(c)], y.shape[second.index(c)]) for c in unequal}
        x = broadcast_to(x, [sizes.get(c, n) for c, n in zip(first, x.shape, strict=True)])
        y = broadcast_to(y, [sizes.get(c, n) for c, n in zip(second, y.shape, strict=True)])
    batch = [letter for letter in shared if letter in needed]
    summed = [letter for letter in shared if letter not in needed]
    result = contract(
        x,
        y,
        ([first.index(c) for c in batch], [second.index(c) for c in batch]),
        ([first.index(c) for c in summed], [second.index(c) for c in summed]),
    )
    rest = [c for c in first if c not in shared], [c for c in second if c not in shared]
    return "".join((*batch, *rest[0], *rest[1])), result


# numpy.linalg.


def inexact(a: Any) -> TracedArray:
    """An array that linear algebra computes with: integers as f64."""
    array = lift(builder_of(a), a)
    return array if array.dtype.kind in "fc" else astype(array, np.float64)


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> TracedArray:
    array = inexact(x)
    if axis is None and (ord is None or array.ndim == 1):
        flat_axes: tuple[int, ...] = tuple(range(array.ndim))
    else:
        flat_axes = axes_of(axis, array.ndim)
    size = call_ufunc(np.absolute, array)
    if ord is None or (ord == "fro" and len(flat_axes) == 2) or (ord == 2 and len(flat_axes) == 1):
        return call_ufunc(np.sqrt, reduced(np.add, size * size, flat_axes, keepdims=keepdims))
    if len(flat_axes) == 1:
        return _vector_norm(size, ord, flat_axes, keepdims)
    if len(flat_axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    return _matrix_norm(array, ord, flat_axes, keepdims)


def _vector_norm(size: TracedArray, ord: Any, axes: tuple[int, ...], keepdims: bool) -> TracedArray:
    if ord == math.inf:
        return reduced(np.maximum, size, axes, keepdims=keepdims)
    if ord == -math.inf:
        return reduced(np.minimum, size, axes, keepdims=keepdims)
    if ord == 0:
        return reduced(np.add, astype(call_ufunc(np.not_equal, size, 0), size.dtype), axes, keepdims=keepdims)
    if ord == 1:
        return reduced(np.add, size, axes, keepdims=keepdims)
    return reduced(np.add, size**ord, axes, keepdims=keepdims) ** (1.0 / ord)


_Norm = Callable[[TracedArray, Any, tuple[int, ...]], TracedArray]
_NORMS: dict[Any, _Norm] = {}
"""Norms of the matrices in two axes of an array by `ord`."""


def norms_of_matrices(*orders: Any) -> Callable[[_Norm], _Norm]:
    """A decorator: the function computes these norms."""

    def register(function: _Norm) -> _Norm:
        _NORMS.update(dict.fromkeys(orders, function))
        return function

    return register


@norms_of_matrices(1, -1, math.inf, -math.inf)
def _largest_sum(array: TracedArray, ord: Any, axes: tuple[int, ...]) -> TracedArray:
    """The largest sum of a column for 1, of a row for infinity; the smallest for negative orders."""
    summed, kept = axes if abs(ord) == 1 else axes[::-1]
    sums = reduced(np.add, call_ufunc(np.absolute, array), summed)
    return reduced(np.maximum if ord > 0 else np.minimum, sums, kept - (kept > summed))


def _matrix_norm(array: TracedArray, ord: Any, axes: tuple[int, ...], keepdims: bool) -> TracedArray:
    if ord not in _NORMS:
        raise ValueError("Invalid norm order for matrices.")
    found = _NORMS[ord](array, ord, axes)
    return keep(found, array.shape, axes) if keepdims else found


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> TracedArray:
    array = inexact(x)
    axes = axes_of(axis, array.ndim)
    size = call_ufunc(np.absolute, array)
    if ord == 2:
        return call_ufunc(np.sqrt, reduced(np.add, size * size, axes, keepdims=keepdims))
    return _vector_norm(size, ord, axes, keepdims)


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> TracedArray:
    array = inexact(a)
    found = array.like(array.builder.cholesky(array.value, lower=True))
    rows, columns = np.ogrid[: a.shape[-1], : a.shape[-1]]
    lower = where(columns <= rows, found, np.zeros((), found.dtype))
    return call_ufunc(np.conjugate, matrix_transpose(lower)) if upper else lower


implements(np.linalg.matrix_transpose)(matrix_transpose)
