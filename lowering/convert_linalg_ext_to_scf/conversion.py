"""linalg_ext on memrefs to loops: one pattern per operation class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import SSAValue

from ...dialects.linalg_ext.base import DestinationOp
from ...dialects.support.editing import erase_op
from ...dialects.support.kernel import kernels_of
from ...dialects.support.views import is_view
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.rules import Rules
from ..device.cpu import CPU
from ..loop_nests.loop_builder import LoopBuilder

Pattern: TypeAlias = Callable[[Any, LoopBuilder], None]
"""Emits an operation's loops before it; the pass erases the operation afterwards."""
patterns = Rules[Pattern]("convert-linalg-ext-to-scf", __package__)


@dataclass(frozen=True)
class ConvertLinalgExtToScfPass(HloPass):
    """
    Lower linalg_ext on memrefs to scf loops.

    Before: `linalg_ext.sort {..} ins(..) outs(%b : memref<8xf32>) ({..})` in a kernel
    After:  `scf.for` and `scf.while` over memref.load and memref.store; scratch in memref.alloc at the kernel's top
    Assumes: the level after bufferize.
    Leaves: no linalg_ext.
    vector-bits is the width of the machine's vectors; the results of no operation depend on it.
    """

    name = "convert-linalg-ext-to-scf"
    only_for = ("linalg_ext.*",)
    takes_tensors = False
    illegal = ("linalg_ext.*",)

    vector_bits: int = CPU.vector_bits

    def run(self, ctx: Context, module: ModuleOp) -> None:
        for kernel in kernels_of(module):
            _convert_kernel(kernel, self.vector_bits)


def _convert_kernel(kernel: func.FuncOp, vector_bits: int) -> None:
    found = [op for op in kernel.body.block.ops if isinstance(op, DestinationOp)]
    if not found:
        return
    builder = LoopBuilder(kernel)
    builder.vector_bits = vector_bits
    for op in found:
        convert_operation(op, builder)


def convert_operation(op: DestinationOp, builder: LoopBuilder) -> None:
    """Replace one operation by the code that its pattern emits."""
    pattern = patterns.get(type(op))
    if pattern is None:
        fail(op, "is not supported: convert-linalg-ext-to-scf has no pattern for it")
    builder.insert_at(op)
    pattern(op, builder)
    inputs = list(op.inputs)
    erase_op(op)
    for value in dict.fromkeys(inputs):
        _erase_unread(value)


def _erase_unread(value: SSAValue) -> None:
    """Erase the views of a buffer that nothing reads, and the buffer with the operation that makes nothing else."""
    while is_view(op := value.owner) and value.first_use is None:
        value = op.operands[0]
        erase_op(op)
    users = [use.operation for use in value.uses]
    if len(users) != 1 or not isinstance(maker := users[0], (GenericOp, FillOp)):
        return
    made = [each.owner for each in maker.outputs if each.has_one_use()]
    allocations = [owner for owner in made if isinstance(owner, memref.AllocOp)]
    if value in maker.outputs and len(allocations) == len(maker.outputs):
        for each in (maker, *allocations):
            erase_op(each)
