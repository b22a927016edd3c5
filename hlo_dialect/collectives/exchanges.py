"""
Collectives that move arrays between processes, and the numbers of the process: replica_id, partition_id.

Spec: https://openxla.org/stablehlo/spec#collective-ops
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, Signedness, UnitAttr, i32
from xdsl.ir import Attribute
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from ..diagnostics import fail
from ..op import HloOp, RegionRunner, reject
from ..shapes import DYNAMIC, types_agree, verify_results_agree
from ..syntax.structural import parse_result_only, print_result_only
from ..types import Array, make_tensor, shape_of
from .base import ALONE, CollectiveOp, PartitionCollectiveOp, check_count, check_dim, check_tensors, part_of, scaled
from .process_groups import (
    ChannelHandleAttr,
    Groups,
    ProcessId,
    ReplicaGroupMeshAxesAttr,
    groups_of,
    verify_groups,
    verify_pairs,
)

ui32 = IntegerType(32, Signedness.UNSIGNED)


@irdl_op_definition
class AllGatherOp(CollectiveOp):
    """
    Concatenate the operands of a group's processes along a dimension; each gets the result.

    Shapes: results have the operands' shapes, the gathered dimension times the size of a group.
    Raises: VerifyException naming all_gather_c1..c6. c3 (how many numbers there are) depends on the grid; it is
            checked when the program runs.
    Spec:   https://openxla.org/stablehlo/spec#all_gather
    """

    name = "hlo.all_gather"
    GRID: ClassVar[str] = "all_gather_c3"
    operands_ = var_operand_def()
    all_gather_dim = prop_def(IntegerAttr[IntegerType])
    replica_groups = prop_def(DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    use_global_device_ids = opt_prop_def(UnitAttr)
    outs = var_result_def()

    @property
    def dim(self) -> int:
        return self.all_gather_dim.value.data

    def infer_types(self) -> tuple[Attribute, ...]:
        return tuple(scaled(type_, [(self.dim, self.group_size(), 1)]) for type_ in self.operand_types)

    def verify_(self) -> None:
        check_tensors("all_gather_i1", self)
        check_dim(self, "all_gather_c1", "all_gather_dim", self.dim)
        verify_groups("all_gather", self, self.properties["replica_groups"], unique=2, bounds=4, kind=3, padded=False)
        self.verify_ids("all_gather_c5")
        check_count(self, "all_gather_c6")
        verify_results_agree(self, "all_gather_c6")
        for operand, result in zip(self.operand_types, self.result_types, strict=True):
            before, after = shape_of(operand)[self.dim], shape_of(result)[self.dim]
            if before == DYNAMIC or after == DYNAMIC:
                continue
            if before == 0 or after % before != 0:
                reject(
                    f"all_gather_c6: the result has size {after} along all_gather_dim, no multiple of the operand's "
                    f"{before}"
                )

    def exchange(self, run: RegionRunner, inputs: Sequence[tuple[Array, ...]], index: int) -> tuple[Array, ...]:
        return tuple(np.concatenate(arrays, axis=self.dim) for arrays in zip(*inputs, strict=True))


@irdl_op_definition
class AllToAllOp(PartitionCollectiveOp):
    """
    Each process of a group splits its operands along `split_dimension` and sends part i to process i, which
    concatenates the parts it receives along `concat_dimension`.

    Shapes: the split dimension divided, the concatenated one multiplied by split_count.
    Raises: VerifyException naming all_to_all_c1..c9. c6 (how many numbers there are) depends on the grid; it is
            checked when the program runs.
    Spec:   https://openxla.org/stablehlo/spec#all_to_all
    """

    name = "hlo.all_to_all"
    GRID: ClassVar[str] = "all_to_all_c6"
    operands_ = var_operand_def()
    split_dimension = prop_def(IntegerAttr[IntegerType])
    concat_dimension = prop_def(IntegerAttr[IntegerType])
    split_count = prop_def(IntegerAttr[IntegerType])
    replica_groups = prop_def(DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    outs = var_result_def()

    @property
    def split(self) -> int:
        return self.split_dimension.value.data

    @property
    def concat(self) -> int:
        return self.concat_dimension.value.data

    @property
    def count(self) -> int:
        return self.split_count.value.data

    def infer_types(self) -> tuple[Attribute, ...]:
        if self.split == self.concat:
            return tuple(self.operand_types)
        factors = [(self.split, 1, self.count), (self.concat, self.count, 1)]
        return tuple(scaled(type_, factors) for type_ in self.operand_types)

    def verify_(self) -> None:
        check_tensors("all_to_all_i1", self)
        check_dim(self, "all_to_all_c1", "split_dimension", self.split)
        check_dim(self, "all_to_all_c3", "concat_dimension", self.concat)
        count = self.count
        if count <= 0:
            reject(f"all_to_all_c4: split_count {count} is not positive")
        for operand in self.operands:
            size = shape_of(operand)[self.split]
            if size != DYNAMIC and size % count != 0:
                reject(f"all_to_all_c2: size {size} along split_dimension does not divide into {count} parts")
        attr = self.properties["replica_groups"]
        groups = verify_groups("all_to_all", self, attr, unique=5, bounds=7, kind=5, padded=False)
        if groups and len(groups[0]) != count:
            reject(f"all_to_all_c8: the groups have {len(groups[0])} processes, split_count is {count}")
        check_count(self, "all_to_all_c9")
        verify_results_agree(self, "all_to_all_c9")

    def check_group_size(self, size: int) -> None:
        if size != self.count:
            fail(self, f"all_to_all_c8: the groups have {size} processes on this grid, split_count is {self.count}")

    def exchange(self, run: RegionRunner, inputs: Sequence[tuple[Array, ...]], index: int) -> tuple[Array, ...]:
        return tuple(
            np.concatenate([part_of(array, self.split, len(inputs), index) for array in arrays], axis=self.concat)
            for arrays in zip(*inputs, strict=True)
        )


@irdl_op_definition
class CollectiveBroadcastOp(PartitionCollectiveOp):
    """
    The processes of a group get the operands of its first process; a process in no group gets zeros.

    With `has_dynamic_root` a last operand, a tensor<n x i32> for n others, holds an index in the group for each,
    of the process whose operand is taken.
    Shapes: results have the types of the operands, that of the roots left out.
    Raises: VerifyException naming collective_broadcast_c1..c3, collective_broadcast_i2 for the roots. The roots and the
            upper bound of c2 depend on the grid; they are checked when the program runs.
    Spec:   https://openxla.org/stablehlo/spec#collective_broadcast
    """

    name = "hlo.collective_broadcast"
    LINEAR: ClassVar[bool] = True
    GRID: ClassVar[str] = "collective_broadcast_c2"
    operands_ = var_operand_def()
    replica_groups = prop_def(DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    has_dynamic_root = opt_prop_def(UnitAttr)
    outs = var_result_def()

    @property
    def count(self) -> int:
        """The number of operands that are broadcast."""
        return len(self.operands) - (self.has_dynamic_root is not None)

    def infer_types(self) -> tuple[Attribute, ...]:
        return tuple(self.operand_types)[: self.count]

    def verify_(self) -> None:
        check_tensors("collective_broadcast_i1", self)
        if self.count < 1 or self.count != len(self.results):
            reject(f"collective_broadcast_c3: there are {len(self.results)} results for {max(self.count, 0)} operands")
        roots = make_tensor((self.count,), i32)
        if self.has_dynamic_root is not None and not types_agree(roots, self.operands[-1].type):
            reject(f"collective_broadcast_i2: the roots have type {self.operands[-1].type}, expected {roots}")
        attr = self.properties["replica_groups"]
        verify_groups("collective_broadcast", self, attr, unique=1, bounds=2, kind=2, padded=False, dense=False)
        verify_results_agree(self, "collective_broadcast_c3")

    def covers(self) -> bool:
        return False

    def absent(self, operands: tuple[Array, ...]) -> tuple[Array, ...]:
        return super().absent(operands[: self.count])

    def exchange(self, run: RegionRunner, inputs: Sequence[tuple[Array, ...]], index: int) -> tuple[Array, ...]:
        try:
            return chosen_by_roots(inputs, inputs[index][-1]) if self.has_dynamic_root is not None else inputs[0]
        except ValueError as error:
            fail(self, str(error))


def chosen_by_roots(inputs: Sequence[tuple[Array, ...]], roots: Array) -> tuple[Array, ...]:
    """Operand i of the process `roots[i]` of a group. Raises ValueError for a root outside the group."""
    numbers: list[int] = roots.tolist()
    if not all(0 <= number < len(inputs) for number in numbers):
        raise ValueError(f"the roots {numbers} are not all in [0, {len(inputs)}), the processes of the group")
    return tuple(inputs[number][position] for position, number in enumerate(numbers))


@irdl_op_definition
class CollectivePermuteOp(PartitionCollectiveOp):
    """
    Each target process of a pair gets its source process's operand; a process that is no target gets zeros.

    Shapes: result has the operand's type.
    Raises: VerifyException naming collective_permute_c1..c5. The upper bound of c4 depends on the grid; it is checked
            when the program runs.
    Spec:   https://openxla.org/stablehlo/spec#collective_permute
    """

    name = "hlo.collective_permute"
    LINEAR: ClassVar[bool] = True
    GRID: ClassVar[str] = "collective_permute_c4"
    operand = operand_def()
    source_target_pairs = prop_def(DenseIntOrFPElementsAttr)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    result = result_def()

    def pairs(self) -> Groups:
        return groups_of(self, self.properties["source_target_pairs"])

    def groups(self) -> Groups:
        """One group of all processes that a pair names, in ascending order."""
        numbers = sorted({number for pair in self.pairs() for number in pair})
        return (tuple(numbers),) if numbers else ()

    def infer_types(self) -> tuple[Attribute, ...]:
        return tuple(self.operand_types)

    def verify_(self) -> None:
        check_tensors("collective_permute_i1", self)
        names = [f"collective_permute_c{number}" for number in (1, 2, 3, 4)]
        verify_pairs(names, cast("DenseIntOrFPElementsAttr[Any]", self.properties["source_target_pairs"]))
        verify_results_agree(self, "collective_permute_c5")

    def covers(self) -> bool:
        return False

    def exchange(self, run: RegionRunner, inputs: Sequence[tuple[Array, ...]], index: int) -> tuple[Array, ...]:
        (numbers,) = self.groups()
        source = {target: source for source, target in self.pairs()}.get(numbers[index])
        return (np.zeros_like(inputs[0][0]),) if source is None else inputs[numbers.index(source)]


class ProcessNumberOp(HloOp):
    """partition_id and replica_id: the process's coordinates in the grid; 0 in a program that runs on one process."""

    COORDINATE: ClassVar[int] = 0
    result = result_def()
    traits = traits_def(Pure())

    def number(self, process: ProcessId) -> Array:
        return np.asarray(process[self.COORDINATE], np.uint32)

    @classmethod
    def parse(cls, parser: Parser) -> ProcessNumberOp:
        return parse_result_only(cls, parser)

    def print(self, printer: Printer) -> None:
        print_result_only(printer, self)

    def infer_types(self) -> tuple[Attribute, ...]:
        return (make_tensor((), ui32),)

    def verify_(self) -> None:
        wanted = make_tensor((), ui32)
        if self.results[0].type != wanted:
            reject(f"{self.name.partition('.')[2]}_o1: result has type {self.results[0].type}, expected {wanted}")

    def reference(self, *operands: Array) -> Array:
        return self.number(ALONE)


@irdl_op_definition
class ReplicaIdOp(ProcessNumberOp):
    """
    The number of the replica that runs.

    Types: result (o1) is tensor<ui32>.
    Spec:  https://openxla.org/stablehlo/spec#replica_id
    """

    name = "hlo.replica_id"


@irdl_op_definition
class PartitionIdOp(ProcessNumberOp):
    """
    The number of the partition that runs.

    Types: result (o1) is tensor<ui32>.
    Spec:  https://openxla.org/stablehlo/spec#partition_id
    """

    name = "hlo.partition_id"
    COORDINATE: ClassVar[int] = 1


OPS = (AllGatherOp, AllToAllOp, CollectiveBroadcastOp, CollectivePermuteOp, PartitionIdOp, ReplicaIdOp)
