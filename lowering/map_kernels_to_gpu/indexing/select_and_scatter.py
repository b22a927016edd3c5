"""
select_and_scatter: a thread for each window where no two have an element in common.

Elsewhere one launch finds what each window selects; in another each place asks the windows around it, in their order,
so that what comes together in one place is combined as a serial loop would.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1, i32, i64
from xdsl.ir import SSAValue

from ....dialects.build.buffers import memref_type, row_major
from ....dialects.linalg_ext.window import SelectAndScatterOp
from ...convert_linalg_ext_to_scf.select_and_scatter import Selection, selection_of
from ...loop_nests import arithmetic
from ...loop_nests.loop_builder import Index
from ..threads.launch import KernelMapper
from .launch import ExtLaunch


def map_select_and_scatter(mapper: KernelMapper, op: SelectAndScatterOp, threads: int) -> None:
    """`linalg_ext.select_and_scatter`: one launch over windows, or one over windows and one over places."""
    launch = ExtLaunch(mapper, op)
    selection = selection_of(launch.op, launch.builder)
    if all(stride >= size for stride, size in zip(selection.strides, selection.sizes, strict=True)):
        launch.finish_over(selection.counts, selection.scatter_window, threads)
        return
    places = math.prod(selection.shape)
    selected = mapper.scratch(memref_type(selection.counts, i32 if places < 1 << 31 else i64))
    _select(launch, selection, selected, threads)
    _scatter(ExtLaunch(mapper, op), selected, threads)


def _select(launch: ExtLaunch[SelectAndScatterOp], selection: Selection, selected: SSAValue, threads: int) -> None:
    """A thread for each window: the number of the place that it selects; -1 where it has none."""
    builder, buffer = launch.builder, launch.buffer(selected)
    type_ = cast(Any, buffer.type).element_type

    def window(indices: list[Index]) -> None:
        origin = [0] * len(selection.sizes)
        first = builder.load(selection.operand, origin)
        state = [builder.scalar(IntegerAttr(0, i1)), first, *map(builder.index, origin)]
        found, _, *place = selection.best(indices, [], state)
        number = arithmetic.emit(builder, arith.IndexCastOp, [builder.index(_number(selection, place))], type_)
        none = builder.scalar(IntegerAttr(-1, type_))
        builder.store(arithmetic.choose(builder, found, number, none), buffer, indices)

    launch.finish_over(selection.counts, window, threads)


def _number(selection: Selection, place: Sequence[Index]) -> Index:
    """A place of the operand in row-major order."""
    builder = selection.builder
    number: Index = 0
    for index, stride in zip(place, row_major(selection.shape), strict=True):
        number = builder.add(number, builder.mul(index, stride))
    return number


def _scatter(launch: ExtLaunch[SelectAndScatterOp], selected: SSAValue, threads: int) -> None:
    """A thread for each place: the elements of the windows that selected it, in the order of windows."""
    builder, buffer = launch.builder, launch.buffer(selected)
    selection = selection_of(launch.op, builder)
    type_ = cast(Any, buffer.type).element_type

    def place(indices: list[Index]) -> None:
        own = arithmetic.emit(builder, arith.IndexCastOp, [builder.index(_number(selection, indices))], type_)

        def windows(at: list[Index], value: SSAValue) -> SSAValue:
            dim = len(at)
            if dim == len(selection.sizes):
                taken = arithmetic.compare(builder, "eq", builder.load(buffer, at), own)
                new = builder.inline(selection.scatter, [value, builder.load(selection.source, at)])[0]
                return arithmetic.choose(builder, taken, new, value)

            def step(index: SSAValue, state: list[SSAValue]) -> Sequence[SSAValue]:
                return [windows([*at, index], state[0])]

            return builder.loop(*_windows_around(selection, dim, indices[dim]), step, inits=[value])[0]

        builder.store(windows([], builder.load(selection.target, indices)), selection.target, indices)

    launch.finish_over(selection.shape, place, threads)


def _windows_around(selection: Selection, dim: int, place: Index) -> tuple[Index, Index]:
    """Which windows of a dimension contain a place: [first, end)."""
    builder, size, stride = selection.builder, selection.sizes[dim], selection.strides[dim]
    begin = builder.add(place, selection.low[dim])
    # Window w begins at w * stride, counted from the padding's begin, and contains `begin`:
    # w * stride <= begin < w * stride + size.
    first = builder.div(_at_least_zero(selection, builder.add(begin, stride - size)), stride)
    end = builder.div(_at_least_zero(selection, builder.add(begin, stride)), stride)
    return first, builder.min(end, selection.counts[dim])


def _at_least_zero(selection: Selection, value: Index) -> Index:
    return arithmetic.binary(
        selection.builder, arith.MaxSIOp, selection.builder.index(value), selection.builder.index(0)
    )
