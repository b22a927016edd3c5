"""Factorizations by LAPACK's routines, the custom calls that programs of JAX make."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ....hlo_dialect.types import make_tensor
from ...builder.builder import Value
from ..api import torch
from ..dtypes import Unlowered, converted, dtype_of, element_of_dtype, real_dtype
from ..registry import lowers
from ..step import Step, broadcast, count
from .contractions import contract

_LETTERS = {torch.float32: "s", torch.float64: "d", torch.complex64: "c", torch.complex128: "z"}
_COMPLEX_NAMES = {"orgqr": "ungqr", "syevd": "heevd"}
_WIDER = {torch.float32: torch.complex64, torch.float64: torch.complex128}


def _call(
    step: Step, routine: str, operands: Sequence[Value], results: Sequence[tuple[Sequence[int], Any]], **letters: str
) -> tuple[Value, ...]:
    """A routine on stacks of matrices; results are stated as the shapes of one matrix's, and dtypes."""
    dtype = dtype_of(operands[0])
    name = _COMPLEX_NAMES.get(routine, routine) if dtype.is_complex else routine
    batch = operands[0].shape[:-2]
    found: Any = step.builder.custom_call(
        list(operands),
        call_target_name=f"lapack_{_LETTERS[dtype]}{name}_ffi",
        api_version=4,
        backend_config={key: ord(letter) for key, letter in letters.items()},
        result_type=[make_tensor((*batch, *shape), element_of_dtype(one)) for shape, one in results],
    )
    return (found,) if isinstance(found, Value) else found


def triangle(step: Step, x: Value, upper: bool) -> Value:
    """A triangle of matrices, zeros elsewhere."""
    rank = len(x.shape)
    row, column = step.iota(rank - 2, x.shape, torch.int32), step.iota(rank - 1, x.shape, torch.int32)
    return (row <= column if upper else row >= column).select(x, step.full(0, dtype_of(x), x.shape))


@lowers("aten.linalg_cholesky_ex")
def cholesky_ex(step: Step, x: Value, *, upper: bool = False, check_errors: bool = False) -> tuple[Value, ...]:
    if not count(x.shape):
        return x, step.full(0, torch.int32, step.shape_of(1))
    results = [(x.shape[-2:], dtype_of(x)), ((), torch.int32)]
    factor, info = _call(step, "potrf", [x], results, uplo="U" if upper else "L")
    return triangle(step, factor, upper), info


@lowers("aten.linalg_lu_factor_ex")
def lu_factor_ex(step: Step, x: Value, *, pivot: bool = True, check_errors: bool = False) -> tuple[Value, ...]:
    if not pivot:
        raise Unlowered("LU without exchanges of rows")
    if not count(x.shape):
        return tuple(step.full(0, one.dtype, tuple(one.shape)) for one in step.results)
    least = min(x.shape[-2:])
    return _call(step, "getrf", [x], [(x.shape[-2:], dtype_of(x)), ((least,), torch.int32), ((), torch.int32)])


def _order(step: Step, pivots: Value, rows: int) -> Value:
    """The order of rows (.., rows) that exchanges make, one after the other; they are counted from 1."""
    batch = len(pivots.shape) - 1
    shape = (*pivots.shape[:-1], rows)
    places = step.iota(batch, shape, torch.int32)
    along, lead = step.iota(batch, pivots.shape, torch.int32), list(range(batch))

    def only(mask: Value, x: Value) -> Value:
        """The one element of each row that a mask chooses, in each place of the order."""
        return mask.select(x, step.full(0, torch.int32, x.shape)).sum([batch]).broadcast(shape, lead)

    def goes_on(number: Value, _: Value) -> Value:
        return number < pivots.shape[-1]

    def exchange(number: Value, order: Value) -> tuple[Value, Value]:
        other = only(along.equals(number.broadcast(along.shape)), pivots) - 1
        here, there = places.equals(number.broadcast(shape)), places.equals(other)
        mine, its = only(here, order), only(there, order)
        return number + 1, here.select(its, there.select(mine, order))

    return step.builder.while_loop(goes_on, exchange, step.full(0, torch.int32), places)[1]


@lowers("aten.lu_unpack")
def lu_unpack(
    step: Step, factors: Value, pivots: Value, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Value, ...]:
    """The matrix that undoes the exchanges of rows, and the two triangles."""
    dtype = dtype_of(factors)
    p, lower, upper = (step.full(0, dtype, step.shape_of(number)) for number in range(3))
    rows, columns = factors.shape[-2:]
    least, batch = min(rows, columns), len(factors.shape) - 2
    if unpack_pivots and count(p.shape):
        order = _order(step, pivots, rows) if least else step.iota(batch, p.shape[:-1], torch.int32)
        wide = order.broadcast(p.shape, [*range(batch), batch + 1])
        p = converted(wide.equals(step.iota(batch, p.shape, torch.int32)), dtype)
    if unpack_data and count(factors.shape):
        below = factors.part(batch + 1, 0, least)
        row, column = step.iota(batch, below.shape, torch.int32), step.iota(batch + 1, below.shape, torch.int32)
        one = converted(row.equals(column), dtype)
        lower = (row > column).select(below, one)
        upper = triangle(step, factors.part(batch, 0, least), True)
    return p, lower, upper


