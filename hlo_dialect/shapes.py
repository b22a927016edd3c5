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

from .types import HloTensor, make_tensor, tensor_type

DYNAMIC = DYNAMIC_INDEX
Shape = tuple[int, ...]

BOUNDS = "hlo.bounds"
"""The encoding that states the largest sizes of a tensor type; ops/dynamism/dimension_sizes.py defines it."""


def is_static(shape: Sequence[int]) -> bool:
    return DYNAMIC not in shape


def has_known_shape(type_: Attribute) -> bool:
    """Whether a type is no tensor, or one of known sizes."""
    return not isinstance(type_, TensorType) or is_static(cast("HloTensor", type_).get_shape())


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


Groups = list[tuple[list[int], list[int]]]


def reshape_groups(source: Sequence[int], target: Sequence[int]) -> Groups | None:
    """
    The smallest groups of neighbouring dimensions with as many elements before a reshape as after it.

    Dimensions of size 1 are in the group that follows them, or in a last one that may be empty on one side. None if a
    size is unknown, and for shapes without elements.
    """
    if 0 in source or not (is_static(source) and is_static(target)):
        return None
    groups: Groups = []
    outer = inner = 0
    while outer < len(source) and inner < len(target):
        starts, left, right = (outer, inner), source[outer], target[inner]
        outer, inner = outer + 1, inner + 1
        while left != right:
            if left < right:
                left, outer = left * source[outer], outer + 1
            else:
                right, inner = right * target[inner], inner + 1
        groups.append(([*range(starts[0], outer)], [*range(starts[1], inner)]))
    if outer < len(source) or inner < len(target):
        groups.append(([*range(outer, len(source))], [*range(inner, len(target))]))
    return groups


def wide_groups(source: Sequence[int], target: Sequence[int]) -> Groups | None:
    """The groups of a reshape, without dimensions of size 1."""
    groups = reshape_groups(source, target)
    if groups is None:
        return None
    wide = [([d for d in outer if source[d] != 1], [d for d in inner if target[d] != 1]) for outer, inner in groups]
    return [(outer, inner) for outer, inner in wide if outer]


def reshape_parts(source: Shape, target: Shape) -> list[tuple[int, ...]] | None:
    """
    For each dimension of a reshape's operand, the result's dimensions that it is split into, without those of size 1.

    An index into `source` is then a sum of multiples of indices into `target`. None if dimensions are merged, which
    would need divisions, and for shapes without elements.
    """
    groups = wide_groups(source, target)
    if groups is None or any(len(outer) > 1 for outer, _ in groups):
        return None
    parts = {outer[0]: tuple(inner) for outer, inner in groups}
    return [parts.get(dim, ()) for dim in range(len(source))]


def merged_dims(source: Sequence[int], target: Sequence[int], dim: int) -> list[int]:
    """The operand's dimensions, but those of size 1, that a reshape makes `dim` of; none if it makes others of them."""
    groups = wide_groups(source, target) or []
    return [place for outer, inner in groups if inner == [dim] for place in outer]
