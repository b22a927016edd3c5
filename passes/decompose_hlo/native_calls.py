"""Operations that become calls of targets with loops of their own: fft, and sorts of which little is used."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, DictionaryAttr, StringAttr, i64
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...hlo_dialect.custom_calls.fourier import FOURIER
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.custom_calls.selection import TOP_K
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.algorithms.fourier import FftOp, FftType
from ...hlo_dialect.ops.comparison import CompareOp, SelectOp
from ...hlo_dialect.ops.creation import IotaOp, is_splat_of, splat_of
from ...hlo_dialect.ops.movement import ReverseOp
from ...hlo_dialect.ops.slicing import SliceOp
from ...hlo_dialect.ops.sort import SortKey, SortOp, sort_key
from ...hlo_dialect.types import (
    bit_width,
    element_of,
    i32,
    is_complex,
    is_float,
    is_integer,
    is_narrow_float,
    make_tensor,
    numpy_dtype,
    shape_of,
)
from ...lowering.convert_linalg_ext_to_scf.fourier_plan import (
    Line,
    Plan,
    factors_of,
    lanes_of,
    plan_of,
    smooth_length,
    split_of,
)
from .fourier_rows import transform_rows
from .ranks import can_pick, pick, picks_of
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
    shape, width = shape_of(real), part.itemsize * 8
    plan = plan_of(op.kind.value, shape, op.lengths, width)
    size = _size_by_rows(plan) if plan is not None else _size_of_long(shape, op.lengths)
    if size is not None or _splits_as_complex(op, shape, width):
        return transform_rows(op, size)
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


ALONE, CALLS = 1.5, 2048
"""The cost of an element of a row that is transformed by itself beside one in a lane, and that of its calls."""


def _size_by_rows(plan: Plan) -> int | None:
    """The size of the convolutions that transform each row by itself; None if rows in lanes cost less."""
    line = plan.row.complex
    if len(plan.lengths) > 1 or not isinstance(line, Line) or line.bluestein is None:
        return None
    size, rows = smooth_length(2 * plan.n - 1), plan.rows
    in_lanes = -(-rows // plan.lanes) * plan.lanes * line.bluestein.size
    return size if rows * size * ALONE + CALLS <= in_lanes else None


LONGEST = 1 << 21
"""The most elements of a convolution for which no line is long enough: its factors are constants of the program."""


def _size_of_long(shape: Sequence[int], lengths: Sequence[int]) -> int | None:
    """The size of the convolutions for rows that are too long for lines; None if their tables would be too large."""
    if len(lengths) > 1 or 0 in shape or factors_of(shape[-1]) is not None:
        return None
    size = smooth_length(2 * shape[-1] - 1)
    return size if size <= LONGEST else None


def _splits_as_complex(op: FftOp, shape: Sequence[int], width: int) -> bool:
    """Whether real rows of odd length, which have no pairs, are split if they are complex rows."""
    if op.kind in (FftType.FFT, FftType.IFFT) or len(op.lengths) > 1 or shape[-1] % 2 == 0 or 0 in shape:
        return False
    return split_of(shape[-1], math.prod(shape[:-1]), lanes_of(width)) is not None


def native_call(
    op: Operation, target: str, operands: list[SSAValue], types: list[Attribute], stated: Mapping[str, Attribute]
) -> CustomCallOp:
    """A call of a target at the location of `op`."""
    return CustomCallOp.create(
        operands=operands,
        result_types=types,
        properties={"call_target_name": StringAttr(target)},
        attributes={"mhlo.backend_config": DictionaryAttr(dict(stated))},
        location=op.location,
    )


LEAST_LENGTH, SHARE = 256, 24
"""
The shortest rows from which few elements are selected instead of sorting the row with its places; few are at most one
in SHARE.
"""

LEAST_OF_NARROW, SHARE_OF_NARROW = 512, 32
"""The same for elements of less than 32 bits, which are sorted in one number with their places."""

LEAST_OF_FEW, FOR_EACH, SHARE_OF_FEW = 32, 12, 8
"""
The same for shorter rows, of at least LEAST_OF_FEW elements and FOR_EACH for each row: many rows are sorted side by
side.
"""

LEAST_ALONE, SHARE_ALONE = 2048, 256
"""The same for rows that are sorted without places, which takes a third of the time."""


class _Cut(NamedTuple):
    """A slice of a sort's result, or of the reversed result."""

    op: SliceOp
    result: int
    turned: bool

    def places(self, length: int) -> tuple[int, int]:
        """The first place of sorted rows that it takes, and the one after the last."""
        first, last = self.op.starts[-1], self.op.limits[-1]
        return (length - last, length - first) if self.turned else (first, last)


def _limits(rows: SSAValue) -> tuple[int, int]:
    """The least length of rows that are selected from with their places, and the part of them that is few."""
    shape, narrow = shape_of(rows), bit_width(element_of(rows)) < 32
    least, share = (LEAST_OF_NARROW, SHARE_OF_NARROW) if narrow else (LEAST_LENGTH, SHARE)
    few = max(LEAST_OF_FEW, FOR_EACH * math.prod(shape[:-1])) <= shape[-1] < least
    return (LEAST_OF_FEW, SHARE_OF_FEW) if few else (least, share)


