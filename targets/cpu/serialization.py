"""
Executables as bytes: kept in a file or sent to another process, and loaded there without compiling.

The bytes hold machine code, so they load only where they fit: the same version of xhlo and of LLVM, the same CPU with
the same features. A checksum finds what was cut off or altered by accident; like any program, an executable is as
trustworthy as where it comes from.

    magic, format (4 bytes), SHA-256 of what follows, length of the header (8 bytes), header as JSON, sections
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import lru_cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, LocationAttr

from ...hlo_dialect.diagnostics import file_location
from ...hlo_dialect.types import ArrayType
from ..source import Source
from . import jit
from .executable import Executable, Kernel
from .image import Check, HostCall, Image
from .loading import load_image

if TYPE_CHECKING:
    from xdsl.ir import Attribute

MAGIC = b"XHLOEXEC"
FORMAT = 1
"""Grows whenever the header, the sections or what the code expects of its caller changes."""

_FIXED = struct.Struct(f"<{len(MAGIC)}sI32sQ")


@lru_cache(maxsize=1)
def environment() -> dict[str, str]:
    """What has to agree between the machine that compiled and the one that loads."""
    return {
        "xhlo": metadata.version("xhlo"),
        "LLVM": jit.llvm_version(),
        "target triple": jit.host_triple(),
        "CPU": jit.host_cpu(),
        "CPU features": jit.host_features(),
    }


def serialize(image: Image, source: Source | None) -> bytes:
    """The image as bytes, with the program's text where it is known."""
    sections = {f"code {number}": each for number, each in enumerate(image.code)} | {
        f"data {name}": content for name, content in image.data.items()
    }
    if source is not None:
        sections["text"] = zlib.compress(source.text.encode(), 1)
    header = {
        "environment": environment(),
        "inputs": [_array_type_fields(type_) for type_ in image.inputs],
        "outputs": [_array_type_fields(type_) for type_ in image.outputs],
        "result_count": image.result_count,
        "arena_bytes": image.arena_bytes,
        "kernels": [asdict(kernel) | {"calls": 0, "nanoseconds": 0} for kernel in image.kernels],
        "checks": [_check_fields(check) for check in image.checks],
        "host_calls": [_host_call_fields(call) for call in image.host_calls],
        "profiled": image.profiled,
        "filename": None if source is None else source.filename,
        "sections": {name: len(content) for name, content in sections.items()},
    }
    encoded = json.dumps(header).encode()
    payload = b"".join([encoded, *sections.values()])
    return _FIXED.pack(MAGIC, FORMAT, _digest(len(encoded), payload), len(encoded)) + payload


def load_executable(data: bytes) -> Executable:
    """
    The executable that `Executable.serialize` wrote.

    Raises ValueError for bytes that are no executable, are damaged or were made for another version or CPU, and
    DiagnosticError where the program calls host functions that are not registered in this process.
    """
    header, sections = _read(data)
    source = None
    if "text" in sections:
        source = Source(zlib.decompress(sections["text"]).decode(), header["filename"])
    image = Image(
        code=tuple(content for name, content in sections.items() if name.startswith("code ")),
        data={name[5:]: content for name, content in sections.items() if name.startswith("data ")},
        inputs=tuple(map(_array_type_of, header["inputs"])),
        outputs=tuple(map(_array_type_of, header["outputs"])),
        result_count=header["result_count"],
        arena_bytes=header["arena_bytes"],
        kernels=[Kernel(**fields) for fields in header["kernels"]],
        checks=tuple(map(_check_of, header["checks"])),
        host_calls=tuple(map(_host_call_of, header["host_calls"])),
        profiled=header["profiled"],
    )

    def text_at(stage: str) -> str:
        from ..compile import text_at
        from ..registry import CPU

        if source is None:
            raise ValueError("the executable was serialized without the program's text")
        return text_at(source, CPU, stage)

    executable = load_image(image, text_at)
    executable.source = source
    return executable


def _read(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The header and the sections, after all tests."""
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
    header: dict[str, Any] = json.loads(payload[:length])
    for what, here in environment().items():
        there = header["environment"].get(what)
        if there != here:
            raise ValueError(f"the executable was compiled for another {what}: {there}; here it is {here}")
    return header, dict(_sections(header["sections"], payload, length))


def _sections(lengths: dict[str, int], payload: bytes, start: int) -> Iterator[tuple[str, bytes]]:
    for name, length in lengths.items():
        yield name, payload[start : start + length]
        start += length


def _digest(length: int, payload: bytes) -> bytes:
    return hashlib.sha256(struct.pack("<Q", length) + payload).digest()


# The parts of the header.


def _array_type_fields(type_: ArrayType) -> list[Any]:
    return [list(type_.shape), type_.dtype.name, type_.text]


def _array_type_of(fields: Sequence[Any]) -> ArrayType:
    shape, dtype, text = fields
    return ArrayType(tuple(shape), np.dtype(getattr(ml_dtypes, dtype, dtype)), text)


def _check_fields(check: Check) -> dict[str, Any]:
    return {
        "kind": check.kind,
        "results": list(check.results),
        "attributes": _attribute_text(DictionaryAttr(dict(check.attributes))),
        "location": _location_fields(check.location),
    }


def _check_of(fields: dict[str, Any]) -> Check:
    attributes = cast(DictionaryAttr, _attribute_of(fields["attributes"])).data
    location = None if fields["location"] is None else _location_of(fields["location"])
    return Check(fields["kind"], tuple(fields["results"]), dict(attributes), location)


def _host_call_fields(call: HostCall) -> dict[str, Any]:
    return {
        "symbol": call.symbol,
        "target": call.target,
        "call": _attribute_text(call.call),
        "operands": _attribute_text(call.operands),
        "results": _attribute_text(call.results),
        "location": _location_fields(call.location),
    }


def _host_call_of(fields: dict[str, Any]) -> HostCall:
    operands, results = (cast("ArrayAttr[Attribute]", _attribute_of(fields[name])) for name in ("operands", "results"))
    call = cast(DictionaryAttr, _attribute_of(fields["call"]))
    return HostCall(fields["symbol"], fields["target"], call, operands, results, _location_of(fields["location"]))


def _location_fields(location: LocationAttr | None) -> list[Any] | None:
    place = None if location is None else file_location(location)
    return None if place is None else [place.filename.data, place.line.data, place.column.data]


def _location_of(fields: Sequence[Any] | None) -> LocationAttr:
    from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, StringAttr

    if fields is None:
        return UNKNOWN_LOC
    filename, line, column = fields
    return FileLineColLoc(StringAttr(filename), IntAttr(line), IntAttr(column))


def _attribute_text(attribute: Attribute) -> str:
    from io import StringIO

    from ...hlo_dialect.printing import HloPrinter

    stream = StringIO()
    HloPrinter(stream).print_attribute(attribute)
    return stream.getvalue()


def _attribute_of(text: str) -> Attribute:
    from ...hlo_dialect.dialect import make_context
    from ...hlo_dialect.reading.locations import SourcePositions
    from ...hlo_dialect.reading.parser import HloParser

    name = "<serialized>"
    return HloParser(make_context(), text, name, SourcePositions(text, name)).parse_attribute()
