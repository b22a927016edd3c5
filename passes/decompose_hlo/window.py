"""reduce_window of padded or dilated inputs becomes pad and a reduce_window without padding."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...hlo_dialect.expressions.tensor import Builder
from ...hlo_dialect.ops.constraints import refuse_shaped_accumulators
from ...hlo_dialect.ops.window import ReduceWindowOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import shape_of
from .transform import decompositions


@decompositions.on(ReduceWindowOp)
def _reduce_window(op: ReduceWindowOp) -> Sequence[Operation]:
    """
    Before: `reduce_window(%x, %i) <{padding = dense<[[1, 1]]>, ..}>`
    After:  `%0 = pad %x, %i, low = [1], high = [1], interior = [0]`, `reduce_window(%0, %i) <{..}>`

    Scans and windows without padding are unchanged.
    """
    refuse_shaped_accumulators(op, op.init_values)
    window = op.window
    if not window.is_padded or op.scan is not None or not is_static(shape_of(op.inputs[0])):
        return ()
    if 0 in shape_of(op.outs[0]):
        return ()
    builder = Builder()
    padded = [
        value.pad(init, window.low, window.high, window.interior)
        for value, init in zip(builder.tensors(op.inputs), builder.tensors(op.init_values), strict=True)
    ]
    kept = {name: value for name, value in op.properties.items() if name not in ("padding", "base_dilations")}
    new = ReduceWindowOp.create(
        operands=[*(pad.value for pad in padded), *op.init_values],
        result_types=op.result_types,
        properties=kept,
        attributes=op.attributes,
        regions=[op.detach_region(op.body)],
    )
    builder.insert(new)
    return builder.replace(op, *new.results)
