"""The fields of protocol buffers, written by their wire format, for the few messages that others read."""

from __future__ import annotations

from collections.abc import Iterable

VARINT, I64, BYTES, I32 = 0, 1, 2, 5
"""The wire types of fields."""


def encode_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def encode_number(number: int, value: int) -> bytes:
    return encode_varint(number << 3 | VARINT) + encode_varint(value)


def encode_bytes(number: int, value: bytes) -> bytes:
    return encode_varint(number << 3 | BYTES) + encode_varint(len(value)) + value


def encode_numbers(number: int, values: Iterable[int]) -> bytes:
    """A repeated number, packed."""
    return encode_bytes(number, b"".join(map(encode_varint, values)))
