"""hlo.reduce: a fill with the initial value, then a generic with reduction iterators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, f32
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.support.scalar import NO_FASTMATH, Scalar
from ...hlo_dialect.attributes import ints
from ...hlo_dialect.ops import elementwise_binary as binary
from ...hlo_dialect.ops import reduction as hlo
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.window import ReduceWindowOp
from ...hlo_dialect.types import element_of, is_splat, make_tensor, shape_of
from .creation import scalar_constant
from .element_types import convert
from .emission import PARALLEL, REDUCTION, Emitter, dims_map, identity_map, iterators, patterns, signless
from .narrow import NARROW
from .scalars import inline_region

REASSOCIABLE = arith.FastMathFlagsAttr([FastMathFlag.REASSOC])
"""HLO leaves the order of a reduction open, so its sum or product may be reassociated, which lets it vectorize."""

SIMPLE: dict[type[Operation], type[Operation]] = {
    binary.AddOp: arith.AddfOp,
    binary.MultiplyOp: arith.MulfOp,
    binary.MaximumOp: arith.MaximumfOp,
    binary.MinimumOp: arith.MinimumfOp,
}


def single_combiner(op: hlo.ReduceOp | ReduceWindowOp) -> Operation | None:
    """The region's operation, if it is a single one that combines the accumulator and the element."""
    block = op.body.block
    first = block.first_op
    if len(op.inputs) != 1 or first is None or first.next_op is not block.last_op or type(first) not in SIMPLE:
        return None
    return first if set(first.operands) == set(block.args) else None


def initial_value(value: SSAValue, emitter: Emitter) -> Scalar:
    """The element of a tensor of rank 0; a constant's without a read."""
    if isinstance(value.owner, ConstantOp) and is_splat(value.owner.value):
        return scalar_constant(emitter.block, value.owner.value)
    return emitter.scalar(emitter.extract(emitter.get(value)))


@dataclass(frozen=True)
class Loops:
    """The loops of a fold and their index maps, which are the same for each input."""

    input_map: AffineMapAttr
    output_map: AffineMapAttr
    kinds: ArrayAttr[IteratorTypeAttr]
    window: tuple[SSAValue, AffineMapAttr] | None = None
    """
    An operand that is never read: it determines the sizes of loops that no other operand does, as in linalg.pooling_*.
    """


@patterns.on(hlo.ReduceOp)
def _reduce(op: hlo.ReduceOp, emitter: Emitter) -> None:
    """
    `hlo.reduce(%x init: %i) applies hlo.add across dimensions = [1]` becomes linalg.fill of %i and a generic of
    iterators [parallel, reduction] that adds.
    """
    rank = len(shape_of(op.inputs[0]))
    dims = set(ints(op.dimensions))
    kept = tuple(dim for dim in range(rank) if dim not in dims)
    kinds = ArrayAttr([REDUCTION if dim in dims else PARALLEL for dim in range(rank)])
    emit_fold(op, emitter, Loops(identity_map(rank), dims_map(rank, kept), kinds))


def emit_fold(op: hlo.ReduceOp | ReduceWindowOp, emitter: Emitter, loops: Loops) -> None:
    """
    Emit a fill with the initial values and a generic that folds with the operation's body; define the results.

    f16 and bf16 sums and similar reductions accumulate in f32. If accumulators are wider than the elements (i8 into
    i32), elements are converted first.
    """
    single = single_combiner(op)
    sources = [element_of(value) for value in op.inputs]
    totals = [element_of(out) for out in op.outs]
    wide = single is not None and isinstance(totals[0], NARROW)
    if wide:
        totals = [f32]
    result_types: list[Any] = [signless(result.type) for result in op.outs]
    types = [make_tensor(type_.get_shape(), signless(total)) for type_, total in zip(result_types, totals, strict=True)]
    inits = [
        convert(initial_value(value, emitter), source, total)
        for value, source, total in zip(op.init_values, sources, totals, strict=True)
    ]
    filled = [emitter.fill(init.value, type_) for init, type_ in zip(inits, types, strict=True)]
    count = len(filled)

    def body(*scalars: Scalar) -> list[Scalar]:
        elements = tuple(map(convert, scalars[:count], sources, totals))
        return _combine(op, single, scalars[-count:], elements)

    inputs = [emitter.get(value) for value in op.inputs]
    maps = [loops.input_map] * count
    if loops.window is not None:
        inputs.append(loops.window[0])
        maps.append(loops.window[1])
    results = emitter.generic(inputs, filled, (*maps, *[loops.output_map] * count), loops.kinds, body)
    for old, new, type_ in zip(op.outs, results, result_types, strict=True):
        emitter.define(old, narrowed(new, type_, emitter) if wide else new)


def _combine(
    op: hlo.ReduceOp | ReduceWindowOp,
    single: Operation | None,
    accumulators: tuple[Scalar, ...],
    elements: tuple[Scalar, ...],
) -> list[Scalar]:
    if single is not None and accumulators[0].is_float:
        x, y = accumulators[0], elements[0]
        flags = REASSOCIABLE if isinstance(single, (binary.AddOp, binary.MultiplyOp)) else NO_FASTMATH
        combiner = SIMPLE[type(single)].create(
            operands=[x.value, y.value], result_types=[x.type], properties={"fastmath": flags}
        )
        x.block.add_op(combiner)
        return [Scalar(x.block, combiner.results[0])]
    arguments = [scalar.value for scalar in (*accumulators, *elements)]
    return inline_region(op.body.block, accumulators[0].block, arguments)


def narrowed(value: SSAValue, type_: Attribute, emitter: Emitter) -> SSAValue:
    """Round a tensor of floats to a narrower type."""
    shaped: Any = type_
    rank = len(shaped.get_shape())

    def body(x: Scalar, _: Scalar) -> Scalar:
        return x.truncate(shaped.element_type)

    return emitter.generic(
        [value],
        [emitter.empty(type_)],
        (identity_map(rank),) * 2,
        iterators(rank),
        body,
    )[0]
