"""
JAX's custom calls of LAPACK on CPUs, `lapack_<routine>_ffi`: factorizations and solvers of batches of matrices.

Each function works on whole arrays: the last one or two dimensions are LAPACK's vectors and matrices, those before them
the batch. A call's layouts describe how a compiler would pass the matrices; the values do not depend on them.
`info` is LAPACK's own for each matrix of the batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..types import Array
from .batched_calls import Each, Scratch
from .call import CustomCall
from .lapack_library import LIBRARY, by_columns, by_rows, call_with_workspace, call_without_info, prefix_of
from .lapack_library import call as lapack
from .lapack_shapes import problem_of
from .registry import CustomCallTarget

Results = tuple[Array, ...]
_TRIANGLES, _SIDES = {"L": "U", "U": "L"}, {"L": "R", "R": "L"}
"""The other triangle, and the other side."""
NOT_FINITE = -4
"""The info of a decomposition that is not attempted because its matrix holds an infinity or NaN."""


def letter(call: CustomCall, name: str) -> str:
    """An attribute that holds a character code: 76 is "L"."""
    return chr(call.attributes[name])


def batch_of(call: CustomCall, rank: int = 2) -> tuple[int, ...]:
    """The batch dimensions of the first operand."""
    shape = call.operands[0].shape
    return shape[: len(shape) - rank]


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.float32 if dtype.itemsize // (1 + (dtype.kind == "c")) == 4 else np.float64)


def _all(call: CustomCall, rank: int = 2) -> range:
    """The indices of the batch's matrices."""
    return range(math.prod(batch_of(call, rank)))


def _finite(x: Array) -> Iterator[range]:
    """The indices of the matrices without infinities and NaNs: a range for each run of them."""
    finite: Array = np.isfinite(x).all(axis=(-2, -1)).reshape(-1)
    if finite.all():
        yield range(len(finite))
        return
    ends: Array = np.flatnonzero(np.diff(finite, prepend=False, append=False))
    yield from (range(int(start), int(stop)) for start, stop in ends.reshape(-1, 2))


def _matrices(array: Array) -> Each:
    return Each(array, 2)


def _vectors(array: Array) -> Each:
    return Each(array, 1)


def _new(call: CustomCall, index: int, dtype: Any = None) -> Array:
    """Zeros for a vector or scalar of each matrix, of a result's type."""
    result = call.results[index]
    return np.zeros(result.shape, result.dtype if dtype is None else dtype)


def _new_matrices(call: CustomCall, index: int) -> Array:
    """Zeros for a result's matrices, by columns."""
    *batch, rows, columns = call.results[index].shape
    return np.zeros((*batch, columns, rows), call.results[index].dtype)


def _shaped(call: CustomCall, info: Array, rank: int = 2) -> Array:
    """The info of each matrix, as the call's result."""
    return info.reshape(batch_of(call, rank))


def potrf(call: CustomCall, x: Array) -> Results:
    """Cholesky: the factor in the triangle that `uplo` names, the other triangle as it was; info."""
    # By rows it is the conjugate, in the other triangle, of what it is by columns: nothing is transposed.
    factor = np.array(x, order="C")
    n, uplo = x.shape[-1], _TRIANGLES[letter(call, "uplo")]
    info = lapack(f"{prefix_of(x.dtype)}potrf", _all(call), uplo, n, _matrices(factor), max(1, n))
    return factor, _shaped(call, info)


def getrf(call: CustomCall, x: Array) -> Results:
    """LU with partial pivoting: L and U in one matrix; the rows exchanged, counted from 1; info."""
    factors, pivots = by_columns(x), _new(call, 1)
    m, n = x.shape[-2:]
    name = f"{prefix_of(x.dtype)}getrf"
    info = lapack(name, _all(call), m, n, _matrices(factors), max(1, m), _vectors(pivots))
    return by_rows(factors), pivots, _shaped(call, info)


def geqrf(call: CustomCall, x: Array) -> Results:
    """QR: R, and the Householder vectors below it; their factors tau."""
    factors, tau = by_columns(x), _new(call, 1)
    m, n = x.shape[-2:]
    name = f"{prefix_of(x.dtype)}geqrf"
    before = (m, n, _matrices(factors), max(1, m), _vectors(tau))
    _expect(call_with_workspace(name, x.dtype, _all(call), before), name)
    return by_rows(factors), tau


