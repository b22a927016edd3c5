"""
reduce_window of padded or dilated inputs becomes pad and a reduce_window without padding; one whose windows move
along rows in steps becomes elementwise operations on slices.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ...hlo_dialect.expressions.tensor import Builder
from ...hlo_dialect.ops.constraints import refuse_shaped_accumulators
from ...hlo_dialect.ops.reduction import COMMUTATIVE, single_combiner
from ...hlo_dialect.ops.window import ReduceWindowOp
from ...hlo_dialect.ops.window_geometry import Window
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import bit_width, element_of, is_float, shape_of
from .transform import decompositions

MOST_SLICES = 16
"""Most elements of a window that become slices."""

MOST_STEPS = 4
"""Most elements from one window to the next along a row: of the vectors, the lanes between them are not used."""

LEAST_COUNT = 4
"""Least windows along a row."""


@decompositions.on(ReduceWindowOp)
def _reduce_window(op: ReduceWindowOp) -> Sequence[Operation]:
    """
    Before: `reduce_window(%x, %i) <{padding = dense<[[1, 1]]>, ..}>`
    After:  `%0 = pad %x, %i, low = [1], high = [1], interior = [0]`, `reduce_window(%0, %i) <{..}>`

    Scans are unchanged.
    """
    refuse_shaped_accumulators(op, op.init_values)
    window = op.window
    if op.scan is not None or not is_static(shape_of(op.inputs[0])) or 0 in shape_of(op.outs[0]):
        return ()
    if not window.is_padded:
        return _in_steps_along_rows(op, window)
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


def _in_steps_along_rows(op: ReduceWindowOp, window: Window) -> Sequence[Operation]:
    """
    Before: `reduce_window(%x, %i) <{window_dimensions = [3], window_strides = [2]}>({maximum})`
    After:  `maximum(maximum(maximum(%i, %x[0:n-2:2]), %x[1:n-1:2]), %x[2:n:2])`

    One loop reads all elements of a window: vectors of neighbours, of which each slice takes every second lane. A loop
    for each place of the window would read every second element by itself. Where features are the last dimension, both
    read whole vectors.
    """
    combiner, element = single_combiner(op.body), element_of(op.outs[0])
    if combiner is None or combiner.name not in COMMUTATIVE or element_of(op.inputs[0]) != element:
        return ()
    if len(op.inputs) != 1 or (is_float(element) and bit_width(element) < 32):
        return ()  # Each would be widened anew, and sums of them are rounded once, in the end.
    counts = window.counts(shape_of(op.inputs[0]))
    if not counts or counts[-1] < LEAST_COUNT or window.size > MOST_SLICES:
        return ()
    if not 2 <= window.strides[-1] <= MOST_STEPS or window.dimensions[-1] == 1:
        return ()
    builder = Builder()
    (x,), (init,) = builder.tensors(op.inputs), builder.tensors(op.init_values)
    total = init.broadcast(counts)
    for starts in window.offsets():
        steps = zip(starts, counts, window.strides, strict=True)
        limits = [start + (count - 1) * step + 1 for start, count, step in steps]
        total = builder.op(type(combiner), [total, x.slice(starts, limits, window.strides)])
    return builder.replace(op, total)
