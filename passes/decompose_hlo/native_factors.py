"""Factorizations that become calls of targets with loops of their own: of small matrices, or of all."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...hlo_dialect.custom_calls.call import CustomCall, describe_call
from ...hlo_dialect.custom_calls.factorization import FLAGS, GETRF, POTRF, TRSM
from ...hlo_dialect.custom_calls.householder import PRODUCT as HOUSEHOLDER_PRODUCT
from ...hlo_dialect.custom_calls.householder import QR
from ...hlo_dialect.custom_calls.lapack import letter
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.custom_calls.triangular import TRIANGULAR_SOLVE
from ...hlo_dialect.expressions.tensor import Builder, Decomposition
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.algorithms.linear_algebra import CholeskyOp, TriangularSolveOp
from ...hlo_dialect.types import element_of, f32, f64, i32, make_tensor, shape_of
from ...lowering.convert_linalg_ext_to_scf.few_sides import MOST_SIDES
from ...lowering.convert_linalg_ext_to_scf.jacobi_lanes import SPECTRA, fits
from ...lowering.convert_linalg_ext_to_scf.unblocked.reflections import reflects
from ...lowering.convert_linalg_ext_to_scf.unblocked.singular_steps import takes_steps
from ...lowering.device.cpu import CPU
from .linked_calls import VECTORS, routine_of, unblocked_call, without_vectors
from .native_calls import native_call
from .tall_singular import by_triangle, is_tall
from .transform import any_size_decompositions, native_decompositions
from .transposed_systems import untransposed_call, untransposed_system

MOST_ROWS = 64
"""Larger matrices are left to LAPACK, but for those that potrf or a system with few right sides keeps in the cache."""

MOST_BYTES = CPU.l2_bytes
"""The size of the largest matrix that potrf factors without LAPACK."""

_ROUTINES = {f"lapack_{type_}{name}_ffi": name for type_ in "sd" for name in ("potrf", "getrf", "trsm")}


def _is_native(matrices: SSAValue, most_rows: int) -> bool:
    shape = shape_of(matrices)
    return 0 not in shape and max(shape[-2:]) <= most_rows and element_of(matrices) in (f32, f64)


def _most_rows_of_potrf(matrices: SSAValue, most_rows: int) -> int:
    return max(most_rows, math.isqrt(MOST_BYTES // (4 if element_of(matrices) == f32 else 8)))


def _is_native_system(matrices: SSAValue, sides: SSAValue, left: bool, most_rows: int) -> bool:
    """
    Whether triangular systems are solved without LAPACK: small ones, whose right sides may be many where they are
    contiguous, and larger ones with few right sides, whose rows are read once each, as those of potrf.
    """
    if shape_of(sides)[-1 if left else -2] <= MOST_SIDES:
        most_rows = _most_rows_of_potrf(matrices, most_rows)
    return _is_native(matrices, most_rows) and _is_native(sides, sys.maxsize if left else most_rows)


def _potrf(op: Operation, matrices: SSAValue, lower: bool) -> CustomCallOp:
    types = [matrices.type, make_tensor(shape_of(matrices)[:-2], i32)]
    return native_call(op, POTRF, [matrices], types, {"lower": BoolAttr.from_bool(lower)})


LEAST_BATCH = 8
"""Matrices of a batch whose eigenvalues or singular values are computed side by side."""

_UNBLOCKED: Mapping[str, int] = {
    **dict.fromkeys(("geqrf", "orgqr", "ungqr", "ormqr", "unmqr", QR, HOUSEHOLDER_PRODUCT), 48),
    **dict.fromkeys(("potrf", "getrf", "trsm", "geqp3", "gehrd", "sytrd", "hetrd", TRIANGULAR_SOLVE), 64),
    **dict.fromkeys(("syevd", "heevd"), 16),
    **dict.fromkeys(("gesdd", "gesvd"), 10),
    "gtsv": 1 << 31,
}
"""
The most rows and columns of matrices for which a call of LAPACK costs more than plain loops, by routine. Results that
depend on the method, by the signs of vectors or the order of eigenvalues, are LAPACK's at any size, as XLA's are.
"""

MOST_OF_STEPS = 25
"""
The most rows for which LAPACK computes the vectors of syevd by implicit steps, before it divides matrices. The loops
take the same ones from the lower triangle, so that signs are LAPACK's, as far as these do not depend on roundings.
"""

MOST_REFLECTED = 1024
"""The same for QR of real matrices, whose loops are blocked."""


def _unblocked(op: CustomCallOp) -> Sequence[Operation]:
    """A call of LAPACK on small matrices becomes loops."""
    name, routine = op.call_target_name.data, routine_of(op)
    most = _UNBLOCKED.get(routine)
    if most is None:
        return ()
    call = describe_call(op)
    if routine in VECTORS:
        if not without_vectors(op) and call.attributes["mode"] != ord("N"):
            return (
                unblocked_call(op)
                if _takes_steps(call) or takes_steps(call)
                else by_triangle(op)
                if is_tall(op, MOST_REFLECTED)
                else ()
            )
        call = replace(call, attributes={**call.attributes, "mode": ord("N")})
    matrices = [array.shape[-2:] for array in call.operands if len(array.shape) > 1]
    batch = math.prod(call.operands[0].shape[:-2])
    side_by_side = name in SPECTRA and fits(call) and batch >= LEAST_BATCH
    if reflects(call):
        most = MOST_REFLECTED
    if not side_by_side and is_tall(op, MOST_REFLECTED):
        return by_triangle(op)
    if not side_by_side and (call.operands[0].dtype.itemsize < 4 or max(map(max, matrices)) > most):
        return ()
    return unblocked_call(op)


def _takes_steps(call: CustomCall) -> bool:
    return "evd" in call.target and letter(call, "uplo") == "L" and call.operands[0].shape[-1] <= MOST_OF_STEPS


def _custom_call(op: CustomCallOp, most_rows: int) -> Sequence[Operation]:
    """LAPACK's potrf, getrf and trsm become `xhlo.potrf`, .., and other calls on small matrices `xhlo.unblocked`."""
    name = _ROUTINES.get(op.call_target_name.data)
    if routine_of(op) == "trsm" and (untransposed := untransposed_call(op)):
        return untransposed
    if name is None:
        return _unblocked(op)
    if name == "potrf":
        most_rows = _most_rows_of_potrf(op.operands[0], most_rows)
    if name == "trsm":
        left = describe_call(op).attributes["side"] == ord("L")
        if not _is_native_system(op.operands[0], op.operands[1], left, most_rows):
            return ()
    elif not _is_native(op.operands[0], most_rows):
        return ()
    letters = {key: chr(value) for key, value in describe_call(op).attributes.items() if isinstance(value, int)}
    if name == "potrf":
        call = _potrf(op, op.operands[0], letters["uplo"] == "L")
    elif name == "getrf":
        call = native_call(op, GETRF, list(op.operands), list(op.result_types), {})
    else:
        flags = (letters["side"] == "L", letters["uplo"] == "L", letters["trans_x"] != "N", letters["diag"] == "U")
        call = _trsm(op, flags)
    replace_op(op, [call], list(call.results))
    return [call]


