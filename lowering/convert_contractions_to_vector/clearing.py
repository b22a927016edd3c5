"""Functions that set a block of C to zero, before passes that add to it, and rows of any length to a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import SSAValue

from ...dialects.support.scalar import scalar_attr
from ..loop_nests.fills import is_zero
from ..loop_nests.kernel_builder import Index, known
from ..loop_nests.loop_builder import PARALLEL, LoopBuilder, buffer_of
from .shared_function import call_known, writes


@dataclass(frozen=True)
class _Facts:
    """The facts on which the function depends; sizes of None are parameters."""

    column: int
    """Stride, in elements, from one column to the next."""
    rows: int | None
    columns: int | None


def clear_block(
    builder: LoopBuilder,
    kernel: func.FuncOp,
    buffer: SSAValue,
    at: Index,
    sizes: tuple[Index, Index],
    strides: tuple[int, int],
) -> None:
    """Set `sizes[0]` rows of `sizes[1]` columns to zero, from element `at` of a buffer, with these strides."""
    rows, columns = map(known, sizes)
    facts = _Facts(
        column=strides[1],
        rows=rows if isinstance(rows, int) else None,
        columns=columns if isinstance(columns, int) else None,
    )
    call_known(builder, kernel, "clear", (buffer, at, strides[0], rows, columns), facts, _emit)


@writes(0)
def _emit(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Facts) -> None:
    buffer = parameters[0]
    at, row, rows, columns = map(builder.index, parameters[1:])
    zero = builder.scalar(scalar_attr(0, buffer_of(buffer).element_type))
    with builder.loop(0, rows if facts.rows is None else facts.rows) as i:
        start = builder.index(at + i * row)
        with builder.loop(0, columns if facts.columns is None else facts.columns, attributes=PARALLEL) as j:
            builder.store(zero, builder.strided_view(buffer, start + j * facts.column, (1,), (1,)), [0])


@dataclass(frozen=True)
class _Value:
    """The fact on which the function that fills rows depends; LLVM makes memset of those with zeros."""

    is_zero: bool


def fill_rows(
    builder: LoopBuilder, kernel: func.FuncOp, value: SSAValue, rows: tuple[SSAValue, Index, Index, Index, Index]
) -> None:
    """
    Set rows that are contiguous in memory to a value. `rows`: the buffer, where the first one begins, the elements from
    one to the next, how many there are, and their length.
    """
    facts = _Value(is_zero(value, positive=True))
    call_known(builder, kernel, "fill", rows if facts.is_zero else (*rows, value), facts, _emit_rows)


@writes(0)
def _emit_rows(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Value) -> None:
    buffer, *numbers = parameters[:5]
    at, apart, rows, columns = map(builder.index, numbers)
    value = builder.scalar(scalar_attr(0, buffer_of(buffer).element_type)) if facts.is_zero else parameters[5]
    with builder.loop(0, rows) as i:
        start = builder.index(at + i * apart)
        with builder.loop(0, columns, attributes=PARALLEL) as j:
            builder.store(value, builder.strided_view(buffer, start + j, (1,), (1,)), [0])
