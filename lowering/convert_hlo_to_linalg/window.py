"""Windowed operations: a generic with reduction iterators over the window, a scan, or loops that select and scatter."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr

from ...dialects.linalg_ext import window as linalg_ext
from ...dialects.linalg_ext.base import YieldOp
from ...dialects.support.attributes import integer_attr
from ...dialects.support.buffers import i64_array
from ...dialects.support.scalar import NO_FASTMATH, Scalar
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.ops import window as hlo
from ...hlo_dialect.ops.elementwise_binary import AddOp, MultiplyOp
from ...hlo_dialect.types import element_of, f32, i1, make_tensor, shape_of
from .element_types import convert
from .emission import PARALLEL, REDUCTION, Emitter, affine_map, identity_map, iterators, patterns, signless
from .narrow import NARROW
from .reduction import SIMPLE, Loops, emit_fold, initial_value, narrowed, single_combiner
from .scalars import inline_region


@patterns.on(hlo.ReduceWindowOp)
def _reduce_window(op: hlo.ReduceWindowOp, emitter: Emitter) -> None:
    """
    `hlo.reduce_window(%x, %i) <{window_dimensions = [1, 3], window_strides = [1, 2]}>` becomes a fill with %i and a
    generic over (d0, d1, d2) that reads %x at (d0, d1 * 2 + d2) and reduces d2; a cumulative one linalg_ext.scan. A
    tensor of the window's shape, which is never read, determines the size of d2.
    """
    along = op.scan
    if along is not None:
        _scan(op, emitter, *along)
        return
    window, shape = op.window, shape_of(op.outs[0])
    if 0 in shape:
        for out in op.outs:
            emitter.define(out, emitter.empty(signless(out.type)))
        return
    if window.is_padded:
        fail(op, "has padding or base dilation, which decompose-hlo takes away; run that pass first")
    rank = len(shape)
    wide = [dim for dim in range(rank) if window.dimensions[dim] != 1]
    places: list[AffineExpr] = []
    for dim in range(rank):
        place = AffineExpr.dimension(dim) * window.strides[dim]
        if window.strides[dim] == 1:
            place = AffineExpr.dimension(dim)
        if dim in wide:
            inner = AffineExpr.dimension(rank + wide.index(dim))
            place = place + (inner if window.dilations[dim] == 1 else inner * window.dilations[dim])
        places.append(place)
    loops = rank + len(wide)
    shape_only = emitter.empty(make_tensor(tuple(window.dimensions[dim] for dim in wide), i1))
    emit_fold(
        op,
        emitter,
        Loops(
            affine_map(loops, *places),
            affine_map(loops, *(AffineExpr.dimension(dim) for dim in range(rank))),
            ArrayAttr([PARALLEL] * rank + [REDUCTION] * len(wide)),
            (shape_only, affine_map(loops, *(AffineExpr.dimension(rank + place) for place in range(len(wide))))),
        ),
    )


def scalar_region(source: Block, types: list[Any]) -> Region:
    """Convert a block on tensors of rank 0 to a region of scalar arithmetic that ends with linalg_ext.yield."""
    block = Block(arg_types=types)
    results = inline_region(source, block, list(block.args))
    block.add_op(YieldOp(*(scalar.value for scalar in results)))
    return Region(block)


def converted(value: SSAValue, source: Any, target: Any, emitter: Emitter) -> SSAValue:
    """The new value of an operand, converted if its element type differs."""
    new = emitter.get(value)
    if source == target:
        return new
    rank = len(shape_of(value))
    type_ = make_tensor(shape_of(value), signless(target))
    maps = (identity_map(rank),) * 2

    def body(x: Scalar, _: Scalar) -> Scalar:
        return convert(x, source, target)

    return emitter.generic([new], [emitter.empty(type_)], maps, iterators(rank), body)[0]


def _scan(op: hlo.ReduceWindowOp, emitter: Emitter, dimension: int, reverse: bool) -> None:
    """
    A cumulative reduce_window becomes `linalg_ext.scan {dimension, reverse} ins(%x, %i) outs(%empty)`.

    Sums and products of f16 and bf16 are carried in f32, and each result is rounded once.
    """
    single = single_combiner(op)
    sources = [element_of(value) for value in op.inputs]
    totals = [element_of(out) for out in op.outs]
    wide = isinstance(single, AddOp | MultiplyOp) and isinstance(totals[0], NARROW)
    if wide:
        totals = [f32]
    inputs = [
        converted(value, source, total, emitter)
        for value, source, total in zip(op.inputs, sources, totals, strict=True)
    ]
    inits = [
        convert(initial_value(value, emitter), source, total).value
        for value, source, total in zip(op.init_values, sources, totals, strict=True)
    ]
    types: list[Any] = [signless(total) for total in totals]
    results = emitter.structured(
        linalg_ext.ScanOp,
        [*inputs, *inits],
        [emitter.empty(make_tensor(shape_of(out), type_)) for out, type_ in zip(op.outs, types, strict=True)],
        [_region_of(single) if single is not None and wide else scalar_region(op.body.block, types * 2)],
        {"dimension": integer_attr(dimension, i64), "reverse": BoolAttr.from_bool(reverse)},
    )
    for old, new in zip(op.outs, results, strict=True):
        emitter.define(old, narrowed(new, signless(old.type), emitter) if wide else new)


def _region_of(single: Operation) -> Region:
    """An operation of two numbers, on f32."""
    block = Block(arg_types=[f32, f32])
    properties = {"fastmath": NO_FASTMATH}
    op = SIMPLE[type(single)].create(operands=block.args, result_types=[f32], properties=properties)
    block.add_ops((op, YieldOp(op.results[0])))
    return Region(block)


@patterns.on(hlo.SelectAndScatterOp)
def _select_and_scatter(op: hlo.SelectAndScatterOp, emitter: Emitter) -> None:
    """`hlo.select_and_scatter(%x, %s, %i)` becomes a fill with %i and linalg_ext.select_and_scatter into it."""
    window = op.window
    element, total = element_of(op.operand), element_of(op.result)
    init = convert(initial_value(op.init_value, emitter), element, total)
    filled = emitter.fill(init.value, signless(op.result.type))
    source = converted(op.source, element, total, emitter)
    regions = [
        scalar_region(op.select.block, [signless(element)] * 2),
        scalar_region(op.scatter.block, [signless(total)] * 2),
    ]
    properties: dict[str, Any] = {
        "sizes": i64_array(window.dimensions),
        "strides": i64_array(window.strides),
        "low": i64_array(window.low),
    }
    inputs = [emitter.get(op.operand), source]
    results = emitter.structured(linalg_ext.SelectAndScatterOp, inputs, [filled], regions, properties)
    emitter.define(op.result, results[0])
