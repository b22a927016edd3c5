"""hlo.convolution: a generic over windows, their elements and features that multiplies and adds."""

from __future__ import annotations

from xdsl.dialects.builtin import AffineMapAttr, UnitAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ...dialects.support.buffers import i64_array
from ...dialects.support.kernel import CONTRACTION, LOOP_SIZES
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.ops import convolution as hlo
from ...hlo_dialect.types import i1, make_tensor, shape_of
from .contraction import sum_of_products
from .emission import Emitter, affine_map, iterators, patterns


@patterns.on(hlo.ConvolutionOp)
def _convolution(op: hlo.ConvolutionOp, emitter: Emitter) -> None:
    """
    `hlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]}` becomes a generic
    over (b, w, o, k, i) that reads %x at (b, w * 2 + k, i) and %w at (k, i, o), marked xhlo.contraction.

    Groups add a loop before o, and the index of a grouped dimension is `group * size + index`.
    """
    window = op.window
    if window.is_padded or any(op.reversal):
        fail(op, "has padding, dilation or reversal that decompose-hlo takes away; run that pass first")
    numbers, lhs, rhs, out = op.dimension_numbers, shape_of(op.lhs), shape_of(op.rhs), shape_of(op.result)
    rank, groups = len(window.dimensions), op.feature_groups * op.batch_groups
    features, contracted = rhs[numbers.kernel.feature] // groups, rhs[numbers.kernel.batch]
    spatial = [out[dim] for dim in numbers.output.spatial]
    sizes = (out[numbers.output.batch], *spatial, groups, features, *window.dimensions, contracted)
    batch, group, feature, *taps = (AffineExpr.dimension(dim) for dim in (0, rank + 1, *range(rank + 2, len(sizes))))
    inner = taps.pop()

    def of_group(index: AffineExpr, count: int) -> AffineExpr:
        return index if groups == 1 else group * count + index

    lhs_places, rhs_places, out_places = ([AffineExpr.constant(0)] * (rank + 2) for _ in range(3))
    lhs_places[numbers.lhs.batch] = of_group(batch, sizes[0]) if op.batch_groups > 1 else batch
    lhs_places[numbers.lhs.feature] = of_group(inner, contracted) if op.feature_groups > 1 else inner
    rhs_places[numbers.kernel.batch] = inner
    rhs_places[numbers.kernel.feature] = of_group(feature, features)
    out_places[numbers.output.batch] = batch
    out_places[numbers.output.feature] = of_group(feature, features)
    for dim in range(rank):
        place = AffineExpr.dimension(1 + dim)
        tap = taps[dim] if window.dilations[dim] == 1 else taps[dim] * window.dilations[dim]
        lhs_places[numbers.lhs.spatial[dim]] = (
            place if window.strides[dim] == 1 else place * window.strides[dim]
        ) + tap
        rhs_places[numbers.kernel.spatial[dim]] = taps[dim]
        out_places[numbers.output.spatial[dim]] = place
    assert len(lhs) == len(lhs_places), "the ranks were verified"
    sum_of_products(
        op,
        emitter,
        tuple(affine_map(len(sizes), *places) for places in (lhs_places, rhs_places, out_places)),
        iterators(rank + 3, rank + 1),
        {CONTRACTION: UnitAttr(), LOOP_SIZES: i64_array(sizes)},
        _shape_only(emitter, sizes, (*lhs_places, *rhs_places, *out_places)),
    )


def _shape_only(
    emitter: Emitter, sizes: tuple[int, ...], places: tuple[AffineExpr, ...]
) -> tuple[tuple[SSAValue, AffineMapAttr], ...]:
    """
    An operand that is never read, from which linalg infers the sizes of loops that no operand dimension determines.
    """
    plain = {place.position for place in places if isinstance(place, AffineDimExpr)}
    missing = [loop for loop in range(len(sizes)) if loop not in plain]
    if not missing:
        return ()
    value = emitter.empty(make_tensor(tuple(sizes[loop] for loop in missing), i1))
    return ((value, affine_map(len(sizes), *map(AffineExpr.dimension, missing))),)
