"""The loops over the blocks of a product of lanes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import func
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, SSAValue

from ....dialects.support.buffers import memref_type, row_major
from ....dialects.support.scalar import width_of
from ...device.cpu import Machine
from ...loop_nests.indices import delinearized
from ...loop_nests.kernel_builder import Index
from ...loop_nests.loop_builder import LoopBuilder
from ...loop_nests.nest import Access
from ..contraction import Loop
from ..epilogue import emit_epilogue
from ..kernel import MULTIPLICATIONS_PER_OPERATION
from ..padding import Padding, Rows, copy_rows, padding_of
from ..parts import tasks
from ..split import add_chunks
from .kernel import call_lane_kernel
from .products import (
    LONG,
    MOST_REPEATS,
    MOST_ROWS,
    Block,
    LaneProduct,
    block_of,
    further_rows,
    lanes_of_block,
    members_of,
    with_copied_b,
)

FEW_TASKS = 16
"""Tasks below which rows and columns are divided too."""

MOST_COPIED = 256 * 1024
"""Bytes of a task's padded copy, which is on the stack and stays in the L2 cache."""


def is_in_parts(product: LaneProduct) -> bool:
    """Whether few long sums are computed in parts: no tile is complete before the parts are added."""
    rows = 1 if product.adds_lanes else product.m.size // MOST_ROWS
    around = rows * math.prod(loop.size for loop in product.outer if loop.size > MOST_REPEATS)
    return around < FEW_TASKS and product.depth >= LONG and len(product.ks) > 1


def emit_lane_product(
    builder: LoopBuilder, kernel: func.FuncOp, op: GenericOp, product: LaneProduct, machine: Machine
) -> Sequence[Operation]:
    """
    Emit the product of a generic, whose sums start from zero.

    Returns the operations that would pad its input, if it does that itself.
    """
    lanes = lanes_of_block(product, machine)
    assert lanes is not None, "lane_product_of asks"
    if product.n.b == -1:
        product = with_copied_b(builder, product)
    padding = padding_of(op, kernel) if product.a.root is op.inputs[0] else None
    if is_in_parts(product):
        parts = _in_parts(builder, product)
        padded = padding if product.adds_lanes else None
        made = _emit(builder, kernel, parts, block_of(parts, lanes, machine.registers), padded)
        n = Loop(1, 0, 0, 0) if product.adds_lanes else None
        whole, summed = (
            replace(each, outer=(*each.outer, *members_of(each)), n=n or each.n) for each in (product, parts)
        )
        add_chunks(builder, whole, summed, overwrite=True)
        return made
    return _emit(builder, kernel, product, block_of(product, lanes, machine.registers), padding)


def _emit(
    builder: LoopBuilder, kernel: func.FuncOp, product: LaneProduct, block: Block, padding: Padding | None
) -> Sequence[Operation]:
    """Emit a product in one piece. Returns the operations that would pad its input, if its tasks do that."""
    if padding is not None and product.adds_lanes:
        planes = planes_of(padding, product)
        if planes is not None:
            PlaneEmitter(builder, kernel, product, block, planes).emit()
            return padding.operations
    elif padding is not None:
        bands = bands_of(padding, product)
        if bands is not None:
            PaddedLaneEmitter(builder, kernel, product, block, bands).emit()
            return padding.operations
    LaneEmitter(builder, kernel, product, block).emit()
    return ()


def _in_parts(builder: LoopBuilder, product: LaneProduct) -> LaneProduct:
    """The product whose outermost contracted loop is the first of `outer`, into a new buffer `[k, .., m, n]`."""
    first, *ks = product.ks
    lanes = () if product.adds_lanes else (product.n,)
    loops = (*product.outer, *members_of(product), product.m, *lanes)
    sizes = (first.size, *(loop.size for loop in loops))
    strides = row_major(sizes)
    scratch = builder.alloc(memref_type((math.prod(sizes),), product.element))
    *outer, m = (replace(loop, c=stride) for loop, stride in zip(loops, strides[1:], strict=True))
    n = product.n if product.adds_lanes else m
    m = m if product.adds_lanes else outer.pop()
    group = product.group
    if group.kept:
        group = replace(group, kept=outer.pop().c)
    around = (replace(first, c=strides[0]), *outer)
    return replace(
        product, c=Access(scratch, 0, (), ()), m=m, n=n, outer=around, ks=tuple(ks), group=group, epilogue=None
    )


