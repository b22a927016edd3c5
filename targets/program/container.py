"""
Executables as bytes, which can be stored in a file or sent to another process, and loaded without compiling.

The bytes contain machine code, so they load only in a matching environment, which each target defines. A checksum
detects truncation and accidental changes; like any program, an executable is only as trustworthy as its source.

    magic, format (4 bytes), SHA-256 of what follows, length of the header (8 bytes), header as JSON, sections
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .source import Source

MAGIC = b"XHLOEXEC"
FORMAT = 3
"""The format version. Increase it when the header, the sections or the code's calling convention changes."""

MAX_TEXT = 1 << 31
"""The greatest length in bytes of a program's text."""

_FIXED = struct.Struct(f"<{len(MAGIC)}sI32sQ")


@dataclass(frozen=True)
class Serialized:
    """The contents of an executable's bytes."""

    target: str
    header: Mapping[str, Any]
    """Written by the target, in types that JSON supports."""
    sections: Mapping[str, bytes]
    source: Source | None
    """The program's text, if it is known."""


def pack(
    target: str,
    environment: Mapping[str, str],
    header: Mapping[str, Any],
    sections: Mapping[str, bytes | memoryview],
    source: Source | None,
) -> bytes:
    """The bytes of an executable, with the program's text if it is known."""
    parts = dict(sections)
    if source is not None:
        parts["text"] = zlib.compress(source.text.encode(), 1)
    whole = {
        "target": target,
        "environment": dict(environment),
        **header,
        "filename": None if source is None else source.filename,
        "sections": {name: len(content) for name, content in parts.items()},
    }
    encoded = json.dumps(whole).encode()
    payload = b"".join([encoded, *parts.values()])
    return _FIXED.pack(MAGIC, FORMAT, _digest(len(encoded), payload), len(encoded)) + payload


def unpack(data: bytes) -> Serialized:
    """
    Undo `pack`, after all checks.

    Raises ValueError for bytes that are not an executable, are damaged, or were made for another version or machine.
    """
    if not data.startswith(MAGIC):
        raise ValueError("these bytes are no serialized xhlo executable")
    if len(data) < _FIXED.size:
        raise ValueError("the serialized executable is cut off")
    _, number, digest, length = _FIXED.unpack_from(data)
    if number != FORMAT:
        raise ValueError(f"the serialized executable has format {number}; this version of xhlo reads format {FORMAT}")
    payload = data[_FIXED.size :]
    if digest != _digest(length, payload):
        raise ValueError("the serialized executable is damaged or cut off: its checksum does not match")
    with reading_fields():
        header: dict[str, Any] = json.loads(payload[:length])
        sections = dict(_sections(header["sections"], payload, length))
        text = sections.pop("text", None)
        source = None if text is None else Source(_inflated(text).decode(), header["filename"])
        return Serialized(header["target"], header, sections, source)


@contextmanager
def reading_fields() -> Generator[None]:
    """Turns the exceptions of code that reads a header, where one lacks a field or has another type, to ValueError."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError) as error:
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        raise ValueError(f"the serialized executable has a malformed header ({text})") from error


def _inflated(text: bytes) -> bytes:
    inflater = zlib.decompressobj()
    try:
        whole = inflater.decompress(text, MAX_TEXT)
    except zlib.error as error:
        raise ValueError(f"the serialized executable's text is damaged: {error}") from None
    if inflater.unconsumed_tail:
        raise ValueError(f"the serialized executable's text is longer than {MAX_TEXT} bytes")
    return whole


def check_environment(stated: Mapping[str, str], here: Mapping[str, str]) -> None:
    """Check that an executable's environment equals this one. Raises ValueError."""
    for what, value in here.items():
        there = stated.get(what)
        if there != value:
            raise ValueError(f"the executable was compiled for another {what}: {there}; here it is {value}")


def _sections(lengths: dict[str, int], payload: bytes, start: int) -> Iterator[tuple[str, bytes]]:
    if any(type(length) is not int or length < 0 for length in lengths.values()):
        raise ValueError("the serialized executable has sections of no size")
    if start + sum(lengths.values()) != len(payload):
        raise ValueError("the serialized executable's sections are not as long as its header says")
    for name, length in lengths.items():
        yield name, payload[start : start + length]
        start += length


def _digest(length: int, payload: bytes) -> bytes:
    return hashlib.sha256(struct.pack("<Q", length) + payload).digest()
