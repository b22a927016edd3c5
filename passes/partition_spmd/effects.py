"""Calls that run once in a program of several devices: on one device, which broadcasts the results."""

from __future__ import annotations

import re
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType
from xdsl.ir import Block, Operation, Region, SSAValue

from ...hlo_dialect.collectives.host_transfers import CreateTokenOp
from ...hlo_dialect.collectives.process_groups import find_mesh
from ...hlo_dialect.collectives.tokens import TokenType
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.ops.check_calls import is_check
from ...hlo_dialect.ops.control_flow import IfOp, ReturnOp
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.sharding.attributes import ShardingAttr, ShardingPerValueAttr
from ...hlo_dialect.types import numpy_dtype, tensor_type
from .layouts import Layouts

_MAXIMAL = re.compile(r"\{(?:maximal )?device=([0-9]+)\}|\{maximal device=([0-9]+)\}")


def device_of(op: CustomCallOp) -> int | None:
    """
    The partition that alone makes a call: the one that its sharding names, or the first for a call with side effects.
    """
    stated = op.attributes.get("sdy.sharding")
    if isinstance(stated, ShardingPerValueAttr) and stated.shardings.data:
        stated = stated.shardings.data[0]
    if isinstance(stated, ShardingAttr):
        mesh = find_mesh(stated.mesh, op)
        numbers = mesh.numbers()
        if not mesh.sizes() and numbers is not None:
            return int(numbers.reshape(-1)[0])
    older = op.attributes.get("mhlo.sharding")
    match = _MAXIMAL.search(older.data) if isinstance(older, StringAttr) else None
    if match is not None:
        return int(match[1] or match[2])
    effect = op.has_side_effect
    return 0 if isinstance(effect, IntegerAttr) and cast("IntegerAttr[Any]", effect).value.data else None


def run_once(op: CustomCallOp, layouts: Layouts) -> bool:
    """
    Before: `%0 = custom_call @f(%x) {has_side_effect = true}`
    After:  `if (partition_id == 0) { custom_call @f(%x) } else { zeros }`, and a collective_broadcast of its results
    Returns whether it was rewritten: only calls that one device makes and that are not checks.
    """
    device = None if is_check(op) else device_of(op)
    if device is None:
        return False
    operands = [layouts.whole(value) for value in op.operands]
    call = CustomCallOp.create(
        operands=operands,
        result_types=list(op.result_types),
        properties=op.properties,
        attributes={name: value for name, value in op.attributes.items() if not name.endswith(".sharding")},
        location=op.location,
    )
    others = [_nothing(result) for result in op.results]
    builder = Builder.before(op)
    chosen = Tensor(builder, layouts.number).equals(device)
    once = IfOp.create(
        operands=[chosen.value],
        result_types=list(op.result_types),
        regions=[_region([call], list(call.results)), _region(others, [other.results[0] for other in others])],
    )
    builder.insert(once)
    for old, result in zip(op.results, once.results, strict=True):
        told = layouts.broadcast(result, device, once) if isinstance(result.type, TensorType) else result
        layouts.split(old, layouts.replicated(old), told)
    return True


def _nothing(value: SSAValue) -> Operation:
    """The placeholder for a call's result on devices that do not make the call."""
    if isinstance(value.type, TokenType):
        return CreateTokenOp.create(result_types=[value.type])
    type_ = tensor_type(value)
    return ConstantOp.of(np.zeros(1, numpy_dtype(type_.element_type)), type_)


def _region(operations: list[Any], returned: list[SSAValue]) -> Region:
    return Region(Block([*operations, ReturnOp.create(operands=returned)]))
