"""Facts about a program as fields of JSON types, and back; container.py defines the format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from ...hlo_dialect.arrays import ArrayType, dtype_named
from ...hlo_dialect.errors import file_location
from .facts import Check, Facts, HostCall, Kernel

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, LocationAttr
    from xdsl.ir import Attribute


def facts_fields(facts: Facts) -> dict[str, Any]:
    """All facts but times: a profile restarts at zero, and loading compiles nothing."""
    return {
        "inputs": list(map(_array_type_fields, facts.inputs)),
        "outputs": list(map(_array_type_fields, facts.outputs)),
        "result_count": facts.result_count,
        "arena_bytes": facts.arena_bytes,
        "kernels": [asdict(kernel) | {"calls": 0, "nanoseconds": 0} for kernel in facts.kernels],
        "checks": list(map(_check_fields, facts.checks)),
        "host_calls": list(map(_host_call_fields, facts.host_calls)),
        "loops": facts.loops,
        "safepoints": facts.safepoints,
        "branches": facts.branches,
        "donated": list(facts.donated),
        "profiled": facts.profiled,
        "name": facts.name,
        "names": list(facts.names),
    }


def facts_of(fields: Mapping[str, Any]) -> Facts:
    """The facts that `facts_fields` wrote, among other fields."""
    return Facts(
        inputs=tuple(map(_array_type_of, fields["inputs"])),
        outputs=tuple(map(_array_type_of, fields["outputs"])),
        result_count=fields["result_count"],
        arena_bytes=fields["arena_bytes"],
        kernels=[Kernel(**each) for each in fields["kernels"]],
        checks=tuple(map(_check_of, fields["checks"])),
        host_calls=tuple(map(_host_call_of, fields["host_calls"])),
        loops=fields["loops"],
        safepoints=fields.get("safepoints", fields["loops"]),  # not stated by versions without these facts
        branches=fields.get("branches", True),
        donated=tuple(fields["donated"]),
        profiled=fields["profiled"],
        name=str(fields["name"]),
        names=tuple(map(str, fields["names"])),
    )


def _array_type_fields(type_: ArrayType) -> list[Any]:
    return [list(type_.shape), type_.dtype.name, type_.text]


def _array_type_of(fields: Sequence[Any]) -> ArrayType:
    shape, name, text = fields
    dtype = dtype_named(name)
    if dtype is None or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"the serialized executable has an array of type {name}{shape}, which hlo lacks")
    return ArrayType(tuple(shape), dtype, text)


def _check_fields(check: Check) -> dict[str, Any]:
    from xdsl.dialects.builtin import DictionaryAttr

    return {
        "kind": check.kind,
        "results": list(check.results),
        "attributes": _attribute_text(DictionaryAttr(dict(check.attributes))),
        "location": _location_fields(check.location),
    }


def _check_of(fields: dict[str, Any]) -> Check:
    attributes = cast("DictionaryAttr", _attribute_of(fields["attributes"])).data
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
    call = cast("DictionaryAttr", _attribute_of(fields["call"]))
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
    from xdsl.utils.exceptions import ParseError

    from ...hlo_dialect.dialect import make_context
    from ...hlo_dialect.reading.locations import SourcePositions
    from ...hlo_dialect.reading.parser import HloParser

    name = "<serialized>"
    try:
        return HloParser(make_context(), text, name, SourcePositions(text, name)).parse_attribute()
    except ParseError as error:
        raise ValueError(f"the serialized executable has a malformed attribute: {error}") from error