def geqp3(call: CustomCall, x: Array, pivots: Array) -> Results:
    """QR with exchanged columns: R and the Householder vectors; the columns, counted from 1; tau."""
    factors, order, tau = by_columns(x), np.array(pivots, order="C"), _new(call, 2)
    m, n = x.shape[-2:]
    name, real = f"{prefix_of(x.dtype)}geqp3", real_dtype(x.dtype)
    scratch = Scratch(max(1, 2 * n), real) if x.dtype.kind == "c" else None
    before = (m, n, _matrices(factors), max(1, m), _vectors(order), _vectors(tau))
    _expect(call_with_workspace(name, x.dtype, _all(call), before, real_work=scratch), name)
    return by_rows(factors), order, tau


def orgqr(call: CustomCall, x: Array, tau: Array) -> Results:
    """The first columns of Q of Householder vectors and their factors."""
    columns, factors = by_columns(x), np.ascontiguousarray(tau)
    m, n = x.shape[-2:]
    name = f"{prefix_of(x.dtype)}{'un' if x.dtype.kind == 'c' else 'or'}gqr"
    before = (m, n, tau.shape[-1], _matrices(columns), max(1, m), _vectors(factors))
    _expect(call_with_workspace(name, x.dtype, _all(call), before), name)
    return (by_rows(columns),)


def ormqr(call: CustomCall, vectors: Array, tau: Array, c: Array) -> Results:
    """C multiplied by Q (or its transpose or adjoint) of Householder vectors, from the left or the right."""
    result, q, factors = by_columns(c), by_columns(vectors), np.ascontiguousarray(tau)
    m, n = c.shape[-2:]
    is_complex = c.dtype.kind == "c"
    name = f"{prefix_of(c.dtype)}{'un' if is_complex else 'or'}mqr"
    side = "L" if call.attributes["left"] else "R"
    trans = ("C" if is_complex else "T") if call.attributes["transpose"] else "N"
    rows = max(1, vectors.shape[-2])
    given = (_matrices(q), rows, _vectors(factors), _matrices(result), max(1, m))
    _expect(call_with_workspace(name, c.dtype, _all(call), (side, trans, m, n, tau.shape[-1], *given)), name)
    return (by_rows(result),)


def gesdd(call: CustomCall, x: Array) -> Results:
    """Singular values by divide and conquer: the matrix, overwritten; s, U, V's adjoint; info."""
    m, n = x.shape[-2:]
    least, most = min(m, n), max(m, n)
    mode, is_complex = letter(call, "mode"), x.dtype.kind == "c"
    integers = Scratch(max(1, 8 * least), np.int32)
    small = (
        7 * least if mode == "N" else max(5 * least * least + 5 * least, 2 * most * least + 2 * least * least + least)
    )
    scratch = Scratch(max(1, small), real_dtype(x.dtype)) if is_complex else None

    def run(name: str, batch: range, arrays: tuple[Any, ...]) -> Array:
        return call_with_workspace(f"{name}dd", x.dtype, batch, (mode, *arrays), (integers,), scratch)

    return _singular_values(call, x, run)


def gesvd(call: CustomCall, x: Array) -> Results:
    """Singular values by QR iterations; results as those of gesdd."""
    mode, is_complex = letter(call, "mode"), x.dtype.kind == "c"
    scratch = Scratch(max(1, 5 * min(x.shape[-2:])), real_dtype(x.dtype)) if is_complex else None

    def run(name: str, batch: range, arrays: tuple[Any, ...]) -> Array:
        return call_with_workspace(f"{name}vd", x.dtype, batch, (mode, mode, *arrays), (), scratch)

    return _singular_values(call, x, run)


def _singular_values(call: CustomCall, x: Array, run: Callable[[str, range, tuple[Any, ...]], Array]) -> Results:
    values, u, vt = by_columns(x), _new_matrices(call, 2), _new_matrices(call, 3)
    s, info = _new(call, 1), np.full(len(_all(call)), NOT_FINITE, np.int32)
    m, n = x.shape[-2:]
    rows_u, rows_v = (max(1, matrices.shape[-1]) for matrices in (u, vt))
    arrays = (m, n, _matrices(values), max(1, m), _vectors(s), _matrices(u), rows_u, _matrices(vt), rows_v)
    for batch in _finite(x):
        info[batch.start : batch.stop] = run(f"{prefix_of(x.dtype)}ges", batch, arrays)
    return by_rows(values), s, by_rows(u), by_rows(vt), _shaped(call, info)


