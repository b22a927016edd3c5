"""linalg on memrefs to loops: serial ones, or an scf.parallel over tasks if there is enough work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import SSAValue

from ...dialects.support.buffer_ops import byte_size
from ...dialects.support.editing import erase_op
from ...dialects.support.kernel import PADDING, Kernel, is_kernel
from ...dialects.support.views import is_view
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.walking import operations_in
from ..device.cpu import CPU
from ..loop_nests.cost import nest_work
from ..loop_nests.fills import absorbed_fills
from ..loop_nests.loop_builder import LoopBuilder, buffer_of
from ..loop_nests.nest import Nest, Structured, nest_of_copy, nest_of_fill, nest_of_generic
from .elementwise import emit_elementwise
from .interleaving import emit_interleaved, parts_from
from .lanes import lanes_of
from .loop_order import canonical

if TYPE_CHECKING:
    from .reduction import Inits

LARGE_COPY = 1 << 20
"""Bytes from which threads share a copy: one takes 50 microseconds or so, many times what it costs to ask others."""


def nest_of(op: Structured) -> Nest:
    match op:
        case FillOp():
            return nest_of_fill(op)
        case GenericOp():
            return nest_of_generic(op)
        case _:
            return nest_of_copy(op)


Absorbed = Mapping[GenericOp, tuple[FillOp | None, ...]]
"""The fill with the initial value of each reduction, by output."""


def initial_values(op: Structured, absorbed: Absorbed) -> tuple[SSAValue | None, ...]:
    """The initial scalar of each output of a reduction; None if it starts from the buffer's contents."""
    if not isinstance(op, GenericOp):
        return ()
    fills = absorbed.get(op, (None,) * len(op.outputs))
    return tuple(None if fill is None else fill.inputs[0] for fill in fills)


def without_fills(ops: Sequence[Structured], absorbed: Absorbed) -> list[Structured]:
    skipped = {fill for fills in absorbed.values() for fill in fills}
    return [op for op in ops if op not in skipped]


def convert_nests(builder: LoopBuilder, ops: Sequence[Structured], absorbed: Absorbed) -> None:
    """Lower each operation to its own loops, in order and in place."""
    nests = [nest_of(op) for op in ops]
    done = 0
    for at, (op, nest) in enumerate(zip(ops, nests, strict=True)):
        if at < done:
            continue
        parts = parts_from(nests[at:])
        done = at + max(len(parts), 1)
        # The values that the last part takes from outside may follow the first part.
        builder.insert_at(ops[done - 1])
        if parts:
            emit_interleaved(builder, parts)
        elif any(nest.reduction):
            from .reduction import emit_reduction  # many programs only have elementwise operations

            inits = initial_values(op, absorbed)
            if not _reduce_in_lanes(builder, nest, inits):
                emit_reduction(builder, nest, inits)
        else:
            _emit_parallel(builder, nest)


def _reduce_in_lanes(builder: LoopBuilder, nest: Nest, inits: Inits) -> bool:
    """Emit a reduction of short rows in lanes, if that is faster; return whether it is."""
    from .row import LANE_ROW

    if nest.reduction != (False, True) or nest.sizes[1] > LANE_ROW:
        return False
    from .row_lanes import emit_lanes, plan_reduced_lanes  # few programs have rows that are so short

    plan = plan_reduced_lanes(nest, inits, builder.vector_bits)
    if plan is not None:
        emit_lanes(builder, plan, nest_work(nest))
    return plan is not None


def _emit_parallel(builder: LoopBuilder, nest: Nest) -> None:
    """Emit a nest without reductions: by tiles if its body loops for one element."""
    ordered = canonical(nest)
    lanes = lanes_of(ordered, ordered.free[-1]) if ordered.free and 0 not in nest.sizes else None
    if lanes is None:
        emit_elementwise(builder, nest)
    else:
        from .iterated import emit_iterated

        emit_iterated(builder, ordered, lanes)