@lowers("aten.geqrf")
def geqrf(step: Step, x: Value) -> tuple[Value, ...]:
    if not count(x.shape):
        return tuple(step.full(0, one.dtype, tuple(one.shape)) for one in step.results)
    return _call(step, "geqrf", [x], [(x.shape[-2:], dtype_of(x)), ((min(x.shape[-2:]),), dtype_of(x))])


@lowers("aten.linalg_householder_product")
def householder_product(step: Step, x: Value, tau: Value) -> Value:
    if not count(x.shape):
        return x
    if not count(tau.shape):
        rank = len(x.shape)
        row, column = step.iota(rank - 2, x.shape, torch.int32), step.iota(rank - 1, x.shape, torch.int32)
        return converted(row.equals(column), dtype_of(x))
    return _call(step, "orgqr", [x, tau], [(x.shape[-2:], dtype_of(x))])[0]


@lowers("aten._linalg_svd")
def svd(
    step: Step, x: Value, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None
) -> tuple[Value, ...]:
    if not step.used <= {1}:
        raise Unlowered("the signs of singular vectors are the library's choice, and torch's are kept")
    (m, n), dtype = x.shape[-2:], dtype_of(x)
    least = min(m, n)
    nothing = [step.full(0, dtype, step.shape_of(number)) for number in (0, 2)]
    if not count(x.shape):
        return nothing[0], step.full(0, real_dtype(dtype), step.shape_of(1)), nothing[1]
    results = [
        ((m, n), dtype),
        ((least,), real_dtype(dtype)),
        ((m, least), dtype),
        ((least, n), dtype),
        ((), torch.int32),
    ]
    _, values, _, _, info = _call(step, "gesdd", [x], results, mode="N")
    return nothing[0], _where_done(step, info, values), nothing[1]


def _where_done(step: Step, info: Value, x: Value) -> Value:
    """NaN for the matrices whose routine failed."""
    failed = info.compare("NE", 0).broadcast(x.shape, list(range(len(info.shape))))
    return failed.select(step.full(math.nan, dtype_of(x), x.shape), x)


def _conjugate(step: Step, x: Value) -> Value:
    return step.builder.conj(x) if dtype_of(x).is_complex else x


def _diagonalized(step: Step, x: Value, hermitian: bool) -> tuple[Value, Value, Value]:
    """Matrices as u diag(s) v: u by columns, s, and v by rows; s is not negative but for Hermitian ones."""
    (m, n), dtype, real = x.shape[-2:], dtype_of(x), real_dtype(dtype_of(x))
    least, batch = min(m, n), list(range(len(x.shape) - 2))
    if hermitian:
        results = [((n, n), dtype), ((n,), real), ((), torch.int32)]
        u, s, info = _call(step, "syevd", [x], results, mode="V", uplo="L")
        swapped = u.transpose([*batch, len(batch) + 1, len(batch)])
        return u, _where_done(step, info, s), _conjugate(step, swapped)
    results = [((m, n), dtype), ((least,), real), ((m, least), dtype), ((least, n), dtype), ((), torch.int32)]
    _, s, u, v, info = _call(step, "gesdd", [x], results, mode="S")
    return u, _where_done(step, info, s), v


@lowers("aten.linalg_pinv.atol_rtol_tensor")
def pinv(
    step: Step, x: Value, *, atol: Value | None = None, rtol: Value | None = None, hermitian: bool = False
) -> Value:
    """The pseudo-inverse; it does not depend on the signs of singular vectors."""
    if not count(step.shape):
        return step.full(0, step.dtype, step.shape)
    u, s, v = _diagonalized(step, x, hermitian)
    batch, real = list(range(len(x.shape) - 2)), dtype_of(s)
    size = abs(s)
    most = step.builder.reduce(size, step.full(0, real), dimensions=[len(batch)], body=step.builder.maximum)
    least = step.full(0, real, most.shape) if atol is None else broadcast(converted(atol, real), most.shape)
    if rtol is not None:
        share = broadcast(converted(rtol, real), most.shape)
    else:
        share = step.full(torch.finfo(real).eps * max(x.shape[-2:]), real, most.shape)
        if atol is not None:
            share = (least > 0.0).select(step.full(0, real, most.shape), share)
    kept = size > least.maximum(share * most).broadcast(s.shape, batch)
    inverse = converted(kept.select(1.0 / s, step.full(0, real, s.shape)), dtype_of(x))
    wide = [*batch, len(batch)]
    scaled = v * inverse.broadcast(v.shape, wide)
    rank = len(batch)
    return contract(step, _conjugate(step, scaled), _conjugate(step, u), batch, (rank, rank + 1))