def syevd(call: CustomCall, x: Array) -> Results:
    """Eigenvectors (as columns) and eigenvalues, ascending, of a symmetric or Hermitian matrix; info."""
    vectors, values = by_columns(x), _new(call, 1)
    n, mode, uplo = x.shape[-1], letter(call, "mode"), letter(call, "uplo")
    is_complex, real = x.dtype.kind == "c", real_dtype(x.dtype)
    name = f"{prefix_of(x.dtype)}{'he' if is_complex else 'sy'}evd"
    # Sizes that LAPACK documents for all modes; a query would be needed for each kind of workspace.
    work = Scratch(2 * n + n * n + 1 if is_complex else 1 + 6 * n + 2 * n * n, x.dtype)
    reals = Scratch(1 + 5 * n + 2 * n * n, real)
    integers = Scratch(3 + 5 * n, np.int32)
    scratch = (work, work.size, *((reals, reals.size) if is_complex else ()), integers, integers.size)
    info = lapack(name, _all(call), mode, uplo, n, _matrices(vectors), max(1, n), _vectors(values), *scratch)
    return by_rows(vectors), values, _shaped(call, info)


def geev(call: CustomCall, x: Array) -> Results:
    """
    Eigenvalues and left and right eigenvectors, complex, of any matrix; info.

    The eigenvalues of a real matrix are two results, their real and imaginary parts.
    """
    n, name = x.shape[-1], f"{prefix_of(x.dtype)}geev"
    jobs = letter(call, "compute_left"), letter(call, "compute_right")
    left, right = (np.zeros(x.shape, x.dtype) for _ in range(2))
    copies, info = by_columns(x), np.full(len(_all(call)), NOT_FINITE, np.int32)
    is_complex = x.dtype.kind == "c"
    parts = [_new(call, index) for index in range(1 if is_complex else 2)]
    scratch = Scratch(max(1, 2 * n), real_dtype(x.dtype)) if is_complex else None
    size = max(1, n)
    before = (*jobs, n, _matrices(copies), size, *map(_vectors, parts), _matrices(left), size, _matrices(right), size)
    for batch in _finite(x):
        found = call_with_workspace(name, x.dtype, batch, before, real_work=scratch)
        info[batch.start : batch.stop] = found
    if not is_complex:
        left, right = (_paired(vectors, parts[1]) for vectors in (left, right))
    return *parts, by_rows(left), by_rows(right), _shaped(call, info)


def _paired(vectors: Array, imaginary: Array) -> Array:
    """
    The complex eigenvectors of a real matrix: LAPACK gives a conjugate pair as a real and an imaginary part, one
    after the other (along the last dimension but one here), at the eigenvalue whose imaginary part is positive.
    """
    result = vectors.astype(np.complex64 if vectors.dtype == np.float32 else np.complex128)
    first = imaginary > 0
    second = np.zeros_like(first)
    second[..., 1:] = first[..., :-1]
    real, imag = vectors[first], vectors[second]
    result[first] = real + 1j * imag
    result[second] = real - 1j * imag
    return result


def gees(call: CustomCall, x: Array) -> Results:
    """Schur form: T, its vectors, the eigenvalues (two results for a real matrix), zero selected ones; info."""
    is_complex, name = x.dtype.kind == "c", f"{prefix_of(x.dtype)}gees"
    if letter(call, "sort") != "N":
        raise ValueError("sorted Schur forms are not supported: sort has to be 78, which is N")
    t, vectors = by_columns(x), _new_matrices(call, 1)
    parts = [_new(call, 2 + index) for index in range(1 if is_complex else 2)]
    selected = np.zeros(batch_of(call), np.int32)
    n, mode = x.shape[-1], letter(call, "mode")
    scratch = Scratch(max(1, n), real_dtype(x.dtype)) if is_complex else None
    logicals, size = Scratch(max(1, n), np.int32), max(1, n)
    before = (
        mode,
        "N",
        None,
        n,
        _matrices(t),
        size,
        Each(selected, 0),
        *map(_vectors, parts),
        _matrices(vectors),
        size,
    )
    info = call_with_workspace(name, x.dtype, _all(call), before, (logicals,), scratch)
    return by_rows(t), by_rows(vectors), *parts, selected, _shaped(call, info)


def gehrd(call: CustomCall, x: Array) -> Results:
    """Hessenberg form, and the Householder vectors below it; their factors; info."""
    h, tau = by_columns(x), _new(call, 1)
    n, name = x.shape[-1], f"{prefix_of(x.dtype)}gehrd"
    low, high = int(call.attributes["low"]), int(call.attributes["high"])
    before = (n, low, high, _matrices(h), max(1, n), _vectors(tau))
    return by_rows(h), tau, _shaped(call, call_with_workspace(name, x.dtype, _all(call), before))


