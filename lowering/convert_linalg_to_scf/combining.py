"""
Reductions of partial results: rows that tasks or chunks of a product have made are combined into the outputs, in order.

    out[j] = init + in[0, j] + in[1, j] + ..

The loops are a function that takes the sizes as parameters. Programs share it, as they share the functions of products:
a network has such a reduction for each of its layers. Other reductions of rows take up to 1.5 times as long so: LLVM
keeps the results of few columns in registers if it knows their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import func
from xdsl.ir import BlockArgument, SSAValue

from ...dialects.support.kernel import is_kernel
from ..convert_contractions_to_vector.shared_function import call_known, writes
from ..loop_nests.combiners import Combiner
from ..loop_nests.cost import CACHED_COLUMNS, PASS_ROWS
from ..loop_nests.emission import Bounds, NestEmitter
from ..loop_nests.loop_builder import PARALLEL, Index, LoopBuilder
from ..loop_nests.nest import Access, Nest

CALL_WORTH = 4096
"""Elements from which a call in a loop does not count."""


@dataclass(frozen=True)
class _Facts:
    """The facts on which the function depends."""

    operation: str
    """The combining operation with its properties and type."""
    starts: bool
    """Whether the outputs begin with a value that is a parameter, not with what they hold."""
    combiner: Combiner = field(repr=False)


@dataclass(frozen=True)
class CombinedRows:
    """A reduction that combines rows: the operand of each output, and the loops over rows and columns."""

    operands: tuple[Access, ...]
    outer: tuple[int, ...]
    row: int
    column: int


def combined_rows_of(
    builder: LoopBuilder,
    nest: Nest,
    loops: tuple[Sequence[int], Sequence[int]],
    combiners: Sequence[Combiner],
    roots: Mapping[SSAValue, SSAValue],
) -> CombinedRows | None:
    """
    The rows that a canonical nest of a kernel combines; None if it computes their elements, if these are apart, if
    buffers may be one, or if a call for each of several matrices would count. `loops`: those that are kept, that over
    columns last, and those that reduce.
    """
    kept, reduced = loops
    if not kept or len(reduced) != 1 or (len(kept) > 1 and nest.size_of([*reduced, kept[-1]]) < CALL_WORTH):
        return None
    (*outer, column), (row,) = loops
    kernel, body = builder.top.parent_op(), nest.body
    if body is None or nest.bound or not isinstance(kernel, func.FuncOp) or not is_kernel(kernel):
        return None
    operands: list[Access] = []
    for k, combiner in enumerate(combiners):
        present = body.args[len(nest.inputs) + k]
        (element,) = (x for x in combiner.op.operands if x is not present)
        if not isinstance(element, BlockArgument) or element.block is not body:
            return None
        operand = nest.inputs[element.index]
        if not isinstance(operand, Access):
            return None
        operands.append(operand)
    accesses = (*operands, *nest.outputs)
    buffers = {roots.get(x.root, x.root) for x in accesses}
    # The function's buffers are apart, as those of partial results are from all others.
    if len(buffers) < len(accesses) or any(isinstance(x.root, BlockArgument) for x in operands):
        return None
    if any(x.strides[column] != 1 for x in accesses):
        return None
    return CombinedRows(tuple(operands), tuple(outer), row, column)


def emit_combined_rows(
    emitter: NestEmitter,
    found: CombinedRows,
    combiners: Sequence[Combiner],
    inits: Sequence[SSAValue | None],
    bounds: Bounds,
) -> None:
    """Emit the loops within `bounds`."""
    builder, nest = emitter.builder, emitter.nest
    kernel = cast(func.FuncOp, builder.top.parent_op())
    (first, end), (lower, upper) = (bounds.get(loop, (0, nest.sizes[loop])) for loop in (found.row, found.column))

    def place(access: Access) -> tuple[SSAValue, Index]:
        """The buffer of an operand, and where its first row begins."""
        with emitter.scope():
            emitter.indices[found.row], emitter.indices[found.column] = first, lower
            return emitter.roots.get(access.root, access.root), emitter.offset(access)

    with emitter.loops(found.outer, bounds, innermost=False):
        for combiner, operand, output, init in zip(combiners, found.operands, nest.outputs, inits, strict=True):
            op = combiner.op
            properties = " ".join(f"{name}={value}" for name, value in sorted(op.properties.items()))
            facts = _Facts(f"{op.name} {properties} {combiner.type}", init is not None, combiner)
            numbers = (operand.strides[found.row], upper - lower, end - first)
            arguments: list[Index | SSAValue] = [*place(operand), *place(output), *numbers]
            call_known(builder, kernel, "combine", arguments if init is None else [*arguments, init], facts, _emit)


@writes(2)
def _emit(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Facts) -> None:
    source, begin, target, at, *numbers = parameters
    begin, at, apart, size, count = map(builder.index, (begin, at, *numbers[:3]))

    def output(column: Index) -> SSAValue:
        return builder.strided_view(target, at + column, (1,), (1,))

    def combine(first: Index, end: Index, rows: Sequence[Index]) -> None:
        begins = [builder.index(begin + row * apart) for row in rows]
        with builder.loop(first, end, attributes=PARALLEL) as column:
            view = output(column)
            value = builder.load(view, [0])
            for row in begins:
                part = builder.load(builder.strided_view(source, row + column, (1,), (1,)), [0])
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
