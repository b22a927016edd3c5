"""Complex tensors become pairs of real ones: the real and the imaginary parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...dialects.support.rewriting import like
from ...dialects.support.spread import Spread
from ...hlo_dialect.collectives.exchanges import AllGatherOp, AllToAllOp
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.expressions.complex import Complex
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.op import HloOp
from ...hlo_dialect.ops.control_flow import CaseOp, IfOp, OptimizationBarrierOp, ReturnOp, WhileOp
from ...hlo_dialect.ops.elementwise_binary import AddOp
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.ops.mapping import MapOp
from ...hlo_dialect.ops.reduction import ReduceOp, single_combiner
from ...hlo_dialect.ops.scatter import ScatterOp
from ...hlo_dialect.ops.sort import SortOp
from ...hlo_dialect.ops.window import ReduceWindowOp
from ...hlo_dialect.walking import operations_in
from .arithmetic import Parts, PartsBuilder, each_part, split_rules
from .layout import (
    as_pairs,
    deinterleave,
    is_complex_type,
    is_same,
    pairs_type,
    part_type,
    split_custom_call,
    split_signature,
    whole_of,
)

CARRIERS = (
    *(WhileOp, IfOp, CaseOp, OptimizationBarrierOp, ReturnOp, ReduceOp, ReduceWindowOp),
    *(AllGatherOp, AllToAllOp, FusionOp, MapOp, ScatterOp, SortOp),
)
"""Variadic operations, which can take both parts of a value."""


def _part_types(type_: Attribute) -> Sequence[Attribute] | None:
    return [part_type(type_)] * 2 if is_complex_type(type_) else None


class SplitComplexPass(HloPass):
    """
    Split each complex tensor into two real ones; control flow carries both.

    Before: `%1 = hlo.multiply %z, %z : tensor<4xcomplex<f32>>`
    After:  two subtractions and additions of products of %z's parts
    A complex argument or result of a function becomes a tensor of pairs, marked `xhlo.complex` (see
    layout.py).
    Assumes: the level after inline. Operations without a rule are refused.
    Leaves: no complex types.
    """

    name = "split-complex"
    only_for = ("!complex",)

    def run(self, ctx: Context, module: ModuleOp) -> None:
        for function in module.body.block.ops:
            if isinstance(function, func.FuncOp):
                splitter = Splitter(self)
                if any(map(splitter.spread.concerns, operations_in(function))):
                    splitter.arguments(function)
                    for block in function.body.blocks:
                        splitter.block(block)
                    splitter.spread.erase()
                    split_signature(function)


class Splitter:
    """Splits the operations of a function in program order; `parts` maps each complex value to its two parts."""

    def __init__(self, owner: HloPass):
        self.owner = owner
        self.spread = Spread(_part_types, ("_re", "_im"))
        self.parts = cast("dict[SSAValue, Parts]", self.spread.parts)

    def arguments(self, function: func.FuncOp) -> None:
        """Complex arguments of a function become pairs, which are deinterleaved at the start."""
        block = function.body.block
        first = block.first_op
        assert first is not None, "a function ends with a terminator"
        builder = Builder(InsertPoint.before(first), function.location)
        for argument in list(block.args):
            if is_complex_type(argument.type):
                pairs = block.insert_arg(pairs_type(argument.type), argument.index)
                pairs.name_hint = argument.name_hint
                self._take(argument, deinterleave(Tensor(builder, pairs)))
                self.spread.replaced.arguments.append(argument)

    def _return(self, op: Operation) -> None:
        op.operands = [as_pairs(value, self.parts, op) for value in op.operands]

    def block(self, block: Block) -> None:
        for op in list(block.ops):
            if not self.spread.concerns(op):
                for region in op.regions:
                    for inner in region.blocks:
                        self.block(inner)
            elif isinstance(op, func.ReturnOp):
                self._return(op)
            elif isinstance(op, CustomCallOp):
                self._custom_call(op)
            elif isinstance(op, (ReduceOp, ReduceWindowOp)) and _is_sum(op):
                self._sums(op)
            elif isinstance(op, CARRIERS):
                self._carry(op)
            else:
                self._apply(op)

    def _apply(self, op: Operation) -> None:
        rule = split_rules.get(type(op)) or (each_part if isinstance(op, HloOp) and op.LINEAR else None)
        if rule is None:
            raise self.owner.unsupported(op)
        result = rule(op, PartsBuilder(op, self.parts))
        if result is None:
            fail(op, f"is not supported by {self.owner.name} with operands of types {list(map(str, op.operand_types))}")
        self._take(op.results[0], result)
        self.spread.replaced.operations.append(op)

    def _custom_call(self, op: CustomCallOp) -> None:
        for old, new in zip(op.results, split_custom_call(op, self.parts), strict=True):
            self._take(old, new)
        self.spread.replaced.operations.append(op)

    def _take(self, old: SSAValue, new: Complex | Tensor) -> None:
        """Replace a complex value by two tensors, or a real one by another."""
        if isinstance(new, Complex):
            self.spread.replace(old, (new.re.value, new.im.value))
        else:
            new.value.name_hint = old.name_hint
            old.replace_all_uses_with(new.value)

    def _carry(self, op: Operation) -> None:
        """The same operation with both parts of each complex operand and result."""
        for region in op.regions:
            for block in region.blocks:
                self.spread.arguments(block, group=2 if isinstance(op, SortOp) else 1)
                self.block(block)
        self.spread.carry(op)

    def _sums(self, op: ReduceOp | ReduceWindowOp) -> None:
        """A complex sum becomes two real ones, or one of the pairs of numbers that only it reads from memory."""
        builder, value, init = Builder.before(op), op.operands[0], self.parts[op.operands[1]]
        pairs = None
        if isinstance(op, ReduceOp) and value.has_one_use() and is_same(*init):
            pairs = whole_of(Complex(*builder.tensors(self.parts[value])))
        if pairs is not None:
            (total,) = builder.tensors([self._sum(op, pairs.value, init[0], pairs_type(op.results[0].type))])
            self.spread.replace(op.results[0], [part.value for part in deinterleave(total)])
        else:
            type_ = part_type(op.results[0].type)
            self.spread.replace(
                op.results[0], [self._sum(op, *part, type_) for part in zip(self.parts[value], init, strict=True)]
            )
        self.spread.replaced.operations.append(op)

    def _sum(self, op: ReduceOp | ReduceWindowOp, value: SSAValue, init: SSAValue, type_: Attribute) -> SSAValue:
        """The same sum of real numbers, before `op`."""
        body = Block(arg_types=[init.type, init.type])
        add = AddOp.create(operands=list(body.args), result_types=[init.type], location=op.location)
        body.add_ops([add, ReturnOp.create(operands=list(add.results), location=op.location)])
        new = like(op, [value, init], [type_], regions=[Region([body])])
        cast(Block, op.parent).insert_op_before(new, op)
        return new.results[0]


def _is_sum(op: ReduceOp | ReduceWindowOp) -> bool:
    return op.input_count == 1 and isinstance(single_combiner(op.regions[0]), AddOp)
