"""Collectives: with a single process each becomes that process's result, with several a runtime call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from ...hlo_dialect.collectives.base import ALONE, CollectiveOp
from ...hlo_dialect.collectives.exchanges import (
    AllGatherOp,
    AllToAllOp,
    CollectiveBroadcastOp,
    CollectivePermuteOp,
    PartitionIdOp,
    ProcessNumberOp,
    ReplicaIdOp,
)
from ...hlo_dialect.collectives.process_groups import ReplicaGroupMeshAxesAttr, grid_of
from ...hlo_dialect.collectives.reductions import AllReduceOp, CollectiveReduceOp, CrossReplicaSumOp, ReduceScatterOp
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.sharding.operations import MeshOp
from ...hlo_dialect.types import dense_constant, element_of, make_tensor, numpy_dtype, tensor_type
from .collective_calls import collective_call, number_call
from .transform import decompositions

_WHAT_TO_DO = "the module does not say that it runs on several (mhlo.num_replicas, mhlo.num_partitions)"


def _module_of(op: Operation) -> ModuleOp | None:
    around: Operation | None = op
    while around is not None and not isinstance(around, ModuleOp):
        around = around.parent_op()
    return around


@decompositions.on(
    AllGatherOp,
    AllReduceOp,
    AllToAllOp,
    CollectiveBroadcastOp,
    CollectivePermuteOp,
    CollectiveReduceOp,
    CrossReplicaSumOp,
    ReduceScatterOp,
)
def _collective(op: CollectiveOp) -> Sequence[Operation]:
    module = _module_of(op)
    if module is None or grid_of(module) == (1, 1):
        return _alone(op)
    return collective_call(op, module, *grid_of(module))


def _alone(op: CollectiveOp) -> Sequence[Operation]:
    """
    Before: `%0 = all_reduce(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ..`
    After:  %x for %0; converted if the computation has another type; zeros if no process sends.
    """
    if op.names_others():
        fail(op, f"is not supported: several processes exchange data; {_WHAT_TO_DO}")
    builder = Builder()
    local = op.membership(ALONE, 1, 1) is not None
    if local:
        op.check_group_size(1)
    values: list[Tensor] = []
    for x, result in zip(builder.tensors(op.operands[: len(op.results)]), op.results, strict=True):
        element = element_of(result)
        zeros = make_tensor(x.shape, element)
        values.append(x.convert(element) if local else builder.constant(np.zeros(1, numpy_dtype(element)), zeros))
    return builder.replace(op, *values)


@decompositions.on(PartitionIdOp, ReplicaIdOp)
def _number(op: ProcessNumberOp) -> Sequence[Operation]:
    """
    Before: `%0 = replica_id : tensor<ui32>`
    After:  `%0 = constant dense<0> : tensor<ui32>`, on one process
    """
    module = _module_of(op)
    if module is not None and grid_of(module) != (1, 1):
        return number_call(op)
    builder = Builder()
    return builder.replace(op, builder.constant(op.number(ALONE).reshape(1), tensor_type(op.results[0])))


@decompositions.on(MeshOp)
def _forget(op: MeshOp) -> Sequence[Operation]:
    """
    Before: `sdy.mesh @mesh = <["x"=2]>`, `replica_groups = #hlo.replica_group_mesh_axes<mesh = @mesh, ..>`
    After:  `replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>`
    """
    module = _module_of(op)
    for user in () if module is None else module.walk():
        groups = user.properties.get("replica_groups")
        if isinstance(user, CollectiveOp) and isinstance(groups, ReplicaGroupMeshAxesAttr):
            user.properties["replica_groups"] = cast(Attribute, dense_constant(np.array(user.groups(), np.int64)))
    replace_op(op, [], [])
    return []
