"""Opcodes of several devices: collectives, their asynchronous forms, and those that talk to the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ....hlo_dialect.attributes import bool_attr, int_attr
from ....hlo_dialect.collectives.exchanges import (
    AllGatherOp,
    AllToAllOp,
    CollectiveBroadcastOp,
    CollectivePermuteOp,
    PartitionIdOp,
    ReplicaIdOp,
)
from ....hlo_dialect.collectives.host_transfers import (
    AfterAllOp,
    CreateTokenOp,
    InfeedOp,
    OutfeedOp,
    RecvOp,
    SendOp,
)
from ....hlo_dialect.collectives.process_groups import ChannelHandleAttr, ChannelType
from ....hlo_dialect.collectives.reductions import AllReduceOp, CollectiveReduceOp, ReduceScatterOp
from ....hlo_dialect.expressions.tensor import concatenate
from ....hlo_dialect.types import dense_constant
from ..header import device_counts
from ..registry import opcode, opcodes
from ..shapes import TOKEN, Shape
from ..step import Step, Value, structured
from ..values import read_groups, unquoted

_DEVICES = "replica_groups channel_id constrain_layout use_global_device_ids mode"


def _channel(step: Step, kind: ChannelType = ChannelType.DEVICE_TO_DEVICE) -> ChannelHandleAttr | None:
    if not step.has("channel_id"):
        return None
    return ChannelHandleAttr(int_attr(step.int("channel_id")), int_attr(kind.value))


def _groups(step: Step) -> Attribute:
    """The groups as a matrix, short rows filled with -1. No groups are one group of all."""
    groups = step.attribute("replica_groups", read_groups, ())
    groups = groups or (tuple(range(_everybody(step))),)
    longest = max(map(len, groups))
    rows = [[*group, *[-1] * (longest - len(group))] for group in groups]
    return dense_constant(np.array(rows, np.int64).reshape(len(rows), longest))


def _everybody(step: Step) -> int:
    """The number of the processes that the groups of this collective are made of."""
    replicas, partitions = device_counts(step.converter.program)
    if step.bool("use_global_device_ids", False):
        return replicas * partitions
    by_partition = step.has("channel_id") and step.instruction.opcode in ("all-to-all", "collective-broadcast")
    return partitions if by_partition else replicas


def _global(step: Step) -> UnitAttr | None:
    return UnitAttr() if step.bool("use_global_device_ids", False) else None


def _reducing(step: Step, cls: type[Operation]) -> Value:
    devices = {"replica_groups": _groups(step), "channel_handle": _channel(step)}
    regions = [step.region(step.computation("to_apply"))]
    return step.op(cls, step.flat(), regions, use_global_device_ids=_global(step), **devices)


@opcode("all-reduce", f"{_DEVICES} to_apply")
def all_reduce(step: Step) -> Value:
    return _reducing(step, AllReduceOp)


@opcode("collective-reduce", f"{_DEVICES} to_apply")
def collective_reduce(step: Step) -> Value:
    return _reducing(step, CollectiveReduceOp)


@opcode("reduce-scatter", f"{_DEVICES} dimensions to_apply")
def reduce_scatter(step: Step) -> Value:
    """One operation for each operand, which HLO scatters together."""
    results: list[SSAValue] = []
    for operand, type_ in _pairs(step):
        op = ReduceScatterOp.create(
            operands=[operand],
            result_types=[type_],
            properties=_present(
                scatter_dimension=int_attr(step.dimension()),
                replica_groups=_groups(step),
                channel_handle=_channel(step),
                use_global_device_ids=_global(step),
            ),
            regions=[step.region(step.computation("to_apply"))],
        )
        results += step.insert(op).results
    return structured(step.shape, iter(results))


def _pairs(step: Step) -> list[tuple[SSAValue, Attribute]]:
    """The operands and the types of their results."""
    operands, types = step.flat(), step.shape.types()
    if len(operands) != len(types):
        step.fail(f"{len(operands)} operands have {len(operands)} results, there are {len(types)}")
    return list(zip(operands, types, strict=True))


def _present(**properties: Attribute | None) -> dict[str, Attribute]:
    return {name: value for name, value in properties.items() if value is not None}


@opcode("all-gather", f"{_DEVICES} dimensions")
def all_gather(step: Step) -> Value:
    return step.op(
        AllGatherOp,
        step.flat(),
        all_gather_dim=int_attr(step.dimension()),
        replica_groups=_groups(step),
        channel_handle=_channel(step),
        use_global_device_ids=_global(step),
    )


@opcode("all-to-all", f"{_DEVICES} dimensions")
def all_to_all(step: Step) -> Value:
    """
    With `dimensions` parts of one array go to the devices; without, operand i goes to device i of the group, whose
    operands come back as the results.
    """
    groups = step.attribute("replica_groups", read_groups, ())
    count = len(groups[0]) if groups else _everybody(step)
    channel = {"channel_handle": _channel(step), "replica_groups": _groups(step), "split_count": int_attr(count)}
    if step.has("dimensions"):
        dim = int_attr(step.dimension())
        return step.op(AllToAllOp, step.flat(), split_dimension=dim, concat_dimension=dim, **channel)
    tensors = [step.tensor(index) for index in range(len(step.operands))]
    if len(tensors) != count or any(each.type != tensors[0].type for each in tensors):
        step.fail(f"expected {count} operands of one type, one for each device of a group")
    stacked = concatenate([each.reshape((1, *each.shape)) for each in tensors], 0)
    sent = stacked.builder.op(
        AllToAllOp,
        [stacked],
        stacked.type,
        split_dimension=int_attr(0),
        concat_dimension=int_attr(0),
        **_present(**channel),
    )
    results = [sent.part(0, index, index + 1).reshape(tensors[0].shape).value for index in range(count)]
    return structured(step.shape, iter(results))


@opcode("collective-broadcast", _DEVICES)
def collective_broadcast(step: Step) -> Value:
    return step.op(CollectiveBroadcastOp, step.flat(), replica_groups=_groups(step), channel_handle=_channel(step))


@opcode("collective-permute", "source_target_pairs channel_id slice_sizes")
def collective_permute(step: Step) -> Value:
    if step.has("slice_sizes"):
        step.fail("permuting slices in place is not supported", "slice_sizes")
    found = step.attribute("source_target_pairs", read_groups)
    if any(len(pair) != 2 for pair in found):
        step.fail("source_target_pairs is no list of pairs", "source_target_pairs")
    sources = dense_constant(np.array(found, np.int64).reshape(len(found), 2))
    results: list[SSAValue] = []
    for operand, type_ in _pairs(step):
        properties = _present(source_target_pairs=sources, channel_handle=_channel(step))
        op = CollectivePermuteOp.create(operands=[operand], result_types=[type_], properties=properties)
        results += step.insert(op).results
    return structured(step.shape, iter(results))


@opcode("partition-id", "", 0)
def partition_id(step: Step) -> Value:
    return step.op(PartitionIdOp, ())


@opcode("replica-id", "", 0)
def replica_id(step: Step) -> Value:
    return step.op(ReplicaIdOp, ())


# Asynchronous operations ------------------------------------------------------------------------------------------
# They are computed where they begin. The value of a start is a tuple as in HLO: operands, results, and a context that
# has no value here.


def _started(step: Step, inner: str, shape: Shape) -> Value:
    """The value of the operation that a start begins."""
    found = opcodes().get(inner)
    if found is None:
        step.fail(f"'{inner}' is an unknown opcode")
    return found.convert(_Inner(step, inner, shape))


class _Inner(Step):
    """The step of an operation that another one begins: the same operands, and a part of its shape."""

    def __init__(self, step: Step, opcode: str, shape: Shape):
        instruction = replace(step.instruction, form=replace(step.instruction.form, opcode=opcode))
        shapes = dict(zip(instruction.operands, step.operand_shapes, strict=True))
        super().__init__(step.converter, step.block, instruction, step.operands, shapes, step.depth)
        self.made = step.made
        self._shape = shape

    @property
    def shape(self) -> Shape:
        return self._shape


def _part(step: Step, index: int) -> Shape:
    """A part of the tuple that a start returns."""
    if index >= len(step.shape.parts):
        step.fail(f"its shape is no tuple of at least {index + 1} parts")
    return step.shape.parts[index]


def _with_context(step: Step, *values: Value) -> Value:
    return (*values, *[None] * (len(step.shape.parts) - len(values)))


@opcode("all-reduce-start", f"{_DEVICES} to_apply")
def all_reduce_start(step: Step) -> Value:
    return _reducing(step, AllReduceOp)


@opcode("all-reduce-done", "", 1)
def all_reduce_done(step: Step) -> Value:
    return step.operands[0]


@opcode("all-gather-start", f"{_DEVICES} dimensions")
def all_gather_start(step: Step) -> Value:
    return _with_operands(step, "all-gather")


@opcode("collective-permute-start", "source_target_pairs channel_id slice_sizes")
def collective_permute_start(step: Step) -> Value:
    return _with_operands(step, "collective-permute")


def _with_operands(step: Step, inner: str) -> Value:
    """The operands, one or a tuple, and the result."""
    operands = step.operands[0] if len(step.operands) == 1 else tuple(step.operands)
    return _with_context(step, operands, _started(step, inner, _part(step, 1)))


@opcode("all-gather-done collective-permute-done", "channel_id", 1)
def second_part(step: Step) -> Value:
    value = step.operands[0]
    if not isinstance(value, tuple) or len(value) < 2:
        step.fail("the operand is not the start of an asynchronous operation")
    return value[1]


@opcode("copy-start", "cross_program_prefetch_index", 1)
def copy_start(step: Step) -> Value:
    return _with_context(step, step.operands[0], step.operands[0])


@opcode("copy-done", "", 1)
def copy_done(step: Step) -> Value:
    value = step.operands[0]
    if not isinstance(value, tuple) or not value:
        step.fail("the operand is no copy-start")
    return value[0]


_ASYNC = "calls async_execution_thread async_group_id output_to_operand_aliasing"


@opcode("async-start", _ASYNC)
def async_start(step: Step) -> Value:
    """`async-start(..), calls=f`, or `x-start(..)` with the attributes of x, which the converter allows."""
    inner = step.instruction.opcode.removesuffix("-start")
    if inner == "async":
        value = step.inlined(step.computation("calls"), step.operands)
    else:
        value = _started(step, inner, _part(step, 1))
    return _with_context(step, tuple(step.operands), value)


@opcode("async-update", _ASYNC, 1)
def async_update(step: Step) -> Value:
    return step.operands[0]


@opcode("async-done", _ASYNC, 1)
def async_done(step: Step) -> Value:
    return second_part(step)


# The host ---------------------------------------------------------------------------------------------------------


@opcode("after-all")
def after_all(step: Step) -> Value:
    return step.op(AfterAllOp, step.flat()) if step.operands else step.op(CreateTokenOp, ())


@opcode("infeed", "infeed_config", 1)
def infeed(step: Step) -> Value:
    config = StringAttr(unquoted(step.text("infeed_config", '""')))
    return step.op(InfeedOp, step.flat(), infeed_config=config)


@opcode("outfeed", "outfeed_config outfeed_shape", 2)
def outfeed(step: Step) -> Value:
    config = StringAttr(unquoted(step.text("outfeed_config", '""')))
    return step.op(OutfeedOp, step.flat(), outfeed_config=config)


_CHANNEL = "channel_id is_host_transfer"


def _transfer(step: Step, host: ChannelType) -> dict[str, Attribute]:
    is_host = step.bool("is_host_transfer", False)
    handle = _channel(step, host if is_host else ChannelType.DEVICE_TO_DEVICE)
    if handle is None:
        handle = ChannelHandleAttr(int_attr(0), int_attr((host if is_host else ChannelType.DEVICE_TO_DEVICE).value))
    return {"channel_handle": handle, "is_host_transfer": bool_attr(is_host)}


@opcode("send", _CHANNEL, 2)
def send(step: Step) -> Value:
    properties = _transfer(step, ChannelType.DEVICE_TO_HOST)
    op = step.insert(SendOp.create(operands=step.flat(), result_types=[TOKEN], properties=properties))
    return (step.operands[0], None, op.results[0])


@opcode("send-done", _CHANNEL, 1)
def send_done(step: Step) -> Value:
    return _of_transfer(step)[2]


@opcode("recv", _CHANNEL, 1)
def recv(step: Step) -> Value:
    data = _part(step, 0)
    op = RecvOp.create(
        operands=step.flat(),
        result_types=[*data.types(), TOKEN],
        properties=_transfer(step, ChannelType.HOST_TO_DEVICE),
    )
    results = iter(step.insert(op).results)
    return (structured(data, results), None, next(results))


@opcode("recv-done", _CHANNEL, 1)
def recv_done(step: Step) -> Value:
    value = _of_transfer(step)
    return (value[0], value[2])


def _of_transfer(step: Step) -> Sequence[Value]:
    value = step.operands[0]
    if not isinstance(value, tuple) or len(value) != 3:
        step.fail("the operand is no send or recv")
    return value