def sytrd(call: CustomCall, x: Array) -> Results:
    """Tridiagonal form of a symmetric or Hermitian matrix: the matrix, overwritten; d, e, tau; info."""
    t, d, e, tau = by_columns(x), _new(call, 1), _new(call, 2), _new(call, 3)
    n, uplo = x.shape[-1], letter(call, "uplo")
    name = f"{prefix_of(x.dtype)}{'he' if x.dtype.kind == 'c' else 'sy'}trd"
    before = (uplo, n, _matrices(t), max(1, n), _vectors(d), _vectors(e), _vectors(tau))
    return by_rows(t), d, e, tau, _shaped(call, call_with_workspace(name, x.dtype, _all(call), before))


def gtsv(call: CustomCall, lower: Array, diagonal: Array, upper: Array, b: Array) -> Results:
    """Solve tridiagonal systems; all diagonals have n elements: the lower's first, the upper's last are unused."""
    dl, d, du = (np.array(values, order="C") for values in (lower, diagonal, upper))
    x = by_columns(b)
    n, right_sides = b.shape[-2:]
    diagonals = Each(dl, 1, skipped=1), _vectors(d), _vectors(du)
    name = f"{prefix_of(b.dtype)}gtsv"
    info = lapack(name, _all(call, 1), n, right_sides, *diagonals, _matrices(x), max(1, n))
    return dl, d, du, by_rows(x), _shaped(call, info, 1)


def trsm(call: CustomCall, a: Array, b: Array) -> Results:
    """Solve triangular systems, from the left or the right."""
    side, uplo, trans, diag = (letter(call, name) for name in ("side", "uplo", "trans_x", "diag"))
    # By rows the system is the transposed one: nothing is copied to columns.
    matrices, x = np.ascontiguousarray(a), np.array(b, order="C")
    m, n = b.shape[-2:]
    name = f"{prefix_of(b.dtype)}trsm"
    scale = np.ones(1, b.dtype)
    sizes = (max(1, a.shape[-1]), max(1, n))
    arrays = (scale, _matrices(matrices), sizes[0], _matrices(x), sizes[1])
    call_without_info(name, _all(call), _SIDES[side], _TRIANGLES[uplo], trans, diag, n, m, *arrays)
    return (x,)


def _expect(info: Array, name: str) -> None:
    """Check routines that fail only on wrong arguments, and whose calls return no info."""
    if info.any():
        raise ValueError(f"LAPACK's {name} refuses argument {-info[info != 0][0]}")


_ROUTINES: tuple[tuple[str, Callable[..., Results], int], ...] = (
    ("potrf", potrf, 2),
    ("getrf", getrf, 3),
    ("geqrf", geqrf, 2),
    ("geqp3", geqp3, 3),
    ("orgqr", orgqr, 1),
    ("ormqr", ormqr, 1),
    ("gesdd", gesdd, 5),
    ("gesvd", gesvd, 5),
    ("syevd", syevd, 3),
    ("geev", geev, 5),
    ("gees", gees, 6),
    ("gehrd", gehrd, 3),
    ("sytrd", sytrd, 5),
    ("gtsv", gtsv, 5),
    ("trsm", trsm, 1),
)
"""Name, function, and the number of results for real matrices."""

_COMPLEX_NAMES = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd", "sytrd": "hetrd"}
_ONE_PART = frozenset(("geev", "gees"))
"""Routines that return a real matrix's eigenvalues in two results, a complex matrix's in one."""

_DTYPES = {
    "s": np.dtype(np.float32),
    "d": np.dtype(np.float64),
    "c": np.dtype(np.complex64),
    "z": np.dtype(np.complex128),
}


def _checked(name: str, dtype: np.dtype[Any], results: int) -> Callable[[CustomCall], str | None]:
    """Check a routine's operands and results, so that LAPACK stays inside its arrays."""
    return lambda call: problem_of(name, dtype, results, call)


def _targets() -> Iterator[CustomCallTarget]:
    for name, function, results in _ROUTINES:
        for prefix, dtype in _DTYPES.items():
            is_complex = dtype.kind == "c"
            full = f"lapack_{prefix}{_COMPLEX_NAMES.get(name, name) if is_complex else name}_ffi"
            count = results - (is_complex and name in _ONE_PART)
            check = _checked(name, dtype, count)
            yield CustomCallTarget(full, function, check, library=LIBRARY, borrows=True)


TARGETS = tuple(_targets())
