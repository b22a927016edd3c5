"""Factorization and solution of batches of matrices: cholesky and triangular_solve."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import BoolAttr, TensorType
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.str_enum import StrEnum

from ...op import HloOp, reject
from ...shapes import dims_agree, merge_dim, shape_text, shapes_agree, verify_results_agree
from ...syntax.keywords import KeywordOp, flag
from ...types import Array, HloTensor, element_of, is_complex, is_float, make_tensor, shape_of


class Transpose(StrEnum):
    """The operation applied to a matrix before it is used."""

    TRANSPOSE_INVALID = "TRANSPOSE_INVALID"
    NO_TRANSPOSE = "NO_TRANSPOSE"
    TRANSPOSE = "TRANSPOSE"
    ADJOINT = "ADJOINT"


@irdl_attr_definition
class TransposeAttr(EnumAttribute[Transpose], SpacedOpaqueSyntaxAttribute):
    """`#hlo<transpose ADJOINT>`"""

    name = "hlo.transpose"


def _check_numbers(name: str, type_: HloTensor, what: str) -> None:
    element = type_.element_type
    if not (is_float(element) or is_complex(element)):
        reject(f"{name}: {what} has element type {element}, expected float or complex")


def _working_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype to compute in: f32 for narrow floats."""
    return dtype if dtype.str[1:] in ("f4", "f8", "c8", "c16") else np.dtype(np.float32)


