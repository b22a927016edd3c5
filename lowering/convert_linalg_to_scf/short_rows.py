"""
Gathers of rows of a few elements: pixels, points, small embeddings.

    out[i, c] = w[i] * x[index[i], c]      # c < 3

A row is a vector, or two, that LLVM makes of the loop over its elements; over many rows at once it would gather element
by element, which takes longer. What is the same for all elements of a row, such as its place and weights, is computed
before for a tile of rows, in vectors.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ...dialects.support.buffers import memref_type
from ...dialects.support.scalar import width_of
from ..loop_nests.emission import NestEmitter
from ..loop_nests.loop_builder import PARALLEL, SCALAR, Index, buffer_of
from ..loop_nests.nest import Nest
from ..loop_nests.variation import loads_of, varying
from .stages import Stages, emit_stage

LONGEST = 8
"""Elements of a row up to which LLVM unrolls the loop over them."""

LEAST_BITS = 32
"""Bits of elements of which LLVM makes vectors of a row."""

TILE = 256
"""Rows whose places and weights are computed together."""

LEAST_SHARED = 10
"""Operations that are the same for all elements of a row from which they are computed before."""

_CASTS = (arith.ExtSIOp, arith.ExtUIOp, arith.IndexCastOp)


def short_rows_of(nest: Nest, inner: int) -> Stages | None:
    """
    The part to compute before of rows that are gathered, and the rest, as two stages; None if they are to be one loop.

    Nothing is computed before if it is little.
    """
    body = nest.body
    if body is None or nest.sizes[inner] > LONGEST or any(op.regions for op in body.ops):
        return None
    elements = [load.memref for load in loads_of(nest)] + [output.root for output in nest.outputs]
    if any(width_of(buffer_of(each).element_type) < LEAST_BITS for each in elements):
        return None
    varies = varying(nest, inner)
    ops = [op for op in body.ops if op is not body.last_op and not isinstance(op, arith.ConstantOp)]
    shared = [op for op in ops if not any(result in varies for result in op.results)]
    # A cast belongs to what reads it.
    while shared and isinstance(shared[-1], _CASTS):
        shared.pop()
    if len(shared) < LEAST_SHARED:
        shared = []
    chosen = set(shared)
    rest = [op for op in ops if op not in chosen]
    assert body.last_op is not None
    read = dict.fromkeys(value for op in (*rest, body.last_op) for value in op.operands)
    left = tuple(value for value in read if value.owner in chosen)
    return Stages((tuple(shared), tuple(rest)), (left, ()))


def emit_short_rows(emitter: NestEmitter, stages: Stages, rows: int, inner: int, lower: Index, upper: Index) -> None:
    """Emit the loop over rows from `lower` to `upper`, and the innermost one; the loops around them are bound."""
    builder, (shared, _), (left, _) = emitter.builder, stages.ops, stages.left
    if not left:
        with builder.loop(lower, upper, attributes=SCALAR) as row:
            _emit_row(emitter, stages, rows, inner, row, {}, row)
        return
    buffers = {value: builder.alloca(memref_type((TILE,), value.type)) for value in left}
    with builder.loop(lower, upper, step=TILE) as start:
        count = builder.min(upper - start, TILE)
        with builder.loop(0, count, attributes=PARALLEL) as lane, emitter.scope():
            emitter.bind(rows, start + lane)
            values = emit_stage(emitter, shared, buffers, lane, False)
            for value in left:
                builder.store(values[value], buffers[value], [lane])
        with builder.loop(0, count, attributes=SCALAR) as lane:
            _emit_row(emitter, stages, rows, inner, start + lane, buffers, lane)


def _emit_row(
    emitter: NestEmitter,
    stages: Stages,
    rows: int,
    inner: int,
    row: Index,
    buffers: dict[SSAValue, SSAValue],
    lane: Index,
) -> None:
    """Emit the loop over the elements of a row; `lane`: where the buffers have what is the same for all of them."""
    nest = emitter.nest
    assert nest.body is not None and nest.body.last_op is not None
    with emitter.scope():
        emitter.bind(rows, row)
        with emitter.builder.loop(0, nest.sizes[inner], attributes=PARALLEL) as element, emitter.scope():
            emitter.bind(inner, element)
            values = emit_stage(emitter, stages.ops[1], buffers, lane, True)
            for k, value in enumerate(nest.body.last_op.operands):
                emitter.store_output(k, values.get(value, value))
