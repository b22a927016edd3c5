"""hlo.scatter: linalg_ext.scatter into the inputs."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import BoolAttr, i64

from ...dialects.linalg_ext import indexing as linalg_ext
from ...dialects.support.attributes import integer_attr
from ...dialects.support.buffers import i64_array
from ...hlo_dialect.ops import scatter as hlo
from ...hlo_dialect.types import element_of, is_unsigned
from .emission import Emitter, patterns, signless
from .window import converted, scalar_region


@patterns.on(hlo.ScatterOp)
def _scatter(op: hlo.ScatterOp, emitter: Emitter) -> None:
    """
    `hlo.scatter %x, %i, %u` becomes `linalg_ext.scatter ins(%i, %u) outs(%x)`; elements are converted first if the
    update computation uses wider ones.
    """
    dims = op.dims
    totals = [element_of(out) for out in op.outs]
    sources = [element_of(value) for value in op.inputs]
    outputs = [converted(*each, emitter) for each in zip(op.inputs, sources, totals, strict=True)]
    updates = [converted(*each, emitter) for each in zip(op.updates, sources, totals, strict=True)]
    properties: dict[str, Any] = {
        "window": i64_array(dims.window),
        "inserted": i64_array(dims.collapsed),
        "batching": i64_array(dims.batching),
        "index_batching": i64_array(dims.index_batching),
        "index_map": i64_array(dims.index_map),
        "vector_dim": integer_attr(dims.vector_dim, i64),
        "is_unsigned": BoolAttr.from_bool(is_unsigned(element_of(op.scatter_indices))),
        "is_unique": BoolAttr.from_bool(op.is_unique),
    }
    region = scalar_region(op.update_computation.block, [signless(total) for total in totals] * 2)
    inputs = [emitter.get(op.scatter_indices), *updates]
    results = emitter.structured(linalg_ext.ScatterOp, inputs, outputs, [region], properties)
    for old, new in zip(op.outs, results, strict=True):
        emitter.define(old, new)
