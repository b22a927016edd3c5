"""
The opcodes that most instructions of a program have, read without a `Step`: one operation, whose properties follow from
the text of one or two attributes.

Instructions in any other form, and all errors, go through the opcode's conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation

from ...dialects.support.creation import default_properties
from ...hlo_dialect.attributes import int_array, int_attr
from ...hlo_dialect.ops.comparison import CompareOp, comparison_direction, comparison_type
from ...hlo_dialect.ops.creation import IotaOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from ...hlo_dialect.ops.slicing import ConcatenateOp, SliceOp
from .opcode_classes import ELEMENTWISE
from .program import Form
from .shapes import shape_text
from .values import UnexpectedValueError, read_int, read_ints, read_ranges

DIRECTIONS = {name: comparison_direction(name) for name in ("EQ", "NE", "GE", "GT", "LE", "LT")}
COMPARISONS = {name: comparison_type(name) for name in ("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")}

Properties: TypeAlias = "Mapping[str, Attribute] | None"
Read: TypeAlias = "Callable[[Mapping[str, str]], Properties]"

_NONE: Mapping[str, Attribute] = {}


class _Opcode(NamedTuple):
    """The class of an opcode's operation, its number of operands (negative: any), and the reader of its properties."""

    cls: type[IRDLOperation]
    operands: int
    read: Read
    """The properties that the attributes of an instruction state; None where they have another form."""


class Direct(NamedTuple):
    """The operation that instructions of one form are."""

    cls: type[IRDLOperation]
    operands: int
    """How many it takes; negative for any number."""
    type: Attribute
    properties: Mapping[str, Attribute]
    """All of them: also those that are not stated, and have a default."""
    layout: StringAttr | None
    """The attribute `mhlo.xla_shape`, where the layout is not row-major."""


@lru_cache(maxsize=1 << 13)
def direct(form: Form) -> Direct | None:
    """The operation of a form; None where that takes a `Step`."""
    found, shape = _OPCODES.get(form.opcode), form.shape
    properties = None if found is None else found.read(form.attributes)
    if found is None or properties is None or shape is None or shape.type is None:
        return None
    defaults = {name: value for name, value in default_properties(found.cls) if name not in properties}
    layout = shared_string(shape_text(shape)) if shape.stated else None
    return Direct(found.cls, found.operands, shape.type, {**properties, **defaults}, layout)


@lru_cache(maxsize=4096)
def shared_string(text: str) -> StringAttr:
    """An attribute that many operations share: those that are equal are verified once."""
    return StringAttr(text)


def _without(attributes: Mapping[str, str]) -> Properties:
    return None if attributes else _NONE


def _one(name: str, convert: Callable[[str], Mapping[str, Attribute]]) -> Read:
    """The reader of the one attribute of that name."""

    @lru_cache(maxsize=4096)
    def kept(text: str) -> Properties:
        try:
            return convert(text)
        except UnexpectedValueError:
            return None

    def read(attributes: Mapping[str, str]) -> Properties:
        text = attributes.get(name)
        return None if text is None or len(attributes) != 1 else kept(text)

    return read


def _list(name: str, property_: str) -> Read:
    return _one(name, lambda text: {property_: int_array(read_ints(text))})


def _dimension(text: str) -> Mapping[str, Attribute]:
    dims = read_ints(text)
    if len(dims) != 1:
        raise UnexpectedValueError("one dimension")
    return {"dimension": int_attr(dims[0])}


def _ranges(text: str) -> Mapping[str, Attribute]:
    return dict(zip(("start_indices", "limit_indices", "strides"), map(int_array, read_ranges(text)), strict=True))


def _comparison(attributes: Mapping[str, str]) -> Properties:
    direction = DIRECTIONS.get(attributes.get("direction", ""))
    if direction is None or len(attributes) > 2:
        return None
    if len(attributes) == 1:
        return {"comparison_direction": direction}
    kind = COMPARISONS.get(attributes.get("type", ""))
    return None if kind is None else {"comparison_direction": direction, "compare_type": kind}


_OPCODES: Mapping[str, _Opcode] = {
    **{name: _Opcode(cls, operands, _without) for name, (cls, operands) in ELEMENTWISE.items()},
    "reshape": _Opcode(ReshapeOp, 1, _without),
    "broadcast": _Opcode(BroadcastInDimOp, 1, _list("dimensions", "broadcast_dimensions")),
    "transpose": _Opcode(TransposeOp, 1, _list("dimensions", "permutation")),
    "reverse": _Opcode(ReverseOp, 1, _list("dimensions", "dimensions")),
    "concatenate": _Opcode(ConcatenateOp, -1, _one("dimensions", _dimension)),
    "slice": _Opcode(SliceOp, 1, _one("slice", _ranges)),
    "iota": _Opcode(IotaOp, 0, _one("iota_dimension", lambda text: {"iota_dimension": int_attr(read_int(text))})),
    "compare": _Opcode(CompareOp, 2, _comparison),
}
