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

from xdsl.dialects import arith, func
from xdsl.ir import BlockArgument, SSAValue

from ...dialects.support.kernel import is_kernel
from ...dialects.support.scalar import width_of
from ..convert_contractions_to_vector.shared_function import call_known, writes
from ..loop_nests.combiners import Combiner
from ..loop_nests.cost import CACHED_COLUMNS, PASS_ROWS
from ..loop_nests.emission import Bounds, NestEmitter
from ..loop_nests.kernel_builder import IndexValue
from ..loop_nests.loop_builder import Index, LoopBuilder
from ..loop_nests.nest import Access, Nest

CALL_WORTH = 4096
"""Elements from which a call in a loop does not count."""

SHORT = 256
"""
Elements of rows that are all combined in one pass. Where longer ones are 4 KB apart, a set of the L1 cache has no place
for all of them, and a pass over them takes 1.8 times as long as passes of PASS_ROWS.
"""

MANY = 1 << 30
"""More rows than there are."""

TOGETHER = 4
"""Vectors of results that stay in registers together: their sums do not wait for each other."""


@dataclass(frozen=True)
class _Facts:
    """The facts on which the function depends."""

    operation: str
    """The combining operation with its properties and type."""
    starts: bool
    """Whether the outputs begin with a value that is a parameter, not with what they hold."""
    lanes: int
    """The elements of a vector."""
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
    kernel = builder.kernel
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
            facts = _Facts(
                f"{op.name} {properties} {combiner.type}", init is not None, _lanes(builder, combiner), combiner
            )
            numbers = (operand.strides[found.row], upper - lower, end - first)
            arguments: list[Index | SSAValue] = [*place(operand), *place(output), *numbers]
            call_known(builder, kernel, "combine", arguments if init is None else [*arguments, init], facts, _emit)


def _lanes(builder: LoopBuilder, combiner: Combiner) -> int:
    """The elements of a vector: of short ones only as many as of 32 bits, unless the machine has masks for them."""
    bits = builder.vector_bits
    return bits // max(width_of(combiner.type), 8 if bits >= 512 else 32)


@writes(2)
def _emit(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Facts) -> None:
    # Few kernels have such results, and most programs need no vector dialect.
    from ..convert_contractions_to_vector.vectors import VectorBuilder

    source, begin, target, at, *numbers = parameters
    begin, at, apart, size, count = map(builder.index, (begin, at, *numbers[:3]))
    vectors, lanes = VectorBuilder(builder), facts.lanes
    start = vectors.splat(numbers[3], lanes) if facts.starts else None

    def combine(rows: tuple[IndexValue, Index], column: IndexValue, several: int, mask: SSAValue | None) -> None:
        """Combine neighbouring vectors of results, which stay in registers, with some rows."""

        def view(buffer: SSAValue, place: Index) -> SSAValue:
            return builder.strided_view(buffer, place, (several * lanes,), (1,))

        def loaded(row: SSAValue) -> list[SSAValue]:
            return [vectors.load(row, [k * lanes], lanes, mask) for k in range(several)]

        output = view(target, at + column)
        if start is None:
            present = loaded(output)
        else:
            with builder.when(rows[0] > 0) as present:
                builder.yield_(*loaded(output))
            with builder.otherwise():
                builder.yield_(*[start] * several)
        with builder.loop(*rows, carry=present) as (row, values):
            parts = loaded(view(source, begin + row * apart + column))
            builder.yield_(*(facts.combiner.combine(builder, *pair) for pair in zip(values, parts, strict=True)))
        for k, value in enumerate(values):
            vectors.store(value, output, [k * lanes], mask)

    block = TOGETHER * lanes
    most = builder.select(size <= SHORT, MANY, PASS_ROWS)
    with builder.loop(0, size, step=CACHED_COLUMNS) as first:
        end = builder.index(builder.min(first + CACHED_COLUMNS, size))
        whole = builder.index(first + builder.index(end - first) // block * block)
        # Results of no rows are what they begin with.
        passes = builder.binary(arith.DivUIOp, count + (most - 1), most).max(1)
        with builder.loop(0, passes) as number:
            row = builder.index(number * most)
            rows = row, builder.min(row + most, count)
            with builder.loop(first, whole, step=block) as column:
                combine(rows, column, TOGETHER, None)
            with builder.loop(whole, end, step=lanes) as column:
                combine(rows, column, 1, vectors.mask(end - column, lanes))
