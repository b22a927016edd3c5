"""linalg on memrefs becomes loops: serial ones, or an scf.parallel over tasks where the work is worth it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.hlo_pass import HloPass
from .elementwise import emit_elementwise
from .loop_builder import LoopBuilder
from .nest import Nest, nest_of_copy, nest_of_fill, nest_of_generic, place_of
from .reduction import emit_reduction

Structured = FillOp | GenericOp | memref.CopyOp


def nest_of(op: Structured) -> Nest:
    match op:
        case FillOp():
            return nest_of_fill(op)
        case GenericOp():
            return nest_of_generic(op)
        case _:
            return nest_of_copy(op)


def absorbed_fills(ops: Sequence[Operation]) -> dict[SSAValue, FillOp]:
    """
    By buffer: the fill whose value a later reduction into the same buffer starts from.

    The reduction stores every element itself, so that the fill need not run.
    """
    pending: dict[SSAValue, FillOp] = {}
    absorbed: dict[SSAValue, FillOp] = {}
    for op in ops:
        if isinstance(op, FillOp):
            pending[op.outputs[0]] = op
            continue
        reads = {place_of(x).root for x in op.operands if isinstance(x.type, MemRefType)}
        if isinstance(op, GenericOp) and "reduction" in [t.data.value for t in op.iterator_types.data]:
            for out in op.outputs:
                fill = pending.get(out)
                if fill is not None and out not in op.inputs and out not in absorbed:
                    absorbed[out] = fill
        for buffer in [b for b in pending if place_of(b).root in reads]:
            del pending[buffer]
    return absorbed


def convert_nests(builder: LoopBuilder, ops: Sequence[Structured]) -> None:
    """Each operation becomes loops of its own, in order, where it stands."""
    absorbed = absorbed_fills(ops)
    skipped = set(absorbed.values())
    for op in ops:
        builder.anchor = op
        if isinstance(op, FillOp) and op in skipped:
            continue
        nest = nest_of(op)
        if any(nest.reduction):
            fills = [absorbed.get(out) for out in cast(GenericOp, op).outputs]
            inits = [None if fill is None else fill.inputs[0] for fill in fills]
            if 0 in nest.sizes:
                _emit_fills_only(builder, fills)
            else:
                emit_reduction(builder, nest, inits)
        else:
            emit_elementwise(builder, nest)
    for op in reversed(ops):
        op.detach()
        op.erase()


def _emit_fills_only(builder: LoopBuilder, fills: Sequence[FillOp | None]) -> None:
    """A reduction of nothing leaves the initial values."""
    for fill in fills:
        if fill is not None:
            emit_elementwise(builder, nest_of_fill(fill))


def convert_kernel(kernel: func.FuncOp) -> None:
    ops = [op for op in kernel.body.block.ops if isinstance(op, (FillOp, GenericOp, memref.CopyOp))]
    if ops:
        convert_nests(LoopBuilder(kernel), ops)


@dataclass(frozen=True)
class ConvertLinalgToScfPass(HloPass):
    """
    linalg on memrefs becomes scf loops of loads, scalar arithmetic and stores, shaped for the loop vectorizer.

    Before: `linalg.generic {..} ins(%a : memref<1000x1000xf32>) outs(%b : memref<1000x1000xf32>) {..}` in a kernel
    After:  `scf.parallel` over tasks of a flat index, `scf.for` inside with the attribute xhlo.parallel
    Assumes: the level after bufferize; linear indexing maps.
    Leaves: no linalg. memref.copy stays in host functions, where it moves whole buffers.
    """

    name = "convert-linalg-to-scf"
    illegal = ("linalg.*",)

    def run(self, ctx: Context, module: ModuleOp) -> None:
        for function in module.body.block.ops:
            if isinstance(function, func.FuncOp) and "hlo.kernel" in function.attributes:
                convert_kernel(function)
