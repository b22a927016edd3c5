"""
From some values with shardings to all: an operation's operands and results are split alike where that is possible.

The algorithm is Shardy's: https://openxla.org/shardy/propagation
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...hlo_dialect.collectives.process_groups import grid_of
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.op import is_elementwise
from ...hlo_dialect.ops.control_flow import CaseOp, IfOp, OptimizationBarrierOp, WhileOp
from ...hlo_dialect.ops.creation import ConstantOp, IotaOp
from ...hlo_dialect.ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, TransposeOp
from ...hlo_dialect.sharding.attributes import ShardingAttr, ShardingPerValueAttr
from ...hlo_dialect.sharding.factors import ShardingRule
from ...hlo_dialect.sharding.operations import ConstraintOp, ManualComputationOp, ShardingConstraintOp, ShardingGroupOp
from .nodes import Direction, ManualEdge, Node
from .rules import rule_of, static_shape
from .values import Sharded

STATED = "sdy.sharding"
LEVELS = 3
"""Shardings pass first what merely passes data through, then factors that are split in results too, then all."""


@dataclass(frozen=True)
class PropagateShardingsPass(HloPass):
    """
    Give every value that an operation connects with a split one a sharding, as Shardy does.

    Before: `@main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32>`
    After:  `.. -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})`, and operations with `sdy.sharding`
    Stated shardings are kept; open dimensions (`?`) may be split further. Constants are split as each use needs them.
    Assumes: the level after inline. Only shardings of the sdy dialect are propagated. A module with one partition is
             unchanged.
    Leaves: closed shardings.
    """

    name = "propagate-shardings"

    entry: str = "main"

    def run(self, ctx: Context, module: ModuleOp) -> None:
        _, partitions = grid_of(module)
        for op in module.body.block.ops if partitions > 1 else ():
            if isinstance(op, func.FuncOp) and op.sym_name.data == self.entry and not op.is_declaration:
                _Propagation(op).run()


class _Propagation:
    """The values of a function and the nodes that connect them."""

    def __init__(self, function: func.FuncOp):
        self.function = function
        self.values: dict[SSAValue, Sharded] = {}
        self.nodes: list[Node | ManualEdge] = []
        self.constants: set[SSAValue] = set()
        self.groups: dict[int, Sharded] = {}
        self.operations: list[Operation] = []
        self.results = [Sharded(static_shape(value)) for value in self._returned]
        self.spelled: dict[object, ShardingPerValueAttr] = {}
        self.mesh: Sharded | None = None
        """Some value with a mesh."""

    @property
    def _returned(self) -> Sequence[SSAValue]:
        last = self.function.body.block.last_op
        assert last is not None
        return last.operands

    def run(self) -> None:
        for op in self.function.walk():
            if isinstance(op, ShardingGroupOp):
                group = self.groups.setdefault(op.group_id.value.data, Sharded(static_shape(op.operands[0])))
                self.values[op.operands[0]] = group
        inputs = list(map(self._of, self.function.body.block.args))
        stated = self._entry_shardings(inputs, self.function.arg_attrs, "argument")
        self._entry_shardings(self.results, self.function.res_attrs, "result")
        self._connect_all(self.function.body.block)
        for value, result in zip(self._returned, self.results, strict=True):
            self._edge([self._use(value)], result)
        everything = [value for node in self.nodes for value in node.values]
        self.mesh = next((value for value in everything if value.mesh is not None), None)
        if self.mesh is None:
            return
        for level in range(LEVELS):
            self._settle(level)
        for value in (*(each for each, is_stated in zip(inputs, stated, strict=True) if not is_stated), *self.results):
            value.trim()
        for op in self.operations:
            self._write(op)
        self.function.properties["arg_attrs"] = self._with_shardings(self.function.arg_attrs, inputs)
        self.function.properties["res_attrs"] = self._with_shardings(self.function.res_attrs, self.results)

    def _settle(self, level: int) -> None:
        """Propagate until nothing changes."""
        users: dict[Sharded, list[int]] = {}
        for number, node in enumerate(self.nodes):
            for value in node.values:
                users.setdefault(value, []).append(number)
        waiting = dict.fromkeys(range(len(self.nodes)))
        while waiting:
            number = next(iter(waiting))
            del waiting[number]
            for value in self.nodes[number].propagate(level):
                waiting |= dict.fromkeys(users[value])

    # Nodes -----------------------------------------------------------------------------------------------------------

    def _of(self, value: SSAValue) -> Sharded:
        found = self.values.get(value)
        if found is None:
            found = self.values[value] = Sharded(static_shape(value))
        return found

    def _use(self, value: SSAValue) -> Sharded:
        """A value as an operand: each use of a constant, or of a value without elements, has a sharding of its own."""
        shape = static_shape(value)
        return Sharded(shape) if value in self.constants or 0 in shape else self._of(value)

    def _connect_all(self, block: Block) -> None:
        for op in block.ops:
            if self._is_constant(op):
                self.constants |= set(op.results)
            elif op is not block.last_op:
                self.operations.append(op)
                self._state(op)
                self._connect(op)

    def _is_constant(self, op: Operation) -> bool:
        """Whether an operation depends on nothing; then it is computed where it is used."""
        if isinstance(op, (ConstantOp, IotaOp)):
            return True
        if STATED in op.attributes or not (is_elementwise(op) or isinstance(op, BroadcastInDimOp)):
            return False
        return not isinstance(op, ConstraintOp) and self.constants.issuperset(op.operands)

    def _connect(self, op: Operation) -> None:
        if isinstance(op, WhileOp):
            for region in op.regions:
                for argument, result in zip(region.block.args, op.results, strict=True):
                    self.values[argument] = self._of(result)
                self._connect_all(region.block)
            self._edges(op, [op.operands, _yielded(op.regions[1].block)])
        elif isinstance(op, (IfOp, CaseOp)):
            for region in op.regions:
                self._connect_all(region.block)
            self._edges(op, [_yielded(region.block) for region in op.regions])
        elif isinstance(op, OptimizationBarrierOp):
            self._edges(op, [op.operands])
        elif isinstance(op, ManualComputationOp):
            self._manual_computation(op)
        elif not isinstance(op, ConstraintOp) or isinstance(op, ShardingConstraintOp):
            try:
                rule = rule_of(op)
            except VerifyException as error:
                fail(op, f"has a sharding rule that is wrong: {error}")
            if rule is not None:
                self._node(rule, map(self._use, op.operands), map(self._of, op.results), _direction(op))

    def _node(
        self,
        rule: ShardingRule,
        operands: Iterable[Sharded],
        results: Iterable[Sharded],
        direction: Callable[[int, bool], Direction],
    ) -> None:
        self.nodes.append(Node(rule, tuple(operands), tuple(results), direction))

    def _edges(self, op: Operation, sources: Sequence[Sequence[SSAValue]]) -> None:
        for result, *values in zip(op.results, *sources, strict=True):
            self._edge(list(map(self._use, values)), self._of(result))

    def _edge(self, sources: Sequence[Sharded], target: Sharded) -> None:
        rank = len(target.shape)
        if rank:
            rule = ShardingRule([rank] * len(sources), [rank]).add_common(target.shape)
            self._node(rule, sources, [target], lambda level, special: Direction.BOTH)

    def _manual_computation(self, op: ManualComputationOp) -> None:
        """The body knows only the axes that are not manual; those of the arguments and results come before them."""
        block, manual = op.regions[0].block, op.manual_axes.names
        around = [Sharded(static_shape(value)) for value in op.operands]
        self._state_all(around, op.in_shardings, op)
        for operand, value, argument in zip(op.operands, around, block.args, strict=True):
            self._edge([self._use(operand)], value)
            self.nodes.append(ManualEdge(value, self._of(argument), manual))
        self._state_all([self._of(result) for result in op.results], op.out_shardings, op)
        self._connect_all(block)
        for value, result in zip(_yielded(block), op.results, strict=True):
            self.nodes.append(ManualEdge(self._of(result), self._use(value), manual))

    # Reading and writing ---------------------------------------------------------------------------------------------

    def _entry_shardings(self, values: Sequence[Sharded], attributes: Attribute | None, what: str) -> list[bool]:
        """Take over the shardings of the function's arguments or results. Returns which have one."""
        if not isinstance(attributes, ArrayAttr):
            return [False] * len(values)
        found = [entry.data.get(STATED) for entry in cast("ArrayAttr[DictionaryAttr]", attributes).data]
        for index, (value, sharding) in enumerate(zip(values, found, strict=True)):
            if isinstance(sharding, ShardingAttr):
                try:
                    value.state(sharding, self.function)
                except VerifyException as error:
                    fail(self.function, f"has {what} {index} with a sharding that is wrong: {error}")
        return [sharding is not None for sharding in found]

    def _state(self, op: Operation) -> None:
        stated = op.attributes.get(STATED)
        if isinstance(op, ConstraintOp):
            stated = op.wanted
        if isinstance(stated, ShardingAttr):
            stated = ShardingPerValueAttr(ArrayAttr([stated]))
        if isinstance(stated, ShardingPerValueAttr) and len(stated.shardings.data) == len(op.results):
            self._state_all(list(map(self._of, op.results)), stated, op)

    def _state_all(self, values: Sequence[Sharded], shardings: ShardingPerValueAttr, op: Operation) -> None:
        try:
            for value, sharding in zip(values, shardings.shardings.data, strict=True):
                value.state(sharding, op)
        except VerifyException as error:
            fail(op, f"has a sharding that is wrong: {error}")

    def _write(self, op: Operation) -> None:
        results = [self.values[result] for result in op.results if result in self.values]
        if isinstance(op, ConstraintOp):
            op.properties["sharding"] = results[0].attribute() or op.wanted
        elif any(value.is_split for value in results):
            key = tuple((value.name, *value.axes) for value in results)
            if key not in self.spelled:
                self.spelled[key] = ShardingPerValueAttr(ArrayAttr([self._sharding(value) for value in results]))
            op.attributes[STATED] = self.spelled[key]

    def _sharding(self, value: Sharded) -> ShardingAttr:
        if value.name is None and self.mesh is not None:
            value.mesh, value.name = self.mesh.mesh, self.mesh.name
        found = value.attribute()
        assert found is not None
        return found

    def _with_shardings(self, attributes: Attribute | None, values: Sequence[Sharded]) -> Attribute:
        entries = [DictionaryAttr({}) for _ in values]
        if isinstance(attributes, ArrayAttr):
            entries = list(cast("ArrayAttr[DictionaryAttr]", attributes).data)
        return ArrayAttr([self._with_sharding(*pair) for pair in zip(entries, values, strict=True)])

    def _with_sharding(self, entry: DictionaryAttr, value: Sharded) -> DictionaryAttr:
        stated = [name for name in entry.data if name.endswith(".sharding")]
        if (stated and value.mesh is None) or not value.shape:
            return entry
        return DictionaryAttr({**entry.data, STATED: self._sharding(value)})


def _yielded(block: Block) -> Sequence[SSAValue]:
    last = block.last_op
    assert last is not None
    return last.operands


def _direction(op: Operation) -> Callable[[int, bool], Direction]:
    """In which direction shardings pass an operation, by level and whether a factor is special."""
    passes = is_elementwise(op) or isinstance(op, (ReshapeOp, TransposeOp, ConstraintOp))
    first = Direction.BOTH if passes else Direction.NONE
    if isinstance(op, (DynamicSliceOp, DynamicUpdateSliceOp)):
        first = Direction.FORWARD
    second = Direction.BACKWARD if isinstance(op, BroadcastInDimOp) else Direction.BOTH

    def direction(level: int, special: bool) -> Direction:
        if level == 0 or (level == 1 and special):
            return first
        return first | second if level == 1 else Direction.BOTH

    return direction
