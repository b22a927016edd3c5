"""Read a clock around every kernel call of the entry and accumulate nanoseconds and calls per kernel."""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp, i64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import SymbolTable

from ..dialects.support.buffer_ops import index_constant, take_block_arguments
from ..dialects.support.buffers import memref_type
from ..dialects.support.kernel import ARENA_SIZE, entry_name, kernels_of
from ..hlo_dialect.diagnostics import fail
from ..hlo_dialect.hlo_pass import HloPass

CLOCK = "xhlo_clock"
"""A runtime function, () -> i64: nanoseconds of a monotonic clock."""


def kernel_names(module: ModuleOp) -> list[str]:
    """The module's kernels in order; a kernel's position is its row in the profile."""
    return [kernel.sym_name.data for kernel in kernels_of(module)]


class InstrumentKernelsPass(HloPass):
    """
    Time each kernel call of the entry, as a profile per kernel.

    Before: `func.call @k(%a, %b)`
    After:  the call between two of @xhlo_clock; row k of the entry's new parameter `%profile: memref<Kx2xi64>` adds up
            the time and the number of calls.
    Assumes: the level after bufferize.
    """

    name = "instrument-kernels"
    takes_tensors = False

    def run(self, ctx: Context, module: ModuleOp) -> None:
        if (known := SymbolTable.lookup_symbol(module, CLOCK)) is not None:
            fail(known, f"is there already: {self.name} was run before")
        entry = entry_name(module)
        rows = {name: row for row, name in enumerate(kernel_names(module))}
        for function in module.body.block.ops:
            if isinstance(function, func.FuncOp) and function.sym_name.data == entry:
                self._instrument(function, rows, ARENA_SIZE in module.attributes)
        clock = func.FuncOp.external(CLOCK, [], [i64])
        module.body.block.add_op(clock)

    def _instrument(self, function: func.FuncOp, rows: dict[str, int], planned: bool) -> None:
        block = function.body.block
        # The arena is last.
        place = len(block.args) - planned
        profile = block.insert_arg(memref_type((max(1, len(rows)), 2), IntegerType(64)), place)
        profile.name_hint = "profile"
        take_block_arguments(function)
        for op in list(function.walk()):
            if isinstance(op, func.CallOp) and op.callee.root_reference.data in rows:
                _time(op, profile, rows[op.callee.root_reference.data])


def _time(call: func.CallOp, profile: SSAValue, row: int) -> None:
    block = cast(Block, call.parent)
    start, end = func.CallOp(CLOCK, [], [i64]), func.CallOp(CLOCK, [], [i64])
    block.insert_op_before(start, call)
    elapsed = arith.SubiOp(end.results[0], start.results[0])
    after: list[Operation] = [end, elapsed]
    one = arith.ConstantOp(IntegerAttr(1, i64))
    index = index_constant(row)
    after += [one, index]
    for column, amount in ((0, elapsed.result), (1, one.result)):
        at = index_constant(column)
        old = memref.LoadOp.create(operands=[profile, index.result, at.result], result_types=[i64])
        new = arith.AddiOp(old.res, amount)
        after += [at, old, new, memref.StoreOp.create(operands=[new.result, profile, index.result, at.result])]
    block.insert_ops_after(after, call)
