"""Constants, lists and locations in HLO's spelling."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, LocationAttr, NameLoc

from ....hlo_dialect.errors import file_location
from ....hlo_dialect.types import Array, constant_array


def tuple_text(texts: Sequence[str]) -> str:
    """`(f32[2]{0}, s32[])`, with XLA's comments where it is long."""
    return f"({listed(texts)})"


def listed(texts: Sequence[str]) -> str:
    """`a, b, ..`; every fifth entry is preceded by a comment with its number, as XLA prints lists."""
    return ", ".join(f"/*index={n}*/{text}" if n and n % 5 == 0 else text for n, text in enumerate(texts))


def literal_text(value: DenseIntOrFPElementsAttr[Any]) -> str:
    """A constant's elements in nested braces."""
    array = constant_array(value)
    return _nested(_elements(np.ascontiguousarray(array)), array.shape)


def _nested(texts: Sequence[str], shape: Sequence[int]) -> str:
    if not shape:
        return texts[0]
    step = math.prod(shape[1:])
    parts = [_nested(texts[index * step : (index + 1) * step], shape[1:]) for index in range(shape[0])]
    return f"{{ {', '.join(parts)} }}" if len(shape) > 1 else f"{{{', '.join(parts)}}}"


def _elements(array: Array) -> list[str]:
    flat = array.reshape(-1)
    kind = flat.dtype.kind
    if kind == "b":
        return ["true" if each else "false" for each in flat]
    if kind == "c":
        return [f"({_number(each.real)}, {_number(each.imag)})" for each in flat]
    if kind in "iu" or flat.dtype.name.startswith(("int", "uint")):
        return [str(int(each)) for each in flat]
    return list(map(_number, flat))


def _number(value: Any) -> str:
    """The shortest text that reads back as the same float; NaN with its sign and, of 32 and 64 bits, its payload."""
    wide = float(value)
    if math.isnan(wide):
        return _nan(value)
    if math.isinf(wide):
        return "inf" if wide > 0 else "-inf"
    if wide == 0:
        return "0" if math.copysign(1, wide) > 0 else "-0.0"
    single = value.dtype == np.float32
    short = str(value) if single else repr(wide)
    if single and np.float32(float(short)) != value:
        short = repr(wide)
    return short.removesuffix(".0") if short.endswith(".0") else short


def _nan(value: Any) -> str:
    bits = {np.dtype(np.float32): (np.uint32, 23), np.dtype(np.float64): (np.uint64, 52)}.get(value.dtype)
    if bits is None:
        # Narrower floats keep only the sign: whether they have payloads differs from type to type.
        sign = np.signbit(np.asarray(value).astype(np.float32)) if value.dtype != ml_dtypes.float8_e8m0fnu else False
        return "-nan" if sign else "nan"
    raw = int(np.asarray(value).view(bits[0]))
    payload = raw & ((1 << bits[1]) - 1)
    sign = "-" if raw >> (8 * value.dtype.itemsize - 1) else ""
    return f"{sign}nan" if payload == 1 << (bits[1] - 1) else f"{sign}nan(0x{payload:x})"


def metadata_text(location: LocationAttr) -> str:
    """`metadata={op_name=".." source_file=".." source_line=3}`; empty without a place in a file."""
    place = file_location(location)
    if place is None or place.filename.data.startswith("<"):
        return ""
    name = f"op_name={quoted(location.desc.data)} " if isinstance(location, NameLoc) else ""
    line = f"source_line={place.line.data} source_column={place.column.data}"
    return f"metadata={{{name}source_file={quoted(place.filename.data)} {line}}}"


def quoted(text: str) -> str:
    """A string with C's escapes."""
    return json.dumps(text, ensure_ascii=False)


def braced(values: Sequence[int]) -> str:
    """`{0,2}`"""
    return f"{{{','.join(map(str, values))}}}"


def opcode_of(op: Any) -> str:
    """The opcode of an operation that has hlo's name in HLO text too."""
    return op.mnemonic.replace("_", "-")
