"""Complex tensors become pairs of real ones: the real and the imaginary parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...dialects.build.buffers import i32_array
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.expressions.complex import Complex
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.control_flow import CaseOp, IfOp, OptimizationBarrierOp, ReturnOp, WhileOp
from ...hlo_dialect.ops.elementwise_binary import AddOp
from ...hlo_dialect.ops.reduction import ReduceOp, single_combiner
from ...hlo_dialect.ops.window import ReduceWindowOp
from ...hlo_dialect.walking import operations_in
from ...lowering.tables import tables
from .arithmetic import RULES_BY_NAME, Parts, PartsBuilder, Rule
from .layout import as_pairs, deinterleave, is_complex_type, pairs_type, part_type, split_custom_call, split_signature

_VARIADIC = frozenset(("hlo.all_gather", "hlo.all_to_all", "hlo.map", "hlo.scatter", "hlo.sort"))
"""Operations that take any number of tensors, and so both parts of one."""


@lru_cache(maxsize=1)
def rules() -> dict[type[Operation], Rule]:
    """The rule of each operation class: the `RULES` of the files split_complex_*.py."""
    return {cls: rule for table in tables(__package__ or "", "RULES") for cls, rule in table.items()}


def _touches_complex(op: Operation) -> bool:
    return any(is_complex_type(value.type) for value in (*op.results, *op.operands)) or any(
        is_complex_type(argument.type) for region in op.regions for block in region.blocks for argument in block.args
    )


@dataclass(frozen=True)
class SplitComplexPass(HloPass):
    """
    Each tensor of complex numbers becomes two of real ones; control flow carries both.

    Before: `%1 = hlo.multiply %z, %z : tensor<4xcomplex<f32>>`
    After:  two subtractions and additions of products of %z's parts
    A complex argument or result of a function becomes a tensor of pairs, marked `xhlo.complex` (see
    split_complex_layout.py).
    Assumes: the level after inline. Operations without a rule are refused.
    Leaves: no complex types.
    """

    name = "split-complex"

    def run(self, ctx: Context, module: ModuleOp) -> None:
        for function in list(module.body.block.ops):
            if isinstance(function, func.FuncOp) and any(_touches_complex(op) for op in operations_in(function)):
                splitter = Splitter(self)
                splitter.arguments(function)
                for block in function.body.blocks:
                    splitter.block(block)
                splitter.erase_old()
                split_signature(function)


class Splitter:
    """Splits the operations of a function in program order; `parts` says what stands for each complex value."""

    def __init__(self, owner: HloPass):
        self.owner = owner
        self.parts: dict[SSAValue, Parts] = {}
        self.old: list[Operation] = []
        self.old_arguments: list[BlockArgument] = []

    def arguments(self, function: func.FuncOp) -> None:
        """Complex arguments of a function become pairs, which the first operations take apart."""
        block = function.body.block
        first = block.first_op
        assert first is not None, "a function ends with a terminator"
        builder = Builder(InsertPoint.before(first), function.location)
        for argument in list(block.args):
            if is_complex_type(argument.type):
                pairs = block.insert_arg(pairs_type(argument.type), argument.index)
                pairs.name_hint = argument.name_hint
                self._take(argument, deinterleave(Tensor(builder, pairs)))
                self.old_arguments.append(argument)

    def _return(self, op: Operation) -> None:
        op.operands = [as_pairs(value, self.parts, op) for value in op.operands]

    def block(self, block: Block) -> None:
        for op in list(block.ops):
            if not _touches_complex(op):
                for region in op.regions:
                    for inner in region.blocks:
                        self.block(inner)
            elif isinstance(op, func.ReturnOp):
                self._return(op)
            elif isinstance(op, CustomCallOp):
                self._custom_call(op)
            elif isinstance(op, (ReturnOp, OptimizationBarrierOp)):
                self._carry(op, [])
            elif isinstance(op, (WhileOp, IfOp, CaseOp)):
                self._carry(op, self._regions(op))
            elif isinstance(op, (ReduceOp, ReduceWindowOp)):
                self._reduce(op)
            elif op.name in _VARIADIC:
                self._carry(op, self._regions(op, paired=op.name == "hlo.sort"))
            else:
                self._apply(op)

    def erase_old(self) -> None:
        for op in reversed(self.old):
            op.detach()
            op.erase()
        for argument in reversed(self.old_arguments):
            argument.block.erase_arg(argument)

    def _apply(self, op: Operation) -> None:
        rule = rules().get(type(op)) or RULES_BY_NAME.get(op.name)
        if rule is None:
            raise self.owner.unsupported(op)
        result = rule(op, PartsBuilder(op, self.parts))
        if result is None:
            fail(op, f"is not supported by {self.owner.name} with operands of types {list(map(str, op.operand_types))}")
        self._take(op.results[0], result)
        self.old.append(op)

    def _custom_call(self, op: CustomCallOp) -> None:
        for old, new in zip(op.results, split_custom_call(op, self.parts), strict=True):
            self._take(old, new)
        self.old.append(op)

    def _take(self, old: SSAValue, new: Complex | Tensor) -> None:
        """A complex value is two tensors from now on, a real one another."""
        if isinstance(new, Complex):
            self._name(old, (new.re.value, new.im.value))
        else:
            new.value.name_hint = old.name_hint
            old.replace_all_uses_with(new.value)

    def _name(self, old: SSAValue, parts: Parts) -> None:
        self.parts[old] = parts
        for part, suffix in zip(parts, ("re", "im"), strict=True):
            if part.name_hint is None and old.name_hint is not None:
                part.name_hint = f"{old.name_hint}_{suffix}"

    def _both(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """The values with each complex one replaced by its two parts."""
        return [part for value in values for part in self.parts.get(value, (value,))]

    def _types(self, values: Sequence[SSAValue]) -> list[Attribute]:
        found: list[Attribute] = []
        for value in values:
            found += [part_type(value.type)] * 2 if is_complex_type(value.type) else [value.type]
        return found

    def _regions(self, op: Operation, paired: bool = False) -> list[Region]:
        """The operation's regions, detached, their blocks' arguments and contents split (see `_arguments`)."""
        regions: list[Region] = []
        for region in list(op.regions):
            for block in region.blocks:
                self._arguments(block, paired)
                self.block(block)
            regions.append(op.detach_region(region))
        return regions

    def _arguments(self, block: Block, paired: bool = False) -> None:
        """
        Two arguments for each complex one. Where arguments come in pairs of what is compared, the real parts of a pair
        come first: z, w become z_re, w_re, z_im, w_im.
        """
        old = list(block.args)
        for index in range(0, len(old), 2 if paired else 1):
            group = old[index : index + (2 if paired else 1)]
            if not is_complex_type(group[0].type):
                continue
            place, type_ = group[0].index, part_type(group[0].type)
            fresh = [block.insert_arg(type_, place) for _ in range(2 * len(group))][::-1]
            for offset, argument in enumerate(group):
                self._name(argument, (fresh[offset], fresh[offset + len(group)]))
                self.old_arguments.append(argument)

    def _carry(self, op: Operation, regions: list[Region]) -> None:
        """The same operation with both parts of each complex operand and result."""
        new = type(op).create(
            operands=self._both(op.operands),
            result_types=self._types(op.results),
            properties={**op.properties, **self._segments(op)},
            attributes=op.attributes,
            regions=regions,
        )
        if not op.results:
            replace_op(op, [new], [])
            return
        block = cast(Block, op.parent)
        new.location = op.location
        block.insert_op_before(new, op)
        self._take_results(op, list(new.results))

    def _segments(self, op: Operation) -> dict[str, Attribute]:
        """The sizes of the groups of operands, where the operation states them, with both parts counted."""
        stated = op.properties.get("operandSegmentSizes")
        if stated is None:
            return {}
        sizes: list[int] = []
        first = 0
        for size in cast("DenseArrayBase[Any]", stated).get_values():
            sizes.append(len(self._both(op.operands[first : first + int(size)])))
            first += int(size)
        return {"operandSegmentSizes": i32_array(tuple(sizes))}

    def _take_results(self, op: Operation, results: list[SSAValue]) -> None:
        position = 0
        for old in op.results:
            if is_complex_type(old.type):
                self._name(old, (results[position], results[position + 1]))
                position += 2
            else:
                results[position].name_hint = old.name_hint
                old.replace_all_uses_with(results[position])
                position += 1
        self.old.append(op)

    def _reduce(self, op: ReduceOp | ReduceWindowOp) -> None:
        """A sum is two sums; any other function of complex numbers becomes one of their parts."""
        combiner = single_combiner(op.regions[0])
        if isinstance(combiner, AddOp) and op.input_count == 1:
            self._sums(op)
            return
        body = op.regions[0].block
        count = op.input_count
        self._arguments(body)
        self.block(body)
        new = type(op).create(
            operands=[*self._both(op.operands[:count]), *self._both(op.operands[count:])],
            result_types=self._types(op.results),
            properties=op.properties,
            attributes=op.attributes,
            regions=[op.detach_region(op.regions[0])],
            location=op.location,
        )
        cast(Block, op.parent).insert_op_before(new, op)
        self._take_results(op, list(new.results))

    def _sums(self, op: ReduceOp | ReduceWindowOp) -> None:
        sums: list[SSAValue] = []
        for value, init in zip(self.parts[op.operands[0]], self.parts[op.operands[1]], strict=True):
            body = Block(arg_types=[init.type, init.type])
            add = AddOp.create(operands=list(body.args), result_types=[init.type], location=op.location)
            body.add_ops([add, ReturnOp.create(operands=list(add.results), location=op.location)])
            new = type(op).create(
                operands=[value, init],
                result_types=[part_type(op.results[0].type)],
                properties=op.properties,
                attributes=op.attributes,
                regions=[Region([body])],
                location=op.location,
            )
            cast(Block, op.parent).insert_op_before(new, op)
            sums.append(new.results[0])
        self._take_results(op, sums)
