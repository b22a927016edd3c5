"""
numpy.linalg on LAPACK: factorizations, and what follows from them, of stacks of matrices of any size.

The routines are the custom calls that programs of JAX make. Where NumPy raises LinAlgError for elements that only a run
knows, results are NaN or infinite. Eigenvalues of general matrices are complex, also if all of them are real.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arrays import (
    FUNCTIONS,
    TracedArray,
    astype,
    axes_of,
    broadcast_to,
    builder_of,
    common_shape,
    constant_index,
    implements,
    lift,
)
from .control_flow import fori_loop
from .errors import TraceError
from .indexing import take_along_axis
from .linear_algebra import einsum, matmul, norms_of_matrices
from .reductions import NO_VALUE, reduced
from .shapes import matrix_transpose, moveaxis, reshape, together, where
from .ufuncs import call_ufunc

_LETTERS = {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}
_COMPLEX_NAMES = {"orgqr": "ungqr", "syevd": "heevd"}
_Spec = tuple[tuple[int, ...], Any]


def _inexact(a: Any, builder: Any = None) -> TracedArray:
    """An array that linear algebra computes with: integers as f64. Raises TypeError for what LAPACK does not have."""
    array = lift(builder or builder_of(a), a)
    if array.dtype.kind not in "fc":
        return astype(array, np.float64)
    if array.dtype.str[1:] not in _LETTERS:
        raise TypeError(f"array type {array.dtype} is unsupported in linalg")
    return array


def matrices(a: Any, square: bool = False) -> TracedArray:
    """A stack of matrices, of floats. Raises LinAlgError."""
    array = _inexact(a)
    if array.ndim < 2:
        raise np.linalg.LinAlgError(f"{array.ndim}-dimensional array given. Array must be at least two-dimensional")
    if square and array.shape[-1] != array.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return array


def _real(array: TracedArray) -> np.dtype[Any]:
    """The dtype of its real parts."""
    return np.finfo(array.dtype).dtype


def _call(routine: str, operands: list[TracedArray], results: list[_Spec], **letters: str) -> list[TracedArray]:
    """Call a routine of LAPACK on stacks; results are stated as the shapes of one matrix's, and dtypes."""
    first = operands[0]
    batch = first.shape[:-2]
    name = _COMPLEX_NAMES.get(routine, routine) if first.dtype.kind == "c" else routine
    found = first.builder.custom_call(
        [one.value for one in operands],
        call_target_name=f"lapack_{_LETTERS[first.dtype.str[1:]]}{name}_ffi",
        api_version=4,
        backend_config={name: ord(letter) for name, letter in letters.items()},
        result_type=[(np.dtype(dtype), (*batch, *shape)) for shape, dtype in results],
    )
    return [first.like(value) for value in (found if isinstance(found, tuple) else (found,))]


def _named(function: Any, *parts: TracedArray) -> Any:
    """The named tuple that a function of NumPy returns."""
    return type(function(np.eye(1)))(*parts)


def _where_done(info: TracedArray, array: TracedArray) -> TracedArray:
    """NaN for the matrices whose routine failed."""
    failed = reshape(info != 0, (*info.shape, *[1] * (array.ndim - info.ndim)))
    return where(failed, np.asarray(math.nan, array.dtype), array)


# LU.


def _lu(a: TracedArray) -> tuple[TracedArray, TracedArray]:
    """The factors in one matrix, and the rows exchanged, counted from 0."""
    rows, columns = a.shape[-2:]
    factors, pivots, _ = _call("getrf", [a], [((rows, columns), a.dtype), ((rows,), np.int32), ((), np.int32)])
    return factors, pivots - np.int32(1)


def _permutation(pivots: TracedArray) -> TracedArray:
    """The order of rows that the exchanges make, one after the other."""
    places = np.arange(pivots.shape[-1], dtype=np.int32)

    def exchange(step: Any, order: TracedArray) -> TracedArray:
        other = take_along_axis(pivots, broadcast_to(lift(pivots.builder, step), (*pivots.shape[:-1], 1)), -1)
        here = places == step
        there = places == other
        mine = reduced(np.add, where(here, order, np.int32(0)), -1, np.int32, keepdims=True)
        its = reduced(np.add, where(there, order, np.int32(0)), -1, np.int32, keepdims=True)
        return where(here, its, where(there, mine, order))

    return fori_loop(0, pivots.shape[-1], exchange, broadcast_to(lift(pivots.builder, places), pivots.shape))