@irdl_op_definition
class CholeskyOp(KeywordOp):
    """
    The triangular factor of Hermitian positive-definite matrices: `a = L L^H` with `lower`, else `a = U^H U`.

    The other triangle of the result is zero. The result of a matrix that is not positive-definite is all NaN, as in
    XLA; only the triangle that `lower` names is read.

    Shapes: a (.., n, n), result the same.
    Types: float or complex (i1), lower i1 (i2, by construction).
    Raises: VerifyException naming cholesky_c1..c3, i1.
    Spec:   https://openxla.org/stablehlo/spec#cholesky
    """

    name = "hlo.cholesky"
    COMPUTES: ClassVar[bool] = True
    a = operand_def(TensorType)
    lower = opt_prop_def(BoolAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    KEYWORDS: ClassVar = (flag("lower", "lower"),)
    ONE_TYPE: ClassVar = True

    @property
    def is_lower(self) -> bool:
        return self.lower is not None and bool(self.lower.value.data)

    def infer_types(self) -> tuple[Attribute, ...]:
        shape = shape_of(self.a)
        if len(shape) < 2:
            reject(f"cholesky_c2: a has rank {len(shape)}, expected at least 2")
        rows, columns = shape[-2:]
        if not dims_agree(rows, columns):
            reject(f"cholesky_c3: the matrices {shape_text(shape)} are not square")
        size = merge_dim(rows, columns)
        return (make_tensor((*shape[:-2], size, size), element_of(self.a)),)

    def verify_(self) -> None:
        _check_numbers("cholesky_i1", cast(HloTensor, self.a.type), "a")
        verify_results_agree(self, "cholesky_c1")

    def reference(self, *operands: Array) -> Array:
        (a,) = operands
        return factorize(a, self.is_lower)


def factorize(a: Array, lower: bool) -> Array:
    """The Cholesky factor of each matrix: see `CholeskyOp`."""
    dtype = _working_dtype(a.dtype)
    matrices = a.astype(dtype)
    if not lower:
        matrices = np.conj(np.swapaxes(matrices, -1, -2))
    factor = np.zeros_like(matrices)
    failed = np.zeros(a.shape[:-2], np.bool_)
    with np.errstate(all="ignore"):
        for column in range(a.shape[-1]):
            row = factor[..., column, :column]
            squares: Array = np.real(row * np.conj(row))
            pivot: Array = np.real(matrices[..., column, column]) - np.sum(squares, axis=-1)
            failed |= ~(pivot > 0)
            diagonal: Array = np.sqrt(pivot)
            factor[..., column, column] = diagonal
            below = factor[..., column + 1 :, :column] @ np.conj(row)[..., None]
            rest = matrices[..., column + 1 :, column] - below[..., 0]
            factor[..., column + 1 :, column] = rest / diagonal[..., None]
    factor[failed] = complex(np.nan, np.nan) if dtype.kind == "c" else np.nan
    if not lower:
        factor = np.conj(np.swapaxes(factor, -1, -2))
    return np.ascontiguousarray(factor).astype(a.dtype)


@irdl_op_definition
class TriangularSolveOp(HloOp):
    """
    x of `op(a) x = b` (`left_side`) or of `x op(a) = b`, for triangular matrices a.

    `op` is the identity, the transpose or the adjoint. Only the triangle that `lower` names is read; with
    `unit_diagonal` the diagonal is not read either. A zero on the diagonal gives infinities and NaN, not an error.

    Shapes: a (.., n, n), b (.., n, k) or (.., k, n), result as b.
    Types: float or complex (i1, i2); left_side, lower, unit_diagonal i1 (i3 to i5, by construction).
    Raises: VerifyException naming triangular_solve_c1..c4, i1, i2, i6.
    Spec:   https://openxla.org/stablehlo/spec#triangular_solve
    """

    name = "hlo.triangular_solve"
    COMPUTES: ClassVar[bool] = True
    a = operand_def(TensorType)
    b = operand_def(TensorType)
    left_side = prop_def(BoolAttr)
    lower = prop_def(BoolAttr)
    unit_diagonal = prop_def(BoolAttr)
    transpose_a = prop_def(TransposeAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def is_left(self) -> bool:
        return bool(self.left_side.value.data)

    @property
    def is_lower(self) -> bool:
        return bool(self.lower.value.data)

    @property
    def is_unit(self) -> bool:
        return bool(self.unit_diagonal.value.data)

    @property
    def transpose(self) -> Transpose:
        return self.transpose_a.data

    def infer_types(self) -> tuple[Attribute, ...]:
        a, b = shape_of(self.a), shape_of(self.b)
        if not (len(a) == len(b) >= 2):
            reject(f"triangular_solve_c2: a has rank {len(a)} and b rank {len(b)}, expected one of at least 2")
        if not shapes_agree(a[:-2], b[:-2]):
            reject(f"triangular_solve_c3: the batches of a {shape_text(a)} and b {shape_text(b)} differ")
        if not dims_agree(a[-2], a[-1]):
            reject(f"triangular_solve_c3: the matrices {shape_text(a)} of a are not square")
        side = b[-2] if self.is_left else b[-1]
        if not dims_agree(merge_dim(a[-2], a[-1]), side):
            reject(f"triangular_solve_c3: the matrices {shape_text(a)} of a do not fit those {shape_text(b)} of b")
        return (self.b.type,)

    def verify_(self) -> None:
        _check_numbers("triangular_solve_i1", cast(HloTensor, self.a.type), "a")
        _check_numbers("triangular_solve_i2", cast(HloTensor, self.b.type), "b")
        if element_of(self.a) != element_of(self.b):
            reject(f"triangular_solve_c1: a has elements of type {element_of(self.a)}, b of {element_of(self.b)}")
        if self.transpose is Transpose.TRANSPOSE_INVALID:
            reject("triangular_solve_i6: transpose_a is not one of NO_TRANSPOSE, TRANSPOSE, ADJOINT")
        verify_results_agree(self, "triangular_solve_c4")

    def reference(self, *operands: Array) -> Array:
        a, b = operands
        return solve(a, b, self.is_left, self.is_lower, self.is_unit, self.transpose)


def solve(a: Array, b: Array, left: bool, lower: bool, unit: bool, transpose: Transpose) -> Array:
    """The solution x of each system by substitution; see `TriangularSolveOp`."""
    dtype = _working_dtype(b.dtype)
    matrices, x = a.astype(dtype), b.astype(dtype)
    if transpose is not Transpose.NO_TRANSPOSE:
        matrices, lower = np.swapaxes(matrices, -1, -2), not lower
        if transpose is Transpose.ADJOINT:
            matrices = np.conj(matrices)
    if not left:  # x a = b is a^T x^T = b^T
        matrices, x, lower = np.swapaxes(matrices, -1, -2), np.swapaxes(x, -1, -2).copy(), not lower
    count = a.shape[-1]
    with np.errstate(all="ignore"):
        for step in range(count):
            row = step if lower else count - 1 - step
            known = slice(0, row) if lower else slice(row + 1, count)
            sums = matrices[..., row : row + 1, known] @ x[..., known, :]
            x[..., row, :] -= sums[..., 0, :]
            if not unit:
                x[..., row, :] /= matrices[..., row, row][..., None]
    return np.ascontiguousarray(x if left else np.swapaxes(x, -1, -2)).astype(b.dtype)


ATTRIBUTES = (TransposeAttr,)
OPS = (CholeskyOp, TriangularSolveOp)
