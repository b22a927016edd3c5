"""
From the program of all devices to the program of one: implement shardings and manual computations.

`parameter_tilings` and `output_tilings` describe how the entry's arguments and results are distributed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.support.rewriting import Replaced
from ...hlo_dialect.collectives.base import CollectiveOp
from ...hlo_dialect.collectives.process_groups import grid_of
from ...hlo_dialect.custom_calls.markers import IDENTITIES
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.ops.control_flow import CaseOp, IfOp, WhileOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.sharding.attributes import ShardingAttr, ShardingPerValueAttr
from ...hlo_dialect.sharding.operations import (
    ConstraintOp,
    ManualComputationOp,
    SameValueOp,
    ShardingGroupOp,
    erase_sharding,
)
from ...hlo_dialect.sharding.tilings import Tiling, parse_tiling, tiling_of
from ...hlo_dialect.types import element_of, make_tensor, shape_of
from .control import ControlFlow
from .effects import run_once
from .layouts import Layouts
from .parts import SHARDINGS
from .rules import partition_operation

PARAMETERS, OUTPUTS = "mhlo.spmd_parameters_shardings", "mhlo.spmd_output_sharding"
"""Attributes that state how arguments and results of a partitioned module are split, as in XLA."""

MAX_PARTITIONS = 4096
"""Each partition is a thread at run time, and the program contains tables of partitions."""


def parameter_tilings(module: ModuleOp, entry: str = "main") -> list[Tiling]:
    """The tiling of each argument of the entry. Raises DiagnosticError for unsupported shardings."""
    function = _entry(module, entry)
    types = function.function_type.inputs.data
    return _tilings(module, function, PARAMETERS, types, function.arg_attrs, "argument")


def output_tilings(module: ModuleOp, entry: str = "main") -> list[Tiling]:
    """
    The tiling of each result of the entry.

    Results without a sharding are known only after partition-spmd; before it they count as replicated.
    """
    function = _entry(module, entry)
    types = function.function_type.outputs.data
    return _tilings(module, function, OUTPUTS, types, function.res_attrs, "result")


def _entry(module: ModuleOp, name: str) -> func.FuncOp:
    for op in module.body.block.ops:
        if isinstance(op, func.FuncOp) and op.sym_name.data == name and not op.is_declaration:
            return op
    fail(module, f"has no function @{name}")


def _tilings(
    module: ModuleOp,
    function: func.FuncOp,
    recorded: str,
    types: Sequence[Attribute],
    attributes: Attribute | None,
    what: str,
) -> list[Tiling]:
    _, partitions = grid_of(module)
    found = module.attributes.get(recorded)
    ranks = [len(shape_of(cast(Attribute, type_))) if isinstance(type_, TensorType) else 0 for type_ in types]
    if found is not None:
        texts = _texts(found) if ranks else []
        if len(texts) != len(ranks):
            fail(module, f"has {len(texts)} shardings in {recorded}, but {len(ranks)} {what}s")
        try:
            tilings = [parse_tiling(text, rank, partitions) for text, rank in zip(texts, ranks, strict=True)]
        except VerifyException as error:
            fail(module, f"was partitioned for other devices than these {partitions}: {error}")
        return [tiling for tiling in tilings if tiling is not None]
    stated = _stated(attributes, len(types))
    tilings: list[Tiling | None] = []
    for index, (each, type_, rank) in enumerate(zip(stated, types, ranks, strict=True)):
        try:
            tiling = stated_tiling(each, function, type_, partitions)
        except VerifyException as error:
            fail(function, f"has {what} {index} of type {type_} with a sharding that is wrong: {error}")
        tilings.append(tiling or Tiling.replicated(rank, partitions))
    return [tiling for tiling in tilings if tiling is not None]


def record_tilings(module: ModuleOp, parameters: Sequence[Tiling], outputs: Sequence[Tiling]) -> None:
    """State in the attributes of a partitioned module how the entry's arguments and results are split, as XLA does."""
    module.attributes[PARAMETERS] = ArrayAttr([StringAttr(tiling.text) for tiling in parameters])
    texts = [tiling.text for tiling in outputs] or ["{replicated}"]  # XLA's text for an empty tuple
    module.attributes[OUTPUTS] = StringAttr(texts[0] if len(texts) == 1 else f"{{{', '.join(texts)}}}")


def _texts(recorded: Attribute) -> list[str]:
    """The shardings in an attribute of a partitioned module: an array, a single one, or several as `{{..}, {..}}`."""
    if isinstance(recorded, ArrayAttr):
        return [text.data for text in cast("ArrayAttr[StringAttr]", recorded).data]
    text = recorded.data if isinstance(recorded, StringAttr) else ""
    return re.findall(r"\{(?:[^{}]|\{[^{}]*\})*\}", text[1:-1]) if text.startswith("{{") else [text]


