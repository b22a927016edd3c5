"""Operations of several devices and of the host, and custom calls."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.ir import Attribute, Operation

from ....dialects.support.kernel import COMPLEX_OPERANDS, COMPLEX_RESULTS
from ....hlo_dialect.attributes import ints
from ....hlo_dialect.collectives.asynchronous import AsyncDoneOp, AsyncStartOp
from ....hlo_dialect.collectives.exchanges import (
    AllGatherOp,
    AllToAllOp,
    CollectiveBroadcastOp,
    CollectivePermuteOp,
    PartitionIdOp,
    ReplicaIdOp,
)
from ....hlo_dialect.collectives.host_transfers import InfeedOp, OutfeedOp, RecvOp, SendOp
from ....hlo_dialect.collectives.reductions import AllReduceOp, ReduceScatterOp
from ....hlo_dialect.custom_calls.call import python_value
from ....hlo_dialect.custom_calls.operations import CustomCallOp, Schedule
from ....hlo_dialect.types import constant_array, element_of, make_tensor, shape_of
from ..shapes import order_text, type_text
from .lines import Lines
from .rules import writers
from .runtime_calls import collective_of
from .values import braced, metadata_text, opcode_of, quoted, tuple_text


def _devices(op: Any) -> list[str]:
    found: list[str] = []
    channel, groups = op.properties.get("channel_handle"), op.properties.get("replica_groups")
    if channel is not None and channel.handle > 0:
        found.append(f"channel_id={channel.handle}")
    if groups is not None:
        rows = [",".join(str(n) for n in row if n >= 0) for row in constant_array(groups).tolist()]
        found.append(f"replica_groups={{{','.join(f'{{{row}}}' for row in rows)}}}")
    if "use_global_device_ids" in op.properties:
        found.append("use_global_device_ids=true")
    return found


@writers.on(AllReduceOp)
def _all_reduce(lines: Lines, op: Any) -> None:
    lines.define(op, "all-reduce", *_devices(op), f"to_apply=%{lines.region(op, op.regions[0], 'all_reduce')}")


@writers.on(ReduceScatterOp)
def _reduce_scatter(lines: Lines, op: Any) -> None:
    dimension = f"dimensions={{{op.scatter_dimension.value.data}}}"
    computation = f"to_apply=%{lines.region(op, op.regions[0], 'reduce_scatter')}"
    lines.define(op, "reduce-scatter", *_devices(op), dimension, computation)


@writers.on(AllGatherOp)
def _all_gather(lines: Lines, op: Any) -> None:
    lines.define(op, "all-gather", *_devices(op), f"dimensions={{{op.all_gather_dim.value.data}}}")


@writers.on(AllToAllOp)
def _all_to_all(lines: Lines, op: Any) -> None:
    """
    HLO splits and joins one dimension of one array. Where they differ the parts are exchanged as a new first dimension,
    which is then moved before the one along which they are joined.
    """
    split, joined, count = op.split, op.concat, op.count
    split, joined, count = int(op.split), int(op.concat), int(op.count)
    for value, name, result in zip(op.operands, lines.operands(op), op.results, strict=True):
        emit = partial(_emit, lines, op, result.name_hint or "all-to-all")
        if split == joined:
            lines.names[result] = emit(result.type, "all-to-all", name, *_devices(op), f"dimensions={{{split}}}")
            continue
        shape, element = shape_of(value.type), element_of(value.type)
        if min(shape) < 0:
            lines.refuse(op, "splits and joins different dimensions of an array of unknown size, which HLO text lacks")
        parts = (*shape[:split], count, shape[split] // count, *shape[split + 1 :])
        first = (split, *(dim for dim in range(len(parts)) if dim != split))
        rest = tuple(range(1, len(parts)))
        last = (*rest[:joined], 0, *rest[joined:])
        moved = make_tensor(tuple(parts[dim] for dim in first), element)
        name = emit(make_tensor(parts, element), "reshape", name)
        name = emit(moved, "transpose", name, f"dimensions={braced(first)}")
        name = emit(moved, "all-to-all", name, *_devices(op), "dimensions={0}")
        joinable = make_tensor(tuple(shape_of(moved)[dim] for dim in last), element)
        name = emit(joinable, "transpose", name, f"dimensions={braced(last)}")
        lines.names[result] = emit(result.type, "reshape", name)


def _emit(lines: Lines, op: Operation, hint: str, type_: Attribute, opcode: str, operand: str, *attributes: str) -> str:
    return lines.emit(lines.type(type_, op), opcode, [operand], attributes, metadata_text(op.location), hint)


@writers.on(CollectiveBroadcastOp)
def _collective_broadcast(lines: Lines, op: Any) -> None:
    lines.define(op, "collective-broadcast", *_devices(op))


@writers.on(CollectivePermuteOp)
def _collective_permute(lines: Lines, op: Any) -> None:
    pairs = ",".join(f"{{{source},{target}}}" for source, target in constant_array(op.source_target_pairs).tolist())
    lines.define(op, "collective-permute", *_devices(op), f"source_target_pairs={{{pairs}}}")


@writers.on(PartitionIdOp, ReplicaIdOp)
def _number(lines: Lines, op: Any) -> None:
    lines.define(op, opcode_of(op))


@writers.on(AsyncStartOp)
def _async_start(lines: Lines, op: Any) -> None:
    """The operation itself: nothing runs beside it in HLO text without a schedule."""
    block = op.body.block
    lines.names |= dict(zip(block.args, lines.operands(op), strict=True))
    for inner in block.ops:
        if inner is not block.last_op:
            lines.operation(inner)
    lines.names[op.results[0]] = lines.name(block.last_op.operands[0], op)


@writers.on(AsyncDoneOp)
def _async_done(lines: Lines, op: Any) -> None:
    lines.names[op.results[0]] = lines.name(op.operands[0], op)


# The host ---------------------------------------------------------------------------------------------------------


@writers.on(InfeedOp)
def _infeed(lines: Lines, op: Any) -> None:
    types = [lines.type(value.type, op) for value in op.results]
    data = tuple_text(types[:-1])
    config = op.properties.get("infeed_config")
    text = f"infeed_config={quoted(config.data)}" if config is not None and config.data else ""
    name = lines.add(op, tuple_text([data, types[-1]]), "infeed", lines.operands(op), text)
    arrays = lines.emit(data, "get-tuple-element", [name], ["index=0"], "", "get-tuple-element")
    for number, (value, type_) in enumerate(zip(op.results[:-1], types[:-1], strict=True)):
        lines.names[value] = lines.emit(type_, "get-tuple-element", [arrays], [f"index={number}"], "", "infeed.data")
    token = lines.emit(types[-1], "get-tuple-element", [name], ["index=1"], "", "get-tuple-element")
    lines.names[op.results[-1]] = token


@writers.on(OutfeedOp)
def _outfeed(lines: Lines, op: Any) -> None:
    *arrays, token = lines.operands(op)
    data = arrays[0] if len(arrays) == 1 else lines.tuple(op, arrays)
    config = op.properties.get("outfeed_config")
    text = f"outfeed_config={quoted(config.data)}" if config is not None and config.data else ""
    shape = f"outfeed_shape={lines.shapes[data]}"
    lines.define(op, "outfeed", shape, text, operands=[data, token])


def _transfer(op: Any) -> list[str]:
    flag = op.properties.get("is_host_transfer")
    is_host = flag is not None and flag.value.data
    return [f"channel_id={max(1, op.channel_handle.handle)}", *(["is_host_transfer=true"] if is_host else [])]


@writers.on(SendOp)
def _send(lines: Lines, op: Any) -> None:
    *arrays, token = lines.operands(op)
    data = arrays[0] if len(arrays) == 1 else lines.tuple(op, arrays)
    shape = tuple_text([lines.shapes[data], "u32[]", "token[]"])
    name = lines.add(op, shape, "send", [data, token], *_transfer(op))
    lines.define(op, "send-done", *_transfer(op), operands=[name])


@writers.on(RecvOp)
def _recv(lines: Lines, op: Any) -> None:
    types = [lines.type(value.type, op) for value in op.results[:-1]]
    data = types[0] if len(types) == 1 else tuple_text(types)
    name = lines.add(op, tuple_text([data, "u32[]", "token[]"]), "recv", lines.operands(op), *_transfer(op))
    done = lines.add(op, tuple_text([data, "token[]"]), "recv-done", [name], *_transfer(op))
    first = lines.emit(data, "get-tuple-element", [done], ["index=0"], "", "recv.data")
    lines.names[op.results[-1]] = lines.emit("token[]", "get-tuple-element", [done], ["index=1"], "", "recv.token")
    for number, (value, type_) in enumerate(zip(op.results[:-1], types, strict=True)):
        part = [f"index={number}"]
        lines.names[value] = (
            first if len(types) == 1 else lines.emit(type_, "get-tuple-element", [first], part, "", "recv.data")
        )


# Custom calls -----------------------------------------------------------------------------------------------------

_VERSIONS = {
    2: "API_VERSION_STATUS_RETURNING",
    3: "API_VERSION_STATUS_RETURNING_UNIFIED",
    4: "API_VERSION_TYPED_FFI",
}


@writers.on(CustomCallOp)
def _custom_call(lines: Lines, op: Any) -> None:
    collective = collective_of(op)
    if collective is not None:
        lines.names |= dict(zip(collective.operands, lines.operands(op), strict=True))
        lines.operation(collective)
        lines.names |= {ours: lines.names[own] for ours, own in zip(op.results, collective.results, strict=True)}
        return
    if op.target == "mhlo.topk":
        entries = {name: python_value(value) for name, value in op.attributes["mhlo.attributes"].data.items()}
        lines.define(op, "topk", f"k={entries['k']}", f"largest={str(bool(entries.get('largest', True))).lower()}")
        return
    result, layouts = _layouts(lines, op)
    version = op.properties.get("api_version")
    attributes = [f"custom_call_target={quoted(op.target)}", *layouts]
    if op.properties.get("has_side_effect") is not None and op.has_side_effect.value.data:
        attributes.append("custom_call_has_side_effect=true")
    called = op.properties.get("called_computations")
    symbols: list[Any] = list(cast("ArrayAttr[Any]", called).data) if isinstance(called, ArrayAttr) else []
    if symbols:
        names = [lines.module.function(op, each.string_value()) for each in symbols]
        attributes.append(f"called_computations={{{', '.join(f'%{name}' for name in names)}}}")
    attributes += _aliases(op)
    schedule = op.properties.get("custom_call_schedule")
    if schedule is not None and schedule.data is not Schedule.NONE:
        attributes.append(f"schedule=SCHEDULE_{schedule.data.value}")
    number = 1 if version is None else version.value.data
    if isinstance(op.attributes.get("mhlo.backend_config"), DictionaryAttr):
        number = 4  # only the typed FFI has dictionaries
    if number in _VERSIONS:
        attributes.append(f"api_version={_VERSIONS[number]}")
    attributes += [_configuration(op), _pairs(op)]
    name = lines.add(op, result, "custom-call", lines.operands(op), *attributes)
    lines.bind(op, name)


def _pairs(op: Any) -> str:
    """Which operands and results are pairs of real numbers for complex tensors: nothing else of the call says so."""
    stated = {name: op.attributes[name] for name in (COMPLEX_OPERANDS, COMPLEX_RESULTS) if name in op.attributes}
    entries = [
        f'{name}="{",".join("1" if flag else "0" for flag in cast("tuple[bool, ...]", python_value(flags)))}"'
        for name, flags in stated.items()
    ]
    return f"frontend_attributes={{{','.join(entries)}}}" if entries else ""


def _configuration(op: Any) -> str:
    """The configuration of a call: a dictionary in MLIR's syntax, or a string."""
    config = op.properties.get("backend_config")
    entries = op.attributes.get("mhlo.backend_config")
    if isinstance(config, StringAttr) and config.data:
        return f"backend_config={quoted(config.data)}"
    if isinstance(config, DictionaryAttr):
        return f"backend_config={config}"
    return f"backend_config={entries}" if isinstance(entries, DictionaryAttr) else ""


