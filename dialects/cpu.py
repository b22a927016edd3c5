"""The cpu dialect: requests of a kernel to the CPU runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, irdl_op_definition, prop_def, traits_def, var_operand_def
from xdsl.traits import SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

i64 = IntegerType(64)

SHARED = "xhlo.shared"
"""
On a function that other programs are likely to contain too: it is compiled separately, once per process.

The memrefs that it writes do not overlap any other, and it calls nothing.
"""


class _CallsABody(SymbolUserOpInterface):
    """cpu.parallel_for names a function of its captures and two index arguments, the bounds of a range."""

    def verify(self, op: Any) -> None:
        found = SymbolTable.lookup_symbol(op, op.callee)
        if not isinstance(found, FuncOp):
            raise VerifyException(f"'{op.callee.string_value()}' does not name a function")
        inputs, captures = list(found.function_type.inputs.data), [value.type for value in op.captures]
        if len(inputs) != len(captures) + 2 or inputs[:-2] != captures or found.function_type.outputs.data:
            raise VerifyException(f"'@{op.callee.string_value()}' does not take the captures and two bounds")


@irdl_op_definition
class ParallelForOp(IRDLOperation):
    """
    Run a function over the iterations 0..count-1, divided among the threads of the team.

    `cpu.parallel_for @body(%a : memref<8xf32>) {count = 4 : i64}` calls `@body(%a, %lo, %hi)` once or more on each
    thread so that the ranges [%lo, %hi) are disjoint and together [0, count). It returns when all are done. The ranges
    are contiguous; their assignment to threads is not fixed, so iterations must not depend on each other.
    """

    name = "cpu.parallel_for"

    callee = prop_def(FlatSymbolRefAttrConstr)
    count = prop_def(IntegerAttr.constr(i64))
    captures = var_operand_def()

    traits = traits_def(_CallsABody())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$callee `(` ($captures^ `:` type($captures))? `)` attr-dict"

    def __init__(self, callee: str, captures: Sequence[SSAValue], count: int):
        super().__init__(
            operands=[captures],
            properties={"callee": SymbolRefAttr(callee), "count": IntegerAttr(count, i64)},
        )

    def verify_(self) -> None:
        if self.count.value.data < 1:
            raise VerifyException("count must be at least 1")


@irdl_op_definition
class HostCallOp(IRDLOperation):
    """
    Call a function of the host program: `cpu.host_call @name(%a, %b : memref<4xf32>, memref<4xf32>) {..}`.

    Becomes a call of the external `void @name(void **buffers)`, which the executable binds: the addresses of the
    operands in order, inputs before outputs. `target`, `call`, `operands_as` and `results_as` describe the function
    (see linalg_ext.host_call).
    """

    name = "cpu.host_call"

    callee = prop_def(FlatSymbolRefAttrConstr)
    target = prop_def(StringAttr)
    call = prop_def(DictionaryAttr)
    operands_as = prop_def(ArrayAttr)
    results_as = prop_def(ArrayAttr)
    buffers = var_operand_def()

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$callee `(` ($buffers^ `:` type($buffers))? `)` attr-dict"

    def verify_(self) -> None:
        if len(self.operands_as.data) + len(self.results_as.data) != len(self.buffers):
            raise VerifyException("expected a type in operands_as or results_as for each buffer")


DIALECT = Dialect("cpu", [HostCallOp, ParallelForOp])
