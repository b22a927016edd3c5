"""Linear algebra by the factorizations that have rules: LU, QR, Cholesky, singular values and eigenvalues."""

from __future__ import annotations

from typing import Any

from ..api import torch
from ..registry import composes


def _aten() -> Any:
    return torch.ops.aten


def _adjoint(x: Any) -> Any:
    return x.mH


def _triangular(a: Any, b: Any, upper: bool, left: bool = True, unit: bool = False) -> Any:
    return _aten().linalg_solve_triangular(a, b, upper=upper, left=left, unitriangular=unit)


def _identity(x: Any) -> Any:
    """Identity matrices of the size of a stack of matrices."""
    return torch.eye(x.shape[-1], dtype=x.dtype, device=x.device).expand(*x.shape[:-2], -1, -1)


@composes("aten.cholesky")
def cholesky(x: Any, upper: bool = False) -> Any:
    return _aten().linalg_cholesky_ex(x, upper=upper)[0]


@composes("aten.cholesky_solve")
def cholesky_solve(b: Any, factor: Any, upper: bool = False) -> Any:
    batch = torch.broadcast_shapes(b.shape[:-2], factor.shape[:-2])
    b, factor = b.expand(*batch, *b.shape[-2:]), factor.expand(*batch, *factor.shape[-2:])
    lower = _adjoint(factor) if upper else factor
    return _triangular(_adjoint(lower), _triangular(lower, b, False), True)


@composes("aten.cholesky_inverse")
def cholesky_inverse(factor: Any, upper: bool = False) -> Any:
    return cholesky_solve(_identity(factor), factor, upper)


@composes("aten.triangular_solve")
def triangular_solve(
    b: Any, a: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Any, Any]:
    batch = torch.broadcast_shapes(b.shape[:-2], a.shape[:-2])
    b, a = b.expand(*batch, *b.shape[-2:]), a.expand(*batch, *a.shape[-2:])
    used = _adjoint(a) if transpose else a
    return _triangular(used, b, upper != transpose, True, unitriangular), a.clone()


@composes("aten.linalg_lu")
def lu(x: Any, *, pivot: bool = True) -> tuple[Any, Any, Any]:
    factors, pivots, _ = _aten().linalg_lu_factor_ex(x, pivot=pivot)
    p, lower, upper = _aten().lu_unpack(factors, pivots)
    return (p if pivot else p[..., :0, :0].reshape(0)), lower, upper


@composes("aten.linalg_lu_solve")
def lu_solve(factors: Any, pivots: Any, b: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    if not left:
        return _adjoint(lu_solve(factors, pivots, _adjoint(b), left=True, adjoint=not adjoint))
    batch = torch.broadcast_shapes(b.shape[:-2], factors.shape[:-2])
    b, factors = b.expand(*batch, *b.shape[-2:]), factors.expand(*batch, *factors.shape[-2:])
    p, _, _ = _aten().lu_unpack(factors, pivots.expand(*batch, pivots.shape[-1]), False, True)
    if adjoint:
        middle = _triangular(_adjoint(factors), b, False)
        return p @ _triangular(_adjoint(factors), middle, True, True, True)
    return _triangular(factors, _triangular(factors, _adjoint(p) @ b, False, True, True), True)


def _is_vector(a: Any, b: Any) -> bool:
    """Whether the right side of a system is a stack of vectors, by torch's rule."""
    return b.dim() == 1 or (a.dim() - 1 == b.dim() and b.shape == a.shape[:-1])


@composes("aten._linalg_solve_ex")
def solve_ex(a: Any, b: Any, *, left: bool = True, check_errors: bool = False) -> tuple[Any, ...]:
    factors, pivots, info = _aten().linalg_lu_factor_ex(a)
    vector = _is_vector(a, b)
    right = b.unsqueeze(-1) if vector else b
    found = lu_solve(factors, pivots, right, left=left)
    return (found.squeeze(-1) if vector else found), factors, pivots, info


@composes("aten.linalg_inv_ex")
def inv_ex(a: Any, *, check_errors: bool = False) -> tuple[Any, Any]:
    factors, pivots, info = _aten().linalg_lu_factor_ex(a)
    return lu_solve(factors, pivots, _identity(a)), info


def _sign_of_exchanges(pivots: Any, dtype: Any) -> Any:
    places = torch.arange(1, pivots.shape[-1] + 1, device=pivots.device)
    return torch.where(pivots != places, -1.0, 1.0).to(dtype).prod(-1)


def _factors_of_determinant(a: Any) -> tuple[Any, Any]:
    """The factors and pivots that torch's gradients of determinants expect: a row-major real matrix is transposed."""
    transposed = a.is_contiguous() and not a.is_complex()
    return _aten().linalg_lu_factor_ex(a.mT if transposed else a)[:2]


@composes("aten._linalg_det")
def det(a: Any) -> tuple[Any, Any, Any]:
    factors, pivots = _factors_of_determinant(a)
    found = factors.diagonal(dim1=-2, dim2=-1).prod(-1) * _sign_of_exchanges(pivots, a.dtype)
    return found, factors, pivots


@composes("aten._linalg_slogdet")
def slogdet(a: Any) -> tuple[Any, ...]:
    factors, pivots = _factors_of_determinant(a)
    diagonal = factors.diagonal(dim1=-2, dim2=-1)
    sign = diagonal.sgn().prod(-1) * _sign_of_exchanges(pivots, a.dtype)
    return sign, diagonal.abs().log().sum(-1), factors, pivots


@composes("aten.linalg_qr")
def qr(a: Any, mode: str = "reduced") -> tuple[Any, Any]:
    rows, columns = a.shape[-2:]
    factors, tau = _aten().geqrf(a)
    least = min(rows, columns)
    kept = rows if mode == "complete" else least
    upper = factors[..., :kept, :].triu()
    if mode == "r":
        return a.new_empty(0), upper
    vectors = factors[..., :, : min(kept, columns)]
    if kept > columns:
        vectors = torch.cat([vectors, vectors.new_zeros(*vectors.shape[:-1], kept - columns)], -1)
    return _aten().linalg_householder_product(vectors, tau), upper


@composes("aten.ormqr")
def ormqr(a: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    """A product with the whole Q of Householder vectors."""
    rows, columns = a.shape[-2:]
    wide = a if columns >= rows else torch.cat([a, a.new_zeros(*a.shape[:-1], rows - columns)], -1)
    q = _aten().linalg_householder_product(wide[..., :, :rows], tau)
    used = _adjoint(q) if transpose else q
    return used @ other if left else other @ used
