"""hlo.bitcast_convert: elementwise for equal widths; otherwise a generic that splits or joins elements."""

from __future__ import annotations

from functools import partial
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr

from ...dialects.support.scalar import Scalar, width_of
from ...hlo_dialect.ops import conversion as hlo
from ...hlo_dialect.types import bit_width, element_of, shape_of
from .emission import Emitter, affine_map, dims_map, identity_map, iterators, loop_index, patterns, signless


def _bits_of(x: Scalar, element: Attribute) -> Scalar:
    """An element's bits as an integer of the same width."""
    bits = x.bits() if x.is_float else x
    width = bit_width(element)
    return bits.truncate(IntegerType(width)) if width < width_of(bits.type) else bits


def _from_bits(bits: Scalar, element: Attribute) -> Scalar:
    """The element with the bits of an integer of the same width."""
    type_ = signless(element)
    if width_of(bits.type) < width_of(type_):
        return bits.cast(arith.ExtUIOp, type_)
    return bits if bits.type == type_ else bits.bitcast(type_)


def bitcast(x: Scalar, source: Attribute, target: Attribute) -> Scalar:
    """Bitcast `x`, of hlo's element type `source`, to `target` of the same width."""
    return _from_bits(_bits_of(x, source), target)


@patterns.on(hlo.BitcastConvertOp)
def _bitcast_convert(op: hlo.BitcastConvertOp, emitter: Emitter) -> None:
    source, target = element_of(op.operand), element_of(op.result)
    have, want = bit_width(source), bit_width(target)
    if have == want:
        emitter.elementwise(op.result, [emitter.get(op.operand)], partial(bitcast, source=source, target=target))
    elif have > want:
        _take_apart(op, emitter, source, target)
    else:
        _join(op, emitter, source, target)


def _take_apart(op: hlo.BitcastConvertOp, emitter: Emitter, source: Attribute, target: Attribute) -> None:
    """`hlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4x2xi16>`: `%x[i]` shifted right by 16 j, its lower bits."""
    rank = len(shape_of(op.result))
    width = bit_width(target)
    type_: Any = signless(op.result.type)

    def body(x: Scalar, out: Scalar) -> Scalar:
        bits = _bits_of(x, source)
        place = loop_index(out.block, rank - 1).cast(arith.IndexCastOp, bits.type) * width
        return _from_bits(bits.apply(arith.ShRUIOp, place).truncate(IntegerType(width)), target)

    maps = (dims_map(rank, tuple(range(rank - 1))), identity_map(rank))
    results = emitter.generic([emitter.get(op.operand)], [emitter.empty(type_)], maps, iterators(rank), body)
    emitter.define(op.result, results[0])


def _join(op: hlo.BitcastConvertOp, emitter: Emitter, source: Attribute, target: Attribute) -> None:
    """`hlo.bitcast_convert %x : (tensor<4x2xi16>) -> tensor<4xf32>`: `%x[i, 1]` shifted left, with `%x[i, 0]`."""
    rank = len(shape_of(op.result))
    width = bit_width(source)
    parts = bit_width(target) // width
    type_: Any = signless(op.result.type)
    whole = IntegerType(bit_width(target))
    dims = [AffineExpr.dimension(dim) for dim in range(rank)]

    def body(*scalars: Scalar) -> Scalar:
        first, *others = (_bits_of(x, source).cast(arith.ExtUIOp, whole) for x in scalars[:-1])
        joined = first
        for index, part in enumerate(others, 1):
            joined = joined | part << index * width
        return _from_bits(joined, target)

    maps = tuple(affine_map(rank, *dims, AffineExpr.constant(part)) for part in range(parts))
    results = emitter.generic(
        [emitter.get(op.operand)] * parts,
        [emitter.empty(type_)],
        (*maps, identity_map(rank)),
        iterators(rank),
        body,
    )
    emitter.define(op.result, results[0])
