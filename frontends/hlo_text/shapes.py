"""
Shapes in HLO text: `f32[2,<=3]{1,0:T(8,128)}`, `token[]`, `(s32[], (f32[2]{0}, pred[]))`.

A layout lists the dimensions from minor to major, then the tiles in which a machine stores them. Arrays of hlo have no
layout: it matters only where an instruction reinterprets memory. Elsewhere the attribute `mhlo.xla_shape` keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import (
    ComplexType,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute

from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.collectives.tokens import TokenType
from ...hlo_dialect.ops.dynamism.dimension_sizes import BoundsAttr, bounds_of
from ...hlo_dialect.shapes import DYNAMIC
from ...hlo_dialect.types import dtype_named, element_type_of, f32, f64, make_tensor, tensor_type
from .blanks import SPACE

Layout = tuple[int, ...]
"""Dimensions from minor to major."""

Tile = tuple[int, ...]
"""The sizes of a tile, from major to minor; `COMBINED` for a dimension that is a part of the next one."""

COMBINED = -1

_FLOATS = {
    "f8e3m4": "float8_e3m4", "f8e4m3": "float8_e4m3", "f8e4m3fn": "float8_e4m3fn", "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e4m3b11fnuz": "float8_e4m3b11fnuz", "f8e5m2": "float8_e5m2", "f8e5m2fnuz": "float8_e5m2fnuz",
    "f8e8m0fnu": "float8_e8m0fnu", "f4e2m1fn": "float4_e2m1fn", "f6e2m3fn": "float6_e2m3fn",
    "f6e3m2fn": "float6_e3m2fn", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
}  # fmt: skip


def _element_named(name: str) -> Attribute:
    dtype = dtype_named(name)
    found = None if dtype is None else element_type_of(dtype)
    assert found is not None
    return found


ELEMENTS: dict[str, Attribute] = {
    "pred": IntegerType(1),
    **{f"s{width}": IntegerType(width) for width in (2, 4, 8, 16, 32, 64)},
    **{f"u{width}": IntegerType(width, Signedness.UNSIGNED) for width in (2, 4, 8, 16, 32, 64)},
    **{name: _element_named(dtype) for name, dtype in _FLOATS.items()},
    "c64": ComplexType(f32),
    "c128": ComplexType(f64),
}
"""The element types by XLA's names."""

NAMES = {element: name for name, element in ELEMENTS.items()}
"""XLA's names of the element types."""

TOKEN = TokenType()

_ARRAY = re.compile(r"([a-z]\w*)\[([^\]\n]*)\](?:\{((?:[^{}]|\{[^{}]*\})*)\})?")
_SIZE = re.compile(r"(<=)?([0-9]{1,19})|\?|<=\?")
_EXTRAS = re.compile(r"(?:[A-Z]+|[#*])(?:\([^()]*\))+")
_TILES = re.compile(r"T((?:\([^()]*\))+)")
_TILE_SIZE = re.compile(r"\*|[1-9][0-9]{0,8}")
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
    tiles: tuple[Tile, ...] = ()
    """Each divides the minor dimensions of what the ones before it made."""
    stated: str = ""
    """The layout as stated, without braces, if there is more to it than the row-major order."""
    is_plain: bool = True
    """Whether nothing is stated, of no part either."""

    @property
    def is_tuple(self) -> bool:
        return self.type is None

    @property
    def is_row_major(self) -> bool:
        """Whether an array's elements lie in memory in the order of its indices."""
        return self.layout is None and not self.tiles

    @property
    def order(self) -> Layout:
        """The layout of an array, also where it is row-major."""
        return self.layout or tuple(reversed(range(len(self.dims))))

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
    end = cast(Any, SPACE.match(text, end)).end()
    if end != len(text):
        raise ShapeError("unexpected text after the shape", end)
    return shape


