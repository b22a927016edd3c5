"""bitcast: the same bytes in memory as another array. Both layouts, with their tiles, say where its elements lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from xdsl.ir import Attribute

from ....hlo_dialect.expressions.tensor import Tensor
from ....hlo_dialect.ops.conversion import BitcastConvertOp
from ....hlo_dialect.ops.movement import ReshapeOp
from ....hlo_dialect.shapes import is_static
from ....hlo_dialect.types import bit_width, element_of, is_boolean, is_complex, is_integer, make_tensor
from ..registry import opcode
from ..shapes import COMBINED, Shape, Tile
from ..step import Step, Value


@opcode("bitcast", "", 1)
def bitcast(step: Step) -> Value:
    if isinstance(step.operands[0], tuple):
        return step.operands[0]
    before, after = step.operand_shapes[0], step.shape
    if before.is_row_major and after.is_row_major and _are_alike(before, after):
        return step.op(ReshapeOp, [step.value(0)])
    x, target = step.tensor(0), step.tensor_type
    same_layout = (before.layout, before.tiles) == (after.layout, after.tiles)
    if x.type == target and same_layout:
        return x.value
    if not (is_static(x.shape) and is_static(target.get_shape())):
        step.fail("arrays of unknown sizes have no bytes to reinterpret")
    element = target.element_type
    counts = [math.prod(_memory_shape(shape)) for shape in (before, after)]
    if counts[0] * _stored_bits(x.element) != counts[1] * _stored_bits(element):
        step.fail(f"{x.type} and {target} do not take the same number of bytes")
    if x.shape == target.get_shape() and same_layout and not _is_opaque(x.element) and not _is_opaque(element):
        return x.bits_as(element).value
    memory = _stored(x, before)
    if x.element != element:
        memory = _reinterpreted(step, memory, element)
    return _loaded(memory, after).value


def _are_alike(before: Shape, after: Shape) -> bool:
    """Whether both are arrays of as many elements of one type, and of different dimensions."""
    types = before.type, after.type
    if any(each is None or each.name != "tensor" for each in types) or before.dims == after.dims:
        return False
    ours, theirs = (element_of(cast(Attribute, each)) for each in types)
    return ours == theirs and is_static((*before.dims, *after.dims)) and math.prod(before.dims) == math.prod(after.dims)


# Memory -----------------------------------------------------------------------------------------------------------


def _order(shape: Shape) -> list[int]:
    """The dimensions from major to minor."""
    return list(range(len(shape.dims))) if shape.layout is None else list(reversed(shape.layout))


def _grid(dims: Sequence[int], tile: Tile) -> tuple[list[int], list[int], list[int]]:
    """
    Dimensions as a tile sees them: leading ones of one element, combined where it says so; then those outside of it,
    and its sizes.
    """
    seen = [1] * (len(tile) - len(dims)) + list(dims)
    outside, inside = seen[: len(seen) - len(tile)], seen[len(seen) - len(tile) :]
    joined: list[int] = []
    carried = 1
    for size, extent in zip(tile, inside, strict=True):
        carried *= extent
        if size != COMBINED:
            joined.append(carried)
            carried = 1
    return outside, joined, [size for size in tile if size != COMBINED]


def _tiled(outside: Sequence[int], joined: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """The dimensions of an array in tiles: those outside, the numbers of tiles, the elements of a tile."""
    return [*outside, *(-(-extent // size) for extent, size in zip(joined, sizes, strict=True)), *sizes]


def _memory_shape(shape: Shape) -> list[int]:
    """The dimensions of an array as it lies in memory, from major to minor, with the padding of its tiles."""
    dims = [shape.dims[dim] for dim in _order(shape)]
    for tile in shape.tiles:
        dims = _tiled(*_grid(dims, tile))
    return dims


def _apart(outside: int, count: int) -> list[int]:
    """The permutation of `outside.., tiles, size, tiles, size, ..` that puts the sizes last."""
    first = list(range(outside, outside + 2 * count, 2))
    return [*range(outside), *first, *(dim + 1 for dim in first)]


def _stored(x: Tensor, shape: Shape) -> Tensor:
    """The elements in the order of memory. XLA leaves the padding undefined; here it is zero."""
    x = x.transpose(_order(shape))
    for tile in shape.tiles:
        outside, joined, sizes = _grid(x.shape, tile)
        dims = _tiled(outside, joined, sizes)
        tiles = dims[len(outside) : len(outside) + len(sizes)]
        missing = [count * size - extent for count, size, extent in zip(tiles, sizes, joined, strict=True)]
        x = x.reshape((*outside, *joined))
        if any(missing):
            zero = x.builder.splat(0, make_tensor((), x.element))
            x = x.pad(zero, [0] * len(x.shape), [0] * len(outside) + missing)
        pairs = [each for pair in zip(tiles, sizes, strict=True) for each in pair]
        x = x.reshape((*outside, *pairs)).transpose(_apart(len(outside), len(sizes)))
    return x


def _loaded(memory: Tensor, shape: Shape) -> Tensor:
    """The array of a shape whose elements, in the order of memory, are these."""
    order = _order(shape)
    levels = [[shape.dims[dim] for dim in order]]
    for tile in shape.tiles:
        levels.append(_tiled(*_grid(levels[-1], tile)))
    x = memory.reshape(levels.pop())
    for tile in reversed(shape.tiles):
        dims = levels.pop()
        outside, joined, sizes = _grid(dims, tile)
        there = _apart(len(outside), len(sizes))
        tiles = x.shape[len(outside) : len(outside) + len(sizes)]
        x = x.transpose([there.index(dim) for dim in range(len(there))])
        x = x.reshape((*outside, *(count * size for count, size in zip(tiles, sizes, strict=True))))
        if x.shape != (*outside, *joined):
            x = x.first((*outside, *joined))
        x = x.reshape(dims)
    return x.transpose([order.index(dim) for dim in range(len(order))])


# Element types ----------------------------------------------------------------------------------------------------


def _is_opaque(element: Attribute) -> bool:
    """Whether bitcast_convert does not take the type as it is in memory."""
    return is_boolean(element) or is_complex(element)


def _stored_bits(element: Attribute) -> int:
    """The bits that an element takes in memory: a byte for a boolean."""
    return max(8, bit_width(element)) if is_boolean(element) else bit_width(element)


def _reinterpreted(step: Step, x: Tensor, element: Attribute) -> Tensor:
    """The elements of an array, one after the other, as those of another type."""
    x = x.reshape((math.prod(x.shape),))
    if is_complex(x.element) or is_complex(element):
        step.fail(f"reinterpreting {x.element} as {element} is not supported: use real, imag and complex")
    if is_boolean(x.element) or is_boolean(element):
        other = element if is_boolean(x.element) else x.element
        if not (is_boolean(other) or (is_integer(other) and bit_width(other) == 8)):
            step.fail(f"reinterpreting {x.element} as {element} is not supported: use convert or compare")
        return x.convert(element)
    ours, theirs = bit_width(x.element), bit_width(element)
    count = x.shape[0] * ours // theirs
    if ours < theirs:
        x = x.reshape((count, theirs // ours))
    shape = (x.shape[0], ours // theirs) if ours > theirs else (count,)
    return x.builder.op(BitcastConvertOp, [x], make_tensor(shape, element)).reshape((count,))
