"""
select_and_scatter: a thread per window if no two windows overlap.

Otherwise one launch finds the element that each window selects; in another, each output element visits the windows that
contain it in order, so that contributions are combined as in a serial loop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, i1, i32, i64
from xdsl.ir import SSAValue

from ....dialects.linalg_ext.window import SelectAndScatterOp
from ....dialects.support.buffers import memref_type
from ...convert_linalg_ext_to_scf.select_and_scatter import Selection, selection_of
from ...loop_nests.indices import linearized
from ...loop_nests.kernel_builder import Index
from ..threads.launch import KernelMapper
from .launch import ExtLaunch


def map_select_and_scatter(mapper: KernelMapper, op: SelectAndScatterOp, threads: int) -> None:
    """`linalg_ext.select_and_scatter`: one launch over windows, or one over windows and one over output elements."""
    launch = ExtLaunch(mapper, op)
    selection = selection_of(launch.op, launch.builder)
    if all(stride >= size for stride, size in zip(selection.strides, selection.sizes, strict=True)):
        with launch.over(selection.counts, threads) as window:
            selection.scatter_window(window)
        return
    places = math.prod(selection.shape)
    selected = mapper.scratch(memref_type(selection.counts, i32 if places < 1 << 31 else i64))
    _select(launch, selection, selected, threads)
    _scatter(ExtLaunch(mapper, op), selected, threads)


def _select(launch: ExtLaunch[SelectAndScatterOp], selection: Selection, selected: SSAValue, threads: int) -> None:
    """A thread per window: the index of the element that it selects; -1 if there is none."""
    builder, buffer = launch.builder, launch.buffer(selected)
    type_ = cast(Any, buffer.type).element_type
    with launch.over(selection.counts, threads) as window:
        origin = [0] * len(selection.sizes)
        first = builder.load(selection.operand, origin)
        state = [builder.scalar(IntegerAttr(0, i1)), first, *map(builder.index, origin)]
        found, _, *place = selection.best(window, [], state)
        number = builder.index(linearized([*map(builder.index, place)], selection.shape)).cast_to(type_)
        none = builder.scalar(IntegerAttr(-1, type_))
        builder.store(builder.on(found).select(number, none), buffer, window)


def _scatter(launch: ExtLaunch[SelectAndScatterOp], selected: SSAValue, threads: int) -> None:
    """A thread per output element: combines the sources of the windows that selected it, in the order of windows."""
    builder, buffer = launch.builder, launch.buffer(selected)
    selection = selection_of(launch.op, builder)
    type_ = cast(Any, buffer.type).element_type
    with launch.over(selection.shape, threads) as place:
        own = builder.index(linearized(place, selection.shape)).cast_to(type_)
        present = builder.load(selection.target, place)
        builder.store(_combined(selection, (buffer, own), place, [], present), selection.target, place)


def _combined(
    selection: Selection,
    selected: tuple[SSAValue, SSAValue],
    place: Sequence[Index],
    window: list[Index],
    value: SSAValue,
) -> SSAValue:
    """`value` combined with the sources of the windows that selected this element.

    `selected`: the buffer of the selected indices, and this element's index. `window`: its first indices.
    """
    builder, (buffer, own) = selection.builder, selected
    dim = len(window)
    if dim == len(selection.sizes):
        taken = builder.on(builder.load(buffer, window)).compare("eq", own)
        new = builder.inline(selection.scatter, [value, builder.load(selection.source, window)])[0]
        return taken.select(new, value).value
    with builder.loop(*_windows_around(selection, dim, place[dim]), carry=[value]) as (index, state):
        builder.yield_(_combined(selection, selected, place, [*window, index], state[0]))
    return state[0]


def _windows_around(selection: Selection, dim: int, place: Index) -> tuple[Index, Index]:
    """The windows of a dimension that contain an element: [first, end)."""
    builder, size, stride = selection.builder, selection.sizes[dim], selection.strides[dim]
    begin = place + selection.low[dim]
    # Window w begins at w * stride, counted from the start of the padding, and contains `begin`:
    # w * stride <= begin < w * stride + size.
    first = builder.index(begin + (stride - size)).max(0) // stride
    end = builder.index(begin + stride).max(0) // stride
    return first, builder.min(end, selection.counts[dim])
