"""The runtime's calls of collectives as the operations that they carry out, for HLO text."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import DictionaryAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region

from ....hlo_dialect.attributes import int_attr
from ....hlo_dialect.collectives.exchanges import (
    AllGatherOp,
    AllToAllOp,
    CollectiveBroadcastOp,
    CollectivePermuteOp,
    PartitionIdOp,
    ReplicaIdOp,
)
from ....hlo_dialect.collectives.process_groups import ChannelHandleAttr
from ....hlo_dialect.collectives.reductions import AllReduceOp, ReduceScatterOp
from ....hlo_dialect.custom_calls.collective_calls import COMBINERS
from ....hlo_dialect.custom_calls.operations import CustomCallOp
from ....hlo_dialect.ops.control_flow import ReturnOp
from ....hlo_dialect.types import element_of, make_tensor

_OPERATIONS: dict[str, type[Operation]] = {
    f"xhlo.{class_.name.partition('.')[2]}": class_
    for class_ in (
        AllGatherOp,
        AllReduceOp,
        AllToAllOp,
        CollectiveBroadcastOp,
        CollectivePermuteOp,
        PartitionIdOp,
        ReduceScatterOp,
        ReplicaIdOp,
    )
}


def collective_of(call: CustomCallOp) -> Operation | None:
    """The collective that a call of the runtime carries out, on devices by number; None for another call."""
    target = call.properties["call_target_name"]
    class_ = _OPERATIONS.get(target.data) if isinstance(target, StringAttr) else None
    config = call.attributes.get("mhlo.backend_config")
    stated = dict(config.data) if isinstance(config, DictionaryAttr) else {}
    if class_ is None:
        return None
    return class_.create(
        operands=call.operands,
        result_types=list(call.result_types),
        properties=_properties(class_, stated),
        regions=[_body(call, stated)] if "combiner" in stated else [],
    )


def _properties(class_: type[Operation], stated: dict[str, Attribute]) -> dict[str, Attribute]:
    if not stated:
        return {}
    number, groups = cast(Any, stated["number"]).value.data, cast(Any, stated["groups"])
    devices: dict[str, Attribute] = {"channel_handle": ChannelHandleAttr(int_attr(number + 1), int_attr(1))}
    if class_ is CollectivePermuteOp:
        return devices | {"source_target_pairs": stated["pairs"]}
    devices["replica_groups"] = groups
    if class_ is AllToAllOp:
        split = {"split_dimension": stated["dim"], "concat_dimension": stated["concat"]}
        return devices | split | {"split_count": int_attr(groups.get_shape()[1])}
    if class_ is CollectiveBroadcastOp:
        return devices | {name: value for name, value in stated.items() if name == "has_dynamic_root"}
    devices["use_global_device_ids"] = UnitAttr()
    if "dim" in stated:
        devices["all_gather_dim" if class_ is AllGatherOp else "scatter_dimension"] = stated["dim"]
    return devices


def _body(call: CustomCallOp, stated: dict[str, Attribute]) -> Region:
    scalar = make_tensor((), element_of(call.results[0]))
    block = Block(arg_types=[scalar, scalar])
    combiner = COMBINERS[cast(StringAttr, stated["combiner"]).data]
    combined = combiner.create(operands=block.args, result_types=[scalar])
    block.add_ops([combined, ReturnOp.create(operands=combined.results)])
    return Region(block)
