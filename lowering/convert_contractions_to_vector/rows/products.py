"""
Row kernels with products, such as attention: tile by tile of rows, so that no row but those of the tile is in memory.

The factors that all rows are multiplied by are packed first, or read where they lie. Then each task takes a tile of
rows through the kernel's operations in order: products with the micro-kernel, panel by panel, and the steps between
them row by row. Where a batch has matrices enough for all threads, a task takes whole ones, and packs their factors
into memory of its own, which stays in its caches; so does a task with products that sum over rows (sums.py).
Values that pass from one operation to the next are in buffers of the task. Other sums are in the order without fusion.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import func
from xdsl.ir import SSAValue

from ....dialects.support.buffers import memref_type
from ...convert_linalg_to_scf.conversion import Absorbed, Structured, erase_all, initial_values, without_fills
from ...convert_linalg_to_scf.elementwise import emit_elementwise, emit_tile
from ...convert_linalg_to_scf.meanwhile import step_meanwhile
from ...convert_linalg_to_scf.reduction import emit_reduction
from ...device.cpu import Machine
from ...loop_nests.cost import nest_work, task_count, task_size
from ...loop_nests.indices import chunk, delinearized, end_of
from ...loop_nests.kernel_builder import Index, IndexValue
from ...loop_nests.loop_builder import LoopBuilder, buffer_of
from ...loop_nests.nest import Access, Nest
from ..block_of_c import Target
from ..blocking import Blocking, block
from ..clearing import clear_block
from ..constants import KernelConstants, constants_of
from ..contraction import Contraction
from ..in_place import lines_alias
from ..kernel import MULTIPLICATIONS_PER_OPERATION
from ..micro_kernel import Arguments, call_micro_kernel
from ..operand import Operand, number_matrices
from ..packing import WORK_OF_PACKING, Packer
from ..panel import packed_type
from ..panel_of_a import PanelOfA
from .asking import NextFactor, ask_for_next_rows, next_factors
from .contractions import TiledProduct, f32, row_contraction, weighed_by
from .last_row import LastRow
from .masks import mask_of
from .plan import RowProductPlan, Temporary, in_row, is_product, plan_row_products, sums_rows
from .sums import RowSum

TILE_BYTES = 256 * 1024
"""Bytes of the buffers of one task, which are on the thread's stack and stay in the L2 cache."""

MATRIX_BYTES = 256 * 1024
"""Bytes of packed factors of one task, which are on its stack too."""

MOST_ROWS = 32
"""
Rows of a tile: some panels, whose values stay near. Twice as many, with twice the bytes, where each tile adds to sums
over rows, which it reads and writes whole.
"""

LEAST_ROWS = 4
"""Rows of a tile below which the micro-kernel would wait for memory."""

MOST_IN_PLACE = 1 << 16
"""Elements of a factor up to which it is read in place: it is read from the L2 cache for each panel of rows."""

PADDING = 16
"""Elements between the rows of a tile, whose lines would otherwise share few sets of the L1 cache."""


def convert_row_products(
    kernel: func.FuncOp,
    structured: Sequence[Structured],
    absorbed: Absorbed,
    rows: int,
    machine: Machine,
    constants: KernelConstants,
) -> bool:
    """Lower a row kernel with products; return whether its operations fit into tiles of rows."""
    ops = without_fills(structured, absorbed)
    plan = plan_row_products(ops, rows)
    if plan is None:
        return False
    inits = [initial_values(op, absorbed) for op in ops]
    emitter = RowProductEmitter(LoopBuilder(kernel), kernel, plan, inits, machine, constants)
    if not emitter.fits():
        return False
    emitter.builder.insert_at(ops[-1])
    emitter.emit()
    erase_all(structured)
    return True


