"""
The base of the collective operations: processes of a grid exchange arrays within groups.

An operation computes the result of one process from the operands of all processes of its group (`exchange`); the
interpreter collects them. On a grid of one process every collective is local, which `decompose-hlo` uses. Grouping is
in process_groups.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute

from ..diagnostics import fail
from ..op import HloOp, RegionOp, RegionRunner, reject
from ..ops.control_flow import types_text
from ..shapes import DYNAMIC, shape_text, shapes_agree
from ..types import Array, element_of, make_tensor, shape_of
from .process_groups import (
    ChannelHandleAttr,
    Grouping,
    Groups,
    ProcessId,
    UndefinedMeshError,
    groups_of,
    process_groups,
)

ALONE: ProcessId = (0, 0)


@dataclass(frozen=True)
class Membership:
    """The group in which a process runs a collective, and the process's index there."""

    group: tuple[ProcessId, ...]
    index: int


class CollectiveOp(RegionOp):
    """
    An operation in which the processes of a group wait for each other and exchange their operands.

    Subclasses verify themselves and compute one member's results from the operands of the whole group (`exchange`).
    """

    GRID: ClassVar[str] = ""
    """The constraint on the numbers of the groups that depends on the size of the grid."""

    @property
    def channel_id(self) -> int:
        channel = self.properties.get("channel_handle")
        return channel.handle if isinstance(channel, ChannelHandleAttr) else 0

    @property
    def global_ids(self) -> bool:
        return "use_global_device_ids" in self.properties

    def grouping(self) -> Grouping:
        """The meaning of the numbers in the groups."""
        if self.channel_id <= 0:
            return Grouping.CROSS_REPLICA
        return Grouping.FLATTENED_IDS if self.global_ids else Grouping.CROSS_REPLICA_AND_PARTITION

    def groups(self) -> Groups:
        """The rows of replica_groups. Raises DiagnosticError if they name a mesh that is not defined."""
        try:
            return groups_of(self, self.properties["replica_groups"])
        except UndefinedMeshError as error:
            fail(self, f"cannot run: {error}")

    def membership(self, process: ProcessId, replicas: int, partitions: int) -> Membership | None:
        """The group of `process` in a grid; None if no group contains it."""
        groups = self.groups()
        if not groups and not self.covers():
            return None
        for group in process_groups(self.grouping(), groups, replicas, partitions):
            if process in group:
                return Membership(group, group.index(process))
        return None

    def group_size(self) -> int | None:
        """The number of processes in a group, if the program alone determines it."""
        try:
            groups = groups_of(self, self.properties["replica_groups"])
        except UndefinedMeshError:
            return None
        if not groups or self.grouping() is Grouping.CROSS_REPLICA_AND_PARTITION:
            return None
        return len(groups[0])

    def covers(self) -> bool:
        """Whether every process of the grid must be in a group."""
        return True

    def exchange(self, run: RegionRunner, inputs: Sequence[tuple[Array, ...]], index: int) -> tuple[Array, ...]:
        """The results of process `index` of the group; `inputs` holds the operands of each process, in order."""
        raise NotImplementedError(f"{self.name} has no reference semantics")

    def absent(self, operands: tuple[Array, ...]) -> tuple[Array, ...]:
        """The results of a process in no group, where `covers` allows it: zeros."""
        return tuple(map(np.zeros_like, operands))

    def run_group(self, run: RegionRunner, inputs: Sequence[tuple[Array, ...]], index: int) -> tuple[Array, ...]:
        """`exchange`, after checking the constraints that depend on the size of the group. Raises DiagnosticError."""
        self.check_group_size(len(inputs))
        results = self.exchange(run, inputs, index)
        for result, type_ in zip(results, self.result_types, strict=True):
            if not shapes_agree(result.shape, shape_of(type_)):
                shape = shape_text(result.shape)
                fail(self, f"has a result of shape {shape} in a group of {len(inputs)} processes, its type is {type_}")
        return results

    def check_group_size(self, size: int) -> None:
        """Raise DiagnosticError if the operation does not fit groups of `size` processes."""

    def check_grid(self, replicas: int, partitions: int) -> None:
        """The constraint that depends on the size of the grid (`GRID`). Raises DiagnosticError."""
        numbers = sorted(number for group in self.groups() for number in group)
        grouping = self.grouping()
        limit = grouping.whole(replicas, partitions)
        if self.covers():
            right = not numbers or numbers == list(range(limit))
        else:
            right = not numbers or numbers[-1] < limit
        if not right:
            fail(self, f"{self.GRID}: it names processes {_ranges(numbers)}, {grouping} has {limit} on this grid")

    def reference_with_regions(self, run: RegionRunner, *operands: Array) -> tuple[Array, ...]:
        """On a grid of one process."""
        if self.names_others():
            raise NotImplementedError(NEEDS_MORE)
        if self.membership(ALONE, 1, 1) is None:
            return self.absent(operands)
        return self.run_group(run, [operands], 0)

    def names_others(self) -> bool:
        """Whether the operation names processes other than the first."""
        return any(number != 0 for group in self.groups() for number in group)

    def verify_ids(self, constraint: str) -> None:
        if self.global_ids and self.channel_id <= 0:
            reject(f"{constraint}: use_global_device_ids needs a channel, the channel_id is {self.channel_id}")
        attr = self.properties["replica_groups"]
        named = not isinstance(attr, DenseIntOrFPElementsAttr) or bool(groups_of(self, cast(Attribute, attr)))
        if self.global_ids and not named:
            reject(f"{constraint}: use_global_device_ids needs replica_groups that name processes")