class LaneEmitter:
    """
    Each task computes a tile of C, block by block, and applies the epilogue to it.

    Blocks do not extend beyond their tile: the last ones begin earlier, and compute some sums again.
    """

    def __init__(self, builder: LoopBuilder, kernel: func.FuncOp, product: LaneProduct, block: Block):
        self.builder = builder
        self.kernel = kernel
        self.product = product
        self.block = block
        further = None if block.repeats == 1 else further_rows(product)
        self.outer = [loop for loop in product.outer if loop is not further]

    def emit(self) -> None:
        product, block = self.product, self.block
        around = [loop.size for loop in self.outer]
        count = math.prod(around)
        down = self._parts(product.m.size, block.rows, -(-FEW_TASKS // count))
        across = self._parts(product.n.size, block.width, -(-FEW_TASKS // (count * down[0])))
        work = product.multiplications // MULTIPLICATIONS_PER_OPERATION
        with tasks(self.builder, count * down[0] * across[0], work) as number:
            columns = self._range(number % across[0], across, product.n.size)
            rest = number // across[0]
            rows = self._range(rest % down[0], down, product.m.size)
            self._emit_tile(delinearized(rest // down[0], around) if around else [], rows, columns)

    @staticmethod
    def _parts(size: int, side: int, wanted: int) -> tuple[int, int]:
        """The parts that a loop is cut into, and their size, in whole blocks; the last part is larger."""
        each = max(1, size // side // wanted) * side
        return max(1, size // each), each

    def _range(self, number: Index, parts: tuple[int, int], size: int) -> tuple[Index, Index]:
        count, each = parts
        if count == 1:
            return 0, size
        lower = self.builder.index(number * each)
        if size % each == 0:
            return lower, lower + each
        return lower, self.builder.select(self.builder.index(number).compare("eq", count - 1), size, lower + each)

    def _emit_tile(self, position: Sequence[Index], rows: tuple[Index, Index], columns: tuple[Index, Index]) -> None:
        product = self.product
        a_at = product.a.offset_at(self.builder)
        for loop, index in zip(self.outer, position, strict=True):
            a_at += index * loop.a
        self.emit_blocks((product.a.root, a_at), position, rows, columns)

    def emit_blocks(
        self,
        a: tuple[SSAValue, Index],
        position: Sequence[Index],
        rows: tuple[Index, Index],
        columns: tuple[Index, Index],
    ) -> None:
        """Compute a tile whose part of A begins at `a`, and apply the epilogue to it."""
        builder, product, block = self.builder, self.product, self.block
        root, a_at = a
        b_at, c_at = product.b.offset_at(builder), product.c.offset_at(builder)
        for loop, index in zip(self.outer, position, strict=True):
            b_at += index * loop.b
            c_at += index * loop.c
        group = product.group
        with builder.loop(*columns, step=block.width) as left:
            column = self._first(left, columns[1], block.width, product.n.size)
            a_column = column // group.lanes * group.members if group.lanes > 1 else column * product.n.a
            with builder.loop(*rows, step=block.rows) as top:
                row = self._first(top, rows[1], block.rows, product.m.size)
                at = (
                    a_at + row * product.m.a + a_column,
                    b_at + column * product.n.b,
                    c_at + row * product.m.c + column,
                )
                call_lane_kernel(builder, self.kernel, product, block, root, at)
        if product.epilogue is not None:
            emit_epilogue(builder, product.epilogue, position, rows, columns)

    def _first(self, at: Index, end: Index, side: int, size: int) -> Index:
        """The first row or column of the block at `at` that ends in the tile."""
        return at if size % side == 0 or size < side else self.builder.min(at, end - side)


@dataclass(frozen=True)
class Bands:
    """How tasks pad: each copies the rows that `height` steps of a loop of `outer` read."""

    rows: Rows
    loop: Loop | None
    height: int


def bands_of(padding: Padding, product: LaneProduct) -> Bands | None:
    """The bands of a product whose factor A is padded; None if the whole is better padded before."""
    if product.a.offset or product.a.dynamic:
        return None
    padded, shape = padding.padded, padding.shape
    dim = max((dim for dim, size in enumerate(padded) if size != shape[dim]), default=0)
    size = math.prod(padded[dim:])
    if dim == 0 or any(loop.a % size for loop in product.outer):
        return None
    inner = (product.m, *product.ks)
    group = product.group
    lanes = (product.n.size // group.lanes * group.members - 1) * product.n.a
    span = 1 + lanes + sum((loop.size - 1) * loop.a for loop in inner)
    # Neighbouring steps share rows.
    loop = min((loop for loop in product.outer if loop.a < span), key=lambda loop: loop.a, default=None)
    around = math.prod(each.size for each in product.outer if each is not loop)
    heights = [1]
    if loop is not None:
        enough = max(1, loop.size * around // FEW_TASKS)
        heights += [height for height in range(2, enough + 1) if loop.size % height == 0]
    for height in reversed(heights):
        rows = Rows(padding, dim, -(-(span + (height - 1) * (loop.a if loop else 0)) // size))
        if rows.count * size * width_of(product.element) <= 8 * MOST_COPIED:
            return Bands(rows, loop, height)
    return None


class PaddedLaneEmitter(LaneEmitter):
    """Emits a product that reads A from a copy of the rows that a task needs, which it pads."""

    def __init__(self, builder: LoopBuilder, kernel: func.FuncOp, product: LaneProduct, block: Block, bands: Bands):
        super().__init__(builder, kernel, product, block)
        self.bands = bands

    def emit(self) -> None:
        builder, product, bands = self.builder, self.product, self.bands
        sizes = [loop.size // bands.height if loop is bands.loop else loop.size for loop in product.outer]
        work = product.multiplications // MULTIPLICATIONS_PER_OPERATION
        with tasks(builder, math.prod(sizes), work) as number:
            at = delinearized(number, sizes) if sizes else []
            copy = builder.alloca(memref_type((bands.rows.count * bands.rows.size,), product.element))
            start: Index = 0
            for loop, index in zip(product.outer, at, strict=True):
                start += index * (loop.a * (bands.height if loop is bands.loop else 1))
            copy_rows(builder, self.kernel, bands.rows, copy, start // bands.rows.size)
            with builder.loop(0, bands.height) as step:
                position = [
                    index * bands.height + step if loop is bands.loop else index
                    for loop, index in zip(product.outer, at, strict=True)
                ]
                a_at = step * (bands.loop.a if bands.loop else 0)
                self.emit_blocks((copy, a_at), position, (0, product.m.size), (0, product.n.size))


@dataclass(frozen=True)
class Planes:
    """How tasks pad whole planes of A, such as an image's of one feature: those that its sums go over."""

    rows: Rows
    """The rows of one plane."""
    images: tuple[Loop, ...]
    """The contracted loops from one plane to the next."""

    @property
    def size(self) -> int:
        """Elements of a plane."""
        return self.rows.count * self.rows.size


def planes_of(padding: Padding, product: LaneProduct) -> Planes | None:
    """The planes of a product that adds its lanes; None if the whole is better padded before."""
    padded, shape = padding.padded, padding.shape
    dims = [dim for dim, size in enumerate(padded) if size != shape[dim]]
    if not dims or dims[0] == 0 or product.a.offset or product.a.dynamic:
        return None
    size = math.prod(padded[dims[0] :])
    images = tuple(loop for loop in product.ks if loop.a % size == 0)
    blocked = (product.m, further_rows(product))
    inside = [loop for loop in (*product.ks, *product.outer) if loop.a % size]
    inside += [product.n, *(loop for loop in blocked if not any(loop is other for other in inside))]
    copied = math.prod(loop.size for loop in images) * size * width_of(product.element) // 8
    if sum((loop.size - 1) * loop.a for loop in inside) >= size or copied > MOST_COPIED:
        return None
    row = math.prod(padded[dims[-1] :])
    return Planes(Rows(padding, dims[-1], size // row), images)


class PlaneEmitter(LaneEmitter):
    """Emits a product that adds its lanes, and reads A from a copy of the planes that a task needs, which it pads."""

    def __init__(self, builder: LoopBuilder, kernel: func.FuncOp, product: LaneProduct, block: Block, planes: Planes):
        sizes = tuple(loop.size for loop in planes.images)
        places = {id(loop): at * planes.size for loop, at in zip(planes.images, row_major(sizes), strict=True)}
        ks = tuple(replace(loop, a=places.get(id(loop), loop.a)) for loop in product.ks)
        super().__init__(builder, kernel, replace(product, ks=ks), block)
        self.planes = planes

    def emit(self) -> None:
        builder, product, planes = self.builder, self.product, self.planes
        around = [loop for loop in self.outer if loop.a and loop.a % planes.size == 0]
        inside = [loop for loop in self.outer if loop not in around]
        work = product.multiplications // MULTIPLICATIONS_PER_OPERATION
        images = [loop.size for loop in planes.images]
        with tasks(builder, math.prod(loop.size for loop in around), work) as number:
            at = delinearized(number, [loop.size for loop in around]) if around else []
            copy = builder.alloca(memref_type((math.prod(images) * planes.size,), product.element))
            start: Index = 0
            for loop, index in zip(around, at, strict=True):
                start += index * loop.a
            with builder.loop(0, math.prod(images)) as image:
                first = start
                for loop, index in zip(planes.images, delinearized(image, images), strict=True):
                    first += index * loop.a
                copy_rows(builder, self.kernel, planes.rows, copy, first // planes.rows.size, image * planes.size)
            with builder.loop(0, math.prod(loop.size for loop in inside)) as number:
                found = dict(zip(map(id, around), at, strict=True))
                found |= dict(zip(map(id, inside), delinearized(number, [loop.size for loop in inside]), strict=True))
                a_at: Index = 0
                for loop in inside:
                    a_at += found[id(loop)] * loop.a
                position = [found[id(loop)] for loop in self.outer]
                self.emit_blocks((copy, a_at), position, (0, product.m.size), (0, product.n.size))