def _layouts(lines: Lines, op: Any) -> tuple[str, list[str]]:
    """The shape of the result, and the attribute that states the layouts of the operands."""
    given = op.properties.get("operand_layouts"), op.properties.get("result_layouts")
    operands, results = (None if each is None else [_order(layout) for layout in each.data] for each in given)
    types = [value.type for value in op.results]
    texts = [lines.type(type_, op) for type_ in types]
    if operands is None or results is None:
        return texts[0] if len(texts) == 1 else tuple_text(texts), []
    texts = [type_text(type_, order) or "" for type_, order in zip(types, results, strict=True)]
    stated = [type_text(value.type, order) or "" for value, order in zip(op.operands, operands, strict=True)]
    result = texts[0] if len(texts) == 1 else tuple_text(texts)
    return result, [f"operand_layout_constraints={{{', '.join(stated)}}}"]


def _order(layout: Any) -> str:
    return order_text(layout.get_values())


def _aliases(op: Any) -> list[str]:
    given = op.properties.get("output_operand_aliases")
    if given is None or not given.data:
        return []
    entries = [
        f"{{{','.join(map(str, ints(each.output_tuple_indices)))}}}: ({each.operand_index.value.data}, "
        f"{{{','.join(map(str, ints(each.operand_tuple_indices)))}}})"
        for each in given.data
    ]
    return [f"output_to_operand_aliasing={{{', '.join(entries)}}}"]
