"""
Shapes in HLO text: `f32[2,<=3]{1,0:T(8,128)}`, `token[]`, `(s32[], (f32[2]{0}, pred[]))`.

A layout lists the dimensions from minor to major. Arrays of hlo are row-major; other layouts matter only where an
instruction reinterprets memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import ComplexType, IntegerType, Signedness, TensorType
from xdsl.ir import Attribute

from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.collectives.host_transfers import TokenType
from ...hlo_dialect.ops.dynamism.dimension_sizes import BoundsAttr
from ...hlo_dialect.shapes import DYNAMIC
from ...hlo_dialect.types import DTYPES, element_type_of, f32, f64, make_tensor

Layout = tuple[int, ...]
"""Dimensions from minor to major."""

_FLOATS = {
    "f8e3m4": "float8_e3m4", "f8e4m3": "float8_e4m3", "f8e4m3fn": "float8_e4m3fn", "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e4m3b11fnuz": "float8_e4m3b11fnuz", "f8e5m2": "float8_e5m2", "f8e5m2fnuz": "float8_e5m2fnuz",
    "f8e8m0fnu": "float8_e8m0fnu", "f4e2m1fn": "float4_e2m1fn", "f6e2m3fn": "float6_e2m3fn",
    "f6e3m2fn": "float6_e3m2fn", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
}  # fmt: skip

ELEMENTS: dict[str, Attribute] = {
    "pred": IntegerType(1),
    **{f"s{width}": IntegerType(width) for width in (2, 4, 8, 16, 32, 64)},
    **{f"u{width}": IntegerType(width, Signedness.UNSIGNED) for width in (2, 4, 8, 16, 32, 64)},
    **{name: cast(Attribute, element_type_of(DTYPES[dtype])) for name, dtype in _FLOATS.items()},
    "c64": ComplexType(f32),
    "c128": ComplexType(f64),
}
"""The element types by XLA's names."""

NAMES = {element: name for name, element in ELEMENTS.items()}
"""XLA's names of the element types."""

TOKEN = TokenType()

_ARRAY = re.compile(r"([a-z]\w*)\[([^\]]*)\](?:\{((?:[^{}]|\{[^{}]*\})*)\})?")
_SPACE = re.compile(r"(?:\s++|/\*.*?\*/|//[^\n]*+)*+", re.DOTALL)
_SIZE = re.compile(r"(<=)?([0-9]{1,19})|\?|<=\?")
_MAX_DEPTH = 64


class ShapeError(Exception):
    """A text is no shape. `offset` is the place in the text."""

    def __init__(self, message: str, offset: int):
        super().__init__(message)
        self.message, self.offset = message, offset


@dataclass(frozen=True, slots=True)
class Shape:
    """An array, a token, or a tuple of shapes."""

    type: Attribute | None
    """hlo's type; None for a tuple."""
    layout: Layout | None = None
    """None for row-major arrays, and for what has no layout."""
    parts: tuple[Shape, ...] = ()
    dims: tuple[int, ...] = ()

    @property
    def is_tuple(self) -> bool:
        return self.type is None

    def leaves(self) -> Iterator[Shape]:
        """The arrays and tokens in order."""
        if self.type is not None:
            yield self
        for part in self.parts:
            yield from part.leaves()

    def types(self) -> list[Attribute]:
        """The types of the leaves."""
        return [leaf.type for leaf in self.leaves() if leaf.type is not None]

    def matches(self, other: Shape) -> bool:
        """Whether both are of one type, whatever their layouts."""
        if self.is_tuple or other.is_tuple:
            same = self.is_tuple and other.is_tuple and len(self.parts) == len(other.parts)
            return same and all(ours.matches(theirs) for ours, theirs in zip(self.parts, other.parts, strict=True))
        return self.type == other.type


@lru_cache(maxsize=1 << 14)
def read_shape(text: str) -> Shape:
    """The shape that a whole text is. Raises ShapeError."""
    shape, end = shape_at(text, 0)
    end = cast(Any, _SPACE.match(text, end)).end()
    if end != len(text):
        raise ShapeError("unexpected text after the shape", end)
    return shape


def shape_at(text: str, offset: int, depth: int = 0) -> tuple[Shape, int]:
    """The shape that begins at an offset, and its end. Raises ShapeError."""
    offset = cast(Any, _SPACE.match(text, offset)).end()
    if depth > _MAX_DEPTH:
        raise ShapeError(f"tuples are nested more than {_MAX_DEPTH} deep", offset)
    if not text.startswith("(", offset):
        match = _ARRAY.match(text, offset)
        if match is None:
            raise ShapeError("expected a shape, such as f32[2,3]{1,0}", offset)
        return _array(match[0], offset), match.end()
    parts: list[Shape] = []
    offset = cast(Any, _SPACE.match(text, offset + 1)).end()
    while not text.startswith(")", offset):
        if parts:
            if not text.startswith(",", offset):
                raise ShapeError("expected ',' or ')' in the shape of a tuple", offset)
            offset += 1
        part, offset = shape_at(text, offset, depth + 1)
        parts.append(part)
        offset = cast(Any, _SPACE.match(text, offset)).end()
    return Shape(None, parts=tuple(parts)), offset + 1


def _array(text: str, offset: int) -> Shape:
    try:
        return _array_shape(text)
    except ShapeError as error:
        raise ShapeError(error.message, offset + error.offset) from None


@lru_cache(maxsize=1 << 14)
def _array_shape(text: str) -> Shape:
    match = _ARRAY.fullmatch(text)
    assert match is not None
    name, sizes, layout = match.groups()
    if name == "token":
        return Shape(TOKEN)
    element = ELEMENTS.get(name)
    if element is None:
        what = "hlo has no counterpart of this type" if name in ("opaque", "s1", "u1", "buffer") else "unknown type"
        raise ShapeError(f"'{name}': {what}; there are {', '.join(ELEMENTS)}", 0)
    dims: list[int] = []
    bounds: list[int] = []
    for size in sizes.split(",") if sizes.strip() else ():
        found = _SIZE.fullmatch(size.strip())
        if found is None:
            raise ShapeError(f"'{size.strip()}' is no size of a dimension", match.start(2))
        number = DYNAMIC if found[2] is None else int(found[2])
        if number >= 1 << 63:
            raise ShapeError(f"the size {number} does not fit into 64 bits", match.start(2))
        dynamic = found[1] is not None or number == DYNAMIC
        dims.append(DYNAMIC if dynamic else number)
        bounds.append(number if dynamic else DYNAMIC)
    type_: Attribute = make_tensor(tuple(dims), element)
    if any(bound != DYNAMIC for bound in bounds):
        type_ = TensorType(element, dims, BoundsAttr(int_array(bounds)))
    order = _layout(layout, len(dims), match.start(3))
    return Shape(type_, order, dims=tuple(dims))


def _layout(text: str | None, rank: int, offset: int) -> Layout | None:
    """`1,0:T(8,128)`: only the order of dimensions means something to programs; tiles are how a machine stores it."""
    if text is None or not text.strip():
        return None
    order = text.partition(":")[0].strip()
    if not order:
        return None
    numbers = [number.strip() for number in order.split(",")]
    if sorted(numbers) != sorted(map(str, range(rank))):
        raise ShapeError(f"the layout {{{order}}} does not order {rank} dimensions", offset)
    found = tuple(map(int, numbers))
    return None if found == tuple(reversed(range(rank))) else found