def shape_at(text: str, offset: int, depth: int = 0) -> tuple[Shape, int]:
    """The shape that begins at an offset, and its end. Raises ShapeError."""
    offset = cast(Any, SPACE.match(text, offset)).end()
    if depth > _MAX_DEPTH:
        raise ShapeError(f"tuples are nested more than {_MAX_DEPTH} deep", offset)
    if not text.startswith("(", offset):
        match = _ARRAY.match(text, offset)
        if match is None:
            raise ShapeError("expected a shape, such as f32[2,3]{1,0}", offset)
        return _array(match[0], offset), match.end()
    parts: list[Shape] = []
    offset = cast(Any, SPACE.match(text, offset + 1)).end()
    while not text.startswith(")", offset):
        if parts:
            if not text.startswith(",", offset):
                raise ShapeError("expected ',' or ')' in the shape of a tuple", offset)
            offset += 1
        part, offset = shape_at(text, offset, depth + 1)
        parts.append(part)
        offset = cast(Any, SPACE.match(text, offset)).end()
    return Shape(None, parts=tuple(parts), is_plain=all(part.is_plain for part in parts)), offset + 1


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
    order, tiles, stated = _layout(layout, len(dims), match.start(3))
    return Shape(type_, order, (), tuple(dims), tiles, stated, not stated)


def _layout(text: str | None, rank: int, offset: int) -> tuple[Layout | None, tuple[Tile, ...], str]:
    """`1,0:T(8,128)(2,1)S(1)`: the order unless it is row-major, the tiles, and the text if there is any of both."""
    if text is None or not text.strip():
        return None, (), ""
    stated = "".join(text.split())
    order, _, extras = stated.partition(":")
    numbers = order.split(",") if order else []
    if order and sorted(numbers) != sorted(map(str, range(rank))):
        raise ShapeError(f"the layout {{{order}}} does not order {rank} dimensions", offset)
    tiles = _tiles(extras, offset) if extras else ()
    found = tuple(map(int, numbers))
    if not order or found == tuple(reversed(range(rank))):
        return None, tiles, stated if extras else ""
    return found, tiles, stated


def _tiles(extras: str, offset: int) -> tuple[Tile, ...]:
    """The tiles in `T(8,128)(2,1)E(4)S(1)`; what else is there, such as the space of memory, has no meaning here."""
    if "".join(match[0] for match in _EXTRAS.finditer(extras)) != extras:
        raise ShapeError(f"'{extras}' is no list of tiles and the like, such as T(8,128)S(1)", offset)
    tiles: list[Tile] = []
    for match in _TILES.finditer(extras):
        for tile in match[1][1:-1].split(")("):
            sizes = tile.split(",")
            if not all(_TILE_SIZE.fullmatch(size) for size in sizes) or sizes[-1] == "*":
                raise ShapeError(f"({tile}) is no tile, such as (8,128)", offset)
            tiles.append(tuple(COMBINED if size == "*" else int(size) for size in sizes))
    return tuple(tiles)


# Text -------------------------------------------------------------------------------------------------------------


def type_text(type_: Attribute, layout: str = "") -> str | None:
    """`f32[2,3]{1,0}`, or `token[]`; None for types that HLO lacks. The layout is row-major unless given."""
    if type_ == TOKEN:
        return "token[]"
    if not isinstance(type_, TensorType):
        return None
    tensor = tensor_type(cast(Attribute, type_))
    name = NAMES.get(tensor.element_type)
    if name is None:
        return None
    shape = tensor.get_shape()
    bounds = bounds_of(tensor) or (DYNAMIC,) * len(shape)
    sizes = [
        str(size) if size != DYNAMIC else "?" if bound == DYNAMIC else f"<={bound}"
        for size, bound in zip(shape, bounds, strict=True)
    ]
    layout = layout or order_text(reversed(range(len(shape))))
    return f"{name}[{','.join(sizes)}]" + (f"{{{layout}}}" if layout else "")


def order_text(order: Iterable[int]) -> str:
    """`1,0`"""
    return ",".join(map(str, order))


def shape_text(shape: Shape) -> str:
    """A shape as HLO spells it, with its layouts."""
    if shape.type is None:
        return f"({', '.join(map(shape_text, shape.parts))})"
    return type_text(shape.type, shape.stated) or ""


def layouts_of(stated: Attribute | None, types: Sequence[Attribute]) -> list[str]:
    """The layouts that an attribute `mhlo.xla_shape` states for values of these types; empty where it states none."""
    if isinstance(stated, StringAttr):
        try:
            found = list(read_shape(stated.data).leaves())
        except ShapeError:
            found = []
        if [leaf.type for leaf in found] == list(types):
            return [leaf.stated for leaf in found]
    return [""] * len(types)
