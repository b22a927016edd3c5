"""
The opcodes that most instructions of a program have, read without a `Step`: one operation, whose properties follow from
the text of one or two attributes.

Instructions in any other form, and all errors, go through the opcode's conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from xdsl.ir import Attribute, Operation

from ...hlo_dialect.attributes import int_array, int_attr
from ...hlo_dialect.ops.comparison import CompareOp, comparison_direction, comparison_type
from ...hlo_dialect.ops.creation import IotaOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, ReverseOp, TransposeOp
from ...hlo_dialect.ops.slicing import ConcatenateOp, SliceOp
from .opcode_classes import ELEMENTWISE
from .values import UnexpectedValueError, read_int, read_ints, read_ranges

DIRECTIONS = {name: comparison_direction(name) for name in ("EQ", "NE", "GE", "GT", "LE", "LT")}
COMPARISONS = {name: comparison_type(name) for name in ("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")}

Properties: TypeAlias = "Mapping[str, Attribute] | None"
Read: TypeAlias = "Callable[[Mapping[str, str]], Properties]"

_NONE: Mapping[str, Attribute] = {}


class Direct(NamedTuple):
    """The class of an opcode's operation, its number of operands (negative: any), and the reader of its properties."""

    cls: type[Operation]
    operands: int
    read: Read
    """The properties that the attributes of an instruction state; None where they have another form."""


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


DIRECT: Mapping[str, Direct] = {
    **{name: Direct(cls, operands, _without) for name, (cls, operands) in ELEMENTWISE.items()},
    "reshape": Direct(ReshapeOp, 1, _without),
    "broadcast": Direct(BroadcastInDimOp, 1, _list("dimensions", "broadcast_dimensions")),
    "transpose": Direct(TransposeOp, 1, _list("dimensions", "permutation")),
    "reverse": Direct(ReverseOp, 1, _list("dimensions", "dimensions")),
    "concatenate": Direct(ConcatenateOp, -1, _one("dimensions", _dimension)),
    "slice": Direct(SliceOp, 1, _one("slice", _ranges)),
    "iota": Direct(IotaOp, 0, _one("iota_dimension", lambda text: {"iota_dimension": int_attr(read_int(text))})),
    "compare": Direct(CompareOp, 2, _comparison),
}
