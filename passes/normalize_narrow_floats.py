"""Arithmetic on 8-, 6- and 4-bit floats becomes f32 arithmetic between conversions."""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import Float8E8M0FNUType, ModuleOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ..dialects.support.editing import erase_op, replace_uses
from ..dialects.support.rewriting import like
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.op import replace_op
from ..hlo_dialect.ops.conversion import ConvertOp, ReducePrecisionOp
from ..hlo_dialect.ops.elementwise_binary import AddOp, MaximumOp, MinimumOp, MultiplyOp
from ..hlo_dialect.ops.narrow_floats import computes, is_narrow_type, touches_narrow_floats
from ..hlo_dialect.ops.reduction import single_combiner
from ..hlo_dialect.types import element_of, f16, f32, make_tensor, shape_of
from ..hlo_dialect.walking import operations_in

_ACCUMULATED = (AddOp, MultiplyOp, MaximumOp, MinimumOp)
_REDUCTIONS = frozenset(("hlo.reduce", "hlo.reduce_window", "hlo.all_reduce", "hlo.reduce_scatter"))


class NormalizeNarrowFloatsPass(HloPass):
    """
    Compute operations on f8, f6 and f4 elements in f32. Double rounding of arithmetic results is innocuous.

    Before: `%1 = hlo.add %x, %y : tensor<4xf8E4M3FN>`
    After:  the operands converted to f32, the sum, and its conversion to f8E4M3FN
    Each operation rounds its result once, as the program says; a reduction or contraction accumulates in f32 and rounds
    at the end. Operations that only move elements keep their type, and so do regions that do more than accumulate: the
    operations inside are rewritten individually.
    Leaves: narrow floats only in conversions and data movement.
    """

    name = "normalize-narrow-floats"
    works_on_functions = True

    def run(self, ctx: Context, module: ModuleOp) -> None:
        for op in [op for op in operations_in(module) if touches_narrow_floats(op)]:
            if computes(op):
                if op.parent is not None:  # not replaced together with an enclosing reduction
                    _widen(op)
            elif op.name in _REDUCTIONS and isinstance(single_combiner(op.regions[0]), _ACCUMULATED):
                _widen_combiner(op)
                _widen(op)


def _wide(type_: Attribute, element: Attribute = f32) -> Attribute:
    return make_tensor(shape_of(type_), element) if is_narrow_type(type_) else type_


def _working_type(op: Operation) -> Attribute:
    """f32; but f16 for a reduce_precision, whose result depends on the type's exponents, if f16 can represent them."""
    powers = isinstance(element_of(op.operands[0]), Float8E8M0FNUType) if op.operands else False
    return f16 if isinstance(op, ReducePrecisionOp) and not powers else f32


def _widen(op: Operation) -> None:
    """Replace an operation by the same one on f32 between conversions."""
    element = _working_type(op)
    before: list[Operation] = []
    widened: dict[SSAValue, SSAValue] = {}
    for operand in op.operands:
        if is_narrow_type(operand.type) and operand not in widened:
            conversion = ConvertOp.to(operand, element)
            before.append(conversion)
            widened[operand] = conversion.results[0]
    operands = [widened.get(operand, operand) for operand in op.operands]
    new = like(op, operands, [_wide(type_, element) for type_ in op.result_types])
    after: list[Operation] = []
    values: list[SSAValue] = []
    for old, result in zip(op.results, new.results, strict=True):
        if old.type == result.type:
            values.append(result)
        else:
            rounding = ConvertOp.create(operands=[result], result_types=[old.type])
            after.append(rounding)
            values.append(rounding.results[0])
    replace_op(op, [*before, new, *after], values)


def _widen_combiner(op: Operation) -> None:
    """Change the single operation of a reduction's region, and the region's arguments, to f32."""
    block = op.regions[0].block
    combiner = cast(Operation, block.first_op)
    old = list(block.args)
    arguments = {argument: block.insert_arg(_wide(argument.type), len(block.args)) for argument in old}
    operands = [arguments[cast(BlockArgument, operand)] for operand in combiner.operands]
    new = like(combiner, operands, [_wide(type_) for type_ in combiner.result_types])
    block.insert_op_before(new, combiner)
    for narrow, wide in zip(combiner.results, new.results, strict=True):
        replace_uses(narrow, wide)  # of the region's result, whose type changes too
    erase_op(combiner)
    for argument in reversed(old):
        block.erase_arg(argument)