def _trsm(op: Operation, flags: Sequence[bool]) -> CustomCallOp:
    stated: dict[str, Attribute] = {name: BoolAttr.from_bool(value) for name, value in zip(FLAGS, flags, strict=True)}
    return native_call(op, TRSM, list(op.operands), list(op.result_types), stated)


def _triangular_solve(op: TriangularSolveOp, most_rows: int) -> Sequence[Operation]:
    if untransposed := untransposed_system(op):
        return untransposed
    if not _is_native_system(op.operands[0], op.operands[1], op.is_left, most_rows):
        return ()
    unit = bool(op.unit_diagonal.value.data)
    call = _trsm(op, (op.is_left, op.is_lower, op.transpose.value != "NO_TRANSPOSE", unit))
    replace_op(op, [call], list(call.results))
    return [call]


def _cholesky(op: CholeskyOp, most_rows: int) -> Sequence[Operation]:
    """
    Before: `cholesky %a, lower`
    After:  `custom_call @xhlo.potrf(%a)`, zeros in the other triangle, NaN in matrices that are not positive-definite
    """
    if not _is_native(op.a, _most_rows_of_potrf(op.a, most_rows)):
        return ()
    call = _potrf(op, op.a, op.is_lower)
    Rewriter.insert_op(call, InsertPoint.before(op))
    builder = Builder.before(op)
    factor, info = builder.tensors(call.results)
    shape, n = factor.shape, factor.shape[-1]
    triangle = np.tril(np.ones((n, n), np.bool_))
    kept = builder.constant(triangle if op.is_lower else triangle.T.copy()).broadcast(
        shape, (len(shape) - 2, len(shape) - 1)
    )
    good = info.equals(0).broadcast(shape, range(len(shape) - 2))
    zero, none = (builder.splat(value, factor.type) for value in (0.0, math.nan))
    return [call, *builder.replace(op, good.select(kept.select(factor, zero), none))]


def _up_to(rows: int, rule: Callable[..., Sequence[Operation]]) -> Decomposition:
    return partial(rule, most_rows=rows)


native_decompositions.add(
    {
        CustomCallOp: _up_to(MOST_ROWS, _custom_call),
        TriangularSolveOp: _up_to(MOST_ROWS, _triangular_solve),
        CholeskyOp: _up_to(MOST_ROWS, _cholesky),
    }
)
any_size_decompositions.add(
    {
        CustomCallOp: _up_to(1 << 31, _custom_call),
        TriangularSolveOp: _up_to(1 << 31, _triangular_solve),
        CholeskyOp: _up_to(1 << 31, _cholesky),
    }
)
