"""Tuples become their elements, tokens vanish, futures become what they hold; in signatures and control flow too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, TupleType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ..hlo_dialect.attributes import OutputOperandAliasAttr, int_array, int_attr, ints
from ..hlo_dialect.collectives.asynchronous import AsyncDoneOp, AsyncStartOp, FutureType
from ..hlo_dialect.collectives.host_transfers import AfterAllOp, CreateTokenOp, HostOp, TokenType
from ..hlo_dialect.custom_calls.operations import CustomCallOp
from ..hlo_dialect.diagnostics import fail
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.ops.control_flow import CaseOp, IfOp, OptimizationBarrierOp, ReturnOp, WhileOp
from ..hlo_dialect.ops.tuples import GetTupleElementOp, TupleOp
from ..hlo_dialect.walking import operations_in

_COMPOUND = (TupleType, TokenType, FutureType)
"""Types whose values stand for several values, or none."""

_CARRIERS = (WhileOp, IfOp, CaseOp, OptimizationBarrierOp, ReturnOp, func.ReturnOp, func.CallOp)
"""Operations that hand tuples on: each operand and result becomes as many as it has elements."""


def leaf_types(type_: Attribute) -> list[Attribute]:
    """The types that a value stands for: its own, or those of a tuple's elements, nested tuples opened; no token's."""
    match type_:
        case TupleType():
            return [leaf for element in type_.types.data for leaf in leaf_types(element)]
        case FutureType():
            return list(type_.contents.data)
        case TokenType():
            return []
        case _:
            return [type_]


def _mentions_compounds(op: Operation) -> bool:
    return any(isinstance(value.type, _COMPOUND) for value in (*op.operands, *op.results)) or any(
        isinstance(argument.type, _COMPOUND) for region in op.regions for b in region.blocks for argument in b.args
    )


@dataclass(frozen=True)
class FlattenTuplesPass(HloPass):
    """
    A tuple becomes its elements: what took one out becomes the value that was put in, what handed it on hands them on.

    Before: `%t = hlo.tuple %a, %b`, `%0 = hlo.get_tuple_element %t[1]`, `return %t`
    After:  %b for %0, and `return %a, %b` from a function of two results
    Tokens vanish: operations with side effects stay in their order. async_start becomes the operation that it begins.
    Assumes: the level after inline. An operation other than control flow and calls that takes a tuple is refused.
    Leaves: no tuples, tokens and futures.
    """

    name = "flatten-tuples"
    illegal = ("hlo.tuple", "hlo.get_tuple_element", "hlo.after_all", "hlo.create_token", "hlo.async_start")

    def run(self, ctx: Context, module: ModuleOp) -> None:
        functions = [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]
        for function in functions:
            inner = any(_mentions_compounds(op) for op in operations_in(function))
            types = function.function_type
            if inner or any(isinstance(t, _COMPOUND) for t in (*types.inputs, *types.outputs)):
                _flatten_function(function)


def _flatten_function(function: func.FuncOp) -> None:
    types = function.function_type
    flattener = _Flattener()
    for block in function.body.blocks:
        flattener.block(block)
    flattener.erase_old()
    for name, old in (("arg_attrs", types.inputs.data), ("res_attrs", types.outputs.data)):
        attributes = function.properties.get(name)
        if isinstance(attributes, ArrayAttr):
            each = cast("ArrayAttr[Any]", attributes).data
            spread = [attribute for attribute, t in zip(each, old, strict=True) for _ in leaf_types(t)]
            function.properties[name] = ArrayAttr(spread)
    function.properties["function_type"] = FunctionType.from_lists(
        [leaf for t in types.inputs.data for leaf in leaf_types(t)],
        [leaf for t in types.outputs.data for leaf in leaf_types(t)],
    )


class _Flattener:
    """Rewrites one function in program order; `elements` says what stands for each tuple."""

    def __init__(self) -> None:
        self.elements: dict[SSAValue, list[SSAValue]] = {}
        self.old: list[Operation] = []
        self.old_arguments: list[BlockArgument] = []

    def block(self, block: Block) -> None:
        self._arguments(block)
        for op in list(block.ops):
            if isinstance(op, TupleOp):
                self.elements[op.results[0]] = self._leaves(op.operands)
                self.old.append(op)
            elif isinstance(op, (AfterAllOp, CreateTokenOp)):
                self.elements[op.results[0]] = []
                self.old.append(op)
            elif isinstance(op, AsyncStartOp):
                self._start(op, block)
            elif isinstance(op, AsyncDoneOp):
                for result, leaf in zip(op.results, self._leaves(op.operands), strict=True):
                    self._stand_for(result, [leaf])
                self.old.append(op)
            elif isinstance(op, GetTupleElementOp):
                self._element(op)
            elif not _mentions_compounds(op):
                for region in op.regions:
                    for inner in region.blocks:
                        self.block(inner)
            elif isinstance(op, _CARRIERS):
                self._carry(op, block)
            elif isinstance(op, CustomCallOp):
                self._custom_call(op, block)
            elif isinstance(op, HostOp):
                fail(op, f"is not supported: it needs a host that {op.DOES} the data, and compiled programs have none")
            else:
                fail(
                    op,
                    "takes or gives a tuple, token or future, which only control flow and calls can",
                )

    def erase_old(self) -> None:
        for op in reversed(self.old):
            op.detach()
            op.erase()
        for argument in reversed(self.old_arguments):
            argument.block.erase_arg(argument)

    def _leaves(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        return [leaf for value in values for leaf in self.elements.get(value, (value,))]

    def _arguments(self, block: Block) -> None:
        for argument in list(block.args):
            if isinstance(argument.type, _COMPOUND):
                leaves: list[SSAValue] = []
                for type_ in leaf_types(argument.type):
                    leaves.append(block.insert_arg(type_, argument.index))
                self.elements[argument] = leaves
                self.old_arguments.append(argument)

    def _element(self, op: GetTupleElementOp) -> None:
        types = cast("TupleType", op.operands[0].type).types.data
        index = op.index.value.data
        first = sum(len(leaf_types(t)) for t in types[:index])
        self._stand_for(op.results[0], self.elements[op.operands[0]][first : first + len(leaf_types(types[index]))])
        self.old.append(op)

    def _stand_for(self, value: SSAValue, leaves: list[SSAValue]) -> None:
        if isinstance(value.type, _COMPOUND):
            self.elements[value] = leaves
        else:
            if leaves[0].name_hint is None:
                leaves[0].name_hint = value.name_hint
            value.replace_all_uses_with(leaves[0])

    def _start(self, op: AsyncStartOp, block: Block) -> None:
        """The operations of the body take the place of what begins them."""
        body = op.regions[0].block
        last = body.last_op
        assert last is not None
        for argument, operand in zip(body.args, op.operands, strict=True):
            argument.replace_all_uses_with(operand)
        for inner in list(body.ops):
            if inner is not last:
                inner.detach()
                block.insert_op_before(inner, op)
        self.elements[op.results[0]] = list(last.operands)
        self.old.append(op)

    def _custom_call(self, op: CustomCallOp, block: Block) -> None:
        """Tokens go, and with them what the properties say of them; a tuple is for the target to understand."""
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
        self._carry(op, block)

    def _carry(self, op: Operation, block: Block) -> None:
        for region in op.regions:
            for inner in region.blocks:
                self.block(inner)
        new = type(op).create(
            operands=self._leaves(op.operands),
            result_types=[leaf for result in op.results for leaf in leaf_types(result.type)],
            properties=op.properties,
            attributes=op.attributes,
            regions=[op.detach_region(region) for region in list(op.regions)],
            location=op.location,
        )
        block.insert_op_before(new, op)
        position = 0
        for result in op.results:
            count = len(leaf_types(result.type))
            self._stand_for(result, list(new.results[position : position + count]))
            position += count
        self.old.append(op)


def _renumbered(
    alias: OutputOperandAliasAttr, operands: list[int], results: list[int]
) -> OutputOperandAliasAttr | None:
    """The alias with the operand and result at their new places, None where one is gone; [] names an only result."""
    outputs, operand = ints(alias.output_tuple_indices), alias.operand_index.value.data
    if operand not in operands or (outputs and outputs[0] not in results):
        return None
    if outputs:
        outputs = (results.index(outputs[0]), *outputs[1:]) if len(results) > 1 else ()
    return OutputOperandAliasAttr(int_array(outputs), int_attr(operands.index(operand)), alias.operand_tuple_indices)
