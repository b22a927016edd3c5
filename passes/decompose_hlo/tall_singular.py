"""Singular values of real matrices with many more rows than columns, or columns than rows: those of QR's triangle."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from xdsl.ir import Attribute, Operation

from ...hlo_dialect.attributes import DotDimensionNumbersAttr
from ...hlo_dialect.custom_calls.call import describe_call
from ...hlo_dialect.custom_calls.lapack import letter
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.expressions.tensor import Builder, Tensor, concatenate
from ...hlo_dialect.types import make_tensor, shape_of
from .linked_calls import characters, is_unused, without_vectors
from .native_calls import native_call

_GESDD = frozenset(("lapack_sgesdd_ffi", "lapack_dgesdd_ffi"))


LEAST = 256
"""Elements of all matrices from which on a call of QR costs less than it saves."""


def is_tall(op: CustomCallOp, most: int) -> bool:
    """
    Whether a call is of singular values of matrices for which LAPACK's gesdd begins with QR, or with LQ, too, and of
    which only these and the vectors are used; `most`: the most rows and columns.
    """
    if op.call_target_name.data not in _GESDD or not is_unused(op.results[0]):
        return False
    shape = shape_of(op.operands[0])
    least, rows = min(shape[-2:]), max(shape[-2:])
    is_long = least < rows <= most and rows >= int(least * 11.0 / 6.0)
    return least > 1 and is_long and math.prod(shape) >= LEAST


def by_triangle(op: CustomCallOp) -> Sequence[Operation]:
    """
    Before: `%_, %s, %u, %vt, %info = custom_call @lapack_sgesdd_ffi(%a)`
    After:  the same call of R, for `a = q r`; `u` is the product of q and that of r

    Wide matrices are transposed. Signs are LAPACK's, which does the same.
    """
    builder, mode = Builder.before(op), letter(describe_call(op), "mode")
    x = Tensor(builder, op.operands[0])
    wide = x.shape[-2] < x.shape[-1]
    if wide:
        x = _transposed(x)
    n, letters = x.shape[-1], op.call_target_name.data.removesuffix("gesdd_ffi")
    factors, tau = _call(builder, op, f"{letters}geqrf_ffi", [x], [x.type, _like(x, n)])
    r = factors.first((*x.shape[:-2], n, n))
    upper = builder.constant(np.triu(np.ones((n, n), np.bool_))).broadcast(
        r.shape, (len(r.shape) - 2, len(r.shape) - 1)
    )
    r = upper.select(r, 0.0)
    found = _call(
        builder,
        op,
        op.call_target_name.data,
        [_transposed(r) if wide else r],
        [r.type, op.results[1].type, r.type, r.type, op.results[4].type],
        mode="N" if mode == "N" or without_vectors(op) else "S",
    )
    _, values, u, vt, info = found
    zeros = [builder.splat(0.0, Tensor(builder, op.results[number]).type) for number in (0, 2, 3)]
    if mode == "N" or without_vectors(op):
        return builder.replace(op, zeros[0], values, *zeros[1:], info)
    if mode == "A":
        factors = factors.pad(builder.splat(0.0, make_tensor((), x.element)), *_to_square(x.shape))
    (q,) = _call(builder, op, f"{letters}orgqr_ffi", [factors, tau], [factors.type])
    # The long side's vectors: q times the triangle's left ones, or those of its transpose.
    long = _product(q.part(len(q.shape) - 1, 0, n), _transposed(vt) if wide else u)
    if mode == "A":
        long = concatenate([long, q.part(len(q.shape) - 1, n, x.shape[-2])], len(q.shape) - 1)
    sides = (u, _transposed(long)) if wide else (long, vt)
    return builder.replace(op, zeros[0], values, *sides, info)


def _call(
    builder: Builder, op: CustomCallOp, target: str, operands: list[Tensor], types: list[Attribute], **letters: str
) -> list[Tensor]:
    call = native_call(op, target, [operand.value for operand in operands], types, characters(**letters))
    builder.insert(call)
    return builder.tensors(call.results)


def _like(x: Tensor, *core: int) -> Attribute:
    return make_tensor((*x.shape[:-2], *core), x.element)


def _to_square(shape: Sequence[int]) -> tuple[list[int], list[int]]:
    """The padding of tall matrices with columns."""
    none = [0] * len(shape)
    return none, [*none[:-1], shape[-2] - shape[-1]]


def _product(x: Tensor, y: Tensor) -> Tensor:
    rank = len(x.shape)
    batch = range(rank - 2)
    return x.dot(y, DotDimensionNumbersAttr.of(batch, batch, (rank - 1,), (rank - 2,)))


def _transposed(x: Tensor) -> Tensor:
    rank = len(x.shape)
    return x.transpose([*range(rank - 2), rank - 1, rank - 2])