NEEDS_MORE = "several processes exchange data, and the program runs on one (hlo-run --num-replicas=N simulates more)"


def _ranges(numbers: Sequence[int]) -> str:
    """The first and last of the sorted numbers, and how many there are."""
    return f"{numbers[0]}..{numbers[-1]} ({len(numbers)})"


def is_tensor(type_: Attribute) -> bool:
    return isinstance(type_, TensorType)


def check_tensors(constraint: str, op: HloOp) -> None:
    types = tuple(op.operand_types)
    if not all(map(is_tensor, types)):
        reject(f"{constraint}: operands have types {types_text(types)}, expected tensors")


def check_count(op: HloOp, constraint: str) -> None:
    count, results = len(op.operands), len(op.results)
    if count != results:
        reject(f"{constraint}: there are {results} results for {count} operands")


def check_dim(op: HloOp, constraint: str, name: str, dim: int) -> None:
    """The dimension exists in every operand."""
    for operand in op.operands:
        rank = len(shape_of(operand))
        if not (0 <= dim < rank):
            reject(f"{constraint}: {name} {dim} is not in [0, {rank}), the operand's dimensions")


def scaled(type_: Attribute, factors: Sequence[tuple[int, int | None, int]]) -> Attribute:
    """The tensor type with sizes multiplied and divided: (dimension, times, over); unknown factors give `?`."""
    shape = list(shape_of(type_))
    for dim, times, over in factors:
        known = times is not None and shape[dim] != DYNAMIC
        shape[dim] = shape[dim] * (times or 0) // over if known else DYNAMIC
    return make_tensor(tuple(shape), element_of(type_))


def part_of(array: Array, dim: int, count: int, index: int) -> Array:
    """Part `index` of `count` equal parts along a dimension."""
    size = array.shape[dim] // count
    return array[(slice(None),) * dim + (slice(index * size, (index + 1) * size),)]


class PartitionCollectiveOp(CollectiveOp):
    """A collective whose groups are of replicas or, with a channel, of partitions."""

    def grouping(self) -> Grouping:
        return Grouping.CROSS_PARTITION if self.channel_id > 0 else Grouping.CROSS_REPLICA
