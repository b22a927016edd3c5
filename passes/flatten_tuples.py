"""Tuples become their elements, in signatures and control flow too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, TupleType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ..hlo_dialect.control_flow import CaseOp, IfOp, OptimizationBarrierOp, ReturnOp, WhileOp
from ..hlo_dialect.diagnostics import fail
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.tuples import GetTupleElementOp, TupleOp

_CARRIERS = (WhileOp, IfOp, CaseOp, OptimizationBarrierOp, ReturnOp, func.ReturnOp, func.CallOp)
"""Operations that hand tuples on: each operand and result becomes as many as it has elements."""


def leaf_types(type_: Attribute) -> list[Attribute]:
    """The types that a value stands for: its own, or those of a tuple's elements, nested tuples opened."""
    if not isinstance(type_, TupleType):
        return [type_]
    return [leaf for element in type_.types.data for leaf in leaf_types(element)]


def _mentions_tuples(op: Operation) -> bool:
    return any(isinstance(value.type, TupleType) for value in (*op.operands, *op.results)) or any(
        isinstance(argument.type, TupleType) for region in op.regions for b in region.blocks for argument in b.args
    )


@dataclass(frozen=True)
class FlattenTuplesPass(HloPass):
    """
    A tuple becomes its elements: what took one out becomes the value that was put in, what handed it on hands them on.

    Before: `%t = hlo.tuple %a, %b`, `%0 = hlo.get_tuple_element %t[1]`, `return %t`
    After:  %b for %0, and `return %a, %b` from a function of two results
    Assumes: the level after inline. An operation other than control flow and calls that takes a tuple is refused.
    Leaves: no tuples.
    """

    name = "flatten-tuples"
    illegal = ("hlo.tuple", "hlo.get_tuple_element")

    def run(self, ctx: Context, module: ModuleOp) -> None:
        functions = [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]
        for function in functions:
            inner = any(_mentions_tuples(op) for op in function.walk())
            types = function.function_type
            if inner or any(isinstance(t, TupleType) for t in (*types.inputs, *types.outputs)):
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
            elif isinstance(op, GetTupleElementOp):
                self._element(op)
            elif not _mentions_tuples(op):
                for region in op.regions:
                    for inner in region.blocks:
                        self.block(inner)
            elif isinstance(op, _CARRIERS):
                self._carry(op, block)
            else:
                fail(op, "takes or gives a tuple, which only control flow and calls can: pass its elements")

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
            if isinstance(argument.type, TupleType):
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
        if isinstance(value.type, TupleType):
            self.elements[value] = leaves
        else:
            if leaves[0].name_hint is None:
                leaves[0].name_hint = value.name_hint
            value.replace_all_uses_with(leaves[0])

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
