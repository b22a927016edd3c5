"""Operations that become calls of targets with loops of their own: fft, and sorts of which little is used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, DictionaryAttr, StringAttr, i64
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...hlo_dialect.custom_calls.fourier import FOURIER
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.custom_calls.selection import TOP_K
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.algorithms.fourier import FftOp, FftType
from ...hlo_dialect.ops.creation import IotaOp
from ...hlo_dialect.ops.slicing import SliceOp
from ...hlo_dialect.ops.sort import SortOp, sort_key
from ...hlo_dialect.types import (
    element_of,
    i32,
    is_complex,
    is_narrow_float,
    make_tensor,
    numpy_dtype,
    shape_of,
)
from ...lowering.convert_linalg_ext_to_scf.fourier_plan import plan_of
from .transform import native_decompositions


@native_decompositions.on(FftOp)
def _fft(op: FftOp) -> Sequence[Operation]:
    """
    Before: `fft %x, type = FFT, length = [64]`
    After:  `custom_call @xhlo.fourier(%x, %tables)` with the numbers of the transform's plan, if there is one
    """
    real = op.result if op.kind is FftType.IRFFT else op.operand
    element = element_of(real)
    part = numpy_dtype(element.element_type if is_complex(element) else element)  # pyright: ignore
    assert part is not None
    plan = plan_of(op.kind.value, shape_of(real), op.lengths, part.itemsize * 8)
    if plan is None:
        return ()
    builder = Builder.before(op)
    tables = builder.constant(plan.tables.numbers().astype(part))
    stated: dict[str, Attribute] = {
        "kind": StringAttr(op.kind.value),
        "lengths": DenseArrayBase.from_list(i64, op.lengths),
    }
    call = native_call(op, FOURIER, [op.operand, tables.value], list(op.result_types), stated)
    replace_op(op, [call], list(call.results))
    return [call]


def native_call(
    op: Operation, target: str, operands: list[SSAValue], types: list[Attribute], stated: dict[str, Attribute]
) -> CustomCallOp:
    """A call of a target at the location of `op`."""
    return CustomCallOp.create(
        operands=operands,
        result_types=types,
        properties={"call_target_name": StringAttr(target)},
        attributes={"mhlo.backend_config": DictionaryAttr(stated)},
        location=op.location,
    )


LEAST_LENGTH = 128
"""Elements of a row from which few are selected rather than sorted."""

LEAST_OF_FEW, FOR_EACH = 32, 12
"""The same for few rows: so many elements of a row for each of them. Many rows are sorted side by side in vectors."""

SHARE = 8
"""Rows are sorted if more than this part of them is used."""


@native_decompositions.on(SortOp)
def _sort(op: SortOp) -> Sequence[Operation]:
    """
    Before: a sort of %x, or of %x and the places of its elements, by %x; slices of its results from their start
    After:  `custom_call @xhlo.top_k(%x)`, and the same slices of its results
    """
    shape, key = shape_of(op.inputs[0]), sort_key(op.comparator)
    count = _first_used(op, shape)
    if key is None or count is None or op.dim != len(shape) - 1 or not isinstance(key.value, BlockArgument):
        return ()
    length, by = shape[-1], key.value.index // 2
    least = min(LEAST_LENGTH, max(LEAST_OF_FEW, FOR_EACH * math.prod(shape[:-1])))
    if 0 in shape or not least <= length < 1 << 31 or count * SHARE > length:
        return ()
    rows = op.inputs[by]
    others = [number for number in range(len(op.inputs)) if number != by]
    if is_narrow_float(element_of(rows)) or not all(_counts(op.inputs[number], len(shape) - 1) for number in others):
        return ()
    part = (*shape[:-1], count)
    stated: dict[str, Attribute] = {
        "descending": BoolAttr.from_bool(key.descending),
        "total_order": BoolAttr.from_bool(key.total_order),
    }
    types: list[Attribute] = [make_tensor(part, element_of(rows)), make_tensor(part, i32)]
    call = native_call(op, TOP_K, [rows], types, stated)
    Rewriter.insert_op(call, InsertPoint.before(op))
    for number, result in enumerate(op.outs):
        for cut in [use.operation for use in result.uses]:
            _cut(cast(SliceOp, cut), call.results[number != by])
    Rewriter.erase_op(op)
    return [call]


def _first_used(op: SortOp, shape: Sequence[int]) -> int | None:
    """The number of elements along the last dimension that are used; None if others than the first ones are."""
    most = 0
    for use in (use for result in op.outs for use in result.uses):
        cut = use.operation
        if not isinstance(cut, SliceOp) or cut.starts[-1:] != (0,) or set(cut.steps) != {1}:
            return None
        most = max(most, cut.limits[-1])
    return most or None


def _counts(value: SSAValue, dim: int) -> bool:
    """Whether a tensor has the places along a dimension, as i32."""
    owner = value.owner
    return isinstance(owner, IotaOp) and owner.iota_dimension.value.data == dim and element_of(value) == i32


def _cut(op: SliceOp, source: SSAValue) -> None:
    """Take the slice from another tensor, with the same elements at the start."""
    builder = Builder.before(op)
    builder.replace(op, Tensor(builder, source).slice(op.starts, op.limits))
