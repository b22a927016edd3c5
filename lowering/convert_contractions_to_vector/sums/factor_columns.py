"""
The sums of B's columns, added up while its panels are packed: the gradient of a bias beside that of its weights.

Each piece of a panel, which is packed at once and is in the L1 cache then, adds to partial sums of its own; these are
added in order at the end. Pieces depend on the shape alone, and so do the bits of the sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.dialects.linalg.ops import FillOp, GenericOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....dialects.support.buffers import memref_type
from ....dialects.support.scalar import scalar_attr
from ...convert_linalg_to_scf.reduction import emit_reduction
from ...loop_nests.fills import is_zero
from ...loop_nests.kernel_builder import Index
from ...loop_nests.loop_builder import LoopBuilder, buffer_of
from ...loop_nests.nest import Access, Nest, nest_of_generic
from ..contraction import Contraction
from ..shared_function import call_known, writes
from ..vectors import VectorBuilder


def column_sum_of(
    product: Contraction, last: Operation, fills: Mapping[Any, Sequence[FillOp | None]]
) -> GenericOp | None:
    """
    The generic that adds up B along k, for each column, from zero, after `last`, which completes the product; None if
    there is none. The sums of one that comes before may be read before B is packed.
    """
    k, n, b = product.k, product.n, product.b
    if product.outer or product.outer_k or not isinstance(product.element, (Float32Type, Float64Type)):
        return None
    for op in _after(last):
        if not isinstance(op, GenericOp) or len(op.inputs) != 1 or len(op.outputs) != 1 or not _adds(op.body.block):
            continue
        nest = nest_of_generic(op).without_unit_loops().collapsed()
        source, (output, *_), fill = nest.inputs[0], nest.outputs, fills.get(op, (None,))[0]
        if not isinstance(source, Access) or source.root is not b.root:
            continue
        if fill is None or not is_zero(fill.inputs[0], positive=True):
            continue
        if (source.offset, source.dynamic) != (b.offset, b.dynamic) or output.dynamic:
            continue
        if buffer_of(output.root).element_type != product.element:
            continue
        loops = sorted(zip(nest.reduction, nest.sizes, source.strides, output.strides, strict=True))
        if loops == [(False, n.size, n.b, 1), (True, k.size, k.b, 0)]:
            return op
    return None


def _after(op: Operation) -> Iterator[Operation]:
    while (following := op.next_op) is not None:
        yield following
        op = following


def _adds(block: Block) -> bool:
    """Whether the body of a generic is `yield(out + in)`, the input perhaps extended first."""
    *wider, total, last = block.ops if len(list(block.ops)) > 1 else (None, None)
    if not isinstance(total, arith.AddfOp) or not isinstance(last, YieldOp) or last.operands[0] is not total.result:
        return False
    read, summed = block.args
    if len(wider) > 1 or any(not isinstance(op, arith.ExtFOp) or op.input is not read for op in wider):
        return False
    return set(total.operands) == {summed, *(wider[0].results if wider else (read,))}


@dataclass(frozen=True)
class Facts:
    """The facts on which the function that adds up a packed panel depends."""

    width: int
    lanes: int
    group: int = 1
    """Elements along k that are together in a panel: two of bf16."""
    overwrite: bool = False


@dataclass
class ColumnSums:
    """The partial sums of pieces of panels, in a buffer `[pieces, panels, width]`."""

    builder: LoopBuilder
    kernel: func.FuncOp
    partial: SSAValue
    pieces: int
    panels: int
    facts: Facts

    @staticmethod
    def of(
        builder: LoopBuilder, kernel: func.FuncOp, element: Attribute, pieces: int, panels: int, facts: Facts
    ) -> ColumnSums:
        """Sums of `pieces` along k of each of the panels."""
        partial = builder.alloc(memref_type((pieces * panels * facts.width,), element))
        return ColumnSums(builder, kernel, partial, pieces, panels, facts)

    def add(self, packed: SSAValue, at: Index, count: Index, piece: Index, panel: Index, first: bool) -> None:
        """
        Add the `count` elements along k of a packed panel that begin at `packed[at]` to the sums of its piece; `first`:
        these are all of the piece.
        """
        group = self.facts.group
        steps = count if group == 1 else (count + (group - 1)) // group
        self._add((packed, at, steps), piece, panel, replace(self.facts, overwrite=first))

    def clear(self, piece: Index, panel: Index) -> None:
        """Begin a piece that is added step by step: no steps are all of it."""
        self._add((self.partial, 0, 0), piece, panel, replace(self.facts, group=1, overwrite=True))

    def _add(self, steps: tuple[SSAValue, Index, Index], piece: Index, panel: Index, facts: Facts) -> None:
        place = (piece * self.panels + panel) * facts.width
        call_known(self.builder, self.kernel, "sums", (*steps, self.partial, place), facts, _emit)

    def finish(self, product: Contraction, op: GenericOp) -> None:
        """Add the pieces in order, into the output of the generic."""
        (output,) = nest_of_generic(op).without_unit_loops().collapsed().outputs
        element, width = product.element, self.facts.width
        body = Block(arg_types=[element, element])
        total = arith.AddfOp(body.args[1], body.args[0])
        body.add_ops([total, YieldOp(total.result)])
        nest = Nest(
            op=op,
            sizes=(product.n.size, self.pieces),
            reduction=(False, True),
            inputs=(replace(output, root=self.partial, offset=0, strides=(1, self.panels * width)),),
            outputs=(replace(output, strides=(1, 0)),),
            body=body,
        )
        zero = self.builder.scalar(scalar_attr(0, element))
        emit_reduction(self.builder, nest, (zero,), of_parts=True)


@writes(3)
def _emit(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: Facts) -> None:
    """The body of a function of a panel, its first element, the steps along k, and the place of the sums."""
    panel, at, steps, target, target_at = parameters
    begin, count = builder.index(at), builder.index(steps)
    lanes, each = facts.lanes, facts.width // facts.lanes
    found = builder.strided_view(target, builder.index(target_at), (facts.width,), (1,))
    vectors = VectorBuilder(builder)
    zero = vectors.splat(builder.scalar(scalar_attr(0, buffer_of(target).element_type)), lanes)

    def added(sums: Sequence[SSAValue], step: Index) -> list[SSAValue]:
        length = facts.width * facts.group
        row = builder.strided_view(panel, begin + step * length, (length,), (1,))
        loaded = [vectors.load(row, [v * lanes * facts.group], lanes * facts.group) for v in range(each)]
        parts = [(x,) if facts.group == 1 else vectors.halves(x) for x in loaded]
        return [reduce(vectors.add, part, total) for part, total in zip(parts, sums, strict=True)]

    sums = vectors.sum_of_steps(added, count, [zero] * each)
    for v, total in enumerate(sums):
        before = zero if facts.overwrite else vectors.load(found, [v * lanes], lanes)
        vectors.store(vectors.add(before, total), found, [v * lanes])