def _triangular(a: TracedArray, b: TracedArray, lower: bool) -> TracedArray:
    """Solve with a triangle of `a`; the diagonal of a lower one is 1."""
    found = a.builder.triangular_solve(
        a.value, b.value, left_side=True, lower=lower, unit_diagonal=lower, transpose_a="NO_TRANSPOSE"
    )
    return a.like(found)


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> TracedArray:
    builder = builder_of(a, b)
    x, y = together([_inexact(a, builder), _inexact(b, builder)])
    x = matrices(x, square=True)
    if np.ndim(b) == 1:
        return reshape(_solved(x, reshape(y, (-1, 1))), x.shape[:-1])
    if y.ndim < 2 or y.shape[-2] != x.shape[-1]:
        raise ValueError(f"solve: Input operand 1 has a mismatch in its core dimension 0: {x.shape}, {y.shape}")
    return _solved(x, y)


def _solved(x: TracedArray, y: TracedArray) -> TracedArray:
    if x.shape[-1] != y.shape[-2]:
        raise ValueError(f"solve: Input operand 1 has a mismatch in its core dimension 0: {x.shape}, {y.shape}")
    stack = common_shape(x.shape[:-2], y.shape[:-2])
    y = broadcast_to(y, (*stack, *y.shape[-2:]))
    if not x.size or not y.size:
        return y.like(y.value)
    # One matrix is factored once for all right sides.
    factors, pivots = _lu(x)
    order = broadcast_to(_permutation(pivots), (*stack, x.shape[-1]))
    factors = broadcast_to(factors, (*stack, *x.shape[-2:]))
    changed = take_along_axis(y, order[..., None], -2)
    return _triangular(factors, _triangular(factors, changed, lower=True), lower=False)


@implements(np.linalg.inv)
def inv(a: Any) -> TracedArray:
    array = matrices(a, square=True)
    return _solved(array, lift(array.builder, np.eye(array.shape[-1], dtype=array.dtype)))


def _diagonal_and_exchanges(a: Any) -> tuple[TracedArray, TracedArray]:
    """The diagonal of U, and -1 or 1 for an odd or even permutation."""
    array = matrices(a, square=True)
    if not array.size:
        stack = array.shape[:-2]
        return lift(array.builder, np.ones((*stack, 1), array.dtype)), lift(array.builder, np.ones(stack, array.dtype))
    factors, pivots = _lu(array)
    moved = pivots != np.arange(array.shape[-1], dtype=np.int32)
    one = np.asarray(1, array.dtype)
    return FUNCTIONS[np.diagonal](factors, 0, -2, -1), reduced(np.multiply, where(moved, -one, one), -1)


@implements(np.linalg.det)
def det(a: Any) -> TracedArray:
    diagonal, sign = _diagonal_and_exchanges(a)
    return sign * reduced(np.multiply, diagonal, -1)


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    diagonal, sign = _diagonal_and_exchanges(a)
    size = call_ufunc(np.absolute, diagonal)
    zero = reduced(np.logical_or, size == 0, -1)
    signs = diagonal / where(size == 0, np.asarray(1, size.dtype), size)
    sign = where(zero, np.asarray(0, sign.dtype), sign * reduced(np.multiply, signs, -1))
    return _named(np.linalg.slogdet, sign, reduced(np.add, call_ufunc(np.log, size), -1))


# QR.


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    array = matrices(a)
    rows, columns = array.shape[-2:]
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    least = min(rows, columns)
    dtype = array.dtype
    factors, tau = _call("geqrf", [array], [((rows, columns), dtype), ((least,), dtype)])
    if mode == "raw":
        return matrix_transpose(factors), tau
    width = rows if mode == "complete" else least
    r = FUNCTIONS[np.triu](factors[..., :width, :])
    if mode == "r":
        return FUNCTIONS[np.triu](factors[..., :least, :])
    vectors = factors[..., :width]
    missing = width - vectors.shape[-1]
    if missing:
        vectors = FUNCTIONS[np.pad](vectors, [(0, 0)] * (vectors.ndim - 1) + [(0, missing)])
    (q,) = _call("orgqr", [vectors, tau], [((rows, width), dtype)])
    return _named(np.linalg.qr, q, r)


# Singular values and eigenvalues.


def _decomposed(a: Any, mode: str) -> tuple[TracedArray, TracedArray, TracedArray]:
    """U, s, V's adjoint; mode A, S or N as LAPACK's jobz."""
    array = matrices(a)
    (rows, columns), dtype = array.shape[-2:], array.dtype
    least = min(rows, columns)
    u, vt = ((rows, rows), (columns, columns)) if mode == "A" else ((rows, least), (least, columns))
    results: list[_Spec] = [((rows, columns), dtype), ((least,), _real(array)), (u, dtype), (vt, dtype), ((), np.int32)]
    _, s, left, right, info = _call("gesdd", [array], results, mode=mode)
    return _where_done(info, left), _where_done(info, s), _where_done(info, right)


