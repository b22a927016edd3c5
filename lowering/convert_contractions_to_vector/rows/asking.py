"""
Asking for what a row kernel multiplies next, some of it at each block of what it multiplies now.

A task that takes whole matrices, as attention takes heads, would wait for the first elements of each: they come from
memory, or from a cache that is far, and nothing else is to be done then. Asked for all at once, they would wait for
each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ....dialects.support.scalar import width_of
from ...device.cpu import Machine
from ...loop_nests.kernel_builder import Index, IndexValue
from ...loop_nests.loop_builder import LINE, LoopBuilder, buffer_of
from ..contraction import Contraction

PART = 4
"""Part of the L2 cache that the factors of the next matrix may take, beside those of this one."""

MOST_LINES = 16
"""Lines that are asked for at one block: more would wait for each other."""


@dataclass(frozen=True)
class NextFactor:
    """A factor of the next matrix."""

    root: SSAValue
    begin: Index
    """The offset of the matrix."""
    step: int
    """Stride, in elements, from one row to the next."""
    rows: int
    size: int
    """Elements of a row, which are next to each other."""

    @property
    def _line(self) -> int:
        """Elements of a cache line."""
        return LINE * 8 // width_of(buffer_of(self.root).element_type)

    def ask(self, builder: LoopBuilder, block: IndexValue, blocks: int) -> None:
        """Ask for the rows that come with that one of so many blocks."""
        count = -(-self.rows // blocks)
        if count * -(-self.size // self._line) > MOST_LINES:
            return
        at = self.begin + block * (count * self.step)
        view = builder.strided_view(self.root, at, (count, self.size), (self.step, 1))
        _ask_for_all(builder, view, count, range(0, self.size, self._line))


def _ask_for_all(builder: LoopBuilder, view: SSAValue, rows: int, columns: range) -> None:
    for row in range(rows):
        for column in columns:
            builder.prefetch(view, [row, column])


def ask_for_next_rows(
    builder: LoopBuilder, product: Contraction, panel: int, a: tuple[SSAValue, Index], j: IndexValue, blocks: int
) -> None:
    """
    Ask for some of the `panel` rows of the first factor after those at `a`, all of them over the blocks j < `blocks`.
    """
    count, line = -(-panel // blocks), LINE * 8 // width_of(buffer_of(a[0]).element_type)
    begin = a[1] + (j * count + panel) * product.m.a
    view = builder.strided_view(a[0], begin, (count, product.k.size), (product.m.a, 1))
    if count * -(-product.k.size // line) <= MOST_LINES:
        _ask_for_all(builder, view, count, range(0, product.k.size, line))
        return
    with builder.loop(0, count) as row, builder.loop(0, product.k.size, step=line) as column:
        builder.prefetch(view, [row, column])


def next_factors(
    builder: LoopBuilder, products: Sequence[Contraction], following: Sequence[Index], machine: Machine
) -> list[NextFactor]:
    """
    The second factors of products at the indices `following` of the loops around, which may be beyond the last matrix;
    none of a product whose matrices share theirs, and none if they are too large.
    """
    found: list[NextFactor] = []
    for product in products:
        rows, columns = (product.k, product.n) if product.n.b == 1 else (product.n, product.k)
        if columns.b != 1 or not all(loop.b for loop in product.outer if loop.size > 1):
            continue
        begin = product.b.offset_at(builder)
        for loop, index in zip(product.outer, following, strict=True):
            begin += index * loop.b
        found.append(NextFactor(product.b.root, begin, rows.b, rows.size, columns.size))
    bits = sum(each.rows * each.size * width_of(buffer_of(each.root).element_type) for each in found)
    return found if bits // 8 * PART <= machine.l2_bytes else []