def convert_rows(builder: LoopBuilder, structured: Sequence[Structured], absorbed: Absorbed, rows: int) -> bool:
    """
    Lower all operations to one loop over rows, but for those that follow from sums of columns, which come after it;
    return whether that is possible.
    """
    from .row import emit_rows, plan_rows, without_rest

    ops = without_fills(structured, absorbed)
    nests = [nest_of(op) for op in ops]
    count = without_rest(ops, nests, rows)
    inits = [initial_values(op, absorbed) for op in ops[:count]]
    rest = set(ops[count:])
    plan = plan_rows([op for op in structured if op not in rest], nests[:count], inits, rows)
    if plan is None:
        return False
    builder.insert_at(ops[count - 1])
    emit_rows(builder, plan)
    convert_nests(builder, ops[count:], absorbed)
    return True


def convert_kernel(kernel: func.FuncOp, vector_bits: int) -> None:
    """Lower one kernel's top-level linalg operations."""
    pads = [op for op in kernel.body.block.ops if type(op) is GenericOp and PADDING in op.attributes]
    if pads and not Kernel(kernel).rows:
        # Most programs pad nothing.
        from .padding import convert_pads

        convert_pads(kernel, pads, vector_bits)
    runs = _runs(kernel)
    structured = [op for run in runs for op in run]
    if not structured:
        return
    absorbed = absorbed_fills(list(kernel.body.block.ops))
    builder = LoopBuilder(kernel)
    builder.vector_bits = vector_bits
    rows = Kernel(kernel).rows
    for run in runs:
        if run and not (rows and convert_rows(builder, run, absorbed, rows)):
            convert_nests(builder, without_fills(run, absorbed), absorbed)
    erase_all(structured)


def convert_copies(function: func.FuncOp) -> None:
    """Divide the large copies of a host function among threads."""
    for op in [op for op in operations_in(function) if type(op) is memref.CopyOp]:
        if byte_size(buffer_of(op.destination)) >= LARGE_COPY:
            emit_elementwise(LoopBuilder(function, op), nest_of_copy(op))
            erase_op(op)


def _runs(kernel: func.FuncOp) -> list[list[Structured]]:
    """The operations to lower, cut where loops or calls stand between them, such as those of a product."""
    runs: list[list[Structured]] = [[]]
    for op in kernel.body.block.ops:
        if type(op) is FillOp or type(op) is GenericOp or type(op) is memref.CopyOp:
            runs[-1].append(op)
        elif op.regions or type(op) is func.CallOp:
            runs.append([])
    return runs


def erase_all(structured: Sequence[Structured]) -> None:
    """Erase the lowered operations, and buffers and views that only they used."""
    operands = [x.owner for op in structured for x in op.operands]
    for op in reversed(structured):
        erase_op(op)
    for owner in reversed(operands):
        if not is_view(owner) and not isinstance(owner, (memref.AllocOp, arith.ConstantOp)):
            continue
        if owner.parent is not None and all(x.first_use is None for x in owner.results):
            erase_op(owner)


@dataclass(frozen=True)
class ConvertLinalgToScfPass(HloPass):
    """
    Lower linalg on memrefs to scf loops, shaped for LLVM's loop vectorizer.

    Before: `linalg.generic {..} ins(%a : memref<1000x1000xf32>) outs(%b : memref<1000x1000xf32>) {..}` in a kernel
    After:  `scf.parallel` over tasks of a flat index, `scf.for` inside; the innermost has attribute xhlo.parallel
    Assumes: the level after bufferize; linear indexing maps.
    Leaves: no linalg. In host functions memref.copy, which moves whole buffers there, stays for those that one thread
            copies as fast as several.
    vector-bits is the width of the machine's vectors, in which transpositions pass through registers.
    """

    name = "convert-linalg-to-scf"
    takes_tensors = False
    illegal = ("linalg.*",)

    vector_bits: int = CPU.vector_bits

    def run(self, ctx: Context, module: ModuleOp) -> None:
        for function in list(module.body.block.ops):
            if is_kernel(function):
                convert_kernel(function, self.vector_bits)
            elif type(function) is func.FuncOp:
                convert_copies(function)
