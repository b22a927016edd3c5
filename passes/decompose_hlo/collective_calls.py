"""Lower collectives over several devices to calls of the runtime's rendezvous, where the devices' threads meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import BoolAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue

from ...hlo_dialect.attributes import int_array, int_attr
from ...hlo_dialect.collectives.base import CollectiveOp
from ...hlo_dialect.collectives.exchanges import AllGatherOp, AllToAllOp, CollectivePermuteOp, ProcessNumberOp
from ...hlo_dialect.collectives.process_groups import Groups, process_groups
from ...hlo_dialect.collectives.reductions import AllReduceOp, CollectiveReduceOp, CrossReplicaSumOp, ReduceScatterOp
from ...hlo_dialect.custom_calls.collective_calls import COMBINERS
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.mapping import MapOp
from ...hlo_dialect.ops.reduction import single_combiner
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import dense_constant, element_of, f32, is_narrow_float, make_tensor, shape_of

_COUNTER = "xhlo.collectives"
"""Module attribute: the number of collectives numbered so far."""


def collective_call(op: CollectiveOp, module: ModuleOp, replicas: int, partitions: int) -> Sequence[Operation]:
    """
    Before: `%0 = all_gather(%x) <{all_gather_dim = 0, replica_groups = dense<[[0, 1]]>}> ..`
    After:  `%0 = custom_call @xhlo.all_gather(%x) {mhlo.backend_config = {dim = 0, groups = dense<[[0, 1]]>, ..}} ..`
    A reduction that the runtime does not implement becomes an all_gather followed by a local reduction;
    collective_reduce becomes an all_reduce followed by a collective_permute that only the first process of each group
    sends to itself.
    """
    if not all(is_static(shape_of(value)) for value in (*op.operands, *op.results)):
        fail(op, "is not supported: its shapes must be known to run on several devices")
    call = _Call(op, module, replicas, partitions)
    match op:
        case AllGatherOp():
            call.finish("all_gather", op.operands, {"dim": int_attr(op.dim)})
        case AllToAllOp():
            call.finish("all_to_all", op.operands, {"dim": int_attr(op.split), "concat": int_attr(op.concat)})
        case CollectivePermuteOp():
            call.finish("collective_permute", op.operands, {"pairs": call.table(op.pairs())})
        case CrossReplicaSumOp():
            call.reduce("all_reduce", "hlo.add", {})
        case AllReduceOp() | ReduceScatterOp():
            _reduction(op, call)
        case CollectiveReduceOp():
            _reduction(op, call)
            call.keep_first()
        case _:
            roots = {name: value for name, value in op.properties.items() if name == "has_dynamic_root"}
            call.finish("collective_broadcast", op.operands, roots)
    return call.builder.replace(op, *call.values)


def number_call(op: ProcessNumberOp) -> Sequence[Operation]:
    """`%0 = partition_id : tensor<ui32>` becomes `%0 = custom_call @xhlo.partition_id() : () -> tensor<ui32>`."""
    new = CustomCallOp.create(
        result_types=list(op.result_types),
        properties={"call_target_name": StringAttr(f"xhlo.{op.name.partition('.')[2]}")},
    )
    replace_op(op, [new], new.results)
    return [new]


def _reduction(op: AllReduceOp | CollectiveReduceOp | ReduceScatterOp, call: _Call) -> None:
    dim = op.dim if isinstance(op, ReduceScatterOp) else None
    combiner = single_combiner(op.regions[0])
    if combiner is not None and combiner.name in COMBINERS:
        target = "all_reduce" if dim is None else "reduce_scatter"
        call.reduce(target, combiner.name, {} if dim is None else {"dim": int_attr(dim)})
    else:
        call.fold(op.regions[0], dim)


class _Call:
    """Builds the replacement of one collective."""

    def __init__(self, op: CollectiveOp, module: ModuleOp, replicas: int, partitions: int):
        self.op = op
        self.grid = (replicas, partitions)
        op.check_grid(replicas, partitions)
        counter = module.attributes.get(_COUNTER)
        self.number = counter.value.data if isinstance(counter, IntegerAttr) else 0
        module.attributes[_COUNTER] = int_attr(self.number + 1)
        covered = op.groups() or op.covers()
        self.groups = self.flattened(op.groups()) if covered else ()
        for group in self.groups:
            op.check_group_size(len(group))
        self.builder = Builder()
        self.values: list[SSAValue] = []

    def flattened(self, groups: Groups) -> Groups:
        """Convert rows of process numbers to rows of device numbers, for the whole grid."""
        _, partitions = self.grid
        found = process_groups(self.op.grouping(), groups, *self.grid)
        return tuple(tuple(replica * partitions + partition for replica, partition in group) for group in found)

    def table(self, pairs: Groups) -> Attribute:
        """Pairs of processes as an attribute."""
        return _table(self.flattened(pairs) if pairs else (), 2)

    def emit(
        self, target: str, operands: Sequence[SSAValue], types: Sequence[Attribute], stated: Mapping[str, Attribute]
    ) -> list[SSAValue]:
        width = max(map(len, self.groups), default=1)
        stated = {"number": int_attr(self.number), "groups": _table(self.groups, width), **stated}
        call = CustomCallOp.create(
            operands=list(operands),
            result_types=list(types),
            properties={
                "call_target_name": StringAttr(f"xhlo.{target}"),
                "has_side_effect": BoolAttr.from_bool(True),
            },
            attributes={"mhlo.backend_config": DictionaryAttr(dict(sorted(stated.items())))},
        )
        self.builder.insert(call)
        return list(call.results)

    def finish(self, target: str, operands: Sequence[SSAValue], stated: Mapping[str, Attribute]) -> None:
        """Replace the collective by a call with the same results."""
        self._check_results(operands[: len(self.op.results)])
        self.values = self.emit(target, operands, self.op.result_types, stated)

    def _check_results(self, operands: Sequence[SSAValue]) -> None:
        """Check that the result shapes match the group size, which must be the same for all groups."""
        op = self.op
        for operand, result in zip(operands, op.results, strict=True):
            for size in sorted({len(group) for group in self.groups}):
                before, after = list(shape_of(operand)), list(shape_of(result))
                if isinstance(op, AllGatherOp):
                    before[op.dim] *= size
                elif isinstance(op, ReduceScatterOp):
                    before[op.dim], rest = divmod(before[op.dim], size)
                    after[op.dim] = -1 if rest else after[op.dim]
                elif isinstance(op, AllToAllOp):
                    continue
                if before != after:
                    fail(op, f"has a result of type {result.type} in a group of {size} processes, which does not fit")

    def reduce(self, target: str, combiner: str, stated: Mapping[str, Attribute]) -> None:
        """A reduction that the runtime computes, in the element type of the results; a sum of short floats in f32."""
        op = self.op
        wide = isinstance(op, CrossReplicaSumOp) and is_narrow_float(element_of(op.results[0]))
        elements = [f32 if wide else element_of(result) for result in op.results]
        operands = [self.converted(*pair) for pair in zip(op.operands, elements, strict=True)]
        self._check_results(operands)
        types = [make_tensor(shape_of(result), e) for result, e in zip(op.results, elements, strict=True)]
        results = self.emit(target, operands, types, {"combiner": StringAttr(combiner), **stated})
        self.values = [self.converted(v, element_of(old)) for v, old in zip(results, op.results, strict=True)]

    def keep_first(self) -> None:
        """Leave the values to the first process of each group; the others get zeros."""
        pairs = tuple((group[0], group[0]) for group in self.groups)
        types = [value.type for value in self.values]
        self.values = self.emit("collective_permute", self.values, types, {"pairs": _table(pairs, 2)})

    def converted(self, value: SSAValue, element: Attribute) -> SSAValue:
        return Tensor(self.builder, value).convert(element).value

    def fold(self, body: Region, dim: int | None) -> None:
        """Gather the operands, or the group's slices of them along `dim`, and fold them with the body."""
        sizes = {len(group) for group in self.groups}
        if len(sizes) != 1:
            fail(self.op, "is not supported: groups of different sizes reduce with more than one operation")
        (count,) = sizes
        self._check_results(self.op.operands)
        for operand, result in zip(self.op.operands, self.op.results, strict=True):
            x = Tensor(self.builder, operand).convert(element_of(result))
            stacked = x.reshape((1, *x.shape)).value
            gathered = make_tensor((count, *shape_of(result)), element_of(result))
            if dim is None:
                (parts,) = self.emit("all_gather", [stacked], [gathered], {"dim": int_attr(0)})
            else:
                stated = {"dim": int_attr(dim + 1), "concat": int_attr(0)}
                (parts,) = self.emit("all_to_all", [stacked], [gathered], stated)
            level = [Tensor(self.builder, parts).take(0, index) for index in range(count)]
            while len(level) > 1:
                paired = [self.mapped(body, level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
                level = [*paired, *level[len(level) - len(level) % 2 :]]
            self.values.append(level[0].value)

    def mapped(self, body: Region, first: Tensor, second: Tensor) -> Tensor:
        dimensions = int_array(range(len(first.shape)))
        return self.builder.op(MapOp, [first, second], first.type, [body.clone()], dimensions=dimensions)


def _table(rows: Groups, width: int) -> Attribute:
    """Rows of numbers, padded with -1."""
    table = np.full((len(rows), width), -1, np.int64)
    for index, row in enumerate(rows):
        table[index, : len(row)] = row
    return cast(Attribute, dense_constant(table))
