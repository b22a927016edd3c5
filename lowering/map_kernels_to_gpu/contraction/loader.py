"""
Loads tiles of a factor from global to shared memory.

Each thread moves the same few vectors of every tile: the loader computes their addresses in the factor and in the tile
once, and only the part that depends on k for each tile. Elements beyond the factor's edge are read as zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.gpu.nvgpu import DeviceAsyncCopyOp, bits_of
from ....dialects.gpu.plans import RegisterTile, TensorTile
from ....dialects.support.scalar import Scalar
from ...loop_nests.indices import delinearized
from ...loop_nests.kernel_builder import Index
from ...loop_nests.loop_builder import buffer_of
from ..threads.builder import GpuBuilder
from .form import Factor, Product, dot

PAD_BYTES = 16
"""Padding after each row of a tile in bytes, so that neighbouring rows fall into different banks."""


def flat(builder: GpuBuilder, root: SSAValue) -> SSAValue:
    """A whole buffer viewed as one row of elements."""
    return builder.strided_view(root, 0, (math.prod(buffer_of(root).get_shape()),), (1,))


def zero(builder: GpuBuilder, element: Attribute) -> SSAValue:
    if isinstance(element, IntegerType):
        return builder.scalar(IntegerAttr(0, cast(IntegerType, element)))
    return builder.scalar(FloatAttr(0.0, element))  # pyright: ignore


def broadcast(builder: GpuBuilder, value: SSAValue, lanes: int) -> SSAValue:
    """A vector with the scalar in every element; the scalar itself for a width of one."""
    if lanes == 1:
        return value
    type_ = VectorType(value.type, (lanes,))
    return builder.insert(vector.BroadcastOp.create(operands=[value], result_types=[type_])).results[0]


def extract(builder: GpuBuilder, value: SSAValue, lane: int) -> SSAValue:
    """An element of a vector, or a row of a two-dimensional vector."""
    type_ = cast("VectorType[Any]", value.type)
    shape = type_.get_shape()
    result = type_.element_type if len(shape) == 1 else VectorType(type_.element_type, shape[1:])
    return builder.insert(vector.ExtractOp(value, [lane], result)).result


def both(first: Scalar | None, second: Scalar | None) -> Scalar | None:
    """The conjunction of two conditions, where None means true."""
    if first is None or second is None:
        return first if second is None else second
    return first & second


@dataclass(frozen=True)
class TileShape:
    """A tile of a factor in shared memory."""

    outer: int
    depth: int
    threads: int
    by_depth: bool
    """Whether rows of the tile are indexed by k: it is stored as `[k][outer]`, otherwise as `[outer][k]`."""
    element: Attribute
    """The element type in shared memory."""

    @property
    def rows(self) -> int:
        return self.depth if self.by_depth else self.outer

    @property
    def columns(self) -> int:
        return self.outer if self.by_depth else self.depth

    @property
    def pitch(self) -> int:
        """Elements from one row to the next."""
        return self.columns + PAD_BYTES * 8 // max(8, bits_of(self.element))

    @property
    def size(self) -> int:
        return self.rows * self.pitch


def tile_shapes(product: Product, tile: RegisterTile | TensorTile) -> tuple[TileShape, TileShape]:
    """The tiles of both factors in shared memory."""
    lhs, rhs = product.factors()
    if isinstance(tile, RegisterTile):
        by_depth, element = (True, True), product.total
    else:
        # ldmatrix only transposes elements of 2 bytes: others are stored by rows of A and columns of B.
        transposes, element = bits_of(lhs.element) == 16, lhs.element
        by_depth = (transposes and not lhs.along_depth, transposes and not rhs.along_depth)
    return (
        TileShape(tile.m, tile.k, tile.block, by_depth[0], element),
        TileShape(tile.n, tile.k, tile.block, by_depth[1], element),
    )


def lanes_of(factor: Factor, shape: TileShape, vector_bytes: int = 16) -> int:
    """Elements that a thread moves to a tile at once: fewer if the tile has fewer vectors than threads."""
    bits = bits_of(factor.element)
    lanes = factor.vector(1 if bits < 8 else min(vector_bytes * 8 // bits, 16))
    while lanes > 1 and shape.outer * shape.depth // lanes < shape.threads:
        lanes //= 2
    return lanes


def copies_asynchronously(factor: Factor, shape: TileShape) -> bool:
    """Whether the vectors of a tile can be copied asynchronously: unconverted, and 4, 8 or 16 bytes each."""
    same = factor.along_depth != shape.by_depth and factor.element == shape.element
    return same and lanes_of(factor, shape) * bits_of(factor.element) in (32, 64, 128)


@dataclass(frozen=True)
class Piece:
    """One vector that a thread moves in each tile."""

    outer_offset: Index
    """Elements from the factor's beginning due to the outer index."""
    inside: Scalar | None
    """Whether the outer index lies within the factor; None if it always does."""
    outer: Index
    """In the tile; likewise the next."""
    depth: Index
    mine: Scalar | None
    """Whether the tile has this vector at all: small tiles have fewer vectors than the block has threads."""