class RowProductEmitter:
    """Emits one planned kernel at the builder's insertion point."""

    def __init__(
        self,
        builder: LoopBuilder,
        kernel: func.FuncOp,
        plan: RowProductPlan,
        inits: Sequence[tuple[SSAValue | None, ...]],
        machine: Machine,
        constants: KernelConstants,
    ):
        self.builder = builder
        self.kernel = kernel
        self.constants = constants
        self.machine = machine
        self.sums: dict[int, RowSum] = {}
        self.plan = plan
        self.inits = inits
        self.rows = len(plan.shape)
        self.contractions = {
            number: row_contraction(plan, nest, inits[number])
            for number, nest in enumerate(plan.nests)
            if is_product(nest)
        }
        self.summed = {number for number in self.contractions if sums_rows(plan.nests[number], self.rows)}
        found = [each for each in self.contractions.values() if each is not None]
        self.blockings = {
            number: block(product, machine, packed=True)  # Factors of bf16 are.
            for number, product in self.contractions.items()
            if product is not None and number not in self.summed
        }
        # All products take panels of one number of rows, so that tiles are whole panels.
        self.panel = min((blocking.mr for blocking in self.blockings.values()), default=1)
        self.tile = self._tile_rows() if found else 0
        self.takes_matrices = math.prod(plan.shape[:-1]) >= machine.tiles or bool(self.summed)
        """Whether tasks are whole matrices of a batch: enough for all threads, or with sums over their rows."""
        self.buffers: dict[SSAValue, SSAValue] = {}
        """The buffers of the task by those of the kernel that they stand for."""
        self.next: Sequence[NextFactor] = ()
        """The factors that the next matrix reads; blocks of the first product prefetch them."""

    # The plan.

    def _tile_rows(self) -> int:
        """Rows of a tile: whole panels, as many as fit."""
        own = [root for root, home in self.plan.homes.items() if root is home]
        per_row = sum(self._row_bytes(root, x) for root, x in self.plan.temporaries.items() if x.tiled and root in own)
        single = sum(self._row_bytes(root, x) for root, x in self.plan.temporaries.items() if not x.tiled)
        times = 2 if self.summed else 1
        most = min(MOST_ROWS * times, (TILE_BYTES * times - single) // max(1, per_row))
        if most < self.panel:
            self.panel = max(1, most)
        return min(most // self.panel, -(-self.plan.shape[-1] // self.panel)) * self.panel

    @staticmethod
    def _row_bytes(root: SSAValue, temporary: Temporary) -> int:
        return (temporary.size + PADDING * temporary.tiled) * int(buffer_of(root).element_type.compile_time_size)

    def fits(self) -> bool:
        """Whether all products have the form that tiles need, and enough rows are in a tile."""
        if any(product is None for product in self.contractions.values()) or self.tile < LEAST_ROWS:
            return False
        return self._bytes_of_sums() <= MATRIX_BYTES

    def _bytes_of_sums(self) -> int:
        sums = (self.contractions[number] for number in self.summed)
        return sum(RowSum.stack_bytes(product, self.tile) for product in sums if product is not None)

    def _products(self) -> dict[int, TiledProduct]:
        found: dict[int, TiledProduct] = {}
        left = MATRIX_BYTES - self._bytes_of_sums()
        for number, product in self.contractions.items():
            if number in self.summed:
                continue
            assert product is not None
            blocking = replace(self.blockings[number], mr=self.panel, m_panels=-(-product.m.size // self.panel))
            packer: Packer | None = None
            if not self._is_read_in_place(product, blocking):
                n, k = product.n, product.k
                bytes_each = int(packed_type(f32, blocking.group).compile_time_size)
                size = k.size * -(-n.size // blocking.nr) * blocking.nr * bytes_each
                by_tasks = size <= left and self._is_packed_by_tasks(product)
                left -= size if by_tasks else 0
                sizes = [] if by_tasks else [loop.size for loop in product.outer]
                around = number_matrices(sizes, [] if by_tasks else [loop.b for loop in product.outer])
                other = Operand(product.b, around, n.size, n.b, k.size, k.b, blocking.nr, blocking.group, local=False)
                packer = self._packer(other, blocking, by_tasks)
            row_packer = self._row_packer(product, blocking)
            mask = mask_of(self.plan, number, product)
            weighed = weighed_by(product, blocking, self.plan, found.values())
            found[number] = TiledProduct(self.plan.nests[number], product, blocking, row_packer, packer, mask, weighed)
        return found

    def _is_read_in_place(self, product: Contraction, blocking: Blocking) -> bool:
        """Whether the columns of the other factor lie close together, as those of attention's values do."""
        n, k = product.n, product.k
        compact = k.b < 2 * n.size and k.size * k.b <= MOST_IN_PLACE and not lines_alias(product, k.b)
        # The last panel begins earlier where columns do not divide evenly: sums of one pass may be stored twice.
        once = n.size % blocking.nr == 0 or k.size <= blocking.kc
        is_plain = buffer_of(product.b.root).element_type == f32 and not self._is_constant(product)
        return n.b == 1 and n.size >= blocking.nr and compact and once and is_plain

    def _is_constant(self, product: Contraction) -> bool:
        """Whether the compiler packs the other factor."""
        return product.b.root in constants_of(self.kernel)

    def _is_packed_by_tasks(self, product: Contraction) -> bool:
        """Whether each task packs the other factor's matrices as it needs them, so that they stay in its caches."""
        return self.takes_matrices and all(loop.b for loop in product.outer) and not self._is_constant(product)

    def _row_packer(self, product: Contraction, blocking: Blocking) -> Packer | None:
        """
        Rows that are f32 are read in place, in a tile because it has whole panels, and in an argument if the lines of a
        panel share no sets of the L1 cache; others are packed.
        """
        temporary = self.plan.temporaries.get(product.a.root)
        m, k = product.m, product.k
        if temporary is None:
            if self._reads_argument(product):
                return None
            around = number_matrices([loop.size for loop in product.outer], [loop.a for loop in product.outer])
            rows = Operand(product.a, around, m.size, m.a, k.size, k.a, blocking.mr, blocking.group, local=True)
            return self._packer(rows, blocking)
        if buffer_of(product.a.root).element_type == f32:
            return None
        stride = temporary.size + PADDING
        rows = Operand(product.a, (), self.tile, stride, k.size, k.a, blocking.mr, blocking.group, local=True)
        return self._packer(rows, blocking)

    def _reads_argument(self, product: Contraction) -> bool:
        """Whether rows of an argument are read in place. The last panel begins earlier if rows do not divide evenly."""
        is_plain = buffer_of(product.a.root).element_type == f32 and product.a.root not in constants_of(self.kernel)
        return is_plain and product.k.a == 1 and product.m.size >= self.panel and not lines_alias(product, product.m.a)

    def _packer(self, operand: Operand, blocking: Blocking, by_tasks: bool = False) -> Packer:
        element = packed_type(f32, blocking.group)
        return Packer(self.builder, self.kernel, operand, blocking, element, 0, self.constants, by_tasks)

    def _sums(self) -> dict[int, RowSum]:
        steps = {root: x.size + PADDING for root, x in self.plan.temporaries.items()}
        found: dict[int, RowSum] = {}
        for number in sorted(self.summed):
            product = self.contractions[number]
            assert product is not None
            found[number] = RowSum(self.builder, product, self.tile, steps, self.machine, self._packer)
        return found

    # The loops.

    def emit(self) -> None:
        builder, shape = self.builder, self.plan.shape
        products, self.sums = self._products(), self._sums()
        for each in products.values():
            self._pack(each)
        tiles = -(-shape[-1] // self.tile)
        # A task takes all tiles of some matrices, or some tiles.
        sizes, count = (shape[:-1], tiles) if self.takes_matrices else ((*shape[:-1], tiles), 1)
        total = math.prod(sizes)
        work = sum(
            product.multiplications // MULTIPLICATIONS_PER_OPERATION
            for product in self.contractions.values()
            if product is not None
        )
        work += sum(nest_work(nest) for nest in self.plan.nests if not is_product(nest))
        size = task_size(total, task_count(total, work, total))
        with builder.parallel(-(-total // size)) as task:
            self._begin_task(products)
            with builder.loop(*chunk(builder, task, size, total)) as number:
                *outer, begin = (
                    [*delinearized(number, sizes), 0] if self.takes_matrices else delinearized(number, sizes)
                )
                for product in products.values():
                    self._pack_matrix(product, outer)
                for each in self.sums.values():
                    each.clear(outer)
                if self.takes_matrices and self.rows > 1:
                    self._plan_next(products, delinearized(number + 1, sizes))
                with builder.loop(begin, begin + count) as tile:
                    first = tile * self.tile
                    self._emit_tile(products, outer, first, end_of(builder, first, self.tile, shape[-1]))
                for after in sorted(self.plan.after):
                    builder.location = self.plan.nests[after].op.location
                    nest = replace(self.plan.nests[after], bound=self.rows - 1)
                    emit_elementwise(builder, nest, self.buffers, [builder.index(index) for index in outer])

    def _plan_next(self, products: dict[int, TiledProduct], following: Sequence[Index]) -> None:
        """Let the first product ask for what the next matrix reads, or packs."""
        read = [each for each in products.values() if each.packer is None or each.packer.by_tasks]
        self.next = next_factors(self.builder, [each.product for each in read], following, self.machine)

    def _pack_matrix(self, each: TiledProduct, outer: Sequence[Index]) -> None:
        """Pack the task's matrix at the indices of the loops around."""
        builder, packer, product = self.builder, each.packer, each.product
        if packer is None or not packer.by_tasks:
            return
        builder.location = each.nest.op.location
        at = [(builder.index(index).value, loop.b) for loop, index in zip(product.outer, outer, strict=True)]
        packer.operand = replace(packer.operand, access=replace(product.b, dynamic=(*product.b.dynamic, *at)))
        with builder.loop(0, packer.count) as panel:
            packer.pack_panel(panel)

    def _pack(self, each: TiledProduct) -> None:
        builder, packer = self.builder, each.packer
        if packer is None or packer.by_tasks or not packer.count:
            return
        builder.location = each.nest.op.location
        tasks = task_count(packer.count, packer.count * packer.operand.panel_size * WORK_OF_PACKING, packer.count)
        size = task_size(packer.count, tasks)
        with (
            builder.parallel(-(-packer.count // size)) as task,
            builder.loop(*chunk(builder, task, size, packer.count)) as panel,
        ):
            packer.pack_panel(panel)

    def _begin_task(self, products: dict[int, TiledProduct]) -> None:
        builder = self.builder
        for root, x in self.plan.temporaries.items():
            size = self.tile * (x.size + PADDING) if x.tiled else x.size
            if self.plan.homes[root] is root:
                self.buffers[root] = builder.alloca(memref_type((size,), buffer_of(root).element_type))
        self.buffers.update((root, self.buffers[home]) for root, home in self.plan.homes.items())
        for each in products.values():
            for packer in (each.row_packer, each.packer):
                if packer is not None:
                    packer.begin_task()
        for each in self.sums.values():
            for packer in each.packers:
                if packer is not None:
                    packer.begin_task()

    def _emit_tile(self, products: dict[int, TiledProduct], outer: Sequence[Index], first: Index, end: Index) -> None:
        """Take rows [first, end) through all operations."""
        steps: list[int] = []
        for number in range(len(self.plan.nests)):
            if number in products:
                self._emit_steps(steps, outer, first, end)
                steps = []
                self._emit_product(products[number], outer, first, end)
            elif number in self.sums:
                self._emit_steps(steps, outer, first, end)
                steps = []
                self._add_to_sum(number, outer, first, end)
            elif number not in self.plan.after:
                steps.append(number)
        self._emit_steps(steps, outer, first, end)

    def _emit_steps(self, steps: Sequence[int], outer: Sequence[Index], first: Index, end: Index) -> None:
        """Operations that are no products, row by row."""
        if not steps:
            return
        builder = self.builder
        nests = [replace(self.plan.nests[number], bound=self.rows) for number in steps]
        during = step_meanwhile(nests, {root: x.tiled for root, x in self.plan.temporaries.items()})
        waits = None if during is None else steps[-1]
        with builder.loop(first, end) as row:
            inside = builder.index(row - first).value
            bound = [builder.index(index) for index in (*outer, row)]
            for k, number in enumerate(steps):
                if number == waits:
                    continue
                nest = self._in_tile(self.plan.nests[number], inside)
                builder.location = nest.op.location
                if any(nest.reduction):
                    emit_reduction(builder, nest, self.inits[number], self.buffers, bound)
                else:
                    before = LastRow(self.emit_part, steps[-1], outer, first, row) if k == during else None
                    emit_elementwise(builder, nest, self.buffers, bound, before)
        if waits is not None:
            row = builder.index(end - 1)
            nest = self._in_tile(self.plan.nests[waits], builder.index(row - first).value)
            emit_elementwise(builder, nest, self.buffers, [*(builder.index(index) for index in outer), row])

    def emit_part(self, number: int, bound: Sequence[Index], inside: IndexValue, start: Index, end: Index) -> None:
        """The elements [start, end) of a row, which has the number `inside` in the tile."""
        builder = self.builder
        nest = self._in_tile(self.plan.nests[number], inside.value)
        builder.location, before = nest.op.location, builder.location
        emit_tile(builder, nest, self.buffers, [builder.index(index) for index in bound], start, end)
        builder.location = before

    def _in_tile(self, nest: Nest, row: SSAValue) -> Nest:
        """The nest on the task's buffers, for the row with that number in the tile."""

        def place(access: Access) -> Access:
            temporary = self.plan.temporaries.get(access.root)
            if temporary is None:
                return access
            return in_row(access, self.rows, ((row, temporary.size + PADDING),) if temporary.tiled else ())

        return replace(
            nest,
            inputs=tuple(place(x) if isinstance(x, Access) else x for x in nest.inputs),
            outputs=tuple(map(place, nest.outputs)),
            bound=self.rows,
        )

    # Products.

    def _emit_product(self, each: TiledProduct, outer: Sequence[Index], first: Index, end: Index) -> None:
        builder, product, blocking = self.builder, each.product, each.blocking
        builder.location = each.nest.op.location
        groups = -(-product.k.size // blocking.group)
        passes = -(-groups // blocking.kc)
        count = end - first
        c, c_at, c_row = self._output(product, outer, first)
        if passes > 1:
            clear_block(builder, self.kernel, c, c_at, (count, product.n.size), (c_row, 1))
        panels = -(-self.tile // self.panel)
        used = panels if isinstance(count, int) else builder.index(count + (self.panel - 1)) // self.panel
        with builder.loop(0, passes) as number:
            lower, upper = chunk(builder, number, blocking.kc, groups)
            if each.weighed is not None:
                weights = self._rows_in_tile(product.a)
                lower, upper = each.weighed.steps(builder, self.kernel, blocking, weights, outer, (first, count))
            with builder.loop(0, used) as i:
                a, a_at, lies = self._panel_of_rows(each, outer, first, i, lower, upper)
                row = i * self.panel
                rows = builder.min(count - row, self.panel)
                needed: tuple[Index, Index] = (0, blocking.n_panels)
                if each.mask is not None:
                    needed = each.mask.panels(builder, outer, first + row, rows, blocking.nr)
                    if passes == 1:
                        each.mask.clear(builder, self.kernel, (c, c_at + row * c_row, c_row), rows, needed, blocking.nr)
                in_argument = each.row_packer is None and product.a.root not in self.plan.temporaries
                with builder.loop(*needed) as j:
                    if passes == 1 and in_argument:
                        ask_for_next_rows(builder, product, self.panel, (a, a_at), j, blocking.n_panels)
                    for factor in self.next if each.nest is self.plan.nests[min(self.contractions)] else ():
                        at = builder.index((first // self.panel + i) * blocking.n_panels + j)
                        factor.ask(builder, at, blocking.m_panels * blocking.n_panels)
                    b, b_at, column = each.panel_of_columns(builder, outer, j, lower, upper)
                    target = Target(
                        column=1,
                        rows_vary=product.m.size % self.panel != 0,
                        columns_vary=product.n.size % blocking.nr != 0 and each.packer is not None,
                        never_whole=product.m.size < self.panel or product.n.size < blocking.nr,
                        overwrite=passes == 1,
                        b_packed=each.packer is not None,
                    )
                    arguments = Arguments(
                        a=a,
                        a_at=a_at,
                        b=b,
                        b_at=b_at,
                        b_step=product.k.b if each.packer is None else blocking.nr * blocking.group,
                        c=c,
                        c_at=c_at + row * c_row + column,
                        c_row=c_row,
                        count=upper - lower,
                        rows=rows,
                        columns=builder.min(product.n.size - column, blocking.nr),
                    )
                    normal = each.are_normal(builder, outer, first // self.panel + i, j)
                    call_micro_kernel(builder, self.kernel, blocking, lies, target, arguments, normal)

    def _panel_of_rows(
        self, each: TiledProduct, outer: Sequence[Index], first: Index, i: IndexValue, lower: Index, upper: Index
    ) -> tuple[SSAValue, Index, PanelOfA]:
        """Panel i of the tile: its buffer, offset and layout."""
        product, temporary = each.product, self.plan.temporaries.get(each.product.a.root)
        packed = PanelOfA(row=1, step=self.panel)
        if temporary is None and each.row_packer is None:
            row = self.builder.min(first + i * self.panel, product.m.size - self.panel)
            at = product.a.offset_at(self.builder) + row * product.m.a + lower * product.k.a
            for loop, index in zip(product.outer, outer, strict=True):
                at += index * loop.a
            overlaps = product.m.size % self.panel != 0
            return product.a.root, at, PanelOfA(row=product.m.a, step=product.k.a, overlaps=overlaps)
        if temporary is None:
            assert each.row_packer is not None
            at = each.row_packer.panel(outer, first // self.panel + i, lower, upper)
            return each.row_packer.buffer, at, packed
        buffer = self.buffers[product.a.root]
        stride = temporary.size + PADDING
        if each.row_packer is None:
            at = i * self.panel * stride + product.a.offset + lower * product.k.a
            return buffer, at, PanelOfA(row=stride, step=product.k.a)
        operand = each.row_packer.operand
        moved = replace(operand, access=replace(operand.access, root=buffer))
        each.row_packer.operand = moved
        return each.row_packer.buffer, each.row_packer.panel((), i, lower, upper), packed

    def _rows_in_tile(self, access: Access) -> tuple[SSAValue, Index, int]:
        """The buffer of the tile of a temporary, where its first row begins, and the distance of rows."""
        return self.buffers[access.root], access.offset, self.plan.temporaries[access.root].size + PADDING

    def _add_to_sum(self, number: int, outer: Sequence[Index], first: Index, end: Index) -> None:
        self.builder.location = self.plan.nests[number].op.location
        self.sums[number].add_tile(outer, first, end - first, self.buffers)

    def _output(self, product: Contraction, outer: Sequence[Index], first: Index) -> tuple[SSAValue, Index, int]:
        """The buffer of the product, the offset of the tile's first row in it, and the stride of rows."""
        if product.c.root in self.plan.temporaries:
            return self._rows_in_tile(product.c)
        at = product.c.offset_at(self.builder)
        for loop, index in zip(product.outer, outer, strict=True):
            at += index * loop.c
        return product.c.root, at + first * product.m.c, product.m.c