@native_decompositions.on(SortOp)
def _sort(op: SortOp) -> Sequence[Operation]:
    """A sort along the last dimension becomes what finds the elements that are used, if these are few."""
    key = sort_key(op.comparator)
    if key is None or op.dim != len(shape_of(op.inputs[0])) - 1:
        return ()
    canonical = _canonical(key)
    compared = key.value if canonical is None else canonical
    if not isinstance(compared, BlockArgument):
        return ()
    by = compared.index // 2
    return _first(op, by, key, canonical is not None) or _picked(op, by, key, canonical is not None)


def _picked(op: SortOp, by: int, key: SortKey, canonical: bool) -> Sequence[Operation]:
    """The same for single elements from anywhere in the order, see `ranks.pick`."""
    ordered = key.total_order or is_integer(element_of(op.inputs[by]))
    picks = picks_of(op, by) if ordered and can_pick(op.inputs[by]) else None
    return pick(op, by, picks, key.descending, canonical) if picks else ()


def _first(op: SortOp, by: int, key: SortKey, canonical: bool) -> Sequence[Operation]:
    """
    Before: a sort of %x, or of %x and the places of its elements, by %x; slices of its results near their start
    After:  `custom_call @xhlo.top_k(%x)`, and slices of its results

    If the slices are near the end, the first elements of %x in the opposite order, from its end on, are selected.
    """
    shape, cuts = shape_of(op.inputs[0]), _cuts(op)
    if not cuts:
        return ()
    length, rows = shape[-1], op.inputs[by]
    others = [number for number in range(len(op.inputs)) if number != by]
    least, share = _limits(rows) if others else (LEAST_ALONE, SHARE_ALONE)
    if 0 in shape or not least <= length < 1 << 31 or is_narrow_float(element_of(rows)):
        return ()
    if not all(_counts(op.inputs[number], len(shape) - 1) for number in others):
        return ()
    places = [cut.places(length) for cut in cuts]
    count, beyond = max(last for _, last in places), length - min(first for first, _ in places)
    at_end = beyond < count and (key.total_order or not is_float(element_of(rows)))
    count = beyond if at_end else count
    if count * share > length or count == 0:
        return ()
    builder = Builder.before(op)
    source = Tensor(builder, rows).reverse([len(shape) - 1]).value if at_end else rows
    part = (*shape[:-1], count)
    stated: dict[str, Attribute] = {
        "descending": BoolAttr.from_bool(key.descending != at_end),
        "total_order": BoolAttr.from_bool(key.total_order),
    }
    if canonical:
        stated["canonical"] = BoolAttr.from_bool(True)
    types: list[Attribute] = [make_tensor(part, element_of(rows)), make_tensor(part, i32)]
    call = native_call(op, TOP_K, [source], types, stated)
    Rewriter.insert_op(call, InsertPoint.before(op))
    found = [Tensor(builder, call.results[0]), Tensor(builder, call.results[1])]
    if at_end and others:
        found[1] = length - 1 - found[1]
    for cut in cuts:
        _take(cut, found[cut.result != by], length, cut.turned == at_end)
    for turned in [use.operation for result in op.outs for use in result.uses]:
        Rewriter.erase_op(turned)
    Rewriter.erase_op(op)
    return [call]


def _canonical(key: SortKey) -> SSAValue | None:
    """The float of which a key in the total order is the canonical form, with one zero and one NaN, as JAX sorts."""
    outer = key.value.owner
    if not isinstance(outer, SelectOp) or not key.total_order:
        return None
    isnan, nan, inner = outer.operands[0].owner, splat_of(outer.operands[1]), outer.operands[2].owner
    if not isinstance(inner, SelectOp) or not is_splat_of(inner.operands[1], 0.0) or nan is None or nan == nan:
        return None
    x, iszero = inner.operands[2], inner.operands[0].owner
    if not isinstance(isnan, CompareOp) or not isinstance(iszero, CompareOp) or np.signbit(nan):
        return None
    plain = (
        (isnan.direction, iszero.direction) == ("NE", "EQ") and not isnan.is_total_order and not iszero.is_total_order
    )
    same = tuple(isnan.operands) == (x, x) and iszero.operands[0] is x and is_splat_of(iszero.operands[1], 0.0)
    return x if plain and same and is_float(element_of(x)) else None


def _cuts(op: SortOp) -> list[_Cut] | None:
    """The slices of neighbours that are all that uses the results; None if something else does."""
    found: list[_Cut] = []
    for number, result in enumerate(op.outs):
        for use in result.uses:
            user = use.operation
            turned = isinstance(user, ReverseOp) and user.dims == (op.dim,)
            for cut in [inner.operation for inner in user.results[0].uses] if turned else [user]:
                if not isinstance(cut, SliceOp) or set(cut.steps) != {1}:
                    return None
                found.append(_Cut(cut, number, turned))
    return found


def _counts(value: SSAValue, dim: int) -> bool:
    """Whether a tensor has the places along a dimension, as i32."""
    owner = value.owner
    return isinstance(owner, IotaOp) and owner.iota_dimension.value.data == dim and element_of(value) == i32


def _take(cut: _Cut, found: Tensor, length: int, as_found: bool) -> None:
    """Take a slice from the selected elements, in their order or the opposite one."""
    builder = Builder.before(cut.op)
    source, dim = Tensor(builder, found.value), len(found.shape) - 1
    starts, limits = list(cut.op.starts), list(cut.op.limits)
    if not as_found:
        source = source.reverse([dim])
        starts[dim] -= length - found.shape[dim]
        limits[dim] -= length - found.shape[dim]
    builder.replace(cut.op, source.slice(starts, limits))