@implements(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if hermitian:
        return _hermitian_svd(a, compute_uv)
    if not compute_uv:
        return _decomposed(a, "N")[1]
    found = _decomposed(a, "A" if full_matrices else "S")
    return _named(np.linalg.svd, *found)


def _hermitian_svd(a: Any, compute_uv: bool) -> Any:
    """From eigenvalues, the largest in size first; their signs go to the right vectors."""
    if not compute_uv:
        size = call_ufunc(np.absolute, eigvalsh(a))
        return FUNCTIONS[np.flip](FUNCTIONS[np.sort](size, -1), -1)
    values, u = eigh(a)
    order = FUNCTIONS[np.flip](FUNCTIONS[np.argsort](call_ufunc(np.absolute, values), -1), -1)
    values, u = take_along_axis(values, order, -1), take_along_axis(u, order[..., None, :], -1)
    signs = astype(call_ufunc(np.sign, values), u.dtype)
    right = call_ufunc(np.conjugate, matrix_transpose(u * signs[..., None, :]))
    return _named(np.linalg.svd, u, call_ufunc(np.absolute, values), right)


implements(np.linalg.svdvals)(lambda x: _decomposed(x, "N")[1])


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    values, vectors = _symmetric(a, UPLO, "V")
    return _named(np.linalg.eigh, values, vectors)


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> TracedArray:
    return _symmetric(a, UPLO, "N")[0]


def _symmetric(a: Any, uplo: str, mode: str) -> tuple[TracedArray, TracedArray]:
    if uplo.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    array = matrices(a, square=True)
    size = array.shape[-1]
    results: list[_Spec] = [((size, size), array.dtype), ((size,), _real(array)), ((), np.int32)]
    vectors, values, info = _call("syevd", [array], results, mode=mode, uplo=uplo.upper())
    return _where_done(info, values), _where_done(info, vectors)


@implements(np.linalg.eig)
def eig(a: Any) -> Any:
    return _named(np.linalg.eig, *_general(a, "V"))


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> TracedArray:
    return _general(a, "N")[0]


def _general(a: Any, vectors: str) -> tuple[TracedArray, TracedArray]:
    array = matrices(a, square=True)
    size, real = array.shape[-1], _real(array)
    wide = np.result_type(real, np.complex64)
    parts: list[_Spec] = [((size,), array.dtype)] * (1 if array.dtype.kind == "c" else 2)
    results: list[_Spec] = [*parts, ((size, size), wide), ((size, size), wide), ((), np.int32)]
    *found, _, right, info = _call("geev", [array], results, compute_left="N", compute_right=vectors)
    values = found[0] if len(found) == 1 else array.like(array.builder.complex(found[0].value, found[1].value))
    return _where_done(info, values), _where_done(info, right)


# Functions that follow from them.


def _limit(a: TracedArray, values: TracedArray, rcond: Any) -> TracedArray:
    """The size up to which singular values count as zero: `rcond` of the largest, by default that of rounding."""
    part = max(a.shape[-2:]) * np.finfo(values.dtype).eps if rcond is None else rcond
    scale = part if isinstance(part, float) else lift(a.builder, part)[..., None]
    return reduced(np.maximum, values, -1, keepdims=True, initial=0) * scale


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = NO_VALUE) -> TracedArray:
    if rcond is not None and rtol is not NO_VALUE:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    array = matrices(a)
    if not array.size:
        return lift(array.builder, np.empty((*array.shape[:-2], *array.shape[:-3:-1]), array.dtype))
    part = (1e-15 if rtol is NO_VALUE else rtol) if rcond is None else rcond
    u, s, vt = svd(call_ufunc(np.conjugate, array), full_matrices=False, hermitian=hermitian)
    large = s > _limit(array, s, part)
    zero, one = np.asarray(0, s.dtype), np.asarray(1, s.dtype)
    inverse = where(large, one / where(large, s, one), zero)
    return matmul(matrix_transpose(vt), astype(inverse, array.dtype)[..., None] * matrix_transpose(u))


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, ...]:
    """NumPy's residuals are empty for a matrix without full rank, which only a run knows: here they are sums always."""
    builder = builder_of(a, b)
    x, y = together([_inexact(a, builder), _inexact(b, builder)])
    if x.ndim != 2 or y.ndim > 2 or x.shape[0] != y.shape[0]:
        raise np.linalg.LinAlgError("Incompatible dimensions")
    rows, columns = x.shape
    sides = reshape(y, (-1, 1)) if y.ndim == 1 else y
    u, s, vt = _decomposed(x, "S")
    large = s > _limit(x, s, rcond)
    zero, one = np.asarray(0, s.dtype), np.asarray(1, s.dtype)
    inverse = where(large, one / where(large, s, one), zero)
    adjoint_u, v = (call_ufunc(np.conjugate, matrix_transpose(one)) for one in (u, vt))
    solution = matmul(v, astype(inverse, x.dtype)[:, None] * matmul(adjoint_u, sides))
    rank = reduced(np.add, large, -1, np.int32)
    if rows > columns:
        rest = call_ufunc(np.absolute, sides - matmul(x, solution))
        residuals = reduced(np.add, rest * rest, 0)
    else:
        residuals = lift(builder, np.empty(0, s.dtype))
    return solution if y.ndim == 2 else solution[:, 0], residuals, rank, s


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> TracedArray:
    if tol is not None and rtol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    array = _inexact(A)
    if array.ndim < 2:
        return astype(reduced(np.logical_or, array != 0), np.int64)
    values = svd(array, compute_uv=False, hermitian=hermitian)
    limit = _limit(array, values, rtol) if tol is None else lift(array.builder, tol)[..., None]
    return reduced(np.add, values > limit, -1, np.int64)


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: Any) -> TracedArray:
    count = constant_index(n, "the exponent of a matrix")
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    if count < 0:
        return matrix_power(inv(a), -count)
    if count == 0:
        return broadcast_to(lift(a.builder, np.eye(a.shape[-1], dtype=a.dtype)), a.shape)
    result, square = None, a
    while count:
        if count & 1:
            result = square if result is None else matmul(result, square)
        count >>= 1
        square = matmul(square, square) if count else square
    assert result is not None
    return result


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> TracedArray:
    array = matrices(x)
    if not array.size:
        raise np.linalg.LinAlgError("cond is not defined on empty arrays")
    if p in (None, 2, -2):
        s = _decomposed(array, "N")[1]
        found = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        norm = FUNCTIONS[np.linalg.norm]
        found = norm(array, p, (-2, -1)) * norm(inv(array), p, (-2, -1))
    numbers = reduced(np.logical_and, ~call_ufunc(np.isnan, array), (-2, -1))
    return where(call_ufunc(np.isnan, found) & numbers, np.asarray(math.inf, found.dtype), found)


