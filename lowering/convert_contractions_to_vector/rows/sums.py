"""
Products of a row kernel that sum over its rows, such as the gradients of attention's keys and values.

Each tile of rows adds its part to the output, which is zero before a matrix's first tile. One task takes all tiles of a
matrix in their order, so that the sum does not depend on the threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from ...device.cpu import Machine
from ...loop_nests.kernel_builder import Index
from ...loop_nests.loop_builder import LoopBuilder, buffer_of
from ...loop_nests.nest import Access
from ..block_of_c import Target
from ..blocking import Blocking, block
from ..clearing import clear_block
from ..contraction import Contraction
from ..micro_kernel import Arguments, call_micro_kernel
from ..operand import Operand
from ..packing import Packer
from ..panel_of_a import PanelOfA
from .contractions import f32

LARGEST_PANEL = 64
"""Columns by which a tile may be padded to whole panels, more than any machine's panel has."""


class RowSum:
    """One such product, emitted tile by tile."""

    def __init__(
        self,
        builder: LoopBuilder,
        product: Contraction,
        tile: int,
        steps: Mapping[SSAValue, int],
        machine: Machine,
        packer: Callable[[Operand, Blocking, bool], Packer],
    ):
        """`tile`: its most rows. `steps`: the elements from row to row of buffers that hold only a tile."""
        self.builder = builder
        self.product = product
        self.steps = steps
        m, n, k = product.m, product.n, product.k
        self.blocking = replace(block(replace(product, k=replace(k, size=tile)), machine), kc=tile)
        mr, nr = self.blocking.mr, self.blocking.nr
        columns = Operand(product.b, (), n.size, n.b, tile, steps.get(product.b.root, k.b), nr, 1, local=False)
        self.columns = packer(columns, self.blocking, True)
        self.rows: Packer | None = None
        # A panel reads up to mr rows of A, which must be there: in a tile other values follow, or padding does.
        is_there = product.a.root in steps or m.size % mr == 0
        if m.a != 1 or buffer_of(product.a.root).element_type != f32 or not is_there:
            rows = Operand(product.a, (), m.size, m.a, tile, steps.get(product.a.root, k.a), mr, 1, local=True)
            self.rows = packer(rows, self.blocking, False)

    @property
    def packers(self) -> tuple[Packer | None, Packer]:
        return self.rows, self.columns

    @staticmethod
    def stack_bytes(product: Contraction, tile: int) -> int:
        """Bytes of the packed columns of one tile, at most."""
        return tile * (product.n.size + LARGEST_PANEL) * int(f32.compile_time_size)

    def clear(self, outer: Sequence[Index]) -> None:
        """Set the output of the matrix at the indices of the loops around to zero."""
        m, n = self.product.m, self.product.n
        at = self._at(outer)
        clear_block(self.builder, self.columns.kernel, self.product.c.root, at, (m.size, n.size), (m.c, 1))

    def add_tile(
        self, outer: Sequence[Index], first: Index, count: Index, buffers: Mapping[SSAValue, SSAValue]
    ) -> None:
        """Add the products of the tile of `count` rows from row `first`; `buffers`: those that hold only the tile."""
        builder, product, blocking = self.builder, self.product, self.blocking
        m, n, mr, nr = product.m, product.n, blocking.mr, blocking.nr
        a = self._tile(product.a, [loop.a for loop in (*product.outer, product.k)], outer, first, buffers)
        b = self._tile(product.b, [loop.b for loop in (*product.outer, product.k)], outer, first, buffers)
        self.columns.operand = replace(self.columns.operand, access=b)
        with builder.loop(0, blocking.n_panels) as j:
            self.columns.pack_panel(j, count)
        if self.rows is not None:
            self.rows.operand = replace(self.rows.operand, access=a)
        target = Target(
            column=1,
            rows_vary=m.size % mr != 0,
            columns_vary=n.size % nr != 0,
            never_whole=m.size < mr or n.size < nr,
            overwrite=False,
            b_packed=True,
        )
        start = self._at(outer)
        with builder.loop(0, blocking.m_panels) as i:
            row = i * mr
            step = self.steps.get(product.a.root, product.k.a)
            panel, panel_at, lies = a.root, a.offset_at(builder) + row, PanelOfA(row=1, step=step)
            if self.rows is not None:
                panel_at, lies = self.rows.panel((), i, 0, count), PanelOfA(row=1, step=mr)
                panel = self.rows.buffer
            with builder.loop(0, blocking.n_panels) as j:
                arguments = Arguments(
                    a=panel,
                    a_at=panel_at,
                    b=self.columns.buffer,
                    b_at=self.columns.panel((), j, 0, count),
                    b_step=nr,
                    c=product.c.root,
                    c_at=start + row * m.c + j * nr,
                    c_row=m.c,
                    count=count,
                    rows=builder.min(m.size - row, mr),
                    columns=builder.min(n.size - j * nr, nr),
                )
                call_micro_kernel(builder, self.columns.kernel, blocking, lies, target, arguments)

    def _tile(
        self,
        access: Access,
        strides: Sequence[int],
        outer: Sequence[Index],
        first: Index,
        buffers: Mapping[SSAValue, SSAValue],
    ) -> Access:
        """The access to a factor, of which the tile's first row is the first."""
        if access.root in buffers:
            return replace(access, root=buffers[access.root])
        at = access.offset_at(self.builder)
        for index, stride in zip((*outer, first), strides, strict=True):
            at += index * stride
        return replace(access, offset=0, dynamic=((self.builder.index(at).value, 1),))

    def _at(self, outer: Sequence[Index]) -> Index:
        """The offset of the output of one matrix."""
        at: Index = self.product.c.offset_at(self.builder)
        for loop, index in zip(self.product.outer, outer, strict=True):
            at += index * loop.c
        return at