class TileLoader:
    """Moves tiles of one factor: `copy` by asynchronous copies, `fetch` and `put` through registers."""

    def __init__(
        self,
        builder: GpuBuilder,
        factor: Factor,
        shape: TileShape,
        batch: Sequence[Index],
        first: Index,
        whole_depth: bool,
        vector_bytes: int = 16,
    ):
        """`batch`: its digits; `first`: the tile's first outer index; `whole_depth`: no tile extends past k's end."""
        self.builder = builder
        self.factor = factor
        self.shape = shape
        self.whole_depth = whole_depth
        self.source = flat(builder, factor.access.root)
        self.along_depth = factor.along_depth
        along, across = (shape.depth, shape.outer) if self.along_depth else (shape.outer, shape.depth)
        self.lanes = lanes_of(factor, shape, vector_bytes)
        base = factor.access.offset_at(builder)
        base += dot(batch, [stride for _, stride in factor.batch])
        self.pieces = [self._piece(number, along, across, base, first) for number in range(self._count(along * across))]

    def _count(self, elements: int) -> int:
        return -(-elements // (self.lanes * self.shape.threads))

    def _piece(self, number: int, along: int, across: int, base: Index, first: Index) -> Piece:
        builder, vectors = self.builder, along // self.lanes
        index = builder.thread_id() + number * self.shape.threads
        mine = None
        if (number + 1) * self.shape.threads > vectors * across:
            mine = builder.index(index).below(vectors * across)
        fast = builder.thread_id() % vectors * self.lanes
        slow = index // vectors
        if self.shape.threads % vectors:
            fast = index % vectors * self.lanes
        outer, depth = (slow, fast) if self.along_depth else (fast, slow)
        at = first + outer
        sizes = [size for size, _ in self.factor.outer]
        digits = delinearized(at, sizes)
        offset = base + dot(digits, [stride for _, stride in self.factor.outer])
        total = math.prod(sizes)
        inside = None if total % self.shape.outer == 0 else builder.index(at).below(total)
        return Piece(offset, inside, outer, depth, mine)

    def _place(self, piece: Piece, start: Index) -> tuple[Index, Scalar | None]:
        """The address of the vector in the tile at k = `start`, and whether it is in bounds; 0 if it is not."""
        builder = self.builder
        depth = start + piece.depth
        sizes = [size for size, _ in self.factor.depth]
        within = None if self.whole_depth else builder.index(depth).below(math.prod(sizes))
        digits = delinearized(depth, sizes)
        offset = piece.outer_offset + dot(digits, [stride for _, stride in self.factor.depth])
        inside = both(both(piece.inside, within), piece.mine)
        return offset if inside is None else builder.select(inside, offset, 0), inside

    def _position(self, piece: Piece) -> tuple[Index, Index]:
        """The row and column in the tile."""
        return (piece.depth, piece.outer) if self.shape.by_depth else (piece.outer, piece.depth)

    # By asynchronous copies.

    def copy(self, start: Index, tile: SSAValue, stage: Index) -> None:
        """Start copying the tile that begins at k = `start` to `tile[stage]`."""
        builder = self.builder
        for piece in self.pieces:
            offset, inside = self._place(piece, start)
            read = None if inside is None else builder.select(inside, self.lanes, 0).value
            row, column = self._position(piece)
            with builder.guarded(piece.mine):
                at = [builder.index(index).value for index in (stage, row, column)]
                wide = self.lanes * bits_of(self.factor.element) == 128
                source = [builder.index(offset).value]
                builder.insert(DeviceAsyncCopyOp(self.source, source, tile, at, self.lanes, read, wide))

    # Through registers.

    def fetch(self, start: Index) -> list[SSAValue]:
        """Load this thread's elements of the tile that begins at k = `start`, converted to the tile's element type."""
        return [self._read(piece, start) for piece in self.pieces]

    def _read(self, piece: Piece, start: Index) -> SSAValue:
        builder = self.builder
        offset, inside = self._place(piece, start)
        if self.lanes == 1:
            value = builder.load(self.source, [offset])
        else:
            type_ = VectorType(self.factor.element, (self.lanes,))
            operands = [self.source, builder.index(offset).value]
            value = builder.insert(vector.LoadOp.create(operands=operands, result_types=[type_])).result
        for op in self.factor.conversions:
            value = self._convert(op, value)
        if inside is None:
            return value
        nothing = broadcast(builder, zero(builder, self.shape.element), self.lanes)
        return inside.select(value, nothing).value

    def _convert(self, op: Operation, value: SSAValue) -> SSAValue:
        """Convert the result of one access, as a vector if the operation takes vectors, else by element."""
        builder = self.builder

        def convert(value: SSAValue, type_: Attribute) -> SSAValue:
            made = type(op).create(operands=[value], result_types=[type_], properties=op.properties)
            return builder.insert(made).results[0]

        element = op.results[0].type
        if self.lanes == 1:
            return convert(value, element)
        if isinstance(op, (arith.ExtFOp, arith.TruncFOp)):
            return convert(value, VectorType(element, (self.lanes,)))
        whole = broadcast(builder, zero(builder, element), self.lanes)
        for lane in range(self.lanes):
            one = convert(extract(builder, value, lane), element)
            whole = builder.insert(vector.InsertOp(one, whole, [lane])).result
        return whole

    def put(self, values: Sequence[SSAValue], tile: SSAValue, stage: Index) -> None:
        """Store the result of `fetch` to `tile[stage]`."""
        builder = self.builder
        for piece, value in zip(self.pieces, values, strict=True):
            with builder.guarded(piece.mine):
                self._write(piece, value, tile, stage)

    def _write(self, piece: Piece, value: SSAValue, tile: SSAValue, stage: Index) -> None:
        builder = self.builder
        row, column = self._position(piece)
        if self.lanes == 1:
            builder.store(value, tile, [stage, row, column])
        elif self.along_depth != self.shape.by_depth:
            at = [builder.index(index).value for index in (stage, row, column)]
            builder.insert(vector.StoreOp.create(operands=[value, tile, *at]))
        else:
            for lane in range(self.lanes):
                one = extract(builder, value, lane)
                # The vector runs along k and the rows of the tile are indexed by k, or neither.
                at = [stage, row + lane, column]
                builder.store(one, tile, at)
