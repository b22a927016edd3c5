"""
The few protocol buffers that the PJRT C API carries, read and written by their wire format.

The messages are those of openxla/xla: CompileOptionsProto and ExecutableBuildOptionsProto in
xla/pjrt/proto/compile_options.proto, DeviceAssignmentProto in xla/xla_data.proto.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass, field

from ...hlo_dialect.protocol_buffers import BYTES, I32, I64, VARINT, encode_bytes, encode_number, encode_numbers
from .c_api import Code
from .entries import PluginError


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise PluginError(Code.INVALID_ARGUMENT, "a serialized message is cut off")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def parse(data: bytes) -> dict[int, list[int | bytes]]:
    """The fields of a message by field number: varints as ints, others as bytes. Raises PluginError."""
    fields: dict[int, list[int | bytes]] = defaultdict(list)
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = _varint(data, at)
            fields[number].append(value)
            continue
        if kind == BYTES:
            size, at = _varint(data, at)
        elif kind in (I64, I32):
            size = 8 if kind == I64 else 4
        else:
            raise PluginError(Code.INVALID_ARGUMENT, f"a serialized message has a field of wire type {kind}")
        if at + size > len(data):
            raise PluginError(Code.INVALID_ARGUMENT, "a serialized message is cut off")
        fields[number].append(data[at : at + size])
        at += size
    return fields


def _number(fields: dict[int, list[int | bytes]], number: int, default: int = 0) -> int:
    values = [value for value in fields.get(number, ()) if isinstance(value, int)]
    return values[-1] if values else default


def _messages(fields: dict[int, list[int | bytes]], number: int) -> list[bytes]:
    return [value for value in fields.get(number, ()) if isinstance(value, bytes)]


def _numbers(fields: dict[int, list[int | bytes]], number: int) -> list[int]:
    """A repeated number, packed or not."""
    found: list[int] = []
    for value in fields.get(number, ()):
        if isinstance(value, int):
            found.append(value)
            continue
        at = 0
        while at < len(value):
            one, at = _varint(value, at)
            found.append(one)
    return found


@dataclass
class CompileOptions:
    """The compile options that the plugin uses."""

    num_replicas: int = 1
    num_partitions: int = 1
    devices: list[list[int]] = field(default_factory=list[list[int]])
    """`devices[replica][partition]`: device ids; empty if JAX chooses the devices at execution."""
    overrides: dict[str, bool | int | float | str] = field(default_factory=dict[str, "bool | int | float | str"])
    """The program's `compiler_options`."""
    serialized: bytes = b""

    @property
    def device_ids(self) -> list[int]:
        """All devices of the program, replica by replica."""
        return [id_ for row in self.devices for id_ in row]

    @property
    def device_assignment(self) -> bytes:
        """The assignment as a serialized DeviceAssignmentProto."""
        columns = [encode_numbers(1, column) for column in zip(*self.devices, strict=True)]
        counts = encode_number(1, self.num_replicas) + encode_number(2, self.num_partitions)
        return counts + b"".join(encode_bytes(3, column) for column in columns)


def _overrides(entries: list[bytes]) -> dict[str, bool | int | float | str]:
    """A map from names to messages OptionOverrideProto: a string, a bool, an int64 or a double."""
    found: dict[str, bool | int | float | str] = {}
    for entry in map(parse, entries):
        (name,), (value,) = _messages(entry, 1)[-1:] or (b"",), _messages(entry, 2)[-1:] or (b"",)
        for number, (one, *_) in parse(value).items():
            match number, one:
                case 1, bytes():
                    found[name.decode()] = one.decode()
                case 2, int():
                    found[name.decode()] = bool(one)
                case 3, int():
                    found[name.decode()] = one - (one >> 63 << 64)
                case 4, bytes():
                    found[name.decode()] = float(struct.unpack("<d", one)[0])
                case _:
                    raise PluginError(Code.INVALID_ARGUMENT, f"the compile option {name.decode()} has no value")
    return found


def read_compile_options(data: bytes) -> CompileOptions:
    """Parse a CompileOptionsProto. Raises PluginError for invalid bytes."""
    whole = parse(data)
    (build,) = _messages(whole, 3)[-1:] or (b"",)
    fields = parse(build)
    options = CompileOptions(
        num_replicas=max(1, _number(fields, 4, 1)), num_partitions=max(1, _number(fields, 5, 1)), serialized=data
    )
    options.overrides = _overrides(_messages(whole, 7))
    assignment = _messages(fields, 9)
    if assignment:
        columns = [_numbers(parse(column), 1) for column in _messages(parse(assignment[-1]), 3)]
        options.devices = [list(row) for row in zip(*columns, strict=True)]
    return options
