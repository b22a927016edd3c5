"""host_call: the call of a function named after the enclosing kernel."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import SymbolRefAttr

from ...dialects import cpu
from ...dialects.linalg_ext.calls import HostCallOp
from ..loop_nests.loop_builder import LoopBuilder
from .conversion import patterns


@patterns.on(HostCallOp)
def _host_call(op: HostCallOp, builder: LoopBuilder) -> None:
    """`linalg_ext.host_call {..} ins(%a) outs(%b)` in @kernel becomes `cpu.host_call @kernel.call0(%a, %b) {..}`."""
    kernel = op.parent_op()
    assert isinstance(kernel, func.FuncOp)
    number = sum(isinstance(other, cpu.HostCallOp) for other in kernel.body.block.ops)
    builder.insert(
        cpu.HostCallOp.create(
            operands=list(op.operands),
            properties={
                "callee": SymbolRefAttr(f"{kernel.sym_name.data}.call{number}"),
                "target": op.target,
                "call": op.call,
                "operands_as": op.operands_as,
                "results_as": op.results_as,
            },
        )
    )