def _stated(attributes: Attribute | None, count: int) -> list[Attribute | None]:
    """The shardings in the attribute dictionaries of arguments or results."""
    if not isinstance(attributes, ArrayAttr):
        return [None] * count
    each = cast("ArrayAttr[DictionaryAttr]", attributes).data
    return [next((entry.data[name] for name in SHARDINGS if name in entry.data), None) for entry in each]


def stated_tiling(stated: Attribute | None, user: Operation, type_: Attribute, partitions: int) -> Tiling | None:
    """
    The tiling described by a value's sdy.sharding or mhlo.sharding attribute; None if there is none.

    Raises VerifyException for a sharding that does not fit the value.
    """
    if not isinstance(type_, TensorType):
        return None
    shape = shape_of(cast(Attribute, type_))
    if isinstance(stated, ShardingPerValueAttr) and len(stated.shardings.data) == 1:
        stated = stated.shardings.data[0]
    if isinstance(stated, ShardingAttr):
        return tiling_of(stated, user, shape, partitions)
    if isinstance(stated, StringAttr):
        return parse_tiling(stated.data, len(shape), partitions)
    return None


def states_shardings(module: ModuleOp) -> bool:
    """Whether the program has shardings and is not partitioned yet."""
    if PARAMETERS in module.attributes:
        return False
    for op in module.walk():
        if isinstance(op, (ConstraintOp, ManualComputationOp)) or any(name in op.attributes for name in SHARDINGS):
            return True
        if isinstance(op, func.FuncOp):
            inputs, outputs = op.function_type.inputs.data, op.function_type.outputs.data
            if any(_stated(op.arg_attrs, len(inputs))) or any(_stated(op.res_attrs, len(outputs))):
                return True
    return False


@dataclass(frozen=True)
class PartitionSpmdPass(HloPass):
    """
    Partition a program for `mhlo.num_partitions` devices by its shardings. Arguments and results become parts of
    arrays.

    Before: `@main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})`, `%0 = hlo.add %x, %x`
    After:  `@main(%x: tensor<4xf32>)`, `%0 = hlo.add %x, %x : tensor<4xf32>`
    An operation computes on parts if a rule applies (rules.py), else every device computes all of it from gathered
    operands. Bodies of manual computations already work on parts. Results without a sharding are split as they come;
    the module attributes mhlo.spmd_parameters_shardings and mhlo.spmd_output_sharding say how.
    Assumes: the level after inline. A module with one partition or without shardings is unchanged: it already is the
             program of one device.
    Leaves: no shardings, constraints and manual computations; collectives and partition_id.
    """

    name = "partition-spmd"
    illegal = ("sdy.manual_computation", "sdy.sharding_constraint")

    entry: str = "main"

    def run(self, ctx: Context, module: ModuleOp) -> None:
        _, partitions = grid_of(module)
        if partitions > MAX_PARTITIONS:
            fail(module, f"is for {partitions} partitions; more than {MAX_PARTITIONS} are not supported")
        if partitions > 1 and states_shardings(module):
            _Partitioner(module, _entry(module, self.entry)).run()


