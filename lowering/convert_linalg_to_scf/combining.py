"""
The second stage of a reduction in two: rows of partial results are combined into the outputs, in order.

The loops are a function that takes the sizes as parameters. Programs share it, as they share the functions of products:
a network has such a reduction for each of its layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import func
from xdsl.ir import SSAValue

from ..convert_contractions_to_vector.shared_function import call_known, writes
from ..loop_nests.combiners import Combiner
from ..loop_nests.cost import CACHED_COLUMNS, PASS_ROWS
from ..loop_nests.loop_builder import PARALLEL, Index, LoopBuilder
from ..loop_nests.nest import Access


@dataclass(frozen=True)
class _Facts:
    """The facts on which the function depends."""

    operation: str
    """The combining operation with its properties and type."""
    starts: bool
    """Whether the outputs begin with a value that is a parameter, not with what they hold."""
    combiner: Combiner = field(repr=False)


@dataclass(frozen=True)
class Rows:
    """Partial results: `count` rows of `size` neighbouring elements, without a gap between them."""

    buffer: SSAValue
    count: int
    size: int


def combine_rows(builder: LoopBuilder, combiner: Combiner, rows: Rows, output: Access, init: SSAValue | None) -> None:
    """Combine rows into neighbouring elements of an output, beginning with `init`, or with what the output holds."""
    op = combiner.op
    properties = " ".join(f"{name}={value}" for name, value in sorted(op.properties.items()))
    facts = _Facts(f"{op.name} {properties} {combiner.type}", init is not None, combiner)
    arguments: list[Index | SSAValue] = [rows.buffer, output.root, output.offset_at(builder), rows.size, rows.count]
    kernel = cast(func.FuncOp, builder.top.parent_op())
    call_known(builder, kernel, "combine", arguments if init is None else [*arguments, init], facts, _emit)


@writes(1)
def _emit(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Facts) -> None:
    source, target, *numbers = parameters
    at, size, count = map(builder.index, numbers[:3])

    def output(column: Index) -> SSAValue:
        return builder.strided_view(target, at + column, (1,), (1,))

    def combine(first: Index, end: Index, rows: Sequence[Index]) -> None:
        with builder.loop(first, end, attributes=PARALLEL) as column:
            view = output(column)
            value = builder.load(view, [0])
            for row in rows:
                part = builder.load(builder.strided_view(source, row * size + column, (1,), (1,)), [0])
                value = facts.combiner.combine(builder, value, part)
            builder.store(value, view, [0])

    whole = count // PASS_ROWS * PASS_ROWS
    with builder.loop(0, size, step=CACHED_COLUMNS) as first:
        end = builder.index(builder.min(first + CACHED_COLUMNS, size))
        if facts.starts:
            with builder.loop(first, end, attributes=PARALLEL) as column:
                builder.store(numbers[3], output(column), [0])
        with builder.loop(0, whole, step=PASS_ROWS) as row:
            combine(first, end, [row + number for number in range(PASS_ROWS)])
        with builder.loop(whole, count) as row:
            combine(first, end, [row])