@norms_of_matrices("nuc", 2, -2)
def _spectral_norm(array: TracedArray, ord: Any, axes: tuple[int, ...]) -> TracedArray:
    """The sum, the largest or the smallest of singular values."""
    values = _decomposed(moveaxis(array, axes, (-2, -1)), "N")[1]
    return reduced({"nuc": np.add, 2: np.maximum, -2: np.minimum}[ord], values, -1)


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> TracedArray:
    return FUNCTIONS[np.linalg.norm](x, ord, (-2, -1), keepdims)


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Any, *, out: Any = None) -> TracedArray:
    """In the order of least work."""
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    letters = [chr(ord("a") + number) for number in range(len(arrays) + 1)]
    names = ["".join(letters[number : number + 2]) for number in range(len(arrays))]
    if np.ndim(arrays[0]) == 1:
        names[0] = letters[1]
    if np.ndim(arrays[-1]) == 1:
        names[-1] = letters[-2]
    output = (letters[0] if np.ndim(arrays[0]) > 1 else "") + (letters[-1] if np.ndim(arrays[-1]) > 1 else "")
    result = einsum(f"{','.join(names)}->{output}", *arrays, optimize="optimal")
    return result if out is None else out.write(result)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> TracedArray:
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    shape = a.shape[ind:] + a.shape[:ind]
    return reshape(inv(reshape(a, (-1, math.prod(a.shape[ind:])))), shape)


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> TracedArray:
    builder = builder_of(a, b)
    array, sides = lift(builder, a), lift(builder, b)
    if axes is not None:
        array = moveaxis(array, axes_of(axes, array.ndim), tuple(range(array.ndim - len(axes), array.ndim)))
    shape = array.shape[sides.ndim - array.ndim :] if array.ndim > sides.ndim else ()
    if array.size != math.prod(shape) ** 2:
        raise np.linalg.LinAlgError("Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == a.size ** 0.5")
    return reshape(solve(reshape(array, (-1, math.prod(shape))), reshape(sides, -1)), shape)


def vector_matrix_products(function: np.ufunc, subscripts: str) -> None:
    """`np.matvec` and `np.vecmat`: stacks, broadcast."""

    @implements(function)
    def product(x1: Any, x2: Any, /, **stated: Any) -> TracedArray:
        if stated:
            raise TraceError(f"np.{function.__name__}: the argument {next(iter(stated))} is not compiled")
        first = call_ufunc(np.conjugate, x1) if function == np.vecmat else x1
        return einsum(subscripts, first, x2)


vector_matrix_products(np.matvec, "...ij,...j->...i")
vector_matrix_products(np.vecmat, "...i,...ij->...j")