class _Partitioner:
    """Rewrites one entry in program order. Replaced operations on whole arrays stay until the end."""

    def __init__(self, module: ModuleOp, function: func.FuncOp):
        self.module = module
        self.function = function
        self.replicas, self.partitions = grid_of(module)
        channels = [op.channel_id for op in module.walk() if isinstance(op, CollectiveOp)]
        self.parameters = parameter_tilings(module, function.sym_name.data)
        self.outputs = output_tilings(module, function.sym_name.data)
        self.stated = [each is not None for each in _stated(function.res_attrs, len(self.outputs))]
        self.block = function.body.block
        self.layouts = Layouts(self.block, self.replicas, self.partitions, max(channels, default=0))
        self.replaced = Replaced()
        self.control_flow = ControlFlow(self.layouts, self.replaced, self._visit_all)
        self.tilings: dict[tuple[ShardingAttr, tuple[int, ...]], Tiling] = {}
        self.manual = 0
        """The nesting depth of manual computations around the operation."""

    def run(self) -> None:
        operations = list(self.block.ops)
        self._arguments()
        self._visit_all(operations)
        self.replaced.erase()
        self.layouts.finish()
        last = self.block.last_op
        assert last is not None
        self.function.properties["function_type"] = FunctionType.from_lists(
            [argument.type for argument in self.block.args], list(last.operand_types)
        )
        for name in ("arg_attrs", "res_attrs"):
            attributes = self.function.properties.get(name)
            if isinstance(attributes, ArrayAttr):
                each = cast("ArrayAttr[DictionaryAttr]", attributes).data
                self.function.properties[name] = ArrayAttr([_without_shardings(entry) for entry in each])
        record_tilings(self.module, self.parameters, self.outputs)

    def _arguments(self) -> None:
        for argument, tiling in zip(list(self.block.args), self.parameters, strict=True):
            if not tiling.is_replicated:
                type_ = make_tensor(tiling.part_shape(shape_of(argument)), element_of(argument))
                part = self.block.insert_arg(type_, argument.index)
                part.name_hint = argument.name_hint
                self.layouts.split(argument, tiling, part)
                self.replaced.arguments.append(argument)

    def _visit_all(self, operations: Sequence[Operation]) -> None:
        for op in operations:
            self._visit(op)

    def _visit(self, op: Operation) -> None:
        wanted = () if self.manual or isinstance(op, SameValueOp) else self._stated_results(op)
        for result, tiling in wanted:
            self.layouts.want(result, tiling)
        self._rewrite(op)
        for name in SHARDINGS:
            op.attributes.pop(name, None)
        for result, _ in wanted:
            if self.layouts.wanted(result) is not None:
                self.layouts.split(result, self.layouts.replicated(result), result)

    def _stated_results(self, op: Operation) -> list[tuple[SSAValue, Tiling]]:
        """The results of an operation that are to be split, and how."""
        stated = op.attributes.get(SHARDINGS[0])
        if not isinstance(stated, ShardingPerValueAttr) or len(stated.shardings.data) != len(op.results):
            return []
        found: list[tuple[SSAValue, Tiling]] = []
        for result, sharding in zip(op.results, stated.shardings.data, strict=True):
            if any(dimension.axes.data for dimension in sharding.dimensions.data):
                key = (sharding, shape_of(result))
                if key not in self.tilings:
                    self.tilings[key] = self._value_tilings(op, stated, op.results)[op.results.index(result)]
                found.append((result, self.tilings[key]))
        return [(result, tiling) for result, tiling in found if tiling.fits(shape_of(result))]

    def _rewrite(self, op: Operation) -> None:
        if isinstance(op, func.ReturnOp):
            self._return(op)
        elif isinstance(op, ManualComputationOp):
            self._manual_computation(op)
        elif isinstance(op, ShardingGroupOp):
            self.replaced.operations.append(op)
        elif isinstance(op, SameValueOp) or (isinstance(op, CustomCallOp) and op.target in IDENTITIES):
            self._same_value(op)
        elif op.regions and not isinstance(op, (WhileOp, IfOp, CaseOp)):
            _forget_shardings(op)
            self._share_out(op)
        else:
            self._share_out(op)

    def _share_out(self, op: Operation) -> None:
        """Partition an operation that is not merely an annotation."""
        if not self.manual and self._is_partitioned(op):
            self.replaced.operations.append(op)
        else:
            for region in op.regions:
                for block in region.blocks:
                    self._visit_all(list(block.ops))
            self._on_whole_operands(op)

    def _is_partitioned(self, op: Operation) -> bool:
        """Insert the partitioned form before an operation outside of manual computations."""
        if isinstance(op, CustomCallOp) and run_once(op, self.layouts):
            return True
        if isinstance(op, WhileOp):
            self.control_flow.loop(op)
            return True
        if isinstance(op, (IfOp, CaseOp)):
            self.control_flow.branches(op)
            return True
        return partition_operation(op, self.layouts)

    def _on_whole_operands(self, op: Operation) -> None:
        for index, operand in enumerate(op.operands):
            whole = self.layouts.whole(operand)
            if whole is not operand:
                op.operands[index] = whole

    def _return(self, op: func.ReturnOp) -> None:
        for index, operand in enumerate(op.operands):
            if not isinstance(operand.type, TensorType):
                continue
            found = self.layouts.tiling(operand)
            if not self.stated[index] and found is not None and found.fits(shape_of(operand)):
                self.outputs[index] = found
            op.operands[index] = self.layouts.part(operand, self.outputs[index])

    # Annotations ---------------------------------------------------------------------------------------------------

    def _same_value(self, op: Operation) -> None:
        """Replace the result by the operand, split as the operation says."""
        operand, result = op.operands[0], op.results[0]
        if isinstance(op, CustomCallOp) and op.target == "SPMDFullToShardShape":
            self._to_part(op)
            return
        if isinstance(op, CustomCallOp) and op.target == "SPMDShardToFullShape":
            self._to_whole(op)
            return
        if operand.type != result.type:
            fail(op, "is not supported: its result has another type than its operand")
        tiling = self._wanted(op)
        found = self.layouts.tiling(operand)
        if tiling is None:
            tiling = found
        if tiling is None or (tiling.is_replicated and found is None) or not is_static(shape_of(operand)):
            result.replace_all_uses_with(operand)
        elif tiling.is_replicated:
            result.replace_all_uses_with(self.layouts.whole(operand))
        else:
            part = self.layouts.part(operand, tiling)
            self.layouts.split(result, tiling, part, self.layouts.existing_whole(operand))
        self.replaced.operations.append(op)

    def _wanted(self, op: Operation) -> Tiling | None:
        if isinstance(op, ConstraintOp):
            stated: Attribute | None = op.wanted
        else:
            stated = next((op.attributes[name] for name in SHARDINGS if name in op.attributes), None)
        try:
            return stated_tiling(stated, op, op.results[0].type, self.partitions)
        except VerifyException as error:
            fail(op, f"has a sharding that is wrong: {error}")

    # Computations on parts -----------------------------------------------------------------------------------------

    def _manual_computation(self, op: ManualComputationOp) -> None:
        axes = op.manual_axes.names
        inputs = self._value_tilings(op, op.in_shardings, op.operands, axes)
        outputs = self._value_tilings(op, op.out_shardings, op.results, axes)
        parts = [self.layouts.part(operand, tiling) for operand, tiling in zip(op.operands, inputs, strict=True)]
        block = op.regions[0].block
        last = block.last_op
        assert last is not None
        self.manual += 1
        self._visit_all(_take_body(op, block, parts))
        self.manual -= 1
        for result, tiling, value in zip(op.results, outputs, last.operands, strict=True):
            self.layouts.split(result, tiling, self.layouts.whole(value))
        self.replaced.operations.append(op)

    def _value_tilings(
        self,
        op: Operation,
        shardings: ShardingPerValueAttr,
        values: Sequence[SSAValue],
        axes: Sequence[str] | None = None,
    ) -> list[Tiling]:
        shapes = [shape_of(value) if isinstance(value.type, TensorType) else () for value in values]
        try:
            return [
                tiling_of(sharding, op, shape, self.partitions, axes)
                for sharding, shape in zip(shardings.shardings.data, shapes, strict=True)
            ]
        except VerifyException as error:
            fail(op, f"has a sharding that is wrong: {error}")

    def _to_part(self, op: CustomCallOp) -> None:
        """`SPMDFullToShardShape`: the operand's annotation states the split, the result is the part."""
        operand, result = op.operands[0], op.results[0]
        tiling = self.layouts.tiling(operand) or Tiling.replicated(len(shape_of(operand)), self.partitions)
        if make_tensor(tiling.part_shape(shape_of(operand)), element_of(operand)) != result.type:
            fail(op, f"has a result of type {result.type}, which is no part of its operand as that is split")
        result.replace_all_uses_with(self.layouts.part(operand, tiling))
        self.manual += 1
        self.replaced.operations.append(op)

    def _to_whole(self, op: CustomCallOp) -> None:
        """`SPMDShardToFullShape`: the operand is a part of the whole that the sharding describes."""
        operand, result = op.operands[0], op.results[0]
        tiling = self._wanted(op)
        if tiling is None:
            fail(op, "has no sharding, which says how its result is split")
        if make_tensor(tiling.part_shape(shape_of(result)), element_of(result)) != operand.type:
            fail(op, f"has an operand of type {operand.type}, which is no part of its result as that is split")
        self.layouts.split(result, tiling, self.layouts.whole(operand))
        self.replaced.operations.append(op)


def _forget_shardings(op: Operation) -> None:
    """Remove shardings in regions that compute on elements, where nothing can be split."""
    for inner in [inner for inner in op.walk() if isinstance(inner, (SameValueOp, ShardingGroupOp))]:
        erase_sharding(inner)


def _take_body(op: ManualComputationOp, block: Block, arguments: Sequence[SSAValue]) -> list[Operation]:
    """Move the body's operations, except the return, before the computation."""
    around = op.parent
    assert around is not None
    for argument, value in zip(block.args, arguments, strict=True):
        argument.replace_all_uses_with(value)
    body = [inner for inner in block.ops if inner is not block.last_op]
    for inner in body:
        inner.detach()
        around.insert_op_before(inner, op)
    return body


def _without_shardings(entry: DictionaryAttr) -> DictionaryAttr:
    return DictionaryAttr({name: value for name, value in entry.data.items() if name not in SHARDINGS})