@lowers("aten._linalg_eigh")
def eigh(step: Step, x: Value, uplo: str = "L", compute_v: bool = True) -> tuple[Value, ...]:
    if not step.used <= {0}:
        raise Unlowered("the signs of eigenvectors are the library's choice, and torch's are kept")
    dtype, size = dtype_of(x), x.shape[-1]
    nothing = step.full(0, dtype, step.shape_of(1))
    if not count(x.shape):
        return step.full(0, real_dtype(dtype), step.shape_of(0)), nothing
    results = [((size, size), dtype), ((size,), real_dtype(dtype)), ((), torch.int32)]
    _, values, info = _call(step, "syevd", [x], results, mode="N", uplo=uplo.upper())
    return _where_done(step, info, values), nothing


@lowers("aten.linalg_eig")
def eig(step: Step, x: Value) -> tuple[Value, ...]:
    if not step.used <= {0}:
        raise Unlowered("the signs of eigenvectors are the library's choice, and torch's are kept")
    return eigvals(step, x), step.full(0, step.results[1].dtype, step.shape_of(1))


@lowers("aten.linalg_eigvals aten._linalg_eigvals")
def eigvals(step: Step, x: Value) -> Value:
    if not count(x.shape):
        return step.full(0, _WIDER.get(dtype_of(x), dtype_of(x)), x.shape[:-1])
    dtype, size = dtype_of(x), x.shape[-1]
    matrix, vector = ((size, size), _WIDER.get(dtype, dtype)), ((size,), dtype)
    parts = [vector] if dtype.is_complex else [vector, vector]
    found = _call(step, "geev", [x], [*parts, matrix, matrix, ((), torch.int32)], compute_left="N", compute_right="N")
    return found[0] if dtype.is_complex else step.builder.complex(found[0], found[1])


@lowers("aten.linalg_solve_triangular")
def solve_triangular(
    step: Step, a: Value, b: Value, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Value:
    if not count(step.shape) or not count(a.shape):
        return step.full(0, step.dtype, step.shape)
    batch = step.shape[:-2]
    matrices, sides = broadcast(a, (*batch, *a.shape[-2:])), broadcast(b, (*batch, *b.shape[-2:]))
    return step.builder.triangular_solve(
        matrices, sides, left_side=left, lower=not upper, unit_diagonal=unitriangular, transpose_a="NO_TRANSPOSE"
    )


_DEGREE = 16


@lowers("aten.linalg_matrix_exp")
def matrix_exp(step: Step, x: Value) -> Value:
    """Taylor's polynomial of the matrix divided by a power of two, squared as often."""
    if not count(x.shape):
        return x
    # Each squaring doubles the error of the one before.
    x = converted(x, torch.complex128 if dtype_of(x).is_complex else torch.float64)
    dtype, rank = dtype_of(x), len(x.shape)
    real = real_dtype(dtype)
    size = (step.builder.abs(x) if dtype.is_complex else abs(x)).sum([rank - 2])
    norm = step.builder.reduce(size, step.full(0, real), dimensions=[rank - 2], body=step.builder.maximum)
    # The polynomial is exact to the last bit for norms up to 1/2. Above 2**60 the result is not finite.
    halvings = (step.builder.log(norm) / math.log(2) + 1.0).floor() + 1.0
    times = converted(norm.is_nan().select(0.0, halvings.maximum(0.0).minimum(60.0)), torch.int32)
    factor = (-converted(times, real) * math.log(2)).exponential().broadcast(x.shape, list(range(rank - 2)))
    small = x * converted(factor, dtype)
    row, column = step.iota(rank - 2, x.shape, torch.int32), step.iota(rank - 1, x.shape, torch.int32)
    identity = converted(row.equals(column), dtype)
    batch = list(range(rank - 2))

    def product(one: Value, other: Value) -> Value:
        return contract(step, one, other, batch, (rank - 1, rank - 2))

    found = identity
    for power in range(_DEGREE, 0, -1):
        found = identity + product(small, found) * step.full(1 / power, dtype, x.shape)

    def goes_on(done: Value, *_: Value) -> Value:
        most = step.builder.reduce(times, step.full(0, torch.int32), dimensions=batch, body=step.builder.maximum)
        return done < most

    def square(done: Value, old: Value) -> tuple[Value, Value]:
        wanted = (times > done.broadcast(times.shape)).broadcast(x.shape, batch)
        return done + 1, wanted.select(product(old, old), old)

    return step.builder.while_loop(goes_on, square, step.full(0, torch.int32), found)[1]
