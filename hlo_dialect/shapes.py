"""
Arithmetic and comparison of shapes in which a dimension may be unknown (`?`, `DYNAMIC` here).

Two shapes agree if they have the same rank and each pair of dimensions is equal or contains an unknown one; StableHLO's
constraints demand this of programs whose shapes are not all static.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, TupleType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from .types import make_tensor, tensor_type

DYNAMIC = DYNAMIC_INDEX
Shape = tuple[int, ...]

BOUNDS = "hlo.bounds"
"""The encoding that states the largest sizes of a tensor type; ops/dynamism/dimension_sizes.py defines it."""


def is_static(shape: Sequence[int]) -> bool:
    return DYNAMIC not in shape


def dims_agree(first: int, second: int) -> bool:
    return first == second or DYNAMIC in (first, second)


def shapes_agree(first: Sequence[int], second: Sequence[int]) -> bool:
    return len(first) == len(second) and all(map(dims_agree, first, second))


def shaped_like(shape: Shape, result: SSAValue) -> Attribute:
    """The type of a result that has this shape and states its element type: its own where the shape is not known."""
    stated = tensor_type(result)
    if is_static(stated.get_shape()) or not is_static(shape):
        return result.type
    return make_tensor(shape, stated.element_type)


def types_agree(first: Attribute, second: Attribute) -> bool:
    """Whether the types are equal, or tensors of one element type whose shapes agree, or tuples of such."""
    if first is second or first == second:
        return True
    if isinstance(first, TupleType) and isinstance(second, TupleType):
        ours, theirs = first.types.data, second.types.data
        return len(ours) == len(theirs) and all(map(types_agree, ours, theirs))
    if not (isinstance(first, TensorType) and isinstance(second, TensorType)):
        return False
    ours, theirs = tensor_type(cast(Attribute, first)), tensor_type(cast(Attribute, second))
    return ours.element_type == theirs.element_type and sizes_agree(ours, theirs)


def sizes_agree(first: TensorType[Attribute], second: TensorType[Attribute]) -> bool:
    """Whether the shapes of two tensor types agree, and no known size is above the other's bound."""
    ours, theirs = first.get_shape(), second.get_shape()
    if not shapes_agree(ours, theirs) or first.encoding.name == second.encoding.name == "none":
        return shapes_agree(ours, theirs)
    return all(
        (size == DYNAMIC or other != DYNAMIC or bound == DYNAMIC or size <= bound)
        for sizes, others, bounds in (
            (ours, theirs, largest_sizes(second)),
            (theirs, ours, largest_sizes(first)),
        )
        for size, other, bound in zip(sizes, others, bounds, strict=True)
    )


def largest_sizes(type_: TensorType[Attribute]) -> Shape:
    """The largest size that each dimension may have, DYNAMIC where nothing bounds it."""
    shape = type_.get_shape()
    if type_.encoding.name != BOUNDS:
        return shape
    bounds = cast(tuple[int, ...], cast(Any, type_.encoding).sizes.get_values())
    return tuple(bound if size == DYNAMIC else size for size, bound in zip(shape, bounds, strict=True))


def merge_dim(first: int, second: int) -> int:
    """The known one of two dimensions that agree."""
    return second if first == DYNAMIC else first


def element_count(shape: Sequence[int]) -> int:
    """The number of elements; DYNAMIC where a dimension is unknown (even beside a zero)."""
    return math.prod(shape) if is_static(shape) else DYNAMIC


def shape_text(shape: Sequence[int]) -> str:
    """`(2, ?, 3)`"""
    return f"({', '.join('?' if dim == DYNAMIC else str(dim) for dim in shape)})"


class Inferring(Protocol):
    """An operation that infers its result types: any HloOp, which is defined further up."""

    def infer_types(self) -> tuple[Attribute, ...]: ...
    @property
    def result_types(self) -> Sequence[Attribute]: ...


def verify_results_agree(op: Inferring, constraint: str, inferred: Sequence[Attribute] | None = None) -> None:
    """Check the results against `infer_types`, or what it gave before; unknown dimensions match any size."""
    found = op.result_types
    if inferred is None:
        inferred = op.infer_types()
    if len(inferred) != len(found):
        raise VerifyException(f"{constraint}: there are {len(found)} results, expected {len(inferred)}")
    for index, (actual, wanted) in enumerate(zip(found, inferred, strict=True)):
        if not types_agree(actual, wanted):
            which = "result" if len(inferred) == 1 else f"result {index}"
            raise VerifyException(f"{constraint}: {which} has type {actual}, expected {wanted}")


def repeated(values: Sequence[int]) -> bool:
    """Whether a value occurs twice."""
    return len(set(values)) != len(values)


def reshape_parts(source: Shape, target: Shape) -> list[tuple[int, ...]] | None:
    """
    For each dimension of a reshape's operand, the result's dimensions that it is split into, without those of size 1.

    An index into `source` is then a sum of multiples of indices into `target`. None if dimensions are merged, which
    would need divisions, and for shapes without elements.
    """
    if 0 in source:
        return None
    wide = [dim for dim, size in enumerate(target) if size != 1]
    parts: list[tuple[int, ...]] = []
    position = 0
    for size in source:
        first, product = position, 1
        while product < size and position < len(wide):
            product *= target[wide[position]]
            position += 1
        if product != size:
            return None
        parts.append(tuple(wide[first:position]))
    return parts if position == len(wide) else None
