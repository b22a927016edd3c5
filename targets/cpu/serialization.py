"""The image of a CPU executable as bytes, and back; targets/serialized.py frames them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, LocationAttr

from ...hlo_dialect.diagnostics import file_location
from ...hlo_dialect.types import ArrayType
from ..executable import Kernel
from ..serialized import Serialized, check_environment, pack
from ..source import Source
from . import jit
from .executable import CpuExecutable
from .image import Check, HostCall, Image
from .loading import load_image

if TYPE_CHECKING:
    from xdsl.ir import Attribute


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
    header = {
        "inputs": list(map(array_type_fields, image.inputs)),
        "outputs": list(map(array_type_fields, image.outputs)),
        "result_count": image.result_count,
        "arena_bytes": image.arena_bytes,
        "kernels": list(map(kernel_fields, image.kernels)),
        "checks": list(map(check_fields, image.checks)),
        "host_calls": list(map(host_call_fields, image.host_calls)),
        "profiled": image.profiled,
    }
    return pack("cpu", environment(), header, sections, source)


def load(serialized: Serialized) -> CpuExecutable:
    """
    The executable of what `serialize` wrote.

    Raises ValueError for one of another version or CPU, DiagnosticError where it calls host functions that are not
    registered in this process.
    """
    header, sections = serialized.header, serialized.sections
    check_environment(header["environment"], environment())
    image = Image(
        code=tuple(content for name, content in sections.items() if name.startswith("code ")),
        data={name[5:]: content for name, content in sections.items() if name.startswith("data ")},
        inputs=tuple(map(array_type_of, header["inputs"])),
        outputs=tuple(map(array_type_of, header["outputs"])),
        result_count=header["result_count"],
        arena_bytes=header["arena_bytes"],
        kernels=[Kernel(**fields) for fields in header["kernels"]],
        checks=tuple(map(check_of, header["checks"])),
        host_calls=tuple(map(host_call_of, header["host_calls"])),
        profiled=header["profiled"],
    )
    return load_image(image, serialized.text_at())


# The parts of the header, which other targets' have too.


def array_type_fields(type_: ArrayType) -> list[Any]:
    return [list(type_.shape), type_.dtype.name, type_.text]


def kernel_fields(kernel: Kernel) -> dict[str, Any]:
    return asdict(kernel) | {"calls": 0, "nanoseconds": 0}


def array_type_of(fields: Sequence[Any]) -> ArrayType:
    shape, dtype, text = fields
    return ArrayType(tuple(shape), np.dtype(getattr(ml_dtypes, dtype, dtype)), text)


def check_fields(check: Check) -> dict[str, Any]:
    return {
        "kind": check.kind,
        "results": list(check.results),
        "attributes": _attribute_text(DictionaryAttr(dict(check.attributes))),
        "location": _location_fields(check.location),
    }


def check_of(fields: dict[str, Any]) -> Check:
    attributes = cast(DictionaryAttr, _attribute_of(fields["attributes"])).data
    location = None if fields["location"] is None else _location_of(fields["location"])
    return Check(fields["kind"], tuple(fields["results"]), dict(attributes), location)


def host_call_fields(call: HostCall) -> dict[str, Any]:
    return {
        "symbol": call.symbol,
        "target": call.target,
        "call": _attribute_text(call.call),
        "operands": _attribute_text(call.operands),
        "results": _attribute_text(call.results),
        "location": _location_fields(call.location),
    }


def host_call_of(fields: dict[str, Any]) -> HostCall:
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
