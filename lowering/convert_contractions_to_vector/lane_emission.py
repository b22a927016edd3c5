"""The loops over the blocks of a product of lanes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import func

from ...dialects.support.buffers import memref_type, row_major
from ..device.cpu import Machine
from ..loop_nests.indices import delinearized
from ..loop_nests.kernel_builder import Index
from ..loop_nests.loop_builder import LoopBuilder
from ..loop_nests.nest import Access
from .epilogue import emit_epilogue
from .kernel import MULTIPLICATIONS_PER_OPERATION, tasks
from .lane_kernel import call_lane_kernel
from .lane_products import (
    LONG,
    MOST_REPEATS,
    MOST_ROWS,
    Block,
    LaneProduct,
    block_of,
    further_rows,
    lanes_of_block,
    with_copied_b,
)
from .split import add_chunks

FEW_TASKS = 16
"""Tasks below which rows and columns are divided too."""


def emit_lane_product(builder: LoopBuilder, kernel: func.FuncOp, product: LaneProduct, machine: Machine) -> None:
    """Emit a product whose sums start from zero."""
    lanes = lanes_of_block(product, machine)
    assert lanes is not None, "lane_product_of asks"
    if product.n.b == -1:
        product = with_copied_b(builder, product)
    around = product.m.size // MOST_ROWS * math.prod(loop.size for loop in product.outer if loop.size > MOST_REPEATS)
    if around >= FEW_TASKS or product.depth < LONG or len(product.ks) == 1:
        LaneEmitter(builder, kernel, product, block_of(product, lanes, machine.registers)).emit()
        return
    parts = _in_parts(builder, product)
    LaneEmitter(builder, kernel, parts, block_of(parts, lanes, machine.registers)).emit()
    add_chunks(builder, product, parts, overwrite=True)


def _in_parts(builder: LoopBuilder, product: LaneProduct) -> LaneProduct:
    """The product whose outermost contracted loop is the first of `outer`, into a new buffer `[k, .., m, n]`."""
    first, *ks = product.ks
    loops = (*product.outer, product.m, product.n)
    sizes = (first.size, *(loop.size for loop in loops))
    strides = row_major(sizes)
    scratch = builder.alloc(memref_type((math.prod(sizes),), product.element))
    *outer, m, n = (replace(loop, c=stride) for loop, stride in zip(loops, strides[1:], strict=True))
    around = (replace(first, c=strides[0]), *outer)
    return replace(product, c=Access(scratch, 0, (), ()), m=m, n=n, outer=around, ks=tuple(ks), epilogue=None)


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

    def emit(self) -> None:
        product, block = self.product, self.block
        self.outer = [loop for loop in product.outer if block.repeats == 1 or loop is not further_rows(product)]
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
        builder, product, block = self.builder, self.product, self.block
        a_at, b_at, c_at = (x.offset_at(builder) for x in (product.a, product.b, product.c))
        for loop, index in zip(self.outer, position, strict=True):
            a_at += index * loop.a
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
                call_lane_kernel(builder, self.kernel, product, block, at)
        if product.epilogue is not None:
            emit_epilogue(builder, product.epilogue, position, rows, columns)

    def _first(self, at: Index, end: Index, side: int, size: int) -> Index:
        """The first row or column of the block at `at` that ends in the tile."""
        return at if size % side == 0 else self.builder.min(at, end - side)
