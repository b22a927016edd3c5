"""Flatten tuples, remove tokens and unwrap futures, in signatures and control flow too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, TupleType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects.support.spread import Spread
from ..hlo_dialect.attributes import OutputOperandAliasAttr, int_array, int_attr, ints
from ..hlo_dialect.collectives.asynchronous import AsyncDoneOp, AsyncStartOp, FutureType
from ..hlo_dialect.collectives.host_transfers import AfterAllOp, CreateTokenOp, HostOp
from ..hlo_dialect.collectives.tokens import TokenType
from ..hlo_dialect.custom_calls.operations import CustomCallOp
from ..hlo_dialect.diagnostics import fail
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.ops.control_flow import CaseOp, IfOp, OptimizationBarrierOp, ReturnOp, WhileOp
from ..hlo_dialect.ops.tuples import GetTupleElementOp, TupleOp
from ..hlo_dialect.walking import operations_in

_CARRIERS = (WhileOp, IfOp, CaseOp, OptimizationBarrierOp, ReturnOp, func.ReturnOp, func.CallOp)
"""Operations that forward tuples: each operand and result is replaced by its elements."""


def leaf_types(type_: Attribute) -> list[Attribute] | None:
    """
    The types of the values that replace a tuple, token or future, with nested tuples flattened; None for other types.
    """
    match type_:
        case TupleType():
            return Spread(leaf_types).types_of(type_.types.data)
        case FutureType():
            return list(type_.contents.data)
        case TokenType():
            return []
        case _:
            return None


class FlattenTuplesPass(HloPass):
    """
    Replace tuples by their elements, and remove tokens and futures.

    Before: `%t = hlo.tuple %a, %b`, `%0 = hlo.get_tuple_element %t[1]`, `return %t`
    After:  %b for %0, and `return %a, %b` from a function of two results
    Tokens are removed: operations with side effects keep their order. async_start becomes the operation that it starts.
    Assumes: the level after inline. Operations with tuple operands other than control flow and calls are refused.
    Leaves: no tuples, tokens and futures.
    """

    name = "flatten-tuples"
    only_for = ("!tuple", "!hlo.token", "!hlo.future")
    illegal = ("hlo.tuple", "hlo.get_tuple_element", "hlo.after_all", "hlo.create_token", "hlo.async_start")

    def run(self, ctx: Context, module: ModuleOp) -> None:
        for function in module.body.block.ops:
            if isinstance(function, func.FuncOp):
                spread = Spread(leaf_types)
                types = (*function.function_type.inputs, *function.function_type.outputs)
                if spread.types_of(types) != list(types) or any(map(spread.concerns, operations_in(function))):
                    _flatten_function(function, spread)


def _flatten_function(function: func.FuncOp, spread: Spread) -> None:
    flattener = _Flattener(spread)
    for block in function.body.blocks:
        flattener.block(block)
    spread.erase()
    spread.signature(function)


class _Flattener:
    """Rewrites one function in program order."""

    def __init__(self, spread: Spread) -> None:
        self.spread = spread

    def block(self, block: Block) -> None:
        self.spread.arguments(block)
        for op in list(block.ops):
            if isinstance(op, TupleOp):
                self._replace(op, self.spread.of(op.operands))
            elif isinstance(op, (AfterAllOp, CreateTokenOp)):
                self._replace(op, ())
            elif isinstance(op, AsyncStartOp):
                self._start(op, block)
            elif isinstance(op, AsyncDoneOp):
                for result, leaf in zip(op.results, self.spread.of(op.operands), strict=True):
                    self.spread.replace(result, [leaf])
                self.spread.replaced.operations.append(op)
            elif isinstance(op, GetTupleElementOp):
                self._element(op)
            elif not self.spread.concerns(op):
                self._regions(op)
            elif isinstance(op, _CARRIERS):
                self._regions(op)
                self.spread.carry(op)
            elif isinstance(op, CustomCallOp):
                self._custom_call(op)
            elif isinstance(op, HostOp):
                fail(op, f"is not supported: it needs a host that {op.DOES} the data, and compiled programs have none")
            else:
                fail(
                    op,
                    "takes or gives a tuple, token or future, which only control flow and calls can",
                )

    def _regions(self, op: Operation) -> None:
        for region in op.regions:
            for inner in region.blocks:
                self.block(inner)

    def _replace(self, op: Operation, leaves: Sequence[SSAValue]) -> None:
        self.spread.replace(op.results[0], leaves)
        self.spread.replaced.operations.append(op)

    def _element(self, op: GetTupleElementOp) -> None:
        types = cast("TupleType", op.operands[0].type).types.data
        index = op.index.value.data
        first, count = (len(self.spread.types_of(part)) for part in (types[:index], types[index : index + 1]))
        self._replace(op, self.spread.parts[op.operands[0]][first : first + count])

    def _start(self, op: AsyncStartOp, block: Block) -> None:
        """Replace an async_start by the operations of its body."""
        body = op.regions[0].block
        last = body.last_op
        assert last is not None
        for argument, operand in zip(body.args, op.operands, strict=True):
            argument.replace_all_uses_with(operand)
        for inner in list(body.ops):
            if inner is not last:
                inner.detach()
                block.insert_op_before(inner, op)
        self._replace(op, list(last.operands))

    def _custom_call(self, op: CustomCallOp) -> None:
        """Remove tokens and the properties that refer to them; the target interprets tuples."""
        if any(isinstance(value.type, (TupleType, FutureType)) for value in (*op.operands, *op.results)):
            fail(op, "takes or gives a tuple, which only control flow and calls of functions can: pass its elements")
        operands = [index for index, operand in enumerate(op.operands) if not isinstance(operand.type, TokenType)]
        results = [index for index, result in enumerate(op.results) if not isinstance(result.type, TokenType)]
        for name, kept in (("operand_layouts", operands), ("result_layouts", results)):
            layouts = op.properties.get(name)
            if isinstance(layouts, ArrayAttr):
                each = cast("ArrayAttr[Any]", layouts).data
                op.properties[name] = ArrayAttr([each[index] for index in kept])
        if op.output_operand_aliases is not None:
            found = (_renumbered(alias, operands, results) for alias in op.output_operand_aliases.data)
            aliases = [alias for alias in found if alias is not None]
            op.properties["output_operand_aliases"] = ArrayAttr(aliases)
        self._regions(op)
        self.spread.carry(op)


def _renumbered(
    alias: OutputOperandAliasAttr, operands: list[int], results: list[int]
) -> OutputOperandAliasAttr | None:
    """The alias with the new operand and result indices, None if either was removed; [] is the only result."""
    outputs, operand = ints(alias.output_tuple_indices), alias.operand_index.value.data
    if operand not in operands or (outputs and outputs[0] not in results):
        return None
    if outputs:
        outputs = (results.index(outputs[0]), *outputs[1:]) if len(results) > 1 else ()
    return OutputOperandAliasAttr(int_array(outputs), int_attr(operands.index(operand)), alias.operand_tuple_indices)
