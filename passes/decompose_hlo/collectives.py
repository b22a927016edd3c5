"""Collectives: on one process each becomes what its only process gets, on several a call of the runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

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
from ...hlo_dialect.collectives.reductions import AllReduceOp, CrossReplicaSumOp, ReduceScatterOp
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.conversion import ConvertOp
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.sharding.operations import MeshOp
from ...hlo_dialect.types import dense_constant, make_tensor, numpy_dtype, shape_of, tensor_type
from .collective_calls import collective_call, number_call

_WHAT_TO_DO = "the module does not say that it runs on several (mhlo.num_replicas, mhlo.num_partitions)"


def _module_of(op: Operation) -> ModuleOp | None:
    around: Operation | None = op
    while around is not None and not isinstance(around, ModuleOp):
        around = around.parent_op()
    return around


def _collective(op: CollectiveOp) -> Sequence[Operation]:
    module = _module_of(op)
    if module is None or grid_of(module) == (1, 1):
        return _alone(op)
    return collective_call(op, module, *grid_of(module))


def _alone(op: CollectiveOp) -> Sequence[Operation]:
    """
    Before: `%0 = all_reduce(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ..`
    After:  %x for %0; converted, where the computation is of another type; zeros, where nobody sends.
    """
    if op.names_others():
        fail(op, f"is not supported: several processes exchange data; {_WHAT_TO_DO}")
    new_ops: list[Operation] = []
    values: list[SSAValue] = []
    local = op.membership(ALONE, 1, 1) is not None
    for operand, result in zip(op.operands, op.results, strict=True):
        value, type_ = operand, tensor_type(result)
        if not local:
            zero = np.zeros(1, numpy_dtype(type_.element_type))
            new_ops.append(ConstantOp.of(zero, make_tensor(shape_of(operand), type_.element_type)))
            value = new_ops[-1].results[0]
        elif tensor_type(operand).element_type != type_.element_type:
            new_ops.append(ConvertOp.create(operands=[operand], result_types=[type_]))
            value = new_ops[-1].results[0]
        values.append(value)
    replace_op(op, new_ops, values)
    return new_ops


def _number(op: ProcessNumberOp) -> Sequence[Operation]:
    """
    Before: `%0 = replica_id : tensor<ui32>`
    After:  `%0 = constant dense<0> : tensor<ui32>`, on one process
    """
    module = _module_of(op)
    if module is not None and grid_of(module) != (1, 1):
        return number_call(op)
    constant = ConstantOp.of(op.number(ALONE).reshape(1), tensor_type(op.results[0]))
    replace_op(op, [constant], constant.results)
    return [constant]


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


DECOMPOSITIONS = (
    (AllGatherOp, _collective),
    (AllReduceOp, _collective),
    (AllToAllOp, _collective),
    (CollectiveBroadcastOp, _collective),
    (CollectivePermuteOp, _collective),
    (CrossReplicaSumOp, _collective),
    (MeshOp, _forget),
    (PartitionIdOp, _number),
    (ReduceScatterOp, _collective),
    (ReplicaIdOp, _number),
)
