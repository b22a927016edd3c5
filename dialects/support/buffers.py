"""Types and integer arrays from caches, and the strides of the identity layout, for all code that builds memrefs."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    VectorType,
    bf16,
    f16,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute

from .attributes import known_attribute, shape_attr

Buffer: TypeAlias = MemRefType[Any]

INDEX = IndexType()

_NONE = NoneAttr()


@lru_cache(maxsize=4096)
def i64_array(values: tuple[int, ...]) -> DenseArrayBase[Any]:
    """`array<i64: ..>`"""
    return DenseArrayBase.from_list(i64, values)


@lru_cache(maxsize=4096)
def i32_array(values: tuple[int, ...]) -> DenseArrayBase[Any]:
    """`array<i32: ..>`, the form of `operandSegmentSizes`."""
    return DenseArrayBase.from_list(i32, values)


_vectors: dict[tuple[int, int], VectorType[Any]] = {}
"""By the identity of the type of elements, which they keep, and the number of lanes."""


def vector_type(element: Attribute, lanes: int) -> VectorType[Any]:
    """`vector<lanes x element>`"""
    key = (id(element), lanes)
    found = _vectors.get(key)
    if found is None:
        if len(_vectors) >= 4096:
            _vectors.clear()
        found = _vectors[key] = VectorType(cast(Any, element), [lanes])
    return found


@lru_cache(maxsize=4096)
def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of the identity layout."""
    strides = [1] * len(shape)
    for dim in range(len(shape) - 2, -1, -1):
        strides[dim] = strides[dim + 1] * shape[dim + 1]
    return tuple(strides)


_buffers: dict[tuple[tuple[int, ...], int, tuple[tuple[int, ...], int | None] | None], Buffer] = {}
"""By shape, the identity of the type of elements, which they keep, and strides with offset."""


def memref_type(
    shape: tuple[int, ...], element: Attribute, strides: tuple[int, ...] | None = None, offset: int | None = 0
) -> Buffer:
    """A memref type from a cache; identity layout without `strides`. An `offset` of None is dynamic."""
    if strides is not None and offset == 0 and strides == row_major(shape):
        strides = None
    layout = None if strides is None else (strides, offset)
    key = (shape, id(element), layout)
    found = _buffers.get(key)
    if found is None:
        if len(_buffers) >= 4096:
            _buffers.clear()
        stated = _NONE if layout is None else StridedLayoutAttr(*layout)
        found = _buffers[key] = known_attribute(
            MemRefType, shape=shape_attr(shape), element_type=element, layout=stated, memory_space=_NONE
        )
    return found


_TEXT = re.compile(r"((?:\d+x)*)(?:(bf16|f16|f32|f64|index)|i(\d+))")
_ELEMENTS: dict[str, Attribute] = {str(element): element for element in (bf16, f16, f32, f64, INDEX)}


def buffer_text(type_: Buffer) -> str | None:
    """A type without a layout as a word, which `buffer_of_text` reads: `4x8xf32`; None if it reads no such word."""
    text = str(type_)[len("memref<") : -1]
    return text if _TEXT.fullmatch(text) else None


def buffer_of_text(text: str) -> Buffer:
    """The type that a word states. Raises ValueError."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' is no buffer")
    sizes, name, width = found.groups()
    shape = tuple(int(size) for size in sizes.split("x")[:-1])
    return memref_type(shape, IntegerType(int(width)) if name is None else _ELEMENTS[name])
